// SPDX-License-Identifier: Apache-2.0
// Which tree-sitter grammar a file is read with: by its name, its extension, or its #! line. Constant tables,
// any thread. The grammars themselves are fetched and built by grammars/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

struct TSLanguage;

namespace kvboost::cache {

struct Grammar {
  std::string_view name;  // "C++", "TypeScript", as people write it
  const TSLanguage* (*language)();
  std::string_view extensions;  // lists of words
  std::string_view names;
  std::string_view interpreters;
};

[[nodiscard]] std::span<const Grammar> all_grammars();

/// Null when there is none. `text` is asked only where the path says nothing.
[[nodiscard]] const Grammar* find_grammar(std::string_view path, std::string_view text);

}  // namespace kvboost::cache
