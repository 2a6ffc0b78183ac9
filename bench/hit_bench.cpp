// SPDX-License-Identifier: Apache-2.0
#include "bench/hit_bench.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench_model.h"
#include "bench/measurement.h"
#include "bench/sample_text.h"
#include "bench/stored_blocks.h"

namespace kvboost::bench {
namespace {

using daemon::PartKind;
using daemon::PromptPlan;

constexpr std::size_t kChunk = 256;  // tokens, about what the chunker makes
constexpr const char* kQuestion = "\n\nQuestion: What does the code above do?";

class HitRun {
 public:
  HitRun(const HitBench& bench, const BenchModel& model, std::vector<engine::TokenId> text,
         StoredBlocks blocks)
      : bench_(bench), model_(model), text_(std::move(text)), blocks_(std::move(blocks)) {}

  Result<std::vector<HitTimes>> run() {
    for (const std::int32_t tokens : bench_.lengths) {
      if (auto warmed = warm(plan(tokens, 0)); !warmed) return fail(warmed.error());
    }
    blocks_.end_warming();
    std::vector<HitTimes> all;
    for (const std::int32_t tokens : bench_.lengths) {
      const auto times = measure(tokens);
      if (!times) return fail(times.error());
      all.push_back(*times);
      std::cerr << "measured " << times->tokens << " tokens\n";
    }
    return all;
  }

 private:
  /// Of about `tokens`; its text begins at token `begin` of the sample.
  [[nodiscard]] PromptPlan plan(std::int32_t tokens, std::size_t begin) const {
    PromptPlan plan;
    const auto& tokenizer = model_.engine().tokenizer();
    // Without the guide, so that short prompts are short.
    const daemon::ChatTemplate chat(model_.chat().family(), tokenizer);
    plan.parts.push_back({.kind = PartKind::kHeader, .tokens = chat.header()});
    daemon::PlanPart question{.tokens = tokenizer.encode(kQuestion)};
    daemon::PlanPart closing{.tokens = model_.chat().turn_to_assistant()};
    const std::size_t around = plan.size() + question.tokens.size() + closing.tokens.size();
    std::size_t left = static_cast<std::size_t>(tokens) - std::min<std::size_t>(around, tokens - 1);
    while (left > 0) {
      const std::size_t size = std::min(left, kChunk);
      const auto first = text_.begin() + static_cast<std::ptrdiff_t>(begin);
      plan.parts.push_back({.kind = PartKind::kFile,
                            .path = "sample",
                            .first_line = 1,
                            .tokens = {first, first + static_cast<std::ptrdiff_t>(size)}});
      begin += size;
      left -= size;
    }
    plan.parts.push_back(std::move(question));
    plan.parts.push_back(std::move(closing));
    return plan;
  }

  Result<void> warm(const PromptPlan& plan) {
    const auto run = model_.compute(daemon::leading_blocks(plan, model_.context()));
    return run ? blocks_.add(*run) : fail(run.error());
  }

  /// The ways are taken in turns, so that what slows the machine slows all of them.
  Result<HitTimes> measure(std::int32_t tokens) {
    const PromptPlan stored = plan(tokens, 0);
    std::vector<double> off, ram_hit, ram_miss, disk_hit, disk_miss;
    for (std::int32_t run = 0; run < bench_.common.runs; ++run) {
      const PromptPlan absent = plan(tokens, static_cast<std::size_t>(run) + 1);
      for (const auto& [prompt, tier, times] :
           {std::tuple{&stored, std::optional<Tier>(), &off},
            std::tuple{&stored, std::optional(Tier::kRam), &ram_hit},
            std::tuple{&absent, std::optional(Tier::kRam), &ram_miss},
            std::tuple{&stored, std::optional(Tier::kDisk), &disk_hit},
            std::tuple{&absent, std::optional(Tier::kDisk), &disk_miss}}) {
        const auto ms = time(*prompt, tier, prompt == &stored);
        if (!ms) return fail(ms.error());
        times->push_back(*ms);
      }
    }
    return HitTimes{static_cast<std::int32_t>(stored.size()),
                    median(off),
                    median(ram_hit),
                    median(ram_miss),
                    median(disk_hit),
                    median(disk_miss)};
  }

  Result<double> time(const PromptPlan& plan, std::optional<Tier> tier, bool hit) {
    daemon::Reuse reuse{nullptr, model_.fingerprint(), model_.context(), {}};
    if (tier) {
      const auto cache = blocks_.open(*tier);
      if (!cache) return fail(cache.error());
      reuse.blocks = *cache;
    }
    auto live = model_.no_live();
    const auto reading = model_.read(plan, tier ? &reuse : nullptr, live, 0);
    if (!reading) return fail(reading.error());
    if (!tier) return reading->ttft_ms;
    if (auto restored = blocks_.restore({&plan}, model_.context()); !restored) return fail(restored.error());
    // The header is always stored.
    const auto header = static_cast<std::int32_t>(plan.parts.front().tokens.size());
    if (hit ? reading->repaired > 0 : reading->reused > header)
      return fail(ErrorCode::kInternal, hit ? "a stored prompt was computed" : "an unknown prompt was found");
    return reading->ttft_ms;
  }

  const HitBench& bench_;
  const BenchModel& model_;
  const std::vector<engine::TokenId> text_;
  StoredBlocks blocks_;
};

}  // namespace

Result<std::vector<HitTimes>> run_hit_bench(const HitBench& bench) {
  const auto model = BenchModel::load(bench.common);
  if (!model) return fail(model.error());
  const auto text = sample_text(bench.common.text);
  if (!text) return fail(text.error());
  auto tokens = model->engine().tokenizer().encode(text->substr(0, 200'000));
  const auto longest = std::ranges::max(bench.lengths);
  if (longest > model->engine().info().context ||
      tokens.size() < static_cast<std::size_t>(longest + bench.common.runs)) {
    return fail(ErrorCode::kInvalidArgument,
                "prompts of " + std::to_string(longest) + " tokens need a longer text, or a larger context",
                "take shorter --lengths, or another --text");
  }
  auto blocks = StoredBlocks::make(bench.directory, cache::Codec::kBf16);
  if (!blocks) return fail(blocks.error());
  return HitRun(bench, *model, std::move(tokens), std::move(*blocks)).run();
}

void print_hit_table(std::ostream& out, std::span<const HitTimes> times) {
  char line[128];
  std::snprintf(line, sizeof line, "%7s %10s %10s %10s %10s %10s\n", "tokens", "off, ms", "ram hit",
                "ram miss", "disk hit", "disk miss");
  out << line;
  bool slower = false;
  for (const HitTimes& t : times) {
    std::snprintf(line, sizeof line, "%7d %10.1f %10.1f %10.1f %10.1f %10.1f\n", t.tokens, t.off, t.ram_hit,
                  t.ram_miss, t.disk_hit, t.disk_miss);
    out << line;
    slower = slower || t.hit_is_slower();
  }
  out << (slower ? "A hit was slower than no cache.\n" : "No hit was slower than no cache.\n");
}

void print_hit_json(std::ostream& out, std::span<const HitTimes> times) {
  for (const HitTimes& t : times) {
    const nlohmann::ordered_json json = {{"tokens", t.tokens},        {"off_ms", t.off},
                                         {"ram_hit_ms", t.ram_hit},   {"ram_miss_ms", t.ram_miss},
                                         {"disk_hit_ms", t.disk_hit}, {"disk_miss_ms", t.disk_miss}};
    out << json.dump() << '\n';
  }
}

}  // namespace kvboost::bench
