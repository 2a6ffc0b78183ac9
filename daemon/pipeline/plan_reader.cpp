// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/plan_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/duration.h"
#include "daemon/pipeline/resolver.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAsking = 256;  // tokens whose attention guides a repair

class PlanReader {
 public:
  PlanReader(engine::Engine& engine, engine::Sequence& sequence, const PlanReading& reading)
      : engine_(engine), sequence_(sequence), reading_(reading), prompt_(reading.plan->tokens()) {
    if (reading.reuse != nullptr) {
      resolved_ =
          resolve(*reading.plan, reading.reuse->context, reading.reuse->neighbours, *reading.reuse->blocks);
    } else {
      resolved_.resize(reading.plan->parts.size());
    }
    std::int32_t at = 0;
    for (const PlanPart& part : reading.plan->parts) {
      begins_.push_back(at);
      at += static_cast<std::int32_t>(part.tokens.size());
    }
    begins_.push_back(at);
  }

  Result<PlanRead> run() {
    note_live();
    for (std::size_t part = 0; part < resolved_.size(); ++part) {
      if (begins_[part + 1] <= sequence_.size()) continue;
      if (!loadable(part)) {
        if (reading_.reuse != nullptr && reading_.reuse->prefix_only) break;
        continue;
      }
      if (auto placed = place(part); !placed) return fail(placed.error());
    }
    if (auto computed = changed_.empty() ? compute(begins_.back()) : finish_changed(); !computed)
      return fail(computed.error());
    count();
    return std::move(read_);
  }

 private:
  void note_live() {
    const std::int32_t live = sequence_.size();
    for (std::size_t part = 0; part < resolved_.size(); ++part) {
      const std::int32_t size = begins_[part + 1] - begins_[part];
      PartRead& read = read_.parts.emplace_back();
      read.match = resolved_[part].match;
      read.live = std::clamp(live - begins_[part], 0, size);
      if (read.live < size && !loadable(part)) to_compute_ += size - read.live;
    }
  }

  /// Not the part with the last token: something must be computed to have logits.
  [[nodiscard]] bool loadable(std::size_t part) const {
    if (begins_[part + 1] == begins_.back()) return false;
    return reading_.reuse != nullptr && reading_.reuse->places(resolved_[part].match, resolved_[part].near);
  }

  /// Puts the part's block into the sequence, behind what must be computed before it. When there is no block
  /// after all, the part is left to be computed.
  Result<void> place(std::size_t part) {
    const auto start = Clock::now();
    const auto block = reading_.reuse->blocks->load(resolved_[part].source);
    read_.parts[part].ms = ms_since(start);
    read_.load_ms += read_.parts[part].ms;
    const std::int32_t begin = begins_[part], size = begins_[part + 1] - begin;
    if (!block || block->n_tokens != size || block->shape != engine_.spec().kv_shape()) {
      resolved_[part].match = read_.parts[part].match = Match::kMiss;
      to_compute_ += size - read_.parts[part].live;
      return {};
    }
    const std::int32_t before = sequence_.size();
    if (auto computed = compute(begin); !computed) return computed;
    // What was computed behind cells that are yet to be repaired is no better than these.
    if (!changed_.empty() && begin > before) changed_.push_back({before, begin - before});
    sequence_.truncate(begin);  // a beginning of the part may be live
    const auto place_start = Clock::now();
    const auto tokens = std::span(prompt_).subspan(begin, size);
    if (auto placed = engine_.place(sequence_, *block, tokens, begin); !placed) return placed;
    const double ms = ms_since(place_start);
    read_.load_ms += ms;
    PartRead& read = read_.parts[part];
    read.ms += ms;
    read.bytes = block->data.size() * sizeof(block->data.front());
    read.live = 0;
    read.loaded = size;
    if (read.match == Match::kApproximate && !resolved_[part].near) all_near_ = false;
    note_changed(part);
    return {};
  }

  /// Behind what is not exact nothing is. Parts that were computed one behind the other are one run.
  void note_changed(std::size_t part) {
    if (resolved_[part].match == Match::kExact && changed_.empty()) return;
    const std::int32_t begin = begins_[part], size = begins_[part + 1] - begin;
    const bool goes_on =
        !changed_.empty() && changed_.back().first + changed_.back().n_tokens == begin &&
        resolved_[part].source == cache::prefix_key(resolved_[part - 1].source, resolved_[part].key.content);
    if (goes_on) {
      changed_.back().n_tokens += size;
    } else {
      changed_.push_back({begin, size});
    }
  }

  /// Cells to repair before the rest of the prompt is read.
  Result<std::vector<std::int32_t>> select(const RepairPolicy& policy,
                                           std::span<const engine::TokenId> rest) {
    std::vector<float> attention, deviation;
    if (policy.guided > 0) {
      const auto layers = static_cast<float>(engine_.spec().n_layers);
      // The end of the rest is the question; a long rest need not be looked at as a whole.
      const auto asking = rest.size() > kMostAsking ? rest.last(kMostAsking) : rest;
      auto found = engine_.attention_of(
          sequence_, asking,
          {.first_layer = static_cast<std::int32_t>(policy.first_layer * layers),
           .end_layer = std::max(1, static_cast<std::int32_t>(policy.end_layer * layers)),
           .stop = reading_.stop});
      if (!found) return fail(found.error());
      attention = std::move(*found);
    }
    if (policy.blend > 0) {
      std::vector<std::int32_t> cells;
      for (const ChangedRun& run : changed_) {
        for (std::int32_t i = 0; i < run.n_tokens; ++i) cells.push_back(run.first + i);
      }
      // The first layer's values know nothing of other tokens yet.
      const std::int32_t layer = std::min(1, engine_.spec().n_layers - 1);
      const auto distance = policy.cosine ? engine::ValueDistance::kCosine : engine::ValueDistance::kL2;
      const auto found = engine_.deviation_of(sequence_, cells, layer, distance, reading_.stop);
      if (!found) return fail(found.error());
      deviation.resize(sequence_.size());
      for (std::size_t i = 0; i < cells.size(); ++i) deviation[cells[i]] = (*found)[i];
    }
    return cells_to_repair(policy, changed_, {attention, deviation});
  }

  /// The rest of the prompt, and what of the changed chunks is to be repaired, in one pass.
  Result<void> finish_changed() {
    const std::int32_t begin = sequence_.size();
    const auto rest = std::span(prompt_).subspan(begin);
    const auto start = Clock::now();
    read_.near = all_near_;
    const auto selected = select(*reading_.reuse->policy(all_near_), rest);
    if (!selected) return fail(selected.error());
    const std::vector<std::int32_t>& cells = *selected;
    read_.select_ms = ms_since(start);
    for (const std::int32_t cell : cells) {
      const auto part = std::ranges::upper_bound(begins_, cell) - begins_.begin() - 1;
      ++read_.parts[part].repaired;
    }
    engine::PrefillOptions options;
    options.stop = reading_.stop;
    options.repair = cells;
    const auto n_cells = static_cast<std::int32_t>(cells.size());
    to_compute_ += n_cells;
    if (reading_.progress) {
      options.progress = [&](std::int32_t done) { reading_.progress(computed_ + done, to_compute_); };
    }
    const auto computing = Clock::now();
    auto read = engine_.prefill(sequence_, rest, options);
    const double ms = ms_since(computing);
    read_.prefill_ms += ms;
    const double per_token = ms / static_cast<double>(cells.size() + rest.size());
    for (PartRead& part : read_.parts) part.ms += per_token * part.repaired;
    charge(begin, begins_.back(), per_token);
    return read;
  }

  /// Computes all tokens up to `end` that are not there yet.
  Result<void> compute(std::int32_t end) {
    const std::int32_t begin = sequence_.size();
    if (begin >= end) return {};
    CapturedRun run{.cuts = cuts_within(begin, end)};
    const auto block = std::make_shared<engine::KvBlock>();
    engine::PrefillOptions options;
    options.stop = reading_.stop;
    if (!run.cuts.empty()) options.capture = block.get();
    if (reading_.progress) {
      options.progress = [&](std::int32_t done) { reading_.progress(computed_ + done, to_compute_); };
    }
    const auto start = Clock::now();
    auto read = engine_.prefill(sequence_, std::span(prompt_).subspan(begin, end - begin), options);
    const double ms = ms_since(start);
    read_.prefill_ms += ms;
    if (!read) return read;
    computed_ += end - begin;
    charge(begin, end, ms / (end - begin));
    if (!run.cuts.empty()) {
      run.model = reading_.reuse->model;
      run.block = block;
      run.ms_per_token = static_cast<float>(ms / (end - begin));
      reading_.reuse->blocks->store_behind(std::move(run));
    }
    return {};
  }

  /// The time for tokens [begin, end), to the parts that they belong to.
  void charge(std::int32_t begin, std::int32_t end, double ms_per_token) {
    for (std::size_t part = 0; part < read_.parts.size(); ++part) {
      const auto shared = std::min(begins_[part + 1], end) - std::max(begins_[part], begin);
      if (shared > 0) read_.parts[part].ms += ms_per_token * shared;
    }
  }

  /// Whole parts within [begin, end) whose blocks are worth keeping.
  [[nodiscard]] std::vector<BlockCut> cuts_within(std::int32_t begin, std::int32_t end) const {
    std::vector<BlockCut> cuts;
    if (!changed_.empty()) return cuts;  // what is computed behind them is not exact
    for (std::size_t part = 0; part < resolved_.size(); ++part) {
      const std::int32_t size = begins_[part + 1] - begins_[part];
      if (!resolved_[part].keep || size == 0 || begins_[part] < begin || begins_[part + 1] > end) continue;
      cuts.push_back({resolved_[part].key, begins_[part] - begin, size});
    }
    return cuts;
  }

  void count() {
    read_.exact_tokens = changed_.empty() ? begins_.back() : changed_.front().first;
    for (std::size_t part = 0; part < resolved_.size(); ++part) {
      const std::int32_t size = begins_[part + 1] - begins_[part];
      PartRead& read = read_.parts[part];
      read.computed = size - read.live - read.loaded;
      const bool chunk = reading_.plan->parts[part].kind != PartKind::kLiteral;
      if (chunk && reading_.reuse != nullptr && read.live < size) reading_.reuse->blocks->count(read.match);
    }
  }

  engine::Engine& engine_;
  engine::Sequence& sequence_;
  const PlanReading& reading_;
  const std::vector<engine::TokenId> prompt_;
  ResolvedPlan resolved_;
  std::vector<std::int32_t> begins_;  // of each part, and the end of the last
  std::vector<ChangedRun> changed_;   // placed, and behind other tokens than they were computed behind
  bool all_near_ = true;              // of them none was computed without neighbours
  std::int32_t to_compute_ = 0;
  std::int32_t computed_ = 0;
  PlanRead read_;
};

}  // namespace

Result<PlanRead> read_plan(engine::Engine& engine, engine::Sequence& sequence, const PlanReading& reading) {
  return PlanReader(engine, sequence, reading).run();
}

}  // namespace kvboost::daemon
