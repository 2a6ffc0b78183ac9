// SPDX-License-Identifier: Apache-2.0
// What a question gives to choose files by. Plain values and pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvboost::daemon {

struct Question {
  std::string query;               // its words without those that say nothing about a repository
  std::vector<std::string> names;  // what looks like a file's name: "cli/main.cpp", "main.cpp", "Makefile"
  bool overview = false;           // about the whole ("what is this project?", "how do I build it?")
};

[[nodiscard]] Question read_question(std::string_view text);

}  // namespace kvboost::daemon
