// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/buffer_window.h"

#include <algorithm>
#include <utility>

namespace kvboost::daemon {
namespace {

// Tokens. A tail that is longer is cut anew; one that stays longer, for want of a place to cut it at, is told
// by its end.
constexpr std::size_t kMostTail = 640;
constexpr std::size_t kTailGrowth = 256;
// Bytes in front of the cursor, and behind it, that are looked at.
constexpr std::size_t kMostText = 200'000;

/// Where the text to look at begins: at a line's beginning, if there is one near.
std::size_t text_begin(const EditBuffer& buffer) {
  const std::size_t line = buffer.line_begin();
  if (line <= kMostText) return 0;
  const std::size_t end = buffer.text().find('\n', line - kMostText);
  return end < line ? end + 1 : line;
}

}  // namespace

void BufferWindow::update(const EditBuffer& buffer, const engine::Tokenizer& tokenizer,
                          const Options& options) {
  const std::string& text = buffer.text();
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(text_, text).in1 - text_.begin());
  const std::size_t end = std::min(same, buffer.line_begin());
  const bool moved_up = buffer.line_begin() < begin_;
  std::size_t dropped = 0;
  while (!chunks_.empty() && chunks_.back().span.end > end) {
    chunks_.pop_back();
    ++dropped;
  }
  text_.resize(std::min(text_.size(), tail_begin()));
  std::vector<engine::TokenId> tail;
  // With all chunks gone, what was told of the file is not what stands here.
  bool fits = is_cut_ && !moved_up && !(dropped > 0 && chunks_.empty());
  if (fits) {
    tail = encode_tail(buffer, tokenizer);
    fits = tail.size() <= longest_tail_;
  }
  if (!fits) {
    cut(buffer, tokenizer, options);
    tail = encode_tail(buffer, tokenizer);
    longest_tail_ = std::max(kMostTail, tail.size() + kTailGrowth);
  }
  opening_ = tail.empty() ? std::string() : std::string(tokenizer.bytes(tail.back()));
  if (!tail.empty()) tail.pop_back();
  const std::size_t most = std::min(kMostTail, options.budget);
  if (tail.size() > most) tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(most));
  tail_ = std::move(tail);
}

std::size_t BufferWindow::size() const {
  std::size_t tokens = tail_.size();
  for (const EncodedChunk& chunk : chunks_) tokens += chunk.tokens.size();
  return tokens;
}

std::vector<engine::TokenId> BufferWindow::encode_tail(const EditBuffer& buffer,
                                                       const engine::Tokenizer& tokenizer) const {
  return tokenizer.encode(buffer.before().substr(std::min(tail_begin(), buffer.offset())));
}

void BufferWindow::cut(const EditBuffer& buffer, const engine::Tokenizer& tokenizer, const Options& options) {
  begin_ = text_begin(buffer);
  is_cut_ = true;
  const std::size_t end = std::min(buffer.text().size(), buffer.line_begin() + kMostText);
  EncodedFile file =
      cut_and_encode(tokenizer, options.path, std::string_view(buffer.text()).substr(begin_, end - begin_),
                     options.chunking);
  const auto first_line = static_cast<std::int32_t>(
      std::count(buffer.text().begin(), buffer.text().begin() + static_cast<std::ptrdiff_t>(begin_), '\n'));
  std::size_t budget = options.budget > kMostTail ? options.budget - kMostTail : 0;
  chunks_.clear();
  bool gap = false;
  for (auto chunk = file.rbegin(); chunk != file.rend(); ++chunk) {
    chunk->span.begin += begin_;
    chunk->span.end += begin_;
    chunk->span.first_line += first_line;
    chunk->span.last_line += first_line;
    if (chunk->span.end > buffer.line_begin()) continue;
    // Behind a gap only the file's first chunk is told: it has the imports.
    gap = gap || chunk->tokens.size() > budget;
    const bool is_first = chunk + 1 == file.rend() && begin_ == 0 && chunk->tokens.size() <= kMostTail;
    if (gap && !is_first) continue;
    budget -= std::min(budget, chunk->tokens.size());
    chunks_.push_back(std::move(*chunk));
  }
  std::ranges::reverse(chunks_);
  text_ = buffer.text().substr(0, tail_begin());
}

}  // namespace kvboost::daemon
