// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/step_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/pipeline/resolver.h"

namespace kvboost::daemon {
namespace {

class StepReader {
 public:
  StepReader(engine::Engine& engine, engine::Sequence& sequence, const PlanReading& reading,
             const StepSize& size)
      : engine_(engine), sequence_(sequence), reading_(reading), size_(size) {
    if (reading.reuse == nullptr) return;
    for (const ResolvedPart& part :
         resolve(*reading.plan, reading.reuse->context, reading.reuse->neighbours, *reading.reuse->blocks)) {
      stored_.push_back(reading.reuse->places(part.match, part.near));
    }
  }

  Result<PlanRead> run() {
    const std::vector<PlanPart>& parts = reading_.plan->parts;
    for (Step step = next(); step.parts < parts.size(); step = next()) {
      PromptPlan plan;
      plan.parts.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(step.parts));
      if (step.cut > 0) {
        PlanPart beginning;
        const auto& tokens = parts[step.parts].tokens;
        beginning.tokens.assign(tokens.begin(), tokens.begin() + step.cut);
        plan.parts.push_back(std::move(beginning));
      }
      PlanReading reading = reading_;
      reading.plan = &plan;
      if (auto read = take(reading); !read) return fail(read.error());
    }
    if (auto read = take(reading_); !read) return fail(read.error());
    return std::move(read_);
  }

 private:
  /// Whole parts, and so many tokens of the next one.
  struct Step {
    std::size_t parts = 0;
    std::int32_t cut = 0;
  };

  /// From what the sequence holds to the end of a step: behind something that must be computed, since the
  /// last part of what is read is never loaded.
  [[nodiscard]] Step next() const {
    const std::vector<PlanPart>& parts = reading_.plan->parts;
    std::int32_t begin = 0, computed = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto size = static_cast<std::int32_t>(parts[part].tokens.size());
      const std::int32_t missing = std::min(size, std::max(0, begin + size - sequence_.size()));
      const bool stored = part < stored_.size() && stored_[part];
      begin += size;
      if (stored || missing == 0) continue;
      if (size_.cuts_parts() && computed + missing > size_.tokens())
        return {part, size - missing + size_.tokens() - computed};
      computed += missing;
      if (computed >= size_.tokens()) return {part + 1, 0};
    }
    return {parts.size(), 0};
  }

  Result<void> take(const PlanReading& reading) {
    const std::int32_t before = sequence_.size();
    auto read = read_plan(engine_, sequence_, reading);
    if (!read) {
      sequence_.truncate(before);  // behind it blocks may stand unrepaired
      return fail(read.error());
    }
    const std::size_t known = read_.parts.size();
    for (std::size_t i = 0; i < read->parts.size(); ++i) {
      const PartRead& part = read->parts[i];
      if (i >= known) {
        read_.parts.push_back(part);
        continue;
      }
      read_.parts[i].match = part.match;
      read_.parts[i].computed += part.computed;
      read_.parts[i].repaired += part.repaired;
      read_.parts[i].ms += part.ms;
    }
    read_.load_ms += read->load_ms;
    read_.select_ms += read->select_ms;
    read_.prefill_ms += read->prefill_ms;
    read_.exact_tokens = read->exact_tokens;
    return {};
  }

  engine::Engine& engine_;
  engine::Sequence& sequence_;
  const PlanReading& reading_;
  const StepSize& size_;
  std::vector<bool> stored_;  // by part: placed, where a stored block is
  PlanRead read_;
};

}  // namespace

Result<PlanRead> read_in_steps(engine::Engine& engine, engine::Sequence& sequence, const PlanReading& reading,
                               const StepSize& size) {
  return StepReader(engine, sequence, reading, size).run();
}

}  // namespace kvboost::daemon
