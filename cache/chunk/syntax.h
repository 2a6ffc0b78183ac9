// SPDX-License-Identifier: Apache-2.0
// What tree-sitter says about the lines of a text: at which of them a list's member begins (a function of a
// file, a method of a class, a statement of a block, an element of an array), and in which members it lies.
// Plain values and a pure function, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/chunk/grammars.h"

namespace kvboost::cache {

/// A member that spans several rows (lines from 0), both inclusive.
struct SyntaxMember {
  std::int32_t first_row = 0;
  std::int32_t last_row = 0;
  std::int32_t parent = -1;  // index of the member around it, always a smaller one; -1 at the top
};

enum class RowStart {
  kInside,  // nothing of the syntax tree begins here: the middle of a statement, a string, a comment
  kPart,    // something that belongs to what stands before it: a body, a closing bracket, what a comment
            // describes
  kMember,  // a list's member, but not its first
};

struct SyntaxRow {
  RowStart start = RowStart::kInside;
  std::int32_t member = -1;  // the innermost member that a cut before this row would divide
};

/// A declaration and its name.
struct Symbol {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name;
};

struct Syntax {
  std::vector<SyntaxMember> members;
  std::vector<SyntaxRow> rows;
  std::vector<Symbol> symbols;  // outer ones before those that they hold
};

/// Fails with the reason when the parser takes more than `budget` of its thread's time, or when a grammar's
/// scanner would lose its place. `text` has at most 4 GB.
[[nodiscard]] Result<Syntax> read_syntax(const Grammar& grammar, std::string_view text,
                                         std::chrono::milliseconds budget);

}  // namespace kvboost::cache
