// SPDX-License-Identifier: Apache-2.0
// ScratchTree: a temporary folder for one test, with files and, if wanted, a real git repository made by the
// git command. Gone when the object goes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvboost::test {

class ScratchTree {
 public:
  ScratchTree();
  ~ScratchTree();
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view path) const { return root_ / path; }

  /// Writes a file, its folders too.
  void write(std::string_view path, std::string_view content) const;
  /// Runs git in the root (or `folder` beneath it) with no configuration but its own, and returns what it
  /// printed. A git that fails is a failed test.
  std::string git(const std::vector<std::string>& arguments, std::string_view folder = ".") const;
  /// git add --all, git commit.
  void commit(std::string_view message = "change") const;

 private:
  std::filesystem::path root_;
};

}  // namespace kvboost::test
