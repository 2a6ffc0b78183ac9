// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/hint_writer.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/duration.h"
#include "daemon/prompt/hint.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using engine::FinishReason;

// A suffix that was computed so many tokens away is computed anew: too much of what stands before is new.
constexpr std::int32_t kSuffixDrift = 128;
constexpr float kTemperature = 0.6F;  // of alternatives
constexpr float kTopP = 0.95F;
constexpr std::int32_t kTries = 3;  // for each alternative that is wanted

class HintWriter {
 public:
  HintWriter(engine::Engine& engine, engine::Sequence& sequence, const HintRequest& request)
      : engine_(engine), sequence_(sequence), request_(request) {}

  Result<void> run() {
    auto done = read();
    if (done) done = put_suffix();
    if (done) done = write();
    const bool late =
        !done && done.error().code == ErrorCode::kCancelled && request_.is_late && request_.is_late();
    if (late && written_.hints.empty()) written_.hints.push_back({{}, "time", 0});
    return late ? Result<void>() : done;
  }

  WrittenHints take() { return std::move(written_); }

 private:
  Result<void> read() {
    const CompletionPlan& plan = *request_.plan;
    written_.prompt_tokens = static_cast<std::int32_t>(plan.size());
    written_.live_tokens = sequence_.size();
    const PlanReading reading{
        .plan = &plan.prompt, .reuse = request_.reuse, .progress = {}, .stop = request_.stop};
    auto read = read_in_steps(engine_, sequence_, reading,
                              request_.kept != nullptr ? request_.kept->step : StepSize());
    if (request_.kept != nullptr) request_.kept->step.note(!read);
    if (!read) return fail(read.error());
    for (const PartRead& part : read->parts) {
      written_.loaded_tokens += part.loaded;
      written_.computed_tokens += part.computed;
      written_.repaired_tokens += part.repaired;
    }
    written_.read = std::move(*read);
    return {};
  }

  Result<void> put_suffix() {
    const CompletionPlan& plan = *request_.plan;
    const auto start = Clock::now();
    if (!plan.suffix.empty()) {
      if (auto there = place_suffix(); !there) return there;
    }
    if (!plan.closing.empty()) {
      if (auto read = engine_.prefill(sequence_, plan.closing, stoppable()); !read) return read;
      written_.computed_tokens += static_cast<std::int32_t>(plan.closing.size());
    }
    written_.suffix_ms = ms_since(start);
    return {};
  }

  Result<void> place_suffix() {
    const std::vector<engine::TokenId>& tokens = request_.plan->suffix;
    SuffixBlock* kept = request_.kept != nullptr ? &request_.kept->suffix : nullptr;
    const std::int32_t position = sequence_.size();
    if (kept != nullptr && kept->tokens == tokens && std::abs(position - kept->position) <= kSuffixDrift) {
      written_.suffix_placed = true;
      written_.loaded_tokens += static_cast<std::int32_t>(tokens.size());
      return engine_.place(sequence_, kept->block, tokens, position);
    }
    engine::PrefillOptions options = stoppable();
    SuffixBlock made;
    if (kept != nullptr) options.capture = &made.block;
    if (auto read = engine_.prefill(sequence_, tokens, options); !read) return read;
    written_.computed_tokens += static_cast<std::int32_t>(tokens.size());
    if (kept == nullptr) return {};
    made.tokens = tokens;
    made.position = position;
    *kept = std::move(made);
    return {};
  }

  /// The likeliest text, then as many others as are wanted and found.
  Result<void> write() {
    const std::int32_t end = sequence_.size();
    const engine::TokenId last = sequence_.tokens().back();
    const auto wanted = static_cast<std::size_t>(request_.alternatives);
    if (auto first = write_one({}, request_.sink); !first) return first;
    engine::SamplingParams sampling{.temperature = kTemperature, .top_p = kTopP};
    for (std::int32_t i = 0; i < kTries * (request_.alternatives - 1); ++i) {
      if (written_.hints.size() >= wanted || (request_.is_enough && request_.is_enough())) break;
      sequence_.truncate(end - 1);
      if (auto again = engine_.prefill(sequence_, {&last, 1}, stoppable()); !again) return again;
      sampling.seed = static_cast<std::uint64_t>(i) + 1;
      if (auto other = write_one(sampling, {}); !other) return other;
    }
    return {};
  }

  Result<void> write_one(const engine::SamplingParams& sampling,
                         const std::function<bool(std::string_view)>& sink) {
    engine::GenerateParams params;
    params.max_tokens = request_.max_tokens;
    params.sampling = sampling;
    params.stop_repetition = true;
    params.end_at_control = true;
    params.opening = request_.plan->opening;
    std::string text;
    bool client_left = false;
    const auto take_piece = [&](std::string_view piece, engine::TokenId) {
      text += piece;
      client_left = sink && !sink(piece);
      return !client_left && !find_hint_end(text, request_.place).reached;
    };
    const auto start = Clock::now();
    const auto generated = engine_.generate(sequence_, params, take_piece, request_.stop);
    written_.decode_ms += ms_since(start);
    if (client_left) return fail(ErrorCode::kCancelled, "the client stopped reading");
    const bool late = !generated && request_.is_late && request_.is_late();
    if (!generated && !late) return fail(generated.error());
    keep({clean_hint(text, *request_.buffer, request_.place), late ? "time" : reason_of(generated->reason),
          late ? 0 : static_cast<std::int32_t>(generated->tokens.size())});
    return late ? Result<void>(fail(generated.error())) : Result<void>();
  }

  [[nodiscard]] engine::PrefillOptions stoppable() const {
    engine::PrefillOptions options;
    options.stop = request_.stop;
    return options;
  }

  [[nodiscard]] std::string reason_of(FinishReason reason) const {
    if (reason != FinishReason::kSink) return std::string(to_string(reason));
    return request_.place.wanted == cache::WantedText::kLine ? "line" : "block";
  }

  /// Of a text that came before, the first one counts; an empty one only where it is the likeliest.
  void keep(Hint hint) {
    const bool known = std::ranges::any_of(
        written_.hints, [&](const Hint& other) { return other.text == hint.text || hint.text.empty(); });
    if (!known) written_.hints.push_back(std::move(hint));
  }

  engine::Engine& engine_;
  engine::Sequence& sequence_;
  const HintRequest& request_;
  WrittenHints written_;
};

}  // namespace

Result<WrittenHints> write_hints(engine::Engine& engine, LiveSequences& live, const HintRequest& request) {
  const std::vector<engine::TokenId> prompt = request.plan->prompt.tokens();
  auto taken = live.take(std::span(prompt).first(request.fresh ? 0 : prompt.size()), LiveKind::kCompletion);
  if (!taken) return fail(taken.error());
  HintWriter writer(engine, taken->sequence, request);
  const auto done = writer.run();
  taken->prompt_tokens = static_cast<std::int32_t>(prompt.size());
  if (!request.fresh && taken->sequence.size() > 0) live.give_back(std::move(*taken));
  if (!done) return fail(done.error());
  return writer.take();
}

}  // namespace kvboost::daemon
