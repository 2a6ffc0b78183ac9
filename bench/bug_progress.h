// SPDX-License-Identifier: Apache-2.0
// What a long benchmark has done so far: in a file, so that the next run goes on from there, and in a line on
// stderr, with the time that is left. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"

namespace kvboost::bench {

class BugProgress {
 public:
  /// The file's first line says with which settings it was made: kInvalidArgument if with others. An empty
  /// path keeps nothing.
  [[nodiscard]] static Result<BugProgress> open(const std::filesystem::path& file,
                                                const std::string& settings);

  /// What was kept for this name, or null.
  [[nodiscard]] const std::string* find(const std::string& name) const;
  /// `line` is one line of JSON.
  [[nodiscard]] Result<void> keep(const std::string& name, const std::string& line);

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> kept_;
};

class ProgressLine {
 public:
  explicit ProgressLine(std::size_t total) : total_(total) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void step(const std::string& what);
  /// One that took no time.
  void skip() { ++done_; }

 private:
  const std::size_t total_;
  std::size_t done_ = 0;
  std::size_t steps_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kvboost::bench
