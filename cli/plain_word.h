// SPDX-License-Identifier: Apache-2.0
// Words behind "--" are no options, whatever they look like. CLI11 takes "--" for the end of a command that
// has all the words it must have, so it gets these words marked, and never sees the "--".
#pragma once

#include <string>

namespace kvboost::cli {

constexpr char kPlainWordMark = '\x01';

[[nodiscard]] inline std::string mark_plain_word(const std::string& word) {
  return kPlainWordMark + word;
}

/// The word as the user wrote it.
[[nodiscard]] inline std::string plain_word(const std::string& word) {
  return word.starts_with(kPlainWordMark) ? word.substr(1) : word;
}

}  // namespace kvboost::cli
