// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/byte_level.h"

#include "engine/model/gguf.h"
#include "engine/tokenizer/compose.h"
#include "engine/tokenizer/merger.h"
#include "engine/tokenizer/utf8.h"

namespace kvboost::engine {
namespace {

constexpr TokenId kNoToken = -1;
constexpr std::string_view kRemedy = "the model file is damaged or was converted wrongly: fetch it again";

/// The printable alphabet: a byte that is a visible Latin-1 character stands for itself, the others follow
/// from U+0100.
constexpr std::array<char32_t, 256> kAlphabet = [] {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    alphabet[byte] = visible ? byte : next++;
  }
  return alphabet;
}();
constexpr char32_t kAlphabetEnd = 0x144;

/// The byte that each character of the alphabet stands for, -1 for other characters.
constexpr std::array<int, kAlphabetEnd> kBytes = [] {
  std::array<int, kAlphabetEnd> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kAlphabet[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}();

}  // namespace

ByteLevelEncoder::ByteLevelEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer,
                                   std::size_t merges)
    : vocabulary_(&vocabulary), pre_tokenizer_(std::move(pre_tokenizer)), merges_(merges) {
  byte_ids_.fill(kNoToken);
}

Result<std::unique_ptr<Encoder>> ByteLevelEncoder::read(const Gguf& gguf, const Vocabulary& vocabulary,
                                                        bool force) {
  auto pre_tokenizer = PreTokenizer::named(gguf.text("tokenizer.ggml.pre").value_or(""));
  if (!pre_tokenizer && force) pre_tokenizer = PreTokenizer::named("default");
  if (!pre_tokenizer) return fail(pre_tokenizer.error());
  const std::vector<std::string>* merges = gguf.texts("tokenizer.ggml.merges");
  if (merges == nullptr)
    return fail(ErrorCode::kModel, "the model file has no merge list (tokenizer.ggml.merges)",
                std::string(kRemedy));
  std::unique_ptr<ByteLevelEncoder> encoder(
      new ByteLevelEncoder(vocabulary, std::move(*pre_tokenizer), merges->size()));
  if (auto found = encoder->find_bytes(); !found) return fail(found.error());
  if (auto read = encoder->read_merges(*merges); !read) return fail(read.error());
  if (encoder->pre_tokenizer_.whole_words_first()) encoder->index_whole_words();
  return encoder;
}

Result<void> ByteLevelEncoder::find_bytes() {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string text;
    append_utf8(text, kAlphabet[byte]);
    const auto id = vocabulary_->find(text);
    if (id && vocabulary_->type(*id) == PieceType::kNormal) byte_ids_[byte] = *id;
    const bool plain_text = (byte >= 0x20 && byte < 0x7F) || byte == '\t' || byte == '\n';
    if (plain_text && byte_ids_[byte] == kNoToken)
      return fail(ErrorCode::kModel, "the vocabulary has no token for byte " + std::to_string(byte),
                  std::string(kRemedy));
  }
  return {};
}

Result<void> ByteLevelEncoder::read_merges(const std::vector<std::string>& merges) {
  std::string joined;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const std::size_t gap = merge.find(' ', 1);
    const std::string_view left = merge.substr(0, gap);
    const std::string_view right = gap == std::string_view::npos ? "" : merge.substr(gap + 1);
    joined.assign(left).append(right);
    const auto left_id = vocabulary_->find(left);
    const auto right_id = vocabulary_->find(right);
    const auto result = vocabulary_->find(joined);
    if (!left_id || !right_id || !result || left.empty() || right.empty())
      return fail(ErrorCode::kModel,
                  "merge " + std::to_string(rank) + " (\"" + std::string(merge) +
                      "\") names a piece that the vocabulary does not have",
                  std::string(kRemedy));
    const PieceType type = vocabulary_->type(*result);
    if (type == PieceType::kNormal || type == PieceType::kUserDefined)
      merges_.add(*left_id, *right_id, {static_cast<std::uint32_t>(rank), *result});
  }
  return {};
}

void ByteLevelEncoder::index_whole_words() {
  for (TokenId id = 0; id < vocabulary_->size(); ++id)
    if (vocabulary_->type(id) == PieceType::kNormal) whole_words_.emplace(bytes(id), id);
}

void ByteLevelEncoder::encode(std::string_view text, std::vector<TokenId>& ids) const {
  if (text.empty()) return;
  const std::string composed = pre_tokenizer_.composes() ? compose(text) : std::string();
  if (pre_tokenizer_.composes()) text = composed;
  std::string key;
  for (const std::string_view word : pre_tokenizer_.split(text)) {
    if (!whole_words_.empty()) {
      key.assign(word);
      if (const auto at = whole_words_.find(key); at != whole_words_.end()) {
        ids.push_back(at->second);
        continue;
      }
    }
    const std::size_t begin = ids.size();
    for (const char byte : word) encode_byte(static_cast<unsigned char>(byte), ids);
    merge_word(merges_, ids, begin);
  }
}

void ByteLevelEncoder::encode_byte(unsigned char byte, std::vector<TokenId>& ids) const {
  if (byte_ids_[byte] != kNoToken) ids.push_back(byte_ids_[byte]);
}

std::string ByteLevelEncoder::bytes(TokenId id) const {
  const std::string_view text = vocabulary_->text(id);
  if (vocabulary_->type(id) == PieceType::kUserDefined) return std::string(text);
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = read_character(rest);
    const bool known = character.start == Utf8Start::kCharacter && character.code_point < kAlphabetEnd &&
                       kBytes[character.code_point] >= 0;
    if (!known) return std::string(text);  // not in the alphabet: an added piece, which stands for itself
    bytes += static_cast<char>(kBytes[character.code_point]);
    rest.remove_prefix(character.length);
  }
  return bytes;
}

}  // namespace kvboost::engine
