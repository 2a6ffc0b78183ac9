// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_options.h"

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "daemon/protocol/usable_model.h"

namespace kvboost::cli {
namespace {

/// Whether two texts say the same: "2G" and "2000M" do.
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

/// As a shell takes it for one word, with no more quotes than are wanted.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:+,%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return shell_word(word);
}

/// As one writes it on a command line.
std::string flag_text(const Option& option, const std::string& value) {
  if (option.kind == OptionKind::kFlag) {
    return flag_name(option) + (parse_flag(value).value_or(true) ? "" : "=no");
  }
  return flag_name(option) + " " + quoted(value);
}

std::string named(const std::string& value) {
  return value.empty() ? "(empty)" : value;
}

struct Difference {
  const Option* option;
  std::string text;  // "context=0, not 10"
  const Config::Value* ours;
};

/// What `model` (a name, a file, or empty: the one in use) stands for. kModel if it cannot be used.
Result<protocol::ModelEntry> usable_model(Client& client, const std::string& model) {
  auto info = client.call<protocol::ModelInfoResult>("model/info", protocol::ModelInfoParams{model});
  if (!info) return fail(info.error());
  if (auto usable = protocol::check_usable(info->entry); !usable) return fail(usable.error());
  return std::move(info->entry);
}

class Comparison {
 public:
  Comparison(const Config& config, const std::filesystem::path& directory, Client& client)
      : config_(config), directory_(directory), client_(client) {}

  Result<std::string> run() {
    if (auto model = compare_model(); !model) return fail(model.error());
    for (const auto& [name, theirs] : client_.server().options) {
      const Option* option = find_option(name);
      if (option == nullptr || option->scope != Scope::kDaemon || name == "socket" || name == "model")
        continue;
      const Config::Value& ours = config_.value(name);
      if (same_value(*option, ours.text, theirs)) continue;
      differing_.push_back({option, name + "=" + named(theirs) + ", not " + named(ours.text), &ours});
    }
    if (auto good = refuse_flags(); !good) return fail(good.error());
    return note();
  }

 private:
  /// The model may be another one than at the daemon's start (`model use`), and one file has many names: the
  /// daemon tells. A choice in the file is no contradiction: `model use` writes it, and changes a running
  /// daemon at once.
  Result<void> compare_model() {
    const Config::Value& ours = config_.value("model");
    if (ours.origin < Origin::kEnvironment) return {};
    const std::string text = from_root("model", ours.text, directory_);
    const auto& started_with = client_.server().options;
    const auto theirs = started_with.find("model");
    const bool same_text = theirs != started_with.end() && theirs->second == text;
    if (ours.origin == Origin::kEnvironment && same_text)
      return {};  // of each command: it should cost nothing
    const auto wanted = usable_model(client_, text);
    if (!wanted && ours.origin == Origin::kFlag) return fail(wanted.error());
    if (wanted && wanted->in_use) return {};
    const auto used = usable_model(client_, "");
    differing_.push_back(
        {find_option("model"), "the model " + (used ? used->name : "(none)") + ", not " + ours.text, &ours});
    return {};
  }

  [[nodiscard]] Result<void> refuse_flags() const {
    std::string what, flags, remedy;
    for (const Difference& difference : differing_) {
      if (difference.ours->origin != Origin::kFlag) continue;
      what += (what.empty() ? "" : "; ") + difference.text;
      flags += " " + flag_text(*difference.option, difference.ours->text);
      if (difference.option->name == "model")
        remedy = "`kvboost model use " + quoted(difference.ours->text) + "` changes the model for good\n";
    }
    if (what.empty()) return {};
    return fail(
        ErrorCode::kInvalidArgument, "the daemon runs already, with " + what,
        remedy + "`kvboost daemon restart" + flags + "` starts it anew with what this command asks for");
  }

  [[nodiscard]] std::string note() const {
    std::string what;
    for (const Difference& difference : differing_) {
      what += (what.empty() ? "" : "; ") + difference.text + " " +
              (difference.ours->where.empty() ? "by default" : "as " + difference.ours->where + " says");
    }
    if (what.empty()) return {};
    return "the daemon runs with " + what + " (`kvboost daemon restart` changes that)";
  }

  const Config& config_;
  const std::filesystem::path& directory_;
  Client& client_;
  std::vector<Difference> differing_;
};

}  // namespace

std::string from_root(std::string_view option, std::string text, const std::filesystem::path& directory) {
  if (text.empty() || (option != "model" && option != "socket")) return text;
  std::error_code error;
  const auto path = (directory / text).lexically_normal();
  const bool meant = option == "socket" || std::filesystem::is_regular_file(path, error);
  return meant ? path.string() : text;
}

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

Result<std::string> compare_options(const Config& config, const std::filesystem::path& directory,
                                    Client& client) {
  return Comparison(config, directory, client).run();
}

Result<void> check_model_flag(const Config& config, const std::filesystem::path& directory, Client& client) {
  const Config::Value& model = config.value("model");
  if (model.origin != Origin::kFlag) return {};
  if (const auto usable = usable_model(client, from_root("model", model.text, directory)); !usable)
    return fail(usable.error());
  return {};
}

}  // namespace kvboost::cli
