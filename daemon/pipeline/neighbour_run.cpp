// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/neighbour_run.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "cache/key/chunk_key.h"
#include "cache/rank/fixable.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kPieces = 4;
constexpr std::size_t kPieceTokens = 250;
constexpr std::size_t kLeastFiles =
    4 * kPieces;                        // else too many of a prompt's files would be the pieces' own
constexpr std::size_t kMostTried = 16;  // files, until one has a piece that is long enough
constexpr std::int32_t kShareOfContext = 8;

/// Whole chunks from the file's middle on, about kPieceTokens of them.
std::optional<cache::Neighbour> piece_of(Repository& repository, const engine::Tokenizer& tokenizer,
                                         const std::string& path) {
  const auto text = repository.read(path);
  if (!text) return std::nullopt;
  const auto chunks = repository.chunks().encode(tokenizer, path, *text);
  std::size_t tokens = 0;
  const std::size_t first = chunks->size() / 2;
  std::size_t end = first;
  while (end < chunks->size() && tokens < kPieceTokens) tokens += (*chunks)[end++].tokens.size();
  if (tokens < kPieceTokens / 2 || tokens > 4 * kPieceTokens) return std::nullopt;
  const std::size_t begin = std::min((*chunks)[first].span.begin, text->size());
  const std::size_t length = std::min((*chunks)[end - 1].span.end, text->size()) - begin;
  return cache::Neighbour{path, text->substr(begin, length)};
}

}  // namespace

std::vector<cache::Neighbour> choose_neighbours(Repository& repository, const engine::Tokenizer& tokenizer) {
  std::vector<std::string> files = repository.files();
  std::erase_if(files, [](const std::string& path) { return !cache::is_fixable(path); });
  std::vector<cache::Neighbour> pieces;
  if (files.size() < kLeastFiles) return pieces;
  const std::size_t stretch = files.size() / kPieces;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    const std::size_t middle = piece * stretch + stretch / 2;
    const std::size_t end = std::min(middle + kMostTried, (piece + 1) * stretch);
    for (std::size_t i = middle; i < end; ++i) {
      auto found = piece_of(repository, tokenizer, files[i]);
      if (!found) continue;
      pieces.push_back(std::move(*found));
      break;
    }
  }
  return pieces;
}

NeighbourRun neighbour_run(std::span<const cache::Neighbour> neighbours, const engine::Tokenizer& tokenizer,
                           const ChatTemplate& chat, const Digest& context, std::int32_t model_context) {
  NeighbourRun run;
  for (const cache::Neighbour& neighbour : neighbours) {
    run.paths.insert(neighbour.path);
    for (const auto& tokens : {chat.file_opening(neighbour.path), tokenizer.encode(neighbour.text)})
      run.tokens.insert(run.tokens.end(), tokens.begin(), tokens.end());
  }
  const auto most = static_cast<std::size_t>(model_context / kShareOfContext);
  run.tokens.resize(std::min({run.tokens.size(), kPieces * kPieceTokens, most}));
  if (run.tokens.empty()) return {};
  auto before = chat.header();
  before.insert(before.end(), run.tokens.begin(), run.tokens.end());
  run.end = cache::KeyChain(context).next(before).prefix;
  return run;
}

}  // namespace kvboost::daemon
