// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: cuts text into the words inside which byte-pair encoding merges, by the patterns that a model
// was trained with. Owned by the tokenizer; immutable, any thread. PCRE2 stays in the .cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::engine {

class PreTokenizer {
 public:
  /// By tokenizer.ggml.pre; kModel with the known names for any other.
  [[nodiscard]] static Result<PreTokenizer> named(std::string_view name);

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// A word that is a token as it stands is taken so, whatever its merges would give.
  [[nodiscard]] bool whole_words_first() const { return whole_words_first_; }
  /// Whether a prompt begins with BOS where the file does not say.
  [[nodiscard]] bool adds_bos() const { return adds_bos_; }
  /// Whether text is brought into Unicode's normal form C first.
  [[nodiscard]] bool composes() const { return composes_; }

  /// The words of `text` (well-formed UTF-8), in order; together they are the text. Linear time.
  [[nodiscard]] std::vector<std::string_view> split(std::string_view text) const;

 private:
  class Pattern;
  PreTokenizer() = default;

  std::string name_;
  bool whole_words_first_ = false;
  bool adds_bos_ = false;
  bool composes_ = false;
  std::vector<Pattern> patterns_;  // each cuts what the one before it left
};

}  // namespace kvboost::engine
