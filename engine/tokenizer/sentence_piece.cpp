// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/sentence_piece.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/model/gguf.h"
#include "engine/tokenizer/merger.h"
#include "engine/tokenizer/utf8.h"

namespace kvboost::engine {
namespace {

constexpr TokenId kNoToken = -1;
constexpr std::string_view kSpace = "\u2581";
constexpr std::string_view kRemedy = "the model file is damaged or was converted wrongly: fetch it again";

/// The byte that "<0x0A>" names.
std::optional<unsigned char> named_byte(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  const char* end = text.data() + 5;
  const auto [stopped, error] = std::from_chars(text.data() + 3, end, value, 16);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return static_cast<unsigned char>(value);
}

/// For each piece its place in the order of merging: the higher its score, the lower; equal scores share one.
std::vector<std::uint32_t> ranks_of(const std::vector<double>& scores) {
  std::vector<double> order = scores;
  std::ranges::sort(order, std::greater{});
  const auto gone = std::ranges::unique(order);
  order.erase(gone.begin(), gone.end());
  std::vector<std::uint32_t> ranks(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto at = std::ranges::lower_bound(order, scores[i], std::greater{});
    ranks[i] = static_cast<std::uint32_t>(at - order.begin());
  }
  return ranks;
}

}  // namespace

Result<std::unique_ptr<Encoder>> SentencePieceEncoder::read(const Gguf& gguf, const Vocabulary& vocabulary) {
  std::unique_ptr<SentencePieceEncoder> encoder(new SentencePieceEncoder(vocabulary));
  if (auto found = encoder->find_characters(); !found) return fail(found.error());
  if (auto read = encoder->read_merges(gguf); !read) return fail(read.error());
  encoder->find_inner_spaces();
  encoder->adds_space_ = gguf.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  return encoder;
}

bool SentencePieceEncoder::is_piece(TokenId id) const {
  const PieceType type = vocabulary_->type(id);
  return type == PieceType::kNormal || type == PieceType::kUserDefined;
}

TokenId SentencePieceEncoder::character_id(std::string_view character) const {
  const auto id = vocabulary_->find(character);
  return id && is_piece(*id) ? *id : kNoToken;
}

Result<void> SentencePieceEncoder::find_characters() {
  byte_ids_.fill(kNoToken);
  for (TokenId id = 0; id < vocabulary_->size(); ++id)
    if (vocabulary_->type(id) == PieceType::kByte)
      if (const auto byte = named_byte(vocabulary_->text(id))) byte_ids_[*byte] = id;
  for (std::size_t code = 0; code < ascii_ids_.size(); ++code) {
    const char character = static_cast<char>(code);
    ascii_ids_[code] = character_id(character == ' ' ? kSpace : std::string_view(&character, 1));
    const bool plain_text = (code >= 0x20 && code < 0x7F) || code == '\t' || code == '\n';
    if (plain_text && ascii_ids_[code] == kNoToken && byte_ids_[code] == kNoToken)
      return fail(ErrorCode::kModel, "the vocabulary has no token for byte " + std::to_string(code),
                  std::string(kRemedy));
  }
  return {};
}

Result<void> SentencePieceEncoder::read_merges(const Gguf& gguf) {
  const std::vector<double>* scores = gguf.numbers("tokenizer.ggml.scores");
  if (scores == nullptr || scores->size() != static_cast<std::size_t>(vocabulary_->size()))
    return fail(ErrorCode::kModel, "the vocabulary has not one score a piece (tokenizer.ggml.scores)",
                std::string(kRemedy));
  if (std::ranges::any_of(*scores, [](double score) { return std::isnan(score); }))
    return fail(ErrorCode::kModel, "the vocabulary has a score that is no number (tokenizer.ggml.scores)",
                std::string(kRemedy));
  struct Pair {
    TokenId left;
    TokenId right;
    Merge merge;
  };
  std::vector<Pair> pairs;
  const std::vector<std::uint32_t> ranks = ranks_of(*scores);
  for (TokenId id = 0; id < vocabulary_->size(); ++id) {
    const std::string_view text = vocabulary_->text(id);
    if (!is_piece(id) || well_formed_prefix(text) != text.size()) continue;
    for (std::size_t cut = 0; cut < text.size();) {
      cut += first_character(text.substr(cut));
      const TokenId left = character_id(text.substr(0, cut));
      const TokenId right = left == kNoToken ? kNoToken : character_id(text.substr(cut));
      if (right != kNoToken) pairs.push_back({left, right, {ranks[static_cast<std::size_t>(id)], id}});
    }
  }
  merges_ = MergeTable(pairs.size());
  for (const Pair& pair : pairs) merges_.add(pair.left, pair.right, pair.merge);
  return {};
}

void SentencePieceEncoder::find_inner_spaces() {
  for (TokenId id = 0; id < vocabulary_->size(); ++id) {
    const std::string_view text = vocabulary_->text(id);
    if (!is_piece(id) || well_formed_prefix(text) != text.size()) continue;
    std::string_view before;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view character = rest.substr(0, first_character(rest));
      if (character == kSpace && !before.empty() && before != kSpace)
        before_spaces_.push_back(read_character(before).code_point);
      before = character;
      rest.remove_prefix(character.size());
    }
  }
  std::ranges::sort(before_spaces_);
}

/// Whether no merge goes from `character` to a space that follows it: usually there is none but from another
/// space.
bool SentencePieceEncoder::ends_word(std::string_view character) const {
  return character != " " &&
         !std::ranges::binary_search(before_spaces_, read_character(character).code_point);
}

void SentencePieceEncoder::encode(std::string_view text, std::vector<TokenId>& ids) const {
  std::size_t word = ids.size();
  const auto end_word = [&] {
    merge_word(merges_, ids, word);
    word = ids.size();
  };
  std::string_view before = " ";
  while (!text.empty()) {
    const std::string_view character = text.substr(0, first_character(text));
    if (character == " " && ends_word(before)) end_word();
    const TokenId id = character.size() == 1 ? ascii_ids_[static_cast<unsigned char>(character.front())]
                                             : character_id(character);
    if (id != kNoToken) {
      ids.push_back(id);
    } else {
      end_word();
      for (const char byte : character) encode_byte(static_cast<unsigned char>(byte), ids);
      word = ids.size();
    }
    before = character;
    text.remove_prefix(character.size());
  }
  end_word();
}

void SentencePieceEncoder::encode_byte(unsigned char byte, std::vector<TokenId>& ids) const {
  if (byte_ids_[byte] != kNoToken) ids.push_back(byte_ids_[byte]);
}

std::string SentencePieceEncoder::bytes(TokenId id) const {
  const std::string_view text = vocabulary_->text(id);
  if (vocabulary_->type(id) == PieceType::kByte)
    if (const auto byte = named_byte(text)) return {static_cast<char>(*byte)};
  std::string bytes(text);
  for (std::size_t at = 0; (at = bytes.find(kSpace, at)) != std::string::npos; ++at)
    bytes.replace(at, kSpace.size(), " ");
  return bytes;
}

}  // namespace kvboost::engine
