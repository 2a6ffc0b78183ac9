// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/pieces.h"

#include <algorithm>

namespace kvboost::cache {
namespace {

// Longer runs of bytes are cut before they are counted: no tokenizer has to stand a megabyte without a space.
constexpr std::size_t kMaxBytes = 1024;
constexpr std::string_view kSpace = " \t\r\f\v\n";

// The largest character boundary of UTF-8 at or before `at`, but behind the first character. In bytes that
// are not UTF-8 a cut may fall anywhere.
std::size_t character_boundary(std::string_view text, std::size_t at) {
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t cut = at;
  while (cut > 0 && at - cut < 4 && continues(cut)) --cut;
  if (cut > 0 && !continues(cut)) return cut;
  cut = std::max<std::size_t>(at, 1);
  while (cut < text.size() && cut < at + 4 && continues(cut)) ++cut;
  return cut;
}

// A place between words shortly before `at`, so that a long line is not cut inside of a word.
std::size_t word_boundary(std::string_view text, std::size_t at) {
  const std::size_t nearest = at - std::min<std::size_t>(at / 4, 64);
  const std::size_t space = text.substr(0, at).find_last_of(" \t,;(){}[]");
  return space != std::string_view::npos && space >= nearest && space > 0 ? space : at;
}

class Cutter {
 public:
  Cutter(std::string_view text, std::size_t max_tokens, const TokenCounter& count)
      : text_(text), max_tokens_(max_tokens), count_(count) {}

  std::vector<Piece> cut() {
    Piece piece;
    while (piece.begin < text_.size()) {
      const std::size_t visible = first_visible(piece.begin);
      const std::size_t line_end = std::min(text_.find('\n', visible), text_.size());
      const std::size_t next_visible = first_visible(line_end);
      // The piece ends where the next line begins that is not blank.
      piece.end = next_visible == text_.size() ? text_.size() : text_.rfind('\n', next_visible) + 1;
      piece.indent = visible - std::min(visible, line_start(visible));
      add(piece, content_end(line_end));
      piece.row += static_cast<std::int32_t>(
          std::ranges::count(text_.substr(piece.begin, piece.end - piece.begin), '\n'));
      piece.after_blank = std::ranges::count(text_.substr(line_end, piece.end - line_end), '\n') > 1;
      piece.begin = piece.end;
    }
    return std::move(pieces_);
  }

 private:
  std::size_t first_visible(std::size_t from) const {
    return std::min(text_.find_first_not_of(kSpace, from), text_.size());
  }

  std::size_t line_start(std::size_t at) const {
    const std::size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    return newline == std::string_view::npos ? 0 : newline + 1;
  }

  // Behind the last character of the line that shows; the text's own end for its last line.
  std::size_t content_end(std::size_t line_end) const {
    if (first_visible(line_end) == text_.size()) return text_.size();
    return text_.find_last_not_of(kSpace, line_end - 1) + 1;
  }

  // `piece` as one or several, counted up to `content`, its last byte that shows.
  void add(const Piece& piece, std::size_t content) {
    if (content - counted_ <= kMaxBytes) {
      const std::size_t tokens = count_(text_.substr(counted_, content - counted_));
      if (tokens <= max_tokens_) {
        pieces_.push_back(piece);
        pieces_.back().tokens = tokens;
        counted_ = content;
        return;
      }
    }
    cut_long(piece);
    counted_ = piece.end;
  }

  void cut_long(Piece piece) {
    const std::size_t end = piece.end;
    std::size_t wanted = kMaxBytes;
    while (piece.begin < end) {
      const std::string_view rest = text_.substr(piece.begin, end - piece.begin);
      std::size_t length = std::min(rest.size(), wanted);
      while (true) {
        if (length < rest.size()) length = character_boundary(rest, word_boundary(rest, length));
        piece.tokens = count_(rest.substr(0, length));
        const std::size_t shorter = length / 2;
        if (piece.tokens <= max_tokens_ || shorter == 0 || character_boundary(rest, shorter) >= length) break;
        length = shorter;
      }
      wanted = std::min(kMaxBytes, 2 * length);
      piece.end = piece.begin + length;
      pieces_.push_back(piece);
      piece.row += static_cast<std::int32_t>(std::ranges::count(rest.substr(0, length), '\n'));
      piece.begin = piece.end;
      piece.starts_line = text_[piece.begin - 1] == '\n';
      piece.after_blank = false;
    }
  }

  std::string_view text_;
  std::size_t max_tokens_;
  const TokenCounter& count_;
  std::vector<Piece> pieces_;
  std::size_t counted_ = 0;  // up to where tokens have been counted
};

}  // namespace

std::vector<Piece> cut_pieces(std::string_view text, std::size_t max_tokens, const TokenCounter& count) {
  return Cutter(text, max_tokens, count).cut();
}

}  // namespace kvboost::cache
