// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/user_pieces.h"

namespace kvboost::engine {

void UserPieces::add(std::string_view text, TokenId id) {
  if (text.empty()) return;
  starts_[static_cast<unsigned char>(text.front())] = true;
  Node node = kRoot;
  for (const char byte : text) {
    const auto [at, added] = next_.emplace(edge(node, byte), static_cast<Node>(ends_.size()));
    if (added) ends_.emplace_back();
    node = at->second;
  }
  ends_[node] = id;
}

std::optional<UserPieces::Found> UserPieces::find(std::string_view text) const {
  if (next_.empty()) return std::nullopt;
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    if (const auto found = longest_at(text, begin)) return found;
  }
  return std::nullopt;
}

std::optional<UserPieces::Found> UserPieces::longest_at(std::string_view text, std::size_t begin) const {
  std::optional<Found> longest;
  Node node = kRoot;
  for (std::size_t end = begin; end < text.size();) {
    const auto at = next_.find(edge(node, text[end]));
    if (at == next_.end()) break;
    node = at->second;
    ++end;
    if (ends_[node]) longest = Found{begin, end - begin, *ends_[node]};
  }
  return longest;
}

}  // namespace kvboost::engine
