// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <algorithm>
#include <utility>

#include "cli/daemon_options.h"

namespace kvboost::cli {
namespace {

std::filesystem::path current_directory() {
  std::error_code error;
  return std::filesystem::current_path(error);  // empty if it was removed under us
}

Result<Config> load(std::map<std::string, std::string> flags, const std::filesystem::path& directory) {
  ConfigSources sources = Config::process_sources(directory);
  for (auto& [name, text] : flags) text = from_root(name, std::move(text), directory);
  sources.flags = std::move(flags);
  return Config::load(sources);
}

std::string color_of(const Result<Config>& config) {
  return config ? config->text("color") : "auto";
}

}  // namespace

Session::Session(std::map<std::string, std::string> flags, std::string build)
    : build_(std::move(build)),
      directory_(current_directory()),
      config_(load(std::move(flags), directory_)),
      out_(stdout, color_of(config_)),
      err_(stderr, color_of(config_)) {}

ClientOptions Session::client_options() const {
  ClientOptions options;
  options.socket = from_root("socket", config_->text("socket"), directory_);
  options.name = "kvboost";
  options.build = build_;
  return options;
}

Result<void> Session::need_directory() const {
  if (!directory_.empty()) return {};
  return fail(ErrorCode::kNotFound, "the current directory does not exist any more",
              "go to another one with cd");
}

Result<Client> Session::connect(std::stop_token stop) {
  ClientOptions options = client_options();
  options.daemon_flags = daemon_flags(*config_, directory_);
  options.on_wait = [this](std::string_view what) { err_.progress(what); };
  options.stop = std::move(stop);
  auto client = Client::connect(options);
  err_.end_progress();
  if (!client) return client;
  const auto differing = compare_options(*config_, directory_, *client);
  if (!differing) {
    flags_refused_ = differing.error().code == ErrorCode::kInvalidArgument;
    return fail(differing.error());
  }
  if (!differing->empty()) note(*differing);
  return client;
}

Result<Client> Session::connect_if_running() {
  ClientOptions options = client_options();
  options.start_daemon = false;
  return Client::connect(options);
}

Result<void> Session::check_model_flag(Client& client) const {
  return cli::check_model_flag(*config_, directory_, client);
}

ExitCode Session::not_connected(const Error& error) {
  if (flags_refused_) return failed(error, kExitUsage);
  return failed(error, error.code == ErrorCode::kModel ? kExitModel : kExitNoDaemon);
}

ExitCode Session::failed(const Error& error, ExitCode code) {
  err_.write_line(err_.paint(Style::kBad, "kvboost: ") + printable(error.message));
  for (std::string_view rest = error.remedy; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    err_.write_line("  " + printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return code;
}

void Session::note(std::string_view text) {
  err_.write_line(err_.paint(Style::kWarning, "kvboost: ") + printable(text));
}

void Session::note_warnings() {
  if (!config_) return;
  for (const std::string& warning : config_->warnings()) note(warning);
}

}  // namespace kvboost::cli
