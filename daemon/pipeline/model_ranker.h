// SPDX-License-Identifier: Apache-2.0
// ModelRanker: how likely the report is to the model once it has read a file's best chunks (query
// likelihood). The chunks' stored blocks are placed behind the header, so that only the report itself goes
// through the model; blocks that are missing are computed and stored on the way. Made for one report, run on
// a worker; the model works on the engine thread, some files at a time, so that others get their turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/ranker.h"

namespace kvboost::daemon {

class ModelRanker : public Ranker {
 public:
  static constexpr std::string_view kName = "model";

  struct Limits {
    std::size_t files = 20;           // how many of the best suspects are read
    std::size_t chunk_tokens = 400;   // of each, its best chunks up to this
    std::size_t report_tokens = 128;  // from the report's beginning
    std::size_t together = 8;         // files whose reports go through the model side by side
  };
  /// What was done, for those who want to know.
  struct Counts {
    std::int64_t files = 0;
    std::int64_t placed_tokens = 0;    // from stored blocks
    std::int64_t computed_tokens = 0;  // of files
    std::int64_t report_read = 0;      // the report's first tokens, those that are read
    std::int64_t report_tokens = 0;    // the report's
  };

  /// The model must stay loaded while it lives. Without `reuse` everything is computed from text, and nothing
  /// is stored.
  ModelRanker(Scheduler& engine_thread, LoadedModel& model, std::optional<Reuse> reuse, const Limits& limits)
      : engine_thread_(engine_thread), model_(model), reuse_(std::move(reuse)), limits_(limits) {}

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] Result<void> rank(const RankJob& job, std::vector<Suspect>& suspects) override;

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] Result<void> rank_until(const RankJob& job, std::vector<Suspect>& suspects,
                                        const std::stop_token& stop);
  void encode_report(const Report& report);
  [[nodiscard]] Result<PromptPlan> plan_of(const RankJob& job, const Suspect& suspect) const;
  /// Runs on the engine thread, again and again until it was not stopped by a more urgent job.
  template <class Step>
  [[nodiscard]] Result<void> on_engine(const std::stop_token& stop, const Step& step);
  [[nodiscard]] Result<void> read_header(const std::stop_token& stop);
  /// A file that is being read.
  struct Lane {
    Suspect* suspect = nullptr;
    PromptPlan plan;
  };
  /// At most as many as there are lanes_.
  [[nodiscard]] Result<void> read_files(std::span<const Lane> lanes, const std::stop_token& stop);
  [[nodiscard]] Result<void> read_file(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                       const std::stop_token& stop);
  [[nodiscard]] Result<void> read_text(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                       const std::stop_token& stop);
  [[nodiscard]] Result<void> store_missing(const PromptPlan& plan, engine::Sequence& lane, Counts& counts,
                                           const std::stop_token& stop);
  [[nodiscard]] Result<std::vector<double>> likelihoods(std::size_t n, const std::stop_token& stop);

  Scheduler& engine_thread_;
  LoadedModel& model_;
  const std::optional<Reuse> reuse_;
  const Limits limits_;
  Counts counts_;
  std::vector<engine::TokenId> lead_;    // what stands between the chunks and the report
  std::vector<engine::TokenId> report_;  // its beginning
  std::vector<engine::Sequence> lanes_;  // each begins with the header
  std::int32_t header_size_ = 0;
  double alone_ = 0;  // mean ln P of a token of the report behind the header alone
};

}  // namespace kvboost::daemon
