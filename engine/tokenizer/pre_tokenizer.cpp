// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <span>

namespace kvboost::engine {
namespace {

// Classes are spelt so that every PCRE2 gives the same words: white space by the Unicode property, since
// PCRE2's own \s also takes U+180E; and with what Unicode 15 and 16 added, which the reference knows and
// Debian 12's PCRE2 does not.
#define SPACE R"(\p{White_Space})"
#define LETTER                                                                                                  \
  R"(\p{L}\x{1C89}\x{1C8A}\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC}\x{105C0}-\x{105F3}\x{10D4A}-\x{10D65})"            \
  R"(\x{10D6F}-\x{10D85}\x{10EC2}-\x{10EC4}\x{1123F}\x{11240}\x{11380}-\x{11389}\x{1138B}\x{1138E})"            \
  R"(\x{11390}-\x{113B5}\x{113B7}\x{113D1}\x{113D3}\x{11BC0}-\x{11BE0}\x{11F02}\x{11F04}-\x{11F10})"            \
  R"(\x{11F12}-\x{11F33}\x{1342F}\x{13441}-\x{13446}\x{13460}-\x{143FA}\x{16100}-\x{1611D}\x{16D40}-\x{16D6C})" \
  R"(\x{18CFF}\x{1B132}\x{1B155}\x{1DF25}-\x{1DF2A}\x{1E030}-\x{1E06D}\x{1E4D0}-\x{1E4EB}\x{1E5D0}-\x{1E5ED})"  \
  R"(\x{1E5F0}\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
#define NUMBER                                                                                     \
  R"(\p{N}\x{10D40}-\x{10D49}\x{116D0}-\x{116E3}\x{11BF0}-\x{11BF9}\x{11F50}-\x{11F59}\x{16130}-)" \
  R"(\x{16139}\x{16D70}-\x{16D79}\x{1CCF0}-\x{1CCF9}\x{1D2C0}-\x{1D2D3}\x{1E4F0}-\x{1E4F9}\x{1E5F1}-\x{1E5FA})"
#define PUNCTUATION                                                                                  \
  R"(\p{P}\x{1B4E}\x{1B4F}\x{1B7F}\x{10D6E}\x{113D4}\x{113D5}\x{113D7}\x{113D8}\x{11B00}-\x{11B09})" \
  R"(\x{11BE1}\x{11F43}-\x{11F4F}\x{16D6D}-\x{16D6F}\x{1E5FF})"

#define CONTRACTION "'(?:s|t|re|ve|m|ll|d)"
#define LETTERS "| ?[" LETTER "]+"
#define SIGNS "| ?[^" SPACE LETTER NUMBER "]+"
#define SPACES "|" SPACE R"(+(?!\P{White_Space})|)" SPACE "+"
#define SIGN_AND_LETTERS R"(|[^\r\n)" LETTER NUMBER "]?[" LETTER "]+"
#define SIGNS_AND_LINES SIGNS R"([\r\n]*)"
#define LINES "|" SPACE R"(*[\r\n]+)"

constexpr const char* kGpt2[] = {CONTRACTION LETTERS "| ?[" NUMBER "]+" SIGNS SPACES};
// Each digit alone, then as above within what lies between digits: for the look-ahead, a digit ends the text.
// Here the reference knows Unicode 17.
#define DIGIT NUMBER R"(\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6})"
constexpr const char* kDigitsAlone[] = {CONTRACTION LETTERS "|[" DIGIT "]| ?[^" SPACE LETTER DIGIT "]+|" SPACE
                                                            "+(?![^" SPACE DIGIT "])|" SPACE "+"};
constexpr const char* kQwen2[] = {"(?i:" CONTRACTION ")" SIGN_AND_LETTERS "|[" NUMBER
                                  "]" SIGNS_AND_LINES LINES SPACES};
constexpr const char* kLlama3[] = {"(?i:" CONTRACTION ")" SIGN_AND_LETTERS "|[" NUMBER
                                   "]{1,3}" SIGNS_AND_LINES LINES SPACES};
constexpr const char* kDeepSeekCoder[] = {R"([\r\n])", SPACE "?[" LETTER "]+", SPACE "?[" PUNCTUATION "]+",
                                          R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)",
                                          "[" DIGIT "]"};
constexpr const char* kDefault[] = {"[" PUNCTUATION "$+<=>^~|]+",
                                    CONTRACTION LETTERS "| ?[" NUMBER "]+" SIGNS "|" SPACE
                                                        R"(+(?!\P{White_Space}))",
                                    "[" NUMBER "]+", "[0-9][0-9][0-9]"};

struct Known {
  std::string_view name;
  std::span<const char* const> patterns;
  bool whole_words_first = false;
  bool adds_bos = false;
  bool composes = false;
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
    Known{"qwen2", kQwen2, false, false, true},
    Known{"deepseek-r1-qwen", kQwen2},
    Known{"stablelm2", kQwen2},
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
  pre_tokenizer.composes_ = known->composes;
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
