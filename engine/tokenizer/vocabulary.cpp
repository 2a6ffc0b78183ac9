// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/model/gguf.h"

namespace kvboost::engine {
namespace {

constexpr std::string_view kRemedy = "the model file is damaged or was converted wrongly: fetch it again";

// Pieces that end an answer where they are control pieces: of the text, a turn, a message. A model that goes
// on to open another file or repository has left the answer as well.
constexpr std::array kEnds = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|eot|>",
    "<|EOT|>",
    "<EOT>",
    "▁<EOT>",
    "<|return|>",
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|file_sep|>",
    "<file_sep>",
    "<|repo_name|>",
    "<repo_name>",
    "<|fim_pad|>",
    "<fim_pad>",
    "<|file_separator|>",
};

// Markup that is not of the form <|name|> and no HTML either.
constexpr std::array kMarkup = {
    "<start_of_turn>", "<end_of_turn>", "[INST]",       "[/INST]",   "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
    "<fim_prefix>",    "<fim_middle>",  "<fim_suffix>", "<fim_pad>", "<file_sep>",      "<repo_name>",
    "<filename>",      "<EOT>",         "▁<PRE>",       "▁<SUF>",    "▁<MID>",          "▁<EOT>",
    "[PREFIX]",        "[SUFFIX]",      "[MIDDLE]",
};

bool looks_like_markup(std::string_view text) {
  const bool barred =
      (text.starts_with("<|") && text.ends_with("|>")) || (text.starts_with("<｜") && text.ends_with("｜>"));
  return (barred && text.size() > 4) || std::ranges::find(kMarkup, text) != kMarkup.end();
}

bool is_bracketed(std::string_view text) {
  if (text.starts_with("▁")) text.remove_prefix(std::string_view("▁").size());
  return (text.starts_with('<') && text.ends_with('>')) || (text.starts_with('[') && text.ends_with(']'));
}

}  // namespace

Result<Vocabulary> Vocabulary::read(const Gguf& gguf) {
  Vocabulary vocabulary;
  if (auto read = vocabulary.read_pieces(gguf); !read) return fail(read.error());
  if (auto read = vocabulary.read_types(gguf); !read) return fail(read.error());
  if (auto read = vocabulary.read_fill_marks(gguf); !read) return fail(read.error());
  if (auto read = vocabulary.read_ends(gguf); !read) return fail(read.error());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.type(id) == PieceType::kControl) vocabulary.controls_.push_back(id);
  }
  return vocabulary;
}

Result<void> Vocabulary::read_pieces(const Gguf& gguf) {
  const std::vector<std::string>* texts = gguf.texts("tokenizer.ggml.tokens");
  if (texts == nullptr || texts->empty())
    return fail(ErrorCode::kModel, "the model file has no vocabulary (tokenizer.ggml.tokens)",
                std::string(kRemedy));
  if (texts->size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max()))
    return fail(ErrorCode::kModel, "the vocabulary has more pieces than a token id can name",
                std::string(kRemedy));
  texts_ = *texts;
  ids_.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto [at, added] = ids_.emplace(texts_[i], static_cast<TokenId>(i));
    if (!added)
      return fail(ErrorCode::kModel,
                  "the vocabulary holds \"" + texts_[i] + "\" twice, as " + std::to_string(at->second) +
                      " and " + std::to_string(i),
                  std::string(kRemedy));
  }
  return {};
}

Result<void> Vocabulary::read_types(const Gguf& gguf) {
  types_.assign(texts_.size(), PieceType::kNormal);
  if (const auto* types = gguf.integers("tokenizer.ggml.token_type")) {
    if (types->size() != texts_.size())
      return fail(ErrorCode::kModel,
                  "the vocabulary has " + std::to_string(texts_.size()) + " pieces but " +
                      std::to_string(types->size()) + " types (tokenizer.ggml.token_type)",
                  std::string(kRemedy));
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const std::int64_t type = (*types)[i];
      types_[i] = type >= 1 && type <= 6 ? static_cast<PieceType>(type) : PieceType::kUnused;
    }
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const bool plain = types_[i] == PieceType::kNormal || types_[i] == PieceType::kUserDefined;
    if (plain && looks_like_markup(texts_[i])) types_[i] = PieceType::kControl;
  }
  return {};
}

Result<void> Vocabulary::read_ends(const Gguf& gguf) {
  const auto bos = named(gguf, "tokenizer.ggml.bos_token_id");
  if (!bos) return fail(bos.error());
  bos_ = *bos;
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const auto end = named(gguf, key);
    if (!end) return fail(end.error());
    if (!*end) continue;
    ends_.push_back(**end);
    make_control(**end);
  }
  for (const char* text : kEnds)
    if (const auto id = find(text); id && type(*id) == PieceType::kControl) ends_.push_back(*id);
  std::ranges::sort(ends_);
  return {};
}

Result<void> Vocabulary::read_fill_marks(const Gguf& gguf) {
  struct Named {
    std::optional<TokenId>* mark;
    std::array<const char*, 2> keys;  // the second one is older
  };
  const Named marks[] = {
      {&fill_marks_.prefix, {"fim_pre_token_id", "prefix_token_id"}},
      {&fill_marks_.suffix, {"fim_suf_token_id", "suffix_token_id"}},
      {&fill_marks_.middle, {"fim_mid_token_id", "middle_token_id"}},
      {&fill_marks_.repository, {"fim_rep_token_id"}},
      {&fill_marks_.file, {"fim_sep_token_id"}},
  };
  for (const auto& [mark, keys] : marks) {
    for (const char* key : keys) {
      if (key == nullptr) continue;
      const auto id = named(gguf, std::string("tokenizer.ggml.") + key);
      if (!id) return fail(id.error());
      if (!*mark) *mark = *id;
    }
    if (*mark) make_control(**mark);
  }
  return {};
}

Result<std::optional<TokenId>> Vocabulary::named(const Gguf& gguf, const std::string& key) const {
  const auto id = gguf.integer(key);
  if (!id) return std::nullopt;
  if (*id < 0 || *id >= size())
    return fail(
        ErrorCode::kModel,
        key + " is " + std::to_string(*id) + ", but the vocabulary has " + std::to_string(size()) + " pieces",
        std::string(kRemedy));
  return static_cast<TokenId>(*id);
}

/// What the file names as a mark is one, whatever type it gives it, unless it looks like a word.
void Vocabulary::make_control(TokenId id) {
  if (is_bracketed(text(id))) types_[static_cast<std::size_t>(id)] = PieceType::kControl;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const auto at = ids_.find(text);
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

bool Vocabulary::is_end(TokenId id) const {
  return std::ranges::binary_search(ends_, id);
}

}  // namespace kvboost::engine
