// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/functions.h"

#include <algorithm>
#include <chrono>

#include "cache/chunk/symbols.h"

namespace kvboost::daemon {
namespace {

constexpr std::chrono::milliseconds kParseBudget(50);

class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos; ++at) ends_.push_back(at);
  }
  /// Of the line that holds this byte, from 1 on.
  [[nodiscard]] std::int32_t of(std::size_t byte) const {
    return static_cast<std::int32_t>(std::ranges::lower_bound(ends_, byte) - ends_.begin()) + 1;
  }

 private:
  std::vector<std::size_t> ends_;
};

/// What of a declaration is its own: what begins within it is another one's.
struct Own {
  std::string text;
  FoundFunction function;
};

std::vector<Own> own_texts(std::string_view path, std::string_view text) {
  const std::vector<cache::Symbol> symbols = cache::find_symbols(path, text, kParseBudget);
  const Lines lines(text);
  std::vector<Own> all;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const cache::Symbol& symbol = symbols[i];
    std::string own = symbol.name + '\n';
    std::size_t at = symbol.begin;
    for (std::size_t inner = i + 1; inner < symbols.size() && symbols[inner].begin < symbol.end; ++inner) {
      if (symbols[inner].begin < at) continue;  // within the one before
      own += text.substr(at, symbols[inner].begin - at);
      at = symbols[inner].end;
    }
    if (at < symbol.end) own += text.substr(at, symbol.end - at);
    all.push_back({std::move(own), {symbol.name, lines.of(symbol.begin), lines.of(symbol.end - 1)}});
  }
  return all;
}

/// The innermost one that holds the line; past the end if there is none.
std::size_t holder_of(const std::vector<Own>& all, std::int32_t line) {
  std::size_t found = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].function.first_line <= line && line <= all[i].function.last_line) found = i;
  }
  return found;
}

}  // namespace

std::vector<FoundFunction> find_functions(std::string_view path, std::string_view text,
                                          std::span<const cache::QueryPart> query, std::int32_t named_line,
                                          std::size_t limit) {
  if (limit == 0) return {};
  const std::vector<Own> all = own_texts(path, text);
  cache::Bm25Index index;
  for (std::size_t i = 0; i < all.size(); ++i) {
    index.add(static_cast<cache::DocumentId>(i), all[i].function.name, all[i].text);
  }
  std::vector<FoundFunction> found;
  const std::size_t named = named_line > 0 ? holder_of(all, named_line) : all.size();
  if (named < all.size()) found.push_back(all[named].function);
  for (const auto& [id, score] : index.query(query, limit + 1)) {
    if (found.size() < limit && id != named) found.push_back(all[id].function);
  }
  return found;
}

}  // namespace kvboost::daemon
