// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/symbols.h"

#include <utility>

#include "cache/chunk/grammars.h"
#include "cache/chunk/parse_guard.h"

namespace kvboost::cache {

std::vector<Symbol> find_symbols(std::string_view path, std::string_view text,
                                 std::chrono::milliseconds budget) {
  const Grammar* grammar = find_grammar(path, text);
  if (grammar == nullptr || text.empty() || !why_not_parse(text).empty()) return {};
  auto syntax = read_syntax(*grammar, text, budget);
  return syntax ? std::move(syntax->symbols) : std::vector<Symbol>();
}

}  // namespace kvboost::cache
