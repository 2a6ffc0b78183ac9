// SPDX-License-Identifier: Apache-2.0
// The methods generate, tokenize and detokenize: the model behind a prompt that the client has made itself.
// Part of methods.h, which is what to include: the JSON forms are declared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvboost::protocol {

struct ChatMessage {
  std::string role{};  // "system" "user" "assistant"
  std::string content{};
};

// generate
struct GenerateParams {
  // What to go on from: one of these three.
  std::string text{};
  std::vector<std::int32_t> tokens{};
  std::vector<ChatMessage>
      messages;                   // by the model's own template; a last one of the assistant is gone on with
  bool marks = false;             // control tokens that `text` names count as such
  std::int32_t max_tokens = 512;  // 0: the prompt is only read
  std::vector<std::string> stop{};  // the text ends before the first of them
  double temperature = 0.0;
  std::int32_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::uint64_t seed = 0;
  bool reuse = true;  // false: every token is read anew
};
/// Notification generate/start: the prompt is known, and waits for the engine.
struct GenerateStart {
  std::string model{};
  std::int32_t prompt_tokens = 0;
};
/// Notification generate/token.
struct GenerateToken {
  std::string text{};
};
struct GenerateTimings {
  double queue_ms = 0;  // waiting for the engine, loading the model included
  double prefill_ms = 0;
  double decode_ms = 0;
  double tokens_per_second = 0;
};
struct GenerateResult {
  std::string text{};
  std::string finish_reason{};  // "end" "length" "stop_string" "repetition" "context"
  std::string model{};
  std::vector<std::int32_t> tokens{};  // that were written
  std::int32_t prompt_tokens = 0;
  std::int32_t reused_tokens = 0;
  GenerateTimings timings{};
};

// tokenize
struct TokenizeParams {
  std::string text{};  // this, or messages
  std::vector<ChatMessage> messages{};
  bool marks = false;   // control tokens that `text` names count as such
  bool start = false;   // as a prompt begins: with the token that the model wants there
  bool pieces = false;  // the result has each token's bytes, too
};
struct TokenizeResult {
  std::vector<std::int32_t> tokens{};
  std::vector<std::string> pieces{};  // bytes; a control token's are its name
};

// detokenize
struct DetokenizeParams {
  std::vector<std::int32_t> tokens{};
};
struct DetokenizeResult {
  std::string text{};
};

}  // namespace kvboost::protocol
