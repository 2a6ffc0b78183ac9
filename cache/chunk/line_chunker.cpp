// SPDX-License-Identifier: Apache-2.0
// Chunks by lines and blank-line paragraphs. The text is cut into pieces (lines; a line that alone is too
// long is cut further), the pieces' tokens are counted once each, and a chunk is closed
//   at the first paragraph end where it has a quarter of max_tokens (at least min_tokens), or else,
//   when the next piece would not fit, at the best place of its second half: a paragraph end, then the least
//   indented line, then the latest.
// Closing at the first paragraph end lets the cuts behind an edit fall into step with the old ones soon. A
// chunk's tokens are the sum of its pieces'; counted as a whole they may be a few fewer.
#include <algorithm>

#include "cache/chunk/chunk.h"

namespace kvboost::cache {
namespace {

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
  std::int32_t line = 1;
  bool opens_paragraph = false;  // follows a blank line, and is none itself
  std::size_t indent = 0;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

std::size_t indent_of(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

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

// A line of more than max_tokens, as pieces of at most that (or of one character).
void cut_long_line(std::string_view text, Piece line, std::size_t max_tokens, const TokenCounter& count,
                   std::vector<Piece>& pieces) {
  const double bytes_per_token =
      static_cast<double>(line.end - line.begin) / static_cast<double>(line.tokens);
  const auto wanted =
      std::max<std::size_t>(1, static_cast<std::size_t>(0.9 * bytes_per_token * double(max_tokens)));
  Piece piece = line;
  while (piece.begin < line.end) {
    const std::string_view rest = text.substr(piece.begin, line.end - piece.begin);
    std::size_t length = std::min(rest.size(), wanted);
    while (true) {
      if (length < rest.size()) length = character_boundary(rest, word_boundary(rest, length));
      piece.tokens = count(rest.substr(0, length));
      const std::size_t shorter = length / 2;
      if (piece.tokens <= max_tokens || shorter == 0 || character_boundary(rest, shorter) >= length) break;
      length = shorter;
    }
    piece.end = piece.begin + length;
    pieces.push_back(piece);
    piece.begin = piece.end;
    piece.opens_paragraph = false;
  }
}

std::vector<Piece> cut_pieces(std::string_view text, std::size_t max_tokens, const TokenCounter& count) {
  std::vector<Piece> pieces;
  Piece piece;
  bool after_blank = true;
  while (piece.begin < text.size()) {
    const std::size_t newline = text.find('\n', piece.begin);
    piece.end = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(piece.begin, piece.end - piece.begin);
    const bool blank = is_blank(line);
    piece.opens_paragraph = after_blank && !blank;
    piece.indent = blank ? line.size() : indent_of(line);
    piece.tokens = count(line);
    after_blank = blank;
    if (piece.tokens > max_tokens) {
      cut_long_line(text, piece, max_tokens, count, pieces);
    } else {
      pieces.push_back(piece);
    }
    piece.begin = piece.end;
    ++piece.line;
  }
  return pieces;
}

// Where to close the chunk [first, last) whose next piece does not fit: the index of the next chunk's first
// piece.
std::size_t best_cut(const std::vector<Piece>& pieces, std::size_t first, std::size_t last,
                     std::size_t tokens, std::size_t min_tokens) {
  std::size_t best = last;
  std::size_t behind = tokens;
  const auto better = [&](const Piece& a, const Piece& b) {
    if (a.opens_paragraph != b.opens_paragraph) return a.opens_paragraph;
    return a.indent < b.indent;
  };
  for (std::size_t i = last; i-- > first + 1;) {
    behind -= pieces[i].tokens;
    if (behind < std::max(tokens / 2, min_tokens)) break;
    if (better(pieces[i], pieces[best])) best = i;
  }
  return best;
}

Chunk join(const std::vector<Piece>& pieces, std::size_t first, std::size_t last) {
  return {pieces[first].begin, pieces[last - 1].end, pieces[first].line, pieces[last - 1].line};
}

}  // namespace

std::vector<Chunk> chunk_lines(std::string_view text, const ChunkLimits& limits, const TokenCounter& count) {
  const std::size_t max_tokens = std::max<std::size_t>(1, limits.max_tokens);
  const std::size_t enough = std::max(limits.min_tokens, max_tokens / 4);
  const std::vector<Piece> pieces = cut_pieces(text, max_tokens, count);
  std::vector<Chunk> chunks;
  std::size_t first = 0;
  std::size_t tokens = 0;         // of pieces [first, i)
  std::size_t tokens_before = 0;  // of the last closed chunk
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    while (i > first) {
      const bool full = tokens + pieces[i].tokens > max_tokens;
      if (!full && !(tokens >= enough && pieces[i].opens_paragraph)) break;
      const std::size_t cut = full ? best_cut(pieces, first, i, tokens, limits.min_tokens) : i;
      chunks.push_back(join(pieces, first, cut));
      std::size_t kept = 0;
      for (std::size_t k = cut; k < i; ++k) kept += pieces[k].tokens;
      tokens_before = tokens - kept;
      tokens = kept;
      first = cut;
    }
    tokens += pieces[i].tokens;
  }
  if (first == pieces.size()) return chunks;
  const Chunk rest = join(pieces, first, pieces.size());
  if (!chunks.empty() && tokens < limits.min_tokens && tokens_before + tokens <= max_tokens) {
    chunks.back().end = rest.end;
    chunks.back().last_line = rest.last_line;
  } else {
    chunks.push_back(rest);
  }
  return chunks;
}

}  // namespace kvboost::cache
