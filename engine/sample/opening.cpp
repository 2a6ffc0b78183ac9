// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/opening.h"

#include <algorithm>
#include <limits>

namespace kvboost::engine {

std::optional<std::span<const float>> Opening::fitting(std::span<const float> logits) {
  if (left_.empty()) return logits;
  fitting_.assign(logits.size(), -std::numeric_limits<float>::infinity());
  bool any = false;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const std::string_view bytes = tokenizer_.bytes(static_cast<TokenId>(id));
    if (bytes.empty() || !(bytes.starts_with(left_) || left_.starts_with(bytes))) continue;
    fitting_[id] = logits[id];
    any = true;
  }
  return any ? std::optional<std::span<const float>>(fitting_) : std::nullopt;
}

std::string_view Opening::rest_of(TokenId token) {
  std::string_view bytes = tokenizer_.bytes(token);
  const std::size_t taken = std::min(bytes.size(), left_.size());
  left_.erase(0, taken);
  return bytes.substr(taken);
}

}  // namespace kvboost::engine
