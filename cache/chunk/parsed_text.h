// SPDX-License-Identifier: Apache-2.0
// ParsedText: a text's syntax tree, parsed within bounds of time and of nesting. For the .cpp files of this
// folder, which know tree-sitter. One thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "cache/chunk/grammars.h"

struct TSTree;

namespace kvboost::cache {

class ParsedText {
 public:
  /// Fails with the reason when the parser takes more than `budget` of its thread's time, or when a grammar's
  /// scanner would lose its place. `text` has at most 4 GB.
  [[nodiscard]] static Result<ParsedText> parse(const Grammar& grammar, std::string_view text,
                                                std::chrono::milliseconds budget);
  ParsedText(ParsedText&&) noexcept;
  ParsedText& operator=(ParsedText&&) noexcept;
  ~ParsedText();

  /// Borrowed.
  [[nodiscard]] const TSTree* tree() const;

 private:
  struct Impl;
  explicit ParsedText(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::cache
