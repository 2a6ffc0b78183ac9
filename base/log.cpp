// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/file_descriptor.h"

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
  logger->flush_on(*value);  // a log is read when something broke
  spdlog::set_default_logger(std::move(logger));
  return {};
}

/// Makes the file 0600, or checks the one that is there: spdlog would follow a link that somebody planted,
/// and make a new file as the umask allows.
Result<void> prepare(const std::filesystem::path& file) {
  const std::string what = "cannot open the log " + file.string();
  const FileDescriptor opened(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!opened.is_open()) {
    if (errno == ELOOP) return fail(ErrorCode::kIo, what + ": it is a symbolic link", "remove the link");
    return fail_errno(what, errno);
  }
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return fail_errno(what, errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kIo, what + ": it is no plain file", "move it away");
  if (status.st_uid != ::geteuid() || status.st_nlink > 1) {
    return fail(ErrorCode::kIo, what + ": it belongs to another user or has a second name", "remove it");
  }
  if (::fchmod(opened.get(), 0600) != 0) return fail_errno(what, errno);
  return {};
}

}  // namespace

Result<void> to_file(const std::filesystem::path& file, std::string_view level) {
  if (auto ready = prepare(file); !ready) return ready;
  try {
    const auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), kMaxFileBytes, 1);
    if (auto installed = install(sink, level); !installed) return installed;
    // Past the logger, which would only complain on stderr that the disk is full.
    sink->log({"kvboost", spdlog::level::info, "the log is open"});
    sink->flush();
    return {};
  } catch (const spdlog::spdlog_ex& error) {
    return fail(ErrorCode::kIo, "cannot write the log " + file.string() + ": " + error.what(),
                "is the disk full? XDG_STATE_HOME chooses another place");
  }
}

Result<void> to_stderr(std::string_view level) {
  return install(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level);
}

void for_people() {
  auto logger =
      std::make_shared<spdlog::logger>("kvboost", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->set_pattern("kvboost: %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace kvboost::log
