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
  double alone = 0;
  auto begun = on_engine(stop, [&](const std::stop_token& now) -> Result<void> {
    if (auto read = read_header(now); !read) return read;
    const auto found = likelihood(now);
    if (!found) return fail(found.error());
    alone = *found;
    return {};
  });
  if (!begun) return begun;
  const std::size_t files = std::min(limits_.files, suspects.size());
  for (std::size_t i = 0; i < files; ++i) {
    if (job.progress) job.progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(files));
    // The deadline itself too: a token may be told of it a moment later.
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= job.deadline) return cancelled();
    const auto plan = plan_of(job, suspects[i]);
    if (!plan) continue;  // gone since the refresh, or with no room for it
    double score = 0;
    auto read = on_engine(stop, [&](const std::stop_token& now) -> Result<void> {
      if (auto there = read_files_part(*plan, now); !there) return there;
      const auto found = likelihood(now);
      if (!found) return fail(found.error());
      score = *found - alone;
      return {};
    });
    if (!read) return read;
    suspects[i].scores.insert_or_assign(std::string(kName), score);
    ++counts_.files;
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

/// All that follows goes on from here.
Result<void> ModelRanker::read_header(const std::stop_token& stop) {
  auto made = model_.engine->new_sequence();
  if (!made) return fail(made.error());
  sequence_.emplace(std::move(*made));
  const PromptPlan header{{{.kind = PartKind::kHeader, .tokens = model_.chat.header()}}, {}};
  header_size_ = static_cast<std::int32_t>(header.size());
  const auto read = read_plan(*model_.engine, *sequence_,
                              {.plan = &header, .reuse = reuse_ ? &*reuse_ : nullptr, .stop = stop});
  return read ? Result<void>() : fail(read.error());
}

/// Brings the file's opening and chunks behind the header.
Result<void> ModelRanker::read_files_part(const PromptPlan& plan, const std::stop_token& stop) {
  sequence_->truncate(header_size_);
  if (reuse_) {
    if (auto stored = store_missing(plan, stop); !stored) return stored;
    sequence_->truncate(header_size_);
  }
  engine::PrefillOptions options;
  options.stop = stop;
  const ResolvedPlan resolved = reuse_ ? resolve(plan, reuse_->context, reuse_->neighbours, *reuse_->blocks)
                                       : ResolvedPlan(plan.parts.size());
  for (std::size_t i = 1; i < plan.parts.size(); ++i) {
    const std::vector<engine::TokenId>& tokens = plan.parts[i].tokens;
    std::optional<engine::KvBlock> block;
    if (resolved[i].match != Match::kMiss) block = reuse_->blocks->load(resolved[i].source);
    const bool fits = block && block->n_tokens == std::ssize(tokens);
    auto read = fits ? model_.engine->place(*sequence_, *block, tokens, sequence_->size())
                     : model_.engine->prefill(*sequence_, tokens, options);
    if (!read) return read;
    (fits ? counts_.placed_tokens : counts_.computed_tokens) += std::ssize(tokens);
  }
  return {};
}

/// Computes each chunk that has no block, behind header and opening, and has it stored. An opening alone is
/// computed in place, again and again: it is a handful of tokens.
Result<void> ModelRanker::store_missing(const PromptPlan& plan, const std::stop_token& stop) {
  const ResolvedPlan resolved = resolve(plan, reuse_->context, reuse_->neighbours, *reuse_->blocks);
  for (std::size_t i = kFirstChunk; i < plan.parts.size(); ++i) {
    if (resolved[i].match != Match::kMiss) continue;
    const PromptPlan alone{{plan.parts[0], plan.parts[1], plan.parts[i]}, {}};
    sequence_->truncate(header_size_);
    const auto read =
        read_plan(*model_.engine, *sequence_, {.plan = &alone, .reuse = &*reuse_, .stop = stop});
    if (!read) return fail(read.error());
    counts_.computed_tokens += std::ssize(plan.parts[i].tokens);
  }
  return {};
}

/// Mean ln P of a token of the report behind what the sequence holds.
Result<double> ModelRanker::likelihood(const std::stop_token& stop) {
  std::vector<engine::TokenId> tokens = lead_;
  tokens.insert(tokens.end(), report_.begin(), report_.end());
  const auto scores = model_.engine->score(*sequence_, tokens, stop);
  if (!scores) return fail(scores.error());
  const auto first = scores->begin() + static_cast<std::ptrdiff_t>(lead_.size());
  return std::accumulate(first, scores->end(), 0.0) / static_cast<double>(report_.size());
}

}  // namespace kvboost::daemon
