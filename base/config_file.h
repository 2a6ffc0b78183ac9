// SPDX-License-Identifier: Apache-2.0
// The configuration file: TOML, one `option = value` a line, no tables. Reads it into plain text, and changes
// a single option in it without touching the rest. Pure but for the two functions that name a path; any
// thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost {

struct ConfigEntry {
  std::string name;  // as written, known or not
  std::string text;  // "5G", "true", "0.7"
  int line = 0;
};

/// Entries in the order of the file. `file` is for messages: "file:line: what is wrong".
[[nodiscard]] Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file);

/// Reads and parses a regular file of at most 1 MB.
[[nodiscard]] Result<std::vector<ConfigEntry>> read_config_file(const std::filesystem::path& file);

/// `text` with one option set, or taken out (nullopt); comments and other lines stay as they are.
[[nodiscard]] Result<std::string> edit_config(std::string_view text, std::string_view file,
                                              std::string_view name, const std::optional<std::string>& value);

/// The same to a file, atomically; it and its directory are created when absent. A symbolic link stays one.
[[nodiscard]] Result<void> edit_config_file(const std::filesystem::path& file, std::string_view name,
                                            const std::optional<std::string>& value);

}  // namespace kvboost
