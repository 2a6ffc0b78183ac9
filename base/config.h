// SPDX-License-Identifier: Apache-2.0
// The one option table. Flags, KVBOOST_* variables, the configuration files and `kvboost config` all derive
// from it. A Config is a plain value, read once at start; any thread may read it.
//
// Precedence: flag > environment (KVBOOST_MAX_DISK) > repository file (<work tree>/.kvboost.toml) > user file
// ($XDG_CONFIG_HOME/kvboost/kvboost.toml) > default. A repository's own file comes with other people's code:
// it may set only options of Trust::kRepository; anything else in it, and a broken one, is left out with a
// warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost {

enum class Trust {
  kUser,        // the user alone: paths, limits, sockets, the model
  kRepository,  // a repository's file too: taste, not power
};

/// Whom an option concerns: a value for the daemon reaches it when it starts, the others with each request.
enum class Scope { kDaemon, kRequest, kClient };

enum class OptionKind { kText, kInteger, kNumber, kSize, kFlag, kChoice, kPath, kDuration };

/// One row of the table.
struct Option {
  std::string_view name;  // snake_case; --max-disk, KVBOOST_MAX_DISK and max_disk derive from it
  OptionKind kind;
  std::string_view default_value;
  std::string_view allowed;  // kChoice: "auto|bf16|f32"; kInteger, kNumber: "0..1", either end may be
                             // missing; kSize: "4M..", or "0|1M.."
  Trust trust;
  Scope scope;
  std::string_view help;  // one sentence, imperative or noun phrase, no full stop
};

/// The whole table, in the order in which help and `kvboost config` show it.
[[nodiscard]] std::span<const Option> option_table();
/// nullptr for a name that is not in the table.
[[nodiscard]] const Option* find_option(std::string_view name);
/// The error for a name that is not in the table, with the one that was probably meant.
[[nodiscard]] Error unknown_option(std::string_view name);
/// "--max-disk", "KVBOOST_MAX_DISK".
[[nodiscard]] std::string flag_name(const Option& option);
[[nodiscard]] std::string variable_name(const Option& option);
/// true, yes, 1; false, no, 0.
[[nodiscard]] std::optional<bool> parse_flag(std::string_view text);
/// The warning about a KVBOOST_* variable behind which there is no option; empty for one that the build or
/// the tests read.
[[nodiscard]] std::string stray_variable(std::string_view name);
/// kInvalidArgument, saying what the option takes, if `text` is no value for it.
[[nodiscard]] Result<void> check_value(const Option& option, std::string_view text);

enum class Origin { kDefault, kUserFile, kRepositoryFile, kEnvironment, kFlag };
[[nodiscard]] std::string_view to_string(Origin origin);

/// Where to read from; tests hand in their own environment.
struct ConfigSources {
  std::map<std::string, std::string> flags;  // option name → text
  std::function<std::optional<std::string>(std::string_view variable)> environment;
  std::vector<std::string> variables;  // names of those that begin as ours do, to find mistyped ones
  std::optional<std::filesystem::path> user_file;
  std::optional<std::filesystem::path> repository_file;
};

class Config {
 public:
  struct Value {
    std::string text;
    Origin origin = Origin::kDefault;
    std::string where;  // "file:line", variable or flag; empty for a default
  };

  /// Fails (kInvalidArgument) on an unknown option, a value that its kind refuses, or an unreadable file; the
  /// message names option, value and where it stood.
  [[nodiscard]] static Result<Config> load(const ConfigSources& sources);
  /// The sources of this process: its environment and the XDG user file. With a directory, the file of the
  /// repository in which it lies too.
  [[nodiscard]] static ConfigSources process_sources(const std::filesystem::path& directory = {});

  /// `name` must be in the table (checked: an unknown name is a defect and aborts).
  [[nodiscard]] const Value& value(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const { return value(name).text; }
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  [[nodiscard]] double seconds(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Result<void> read_user_file(const ConfigSources& sources);
  void read_repository_file(const ConfigSources& sources);

  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> warnings_;
};

}  // namespace kvboost
