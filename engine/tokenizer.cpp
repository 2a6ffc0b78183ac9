// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer.h"

#include "engine/model/gguf.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/sentence_piece.h"
#include "engine/tokenizer/user_pieces.h"
#include "engine/tokenizer/utf8.h"
#include "engine/tokenizer/vocabulary.h"

namespace kvboost::engine {

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  std::unique_ptr<Encoder> encoder;  // borrows the vocabulary
  UserPieces user_pieces;
  std::vector<std::string> bytes;  // by id
  bool adds_bos = false;
  std::string chat_template;

  explicit Impl(Vocabulary pieces) : vocabulary(std::move(pieces)) {}
  void index_pieces();
  void encode_well_formed(std::string_view text, std::vector<TokenId>& ids) const;
};

void Tokenizer::Impl::index_pieces() {
  bytes.resize(static_cast<std::size_t>(vocabulary.size()));
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const PieceType type = vocabulary.type(id);
    if (type == PieceType::kControl || type == PieceType::kUnknown) continue;
    std::string& text = bytes[static_cast<std::size_t>(id)];
    text = encoder->bytes(id);
    if (type == PieceType::kUserDefined && well_formed_prefix(text) == text.size()) user_pieces.add(text, id);
  }
}

void Tokenizer::Impl::encode_well_formed(std::string_view text, std::vector<TokenId>& ids) const {
  while (const auto piece = user_pieces.find(text)) {
    encoder->encode(text.substr(0, piece->begin), ids);
    ids.push_back(piece->id);
    text.remove_prefix(piece->begin + piece->length);
  }
  encoder->encode(text, ids);
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::from_gguf(const Gguf& gguf, bool force) {
  const std::string_view model = gguf.text("tokenizer.ggml.model").value_or("");
  if (model != "gpt2" && model != "llama")
    return fail(ErrorCode::kModel,
                model.empty() ? "the model file has no tokenizer (tokenizer.ggml.model)"
                              : "unknown tokenizer \"" + std::string(model) + "\" (tokenizer.ggml.model)",
                "known are gpt2 and llama");
  auto vocabulary = Vocabulary::read(gguf);
  if (!vocabulary) return fail(vocabulary.error());
  auto impl = std::make_unique<Impl>(std::move(*vocabulary));
  auto encoder = model == "gpt2" ? ByteLevelEncoder::read(gguf, impl->vocabulary, force)
                                 : SentencePieceEncoder::read(gguf, impl->vocabulary);
  if (!encoder) return fail(encoder.error());
  impl->encoder = std::move(*encoder);
  impl->index_pieces();
  impl->adds_bos = gguf.boolean("tokenizer.ggml.add_bos_token").value_or(impl->encoder->adds_bos()) &&
                   impl->vocabulary.bos().has_value();
  impl->chat_template = gguf.text("tokenizer.chat_template").value_or("");
  return Tokenizer(std::move(impl));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, TextPosition position) const {
  std::string spaced;
  if (position == TextPosition::kStart && impl_->encoder->adds_space() && !text.empty())
    text = spaced.append(" ").append(text);
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3);
  while (!text.empty()) {
    const std::size_t length = well_formed_prefix(text);
    if (length > 0) impl_->encode_well_formed(text.substr(0, length), ids);
    text.remove_prefix(length);
    if (text.empty()) break;
    impl_->encoder->encode_byte(static_cast<unsigned char>(text.front()), ids);
    text.remove_prefix(1);
  }
  return ids;
}

std::optional<TokenId> Tokenizer::special(std::string_view piece) const {
  return impl_->vocabulary.find(piece);
}

std::string_view Tokenizer::piece(TokenId id) const {
  return impl_->vocabulary.contains(id) ? impl_->vocabulary.text(id) : std::string_view();
}

std::string_view Tokenizer::bytes(TokenId id) const {
  return impl_->vocabulary.contains(id) ? std::string_view(impl_->bytes[static_cast<std::size_t>(id)])
                                        : std::string_view();
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) text += bytes(id);
  return text;
}

std::optional<TokenId> Tokenizer::bos() const {
  return impl_->vocabulary.bos();
}
bool Tokenizer::adds_bos() const {
  return impl_->adds_bos;
}
bool Tokenizer::is_end(TokenId id) const {
  return impl_->vocabulary.is_end(id);
}
bool Tokenizer::is_control(TokenId id) const {
  return impl_->vocabulary.contains(id) && impl_->vocabulary.type(id) == PieceType::kControl;
}
std::span<const TokenId> Tokenizer::controls() const {
  return impl_->vocabulary.controls();
}
const FillMarks& Tokenizer::fill_marks() const {
  return impl_->vocabulary.fill_marks();
}
std::int32_t Tokenizer::vocabulary() const {
  return impl_->vocabulary.size();
}
std::string_view Tokenizer::pre_tokenizer() const {
  return impl_->encoder->pre_tokenizer();
}
std::string_view Tokenizer::chat_template() const {
  return impl_->chat_template;
}

}  // namespace kvboost::engine
