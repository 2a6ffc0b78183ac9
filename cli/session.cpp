// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/duration.h"

namespace kvboost::cli {
namespace {

std::filesystem::path current_directory() {
  std::error_code error;
  return std::filesystem::current_path(error);  // empty if it was removed under us
}

/// A file that is named from here on: the daemon stands elsewhere. Anything that is no such file stays as it
/// is.
std::string from_root(std::string_view option, std::string text, const std::filesystem::path& directory) {
  if (text.empty() || (option != "model" && option != "socket")) return text;
  std::error_code error;
  const auto path = (directory / text).lexically_normal();
  const bool meant = option == "socket" || std::filesystem::is_regular_file(path, error);
  return meant ? path.string() : text;
}

Result<Config> load(std::map<std::string, std::string> flags, const std::filesystem::path& directory) {
  ConfigSources sources = Config::process_sources(directory);
  for (auto& [name, text] : flags) text = from_root(name, std::move(text), directory);
  sources.flags = std::move(flags);
  return Config::load(sources);
}

/// Whether two texts say the same: "2G" and "2048M" do.
bool same_value(const Option& option, const std::string& a, const std::string& b) {
  if (a == b) return true;
  switch (option.kind) {
    case OptionKind::kSize:
      return parse_size(a).value_or(0) == parse_size(b).value_or(1);
    case OptionKind::kDuration:
      return parse_duration(a).value_or(0) == parse_duration(b).value_or(1);
    case OptionKind::kFlag:
      return parse_flag(a).has_value() && parse_flag(a) == parse_flag(b);
    default:
      return false;
  }
}

/// What a daemon that we start must be told: it reads files and variables itself, but not our command line,
/// and it does not stand where a relative name was meant.
std::vector<std::string> daemon_flags(const Config& config, const std::filesystem::path& directory) {
  std::vector<std::string> flags;
  for (const Option& option : option_table()) {
    const Config::Value& value = config.value(option.name);
    const std::string text = from_root(option.name, value.text, directory);
    const bool told =
        value.origin == Origin::kFlag || (value.origin == Origin::kEnvironment && text != value.text);
    if (option.scope == Scope::kDaemon && told) flags.push_back(flag_name(option) + "=" + text);
  }
  return flags;
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
  if (client) note_other_options(client->server());
  return client;
}

Result<Client> Session::connect_if_running() {
  ClientOptions options = client_options();
  options.start_daemon = false;
  return Client::connect(options);
}

void Session::note_other_options(const protocol::InitializeResult& daemon) {
  std::string differing;
  for (const auto& [name, theirs] : daemon.options) {
    const Option* option = find_option(name);
    if (option == nullptr || option->scope != Scope::kDaemon || name == "socket") continue;
    // `model use` writes the file and changes a running daemon at once: a file that differs is no
    // contradiction.
    if (name == "model" && config_->value(name).origin <= Origin::kUserFile) continue;
    const std::string ours = from_root(name, config_->text(name), directory_);
    if (same_value(*option, ours, theirs)) continue;
    differing += (differing.empty() ? "" : ", ") + name + "=" + (theirs.empty() ? "(empty)" : theirs) +
                 " instead of " + (ours.empty() ? "(empty)" : ours);
  }
  if (!differing.empty())
    note("the daemon runs with " + differing + "; `kvboost daemon restart` changes that");
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
