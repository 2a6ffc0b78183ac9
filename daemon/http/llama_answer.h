// SPDX-License-Identifier: Apache-2.0
// The answers of /completion and /infill, in the shape of llama.cpp's server. Pure, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kvboost::daemon {

/// What both tell of a text.
struct LlamaText {
  std::string content{};
  std::string model{};
  std::string stop_type{};      // "eos" "limit" "word"
  std::string stopping_word{};  // or empty
  std::int32_t prompt_tokens = 0;
  std::int32_t reused_tokens = 0;
  std::int32_t written_tokens = 0;
  double prompt_ms = 0;
  double written_ms = 0;
};

[[nodiscard]] nlohmann::json llama_answer(const LlamaText& text);

/// Only these fields of an answer; "a/b" is the field b of the object a, under that name. All, if there are
/// none.
[[nodiscard]] nlohmann::json chosen_fields(const nlohmann::json& answer,
                                           const std::vector<std::string>& fields);

}  // namespace kvboost::daemon
