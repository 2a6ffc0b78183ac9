// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/fill_in_middle.h"

#include <optional>
#include <string>

namespace kvboost::daemon {
namespace {

using engine::TokenId;
using engine::Tokenizer;

/// What a family calls its marks; an empty one it does not have.
struct FamilyMarks {
  FillFamily family;
  std::string_view prefix, suffix, middle;
  std::string_view repository;
};

constexpr FamilyMarks kFamilies[] = {
    {FillFamily::kQwen, "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>"},
    {FillFamily::kStarCoder, "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>"},
    {FillFamily::kCodeLlama, "▁<PRE>", "▁<SUF>", "▁<MID>", ""},
    {FillFamily::kDeepSeek, "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ""},
    {FillFamily::kCodestral, "[PREFIX]", "[SUFFIX]", "", ""},
};

std::optional<TokenId> control(const Tokenizer& tokenizer, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto id = tokenizer.special(name);
  return id && tokenizer.is_control(*id) ? id : std::nullopt;
}

bool has_all(const Tokenizer& tokenizer, const FamilyMarks& marks) {
  return control(tokenizer, marks.prefix) && control(tokenizer, marks.suffix) &&
         (marks.middle.empty() || control(tokenizer, marks.middle));
}

FillInMiddle::Tokens one(std::optional<TokenId> id) {
  return id ? FillInMiddle::Tokens{*id} : FillInMiddle::Tokens{};
}

void append(FillInMiddle::Tokens& to, const FillInMiddle::Tokens& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::string_view to_string(FillFamily family) {
  switch (family) {
    case FillFamily::kNone:
      return "none";
    case FillFamily::kQwen:
      return "qwen2.5-coder";
    case FillFamily::kStarCoder:
      return "starcoder2";
    case FillFamily::kCodeLlama:
      return "codellama";
    case FillFamily::kDeepSeek:
      return "deepseek-coder";
    case FillFamily::kCodestral:
      return "codestral";
    case FillFamily::kOther:
      return "other";
  }
  return "none";
}

FillInMiddle FillInMiddle::detect(const Tokenizer& tokenizer, const ChatTemplate& chat) {
  for (const FamilyMarks& marks : kFamilies) {
    if (!has_all(tokenizer, marks)) continue;
    FillInMiddle fill(marks.family, tokenizer, chat);
    fill.repository_ = one(control(tokenizer, marks.repository));
    fill.before_prefix_ = one(control(tokenizer, marks.prefix));
    fill.before_suffix_ = one(control(tokenizer, marks.suffix));
    fill.before_middle_ = one(control(tokenizer, marks.middle));
    return fill;
  }
  const engine::FillMarks& named = tokenizer.fill_marks();
  const bool complete = named.prefix && named.suffix && named.middle;
  FillInMiddle fill(complete ? FillFamily::kOther : FillFamily::kNone, tokenizer, chat);
  if (!complete) return fill;
  fill.repository_ = one(named.repository);
  fill.before_prefix_ = one(named.prefix);
  fill.before_suffix_ = one(named.suffix);
  fill.before_middle_ = one(named.middle);
  return fill;
}

FillInMiddle::Tokens FillInMiddle::repository(std::string_view name) const {
  if (repository_.empty()) return {};
  Tokens tokens = repository_;
  append(tokens, tokenizer_->encode(std::string(name) + "\n"));
  return tokens;
}

FillInMiddle::Tokens FillInMiddle::opening(std::string_view path) const {
  if (family_ != FillFamily::kStarCoder) {
    Tokens tokens = chat_->file_opening(path);
    if (!suffix_first()) append(tokens, before_prefix_);
    return tokens;
  }
  // The path belongs to the text in front of the gap.
  Tokens tokens = one(control(*tokenizer_, "<file_sep>"));
  append(tokens, before_prefix_);
  append(tokens, tokenizer_->encode(std::string(path) + "\n"));
  return tokens;
}

}  // namespace kvboost::daemon
