// SPDX-License-Identifier: Apache-2.0
// StopStrings: watches text as it streams and ends it before the first stop string, even one that arrives in
// pieces: what could still become one is held back. Belongs to one generation, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvboost::engine {

class StopStrings {
 public:
  /// Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> strings);

  struct Step {
    std::string text;      // safe to show
    bool stopped = false;  // a stop string was found; `text` ends before it
  };
  /// Not to be called again after `stopped`.
  [[nodiscard]] Step push(std::string_view text);
  /// What was held back, when the text ends otherwise.
  [[nodiscard]] std::string flush();

 private:
  std::vector<std::string> strings_;
  std::string held_;
};

}  // namespace kvboost::engine
