// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer.h"
#include "engine/tokenizer/utf8.h"

namespace kvboost::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string whole;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const std::size_t length = well_formed_prefix(rest);
    whole += rest.substr(0, length);
    rest.remove_prefix(length);
    if (rest.empty() || read_character(rest).start == Utf8Start::kUnfinished) break;
    whole += kReplacement;
    rest.remove_prefix(1);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return whole;
}

std::string Utf8Stream::flush() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacement) : std::string();
}

}  // namespace kvboost::engine
