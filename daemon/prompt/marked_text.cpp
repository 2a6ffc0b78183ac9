// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/marked_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

namespace kvboost::daemon {
namespace {

using engine::TextPosition;
using engine::TokenId;
using engine::Tokenizer;

/// The names of a vocabulary's control tokens.
class Marks {
 public:
  explicit Marks(const Tokenizer& tokenizer) {
    for (const TokenId id : tokenizer.controls()) {
      if (tokenizer.piece(id).empty()) continue;
      const std::string_view name = tokenizer.piece(id);
      by_name_.emplace(name, id);
      begins_[static_cast<unsigned char>(name.front())] = true;
      longest_ = std::max(longest_, name.size());
    }
  }

  /// The longest one that `text` begins with, and its name's length.
  [[nodiscard]] std::optional<std::pair<TokenId, std::size_t>> at_beginning(std::string_view text) const {
    if (text.empty() || !begins_[static_cast<unsigned char>(text.front())]) return std::nullopt;
    for (std::size_t length = std::min(longest_, text.size()); length > 0; --length) {
      const auto found = by_name_.find(text.substr(0, length));
      if (found != by_name_.end()) return std::pair(found->second, length);
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, TokenId> by_name_;
  std::array<bool, 256> begins_{};
  std::size_t longest_ = 0;
};

}  // namespace

std::vector<TokenId> encode_marked(const Tokenizer& tokenizer, std::string_view text, TextPosition position) {
  const Marks marks(tokenizer);
  std::vector<TokenId> ids;
  const auto add = [&](std::string_view plain) {
    if (plain.empty()) return;
    const auto more = tokenizer.encode(plain, std::exchange(position, TextPosition::kInside));
    ids.insert(ids.end(), more.begin(), more.end());
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto mark = marks.at_beginning(text.substr(at));
    if (!mark) {
      ++at;
      continue;
    }
    add(text.substr(begin, at - begin));
    ids.push_back(mark->first);
    at += mark->second;
    begin = at;
  }
  add(text.substr(begin));
  return ids;
}

std::string_view bytes_or_mark(const Tokenizer& tokenizer, TokenId token) {
  return tokenizer.is_control(token) ? tokenizer.piece(token) : tokenizer.bytes(token);
}

}  // namespace kvboost::daemon
