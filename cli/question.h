// SPDX-License-Identifier: Apache-2.0
// The question of `ask` and the report of `locate`, wherever it comes from: the command line, standard input
// or a file. Any thread.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cli {

inline constexpr std::size_t kMaxQuestionBytes = 1 << 20;
inline constexpr std::string_view kAskExample = "kvboost ask \"where is the cache opened?\"";
inline constexpr std::string_view kLocateExample = "kvboost locate \"saving twice loses the second file\"";

/// The text with blanks around it and a byte order mark taken off. kInvalidArgument if it is empty, longer
/// than kMaxQuestionBytes or no UTF-8 text; `origin` ("the question", "notes.txt") begins the message, and
/// `example` is a command with a good one.
[[nodiscard]] Result<std::string> check_question(std::string_view text, std::string_view origin,
                                                 std::string_view example);

/// Reads all of `stream`, and checks it.
[[nodiscard]] Result<std::string> read_question(std::FILE* stream, std::string_view origin,
                                                std::string_view example);

/// A regular file, or a pipe such as /dev/stdin or a shell's <(…).
[[nodiscard]] Result<std::string> read_question_file(const std::string& file, std::string_view example);

}  // namespace kvboost::cli
