// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/model_ranker.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "daemon/pipeline/deadline_stop.h"
#include "daemon/pipeline/engine_step.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/resolver.h"
#include "daemon/prompt/file_parts.h"

namespace kvboost::daemon {
namespace {

constexpr std::string_view kLead = "\n\nBug report:\n";
// What files that are read together may hold in memory.
constexpr std::size_t kLaneBytes = 256'000'000;

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "cancelled while the model was reading");
}

}  // namespace

Result<void> ModelRanker::rank(const RankJob& job, std::vector<Suspect>& suspects) {
  const DeadlineStop stop(job.stop, job.deadline);
  auto ranked = rank_until(job, suspects, stop.token());
  if (!ranked && ranked.error().code == ErrorCode::kCancelled && !job.stop.stop_requested()) ranked = {};
  return ranked;
}

Result<void> ModelRanker::rank_until(const RankJob& job, std::vector<Suspect>& suspects,
                                     const std::stop_token& stop) {
  encode_report(job.report);
  if (report_.empty()) return {};
  auto begun = on_engine(stop, [&](const std::stop_token& now) { return read_header(now); });
  if (!begun) return begun;
  const std::size_t files = std::min(limits_.files, suspects.size());
  for (std::size_t i = 0; i < files;) {
    if (job.progress) job.progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(files));
    // The deadline itself too: a token may be told of it a moment later.
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= job.deadline) return cancelled();
    std::vector<Lane> lanes;
    for (const std::size_t end = std::min(files, i + lanes_.size()); i < end; ++i) {
      // Without one: gone since the refresh, or with no room for it.
      if (auto plan = plan_of(job, suspects[i])) lanes.push_back({&suspects[i], std::move(*plan)});
    }
    if (lanes.empty()) continue;
    auto read = on_engine(stop, [&](const std::stop_token& now) { return read_files(lanes, now); });
    if (!read) return read;
  }
  if (job.progress) job.progress(static_cast<std::int64_t>(files), static_cast<std::int64_t>(files));
  return {};
}

void ModelRanker::encode_report(const Report& report) {
  const engine::Tokenizer& tokenizer = model_.engine->tokenizer();
  lead_ = tokenizer.encode(kLead);
  report_ = tokenizer.encode(report.text);
  counts_.report_tokens = std::ssize(report_);
  if (report_.size() > limits_.report_tokens) report_.resize(limits_.report_tokens);
  counts_.report_read = std::ssize(report_);
}

Result<PromptPlan> ModelRanker::plan_of(const RankJob& job, const Suspect& suspect) const {
  const auto text = job.repository.read(suspect.path);
  if (!text) return fail(text.error());
  const auto file = job.repository.chunks().encode(model_.engine->tokenizer(), suspect.path, *text);
  PromptPlan plan;
  plan.parts.push_back({.kind = PartKind::kHeader, .tokens = model_.chat.header()});
  plan.parts.push_back(
      {.kind = PartKind::kFile, .path = suspect.path, .tokens = model_.chat.file_opening(suspect.path)});
  const std::size_t others = plan.size() + lead_.size() + report_.size();
  const auto context = static_cast<std::size_t>(model_.engine->info().context);
  if (others >= context) return fail(ErrorCode::kInvalidArgument, "no room for a chunk");
  for (const std::size_t i :
       best_chunks(*file, suspect.spans, std::min(limits_.chunk_tokens, context - others))) {
    plan.parts.push_back(file_part(suspect.path, (*file)[i]));
  }
  return plan;
}

template <class Step>
Result<void> ModelRanker::on_engine(const std::stop_token& stop, const Step& step) {
  for (;;) {
    auto done = engine_step(engine_thread_, Priority::kAsk, stop, step);
    const bool again = !done && done.error().code == ErrorCode::kCancelled && !stop.stop_requested();
    if (!again) return done;
  }
}

/// All that follows goes on from here: how likely the report is behind the header alone, and a copy of the
/// header for each file of those that are read together.
Result<void> ModelRanker::read_header(const std::stop_token& stop) {
  auto made = model_.engine->new_sequence();
  if (!made) return fail(made.error());
  const PromptPlan header{{{.kind = PartKind::kHeader, .tokens = model_.chat.header()}}, {}};
  header_size_ = static_cast<std::int32_t>(header.size());
  const auto read =
      read_plan(*model_.engine, *made, {.plan = &header, .reuse = reuse_ ? &*reuse_ : nullptr, .stop = stop});
  if (!read) return fail(read.error());
  lanes_.clear();
  lanes_.push_back(std::move(*made));
  const auto alone = likelihoods(1, stop);
  if (!alone) return fail(alone.error());
  alone_ = alone->front();
  const std::size_t bytes = model_.engine->spec().kv_shape().bytes_per_token() *
                            (header.size() + limits_.chunk_tokens + limits_.report_tokens);
  while (lanes_.size() < limits_.together && (lanes_.size() + 1) * bytes < kLaneBytes)
    lanes_.push_back(lanes_.front().fork(header_size_));
  return {};
}

Result<void> ModelRanker::read_files(std::span<const Lane> lanes, const std::stop_token& stop) {
  Counts counts = counts_;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (auto there = read_file(lanes[i].plan, lanes_[i], counts, stop); !there) return there;
  }
  const auto found = likelihoods(lanes.size(), stop);
  if (!found) return fail(found.error());
  for (std::size_t i = 0; i < lanes.size(); ++i)
    lanes[i].suspect->scores.insert_or_assign(std::string(kName), (*found)[i] - alone_);
  counts.files += std::ssize(lanes);
  counts_ = counts;
  return {};
}

/// Brings the file's opening and chunks behind the header.
Result<void> ModelRanker::read_file(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                    const std::stop_token& stop) {
  lane.truncate(header_size_);
  if (!reuse_) return read_text(plan, lane, counts, stop);
  if (auto stored = store_missing(plan, lane, counts, stop); !stored) return stored;
  lane.truncate(header_size_);
  engine::PrefillOptions options;
  options.stop = stop;
  const ResolvedPlan resolved = resolve(plan, reuse_->context, reuse_->neighbours, *reuse_->blocks);
  for (std::size_t i = 1; i < plan.parts.size(); ++i) {
    const std::vector<engine::TokenId>& tokens = plan.parts[i].tokens;
    std::optional<engine::KvBlock> block;
    if (resolved[i].match != Match::kMiss) block = reuse_->blocks->load(resolved[i].source);
    const bool fits = block && block->n_tokens == std::ssize(tokens);
    auto read = fits ? model_.engine->place(lane, *block, tokens, lane.size())
                     : model_.engine->prefill(lane, tokens, options);
    if (!read) return read;
    (fits ? counts.placed_tokens : counts.computed_tokens) += std::ssize(tokens);
  }
  return {};
}

Result<void> ModelRanker::read_text(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                    const std::stop_token& stop) {
  const std::vector<engine::TokenId> all = plan.tokens();
  const auto tokens = std::span(all).subspan(static_cast<std::size_t>(header_size_));
  counts.computed_tokens += std::ssize(tokens);
  engine::PrefillOptions options;
  options.stop = stop;
  return model_.engine->prefill(lane, tokens, options);
}

/// Computes each chunk that has no block, behind header and opening, and has it stored.
Result<void> ModelRanker::store_missing(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                        const std::stop_token& stop) {
  const ResolvedPlan resolved = resolve(plan, reuse_->context, reuse_->neighbours, *reuse_->blocks);
  for (std::size_t i = kFirstChunk; i < plan.parts.size(); ++i) {
    if (resolved[i].match != Match::kMiss) continue;
    const PromptPlan alone{{plan.parts[0], plan.parts[1], plan.parts[i]}, {}};
    lane.truncate(header_size_);
    const auto read = read_plan(*model_.engine, lane, {.plan = &alone, .reuse = &*reuse_, .stop = stop});
    if (!read) return fail(read.error());
    counts.computed_tokens += std::ssize(plan.parts[i].tokens);
  }
  return {};
}

/// Mean ln P of a token of the report behind each of the first lanes.
Result<std::vector<double>> ModelRanker::likelihoods(std::size_t n, const std::stop_token& stop) {
  std::vector<engine::TokenId> tokens = lead_;
  tokens.insert(tokens.end(), report_.begin(), report_.end());
  std::vector<engine::Engine::Candidate> candidates;
  for (engine::Sequence& lane : std::span(lanes_).first(n)) candidates.push_back({&lane, tokens});
  const auto scores = model_.engine->score(candidates, lead_.size(), stop);
  if (!scores) return fail(scores.error());
  std::vector<double> means;
  for (const std::vector<float>& of_tokens : *scores)
    means.push_back(std::accumulate(of_tokens.begin(), of_tokens.end(), 0.0) /
                    static_cast<double>(report_.size()));
  return means;
}

}  // namespace kvboost::daemon
