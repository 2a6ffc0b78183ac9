// SPDX-License-Identifier: Apache-2.0
// What is said about a command line that is wrong: which word, in which command, and what was probably meant.
// One thread.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace kvboost::cli {

/// The command that the words led to, as deep as they did.
[[nodiscard]] const CLI::App& innermost(const CLI::App& app);
/// "kvboost daemon logs".
[[nodiscard]] std::string path_of(const CLI::App& app);

/// Writes it to stderr; gives the exit code.
[[nodiscard]] int say_mistake(const CLI::App& root, const CLI::ParseError& error);

}  // namespace kvboost::cli
