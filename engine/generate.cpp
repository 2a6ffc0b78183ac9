// SPDX-License-Identifier: Apache-2.0
// Engine::generate: sample, show, read, until a rule ends it.
#include <optional>
#include <utility>

#include "engine/model/engine_state.h"
#include "engine/sample/opening.h"
#include "engine/sample/repetition.h"
#include "engine/sample/sampler.h"
#include "engine/sample/stop_strings.h"

namespace kvboost::engine {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEnd:
      return "end";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kRepetition:
      return "repetition";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kSink:
      return "sink";
  }
  return "unknown";
}

Result<Generated> Engine::generate(Sequence& sequence, const GenerateParams& params, const TokenSink& sink,
                                   std::stop_token stop) {
  if (auto good = check(params.sampling); !good) return fail(good.error());
  if (sequence.impl_->logits.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the sequence has nothing to go on from: prefill it first");
  }
  const std::int32_t before = sequence.size();
  const std::vector<float> logits_before = sequence.impl_->logits;
  auto undo = [&](Error error) {
    sequence.truncate(before);
    sequence.impl_->logits = logits_before;
    return fail(std::move(error));
  };
  const auto show = [&](const std::string& text, TokenId token) {
    return text.empty() || !sink || sink(text, token);
  };

  Sampler sampler(params.sampling);
  Opening opening(params.opening, impl_->tokenizer);
  StopStrings stops(params.stop_strings);
  Repetition repetition;
  Utf8Stream characters;
  Generated generated;
  std::optional<FinishReason> finished;
  while (!finished) {
    if (stop.stop_requested()) return undo({ErrorCode::kCancelled, "cancelled", {}});
    if (std::ssize(generated.tokens) >= params.max_tokens) {
      finished = FinishReason::kLength;
    } else if (sequence.size() >= impl_->info.context) {
      finished = FinishReason::kContext;
    } else {
      const auto fitting = opening.fitting(sequence.impl_->logits);
      if (!fitting) {
        finished = FinishReason::kEnd;
        break;
      }
      auto token = sampler.pick(*fitting);
      if (!token) return undo(token.error());
      if (impl_->tokenizer.is_end(*token) || (params.end_at_control && impl_->tokenizer.is_control(*token))) {
        finished = FinishReason::kEnd;
        break;
      }
      auto step = stops.push(characters.push(opening.rest_of(*token)));
      if (!show(step.text, *token)) return generated.reason = FinishReason::kSink, generated;
      if (step.stopped) return generated.reason = FinishReason::kStopString, generated;
      PrefillOptions options;
      options.stop = stop;
      const TokenId id = *token;
      if (auto done = prefill(sequence, {&id, 1}, options); !done) return undo(done.error());
      generated.tokens.push_back(id);
      if (params.stop_repetition && repetition.push(id)) finished = FinishReason::kRepetition;
    }
  }
  generated.reason = *finished;
  const auto rest = stops.push(characters.flush());
  const TokenId last = generated.tokens.empty() ? 0 : generated.tokens.back();
  if (rest.stopped) generated.reason = FinishReason::kStopString;
  if (!show(rest.stopped ? rest.text : rest.text + stops.flush(), last))
    generated.reason = FinishReason::kSink;
  return generated;
}

}  // namespace kvboost::engine
