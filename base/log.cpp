// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string>

namespace kvboost::log {
namespace {

constexpr std::size_t kMaxFileBytes = 5'000'000;

Result<spdlog::level::level_enum> parse_level(std::string_view level) {
  const auto value = spdlog::level::from_str(std::string(level));
  if (value == spdlog::level::off && level != "off") {
    return fail(ErrorCode::kInvalidArgument, "'" + std::string(level) + "' is not a log level",
                "use trace, debug, info, warn, error or off");
  }
  return value;
}

Result<void> install(spdlog::sink_ptr sink, std::string_view level) {
  const auto value = parse_level(level);
  if (!value) return fail(value.error());
  auto logger = std::make_shared<spdlog::logger>("kvboost", std::move(sink));
  logger->set_level(*value);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %P %l %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

}  // namespace

Result<void> to_file(const std::filesystem::path& file, std::string_view level) {
  try {
    return install(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), kMaxFileBytes, 1),
                   level);
  } catch (const spdlog::spdlog_ex& error) {
    return fail(ErrorCode::kIo, "cannot open the log " + file.string() + ": " + error.what());
  }
}

Result<void> to_stderr(std::string_view level) {
  return install(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level);
}

}  // namespace kvboost::log
