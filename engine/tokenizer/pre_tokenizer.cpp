// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <span>

namespace kvboost::engine {
namespace {

// White space by the Unicode property: PCRE2's own \s also takes U+180E, which the reference tokenizers do
// not.
#define SPACE R"(\p{White_Space})"
#define GPT2_SPACES "|" SPACE "+(?!\\P{White_Space})|" SPACE "+"
#define LINE_SPACES "|" SPACE "*[\\r\\n]+" GPT2_SPACES
#define CONTRACTIONS "'(?:s|t|re|ve|m|ll|d)"
#define WORD_AND_SIGN R"(|[^\r\n\p{L}\p{N}]?\p{L}+)"
#define SIGNS R"(| ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*)"

constexpr const char* kGpt2[] = {CONTRACTIONS
                                 R"(| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)" GPT2_SPACES};
// Each digit alone, then as above within what lies between digits: for the look-ahead, a digit ends the text.
constexpr const char* kDigitsAlone[] = {CONTRACTIONS
                                        R"(| ?\p{L}+|\p{N}| ?[^\p{White_Space}\p{L}\p{N}]+)"
                                        R"(|\p{White_Space}+(?![^\p{White_Space}\p{N}])|\p{White_Space}+)"};
constexpr const char* kQwen2[] = {"(?i:" CONTRACTIONS ")" WORD_AND_SIGN R"(|\p{N})" SIGNS LINE_SPACES};
constexpr const char* kLlama3[] = {"(?i:" CONTRACTIONS ")" WORD_AND_SIGN R"(|\p{N}{1,3})" SIGNS LINE_SPACES};
constexpr const char* kDeepSeekCoder[] = {
    R"([\r\n])", R"(\p{White_Space}?\p{L}+)", R"(\p{White_Space}?\p{P}+)",
    R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)", R"(\p{N})"};
constexpr const char* kDefault[] = {R"([\p{P}$+<=>^~|]+)",
                                    CONTRACTIONS R"(| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                                                 R"(|\p{White_Space}+(?!\P{White_Space}))",
                                    R"(\p{N}+)", "[0-9][0-9][0-9]"};

struct Known {
  std::string_view name;
  std::span<const char* const> patterns;
  bool whole_words_first = false;
  bool adds_bos = false;
};

constexpr std::array kKnown = {
    Known{"default", kDefault},
    Known{"gpt-2", kGpt2},
    Known{"phi-2", kGpt2},
    Known{"mellum", kGpt2},
    Known{"olmo", kGpt2},
    Known{"smollm", kDigitsAlone},
    Known{"starcoder", kDigitsAlone},
    Known{"refact", kDigitsAlone},
    Known{"command-r", kDigitsAlone},
    Known{"codeshell", kDigitsAlone},
    Known{"qwen2", kQwen2},
    Known{"deepseek-r1-qwen", kQwen2},
    Known{"stablelm2", kQwen2},
    Known{"megrez", kQwen2},
    Known{"llama-bpe", kLlama3, true, true},
    Known{"llama3", kLlama3, true, true},
    Known{"llama-v3", kLlama3, true, true},
    Known{"falcon3", kLlama3, true, true},
    Known{"dbrx", kLlama3},
    Known{"smaug-bpe", kLlama3},
    Known{"deepseek-coder", kDeepSeekCoder},
};

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Match = std::unique_ptr<pcre2_match_data, FreeMatch>;
using Context = std::unique_ptr<pcre2_match_context, FreeContext>;

std::string known_names() {
  std::string names;
  for (const Known& known : kKnown) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace

class PreTokenizer::Pattern {
 public:
  static Result<Pattern> compile(const char* text) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    if (code == nullptr) {
      std::array<PCRE2_UCHAR, 128> message{};
      pcre2_get_error_message(error, message.data(), message.size());
      return fail(ErrorCode::kInternal,
                  "pre-tokenizer pattern: " + std::string(reinterpret_cast<const char*>(message.data())));
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where there is no JIT, PCRE2 interprets
    return Pattern(code);
  }

  /// Appends the matches in `text` and what lies between them to `words`.
  void split(std::string_view text, pcre2_match_data* match, pcre2_match_context* context,
             std::vector<std::string_view>& words) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const auto append = [&](std::size_t begin, std::size_t end) {
      if (begin < end) words.push_back(text.substr(begin, end - begin));
    };
    std::size_t at = 0;
    while (at < text.size()) {
      // Offsets are whole characters of checked text, so PCRE2 need not check it again at each match.
      const int found = pcre2_match(code_.get(), subject, text.size(), at,
                                    PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match, context);
      if (found < 0) break;
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match);
      append(at, bounds[0]);
      append(bounds[0], bounds[1]);
      at = bounds[1];
    }
    append(at, text.size());
  }

 private:
  explicit Pattern(pcre2_code* code) : code_(code) {}
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::named(std::string_view name) {
  const auto* known = std::ranges::find(kKnown, name, &Known::name);
  if (known == kKnown.end())
    return fail(ErrorCode::kModel,
                name.empty() ? "the model file does not name its pre-tokenizer (tokenizer.ggml.pre)"
                             : "unknown pre-tokenizer \"" + std::string(name) + "\" (tokenizer.ggml.pre)",
                "known are " + known_names());
  PreTokenizer pre_tokenizer;
  pre_tokenizer.name_ = name;
  pre_tokenizer.whole_words_first_ = known->whole_words_first;
  pre_tokenizer.adds_bos_ = known->adds_bos;
  for (const char* text : known->patterns) {
    auto pattern = Pattern::compile(text);
    if (!pattern) return fail(pattern.error());
    pre_tokenizer.patterns_.push_back(std::move(*pattern));
  }
  return pre_tokenizer;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  const Match match(pcre2_match_data_create(1, nullptr));
  const Context context(pcre2_match_context_create(nullptr));
  if (!match || !context) return {text};
  // A run of a million spaces needs a million steps back, which are linear: no limit but the text's length.
  pcre2_set_match_limit(context.get(), ~std::uint32_t{0});
  std::vector<std::string_view> words{text};
  for (const Pattern& pattern : patterns_) {
    std::vector<std::string_view> finer;
    finer.reserve(words.size() + text.size() / 4);
    for (const std::string_view word : words) pattern.split(word, match.get(), context.get(), finer);
    words = std::move(finer);
  }
  return words;
}

}  // namespace kvboost::engine
