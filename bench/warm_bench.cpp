// SPDX-License-Identifier: Apache-2.0
#include "bench/warm_bench.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "bench/bench_model.h"
#include "bench/scratch_folder.h"
#include "daemon/pipeline/group_run.h"
#include "daemon/prompt/repository.h"

namespace kvboost::bench {
namespace {

using Clock = std::chrono::steady_clock;
using daemon::BlockGroup;
using engine::TokenId;

// Groups that are read in one way before they are read in the other, so that what slows the machine for a
// while slows both.
constexpr std::size_t kGroupsInTurn = 6;

class WarmRun {
 public:
  WarmRun(BenchModel model, ScratchFolder folder)
      : model_(std::move(model)), folder_(std::move(folder)), blocks_(cache_options()) {}

  Result<WarmSpeed> run(const WarmBench& bench) {
    if (!blocks_.problem().empty()) return fail(ErrorCode::kIo, blocks_.problem());
    if (auto found = collect(bench); !found) return fail(found.error());
    if (auto read = read_header(); !read) return fail(read.error());
    double warm = 0, alone = 0;
    for (std::size_t first = 0; first < groups_.size(); first += kGroupsInTurn) {
      const auto turn = std::span(groups_).subspan(first, std::min(kGroupsInTurn, groups_.size() - first));
      const auto without = seconds_alone(turn);
      const auto with = seconds_of_warm(turn);
      if (!without) return fail(without.error());
      if (!with) return fail(with.error());
      alone += *without;
      warm += *with;
      std::cerr << "read " << first + turn.size() << " of " << groups_.size() << " groups\n";
    }
    speed_.groups = std::ssize(groups_);
    speed_.bytes = blocks_.counts().stored_bytes;
    speed_.warm_tokens_per_s = static_cast<double>(speed_.tokens) / warm;
    speed_.alone_tokens_per_s = static_cast<double>(speed_.tokens) / alone;
    return speed_;
  }

 private:
  [[nodiscard]] daemon::BlockCache::Options cache_options() const {
    daemon::BlockCache::Options options{.directory = folder_.path()};
    options.disk.free_floor = 0;
    return options;
  }

  Result<void> collect(const WarmBench& bench) {
    auto repository = daemon::Repository::open(bench.repository, {});
    if (!repository) return fail(repository.error());
    if (auto fresh = (*repository)->refresh({}); !fresh) return fail(fresh.error());
    const auto context = static_cast<std::size_t>(model_.engine().info().context);
    for (const std::string& path : (*repository)->files()) {
      if (speed_.tokens >= bench.tokens) break;
      const auto text = (*repository)->read(path);
      if (!text) continue;
      const auto file =
          daemon::cut_and_encode(model_.engine().tokenizer(), path, *text, (*repository)->chunks().options());
      for (BlockGroup& group : daemon::group_blocks(file, path, model_.chat(), model_.context(), context)) {
        speed_.tokens += std::ssize(tokens_of(group));
        groups_.push_back(std::move(group));
      }
      ++speed_.files;
    }
    if (groups_.empty()) return fail(ErrorCode::kInvalidArgument, "the repository has no files to read");
    return {};
  }

  /// Without the header's.
  static std::vector<TokenId> tokens_of(const BlockGroup& group) {
    std::vector<TokenId> tokens;
    for (const daemon::BlockPart& part : std::span(group).subspan(1)) {
      tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
    }
    return tokens;
  }

  Result<void> read_header() {
    const BlockGroup header(groups_.front().begin(), groups_.front().begin() + 1);
    if (auto done = daemon::GroupRun(header, 1).run(model_.loaded(), blocks_, {}); !done)
      return fail(done.error());
    auto made = model_.engine().new_sequence();
    if (!made) return fail(made.error());
    sequence_.emplace(std::move(*made));
    return model_.engine().prefill(*sequence_, header.front().tokens);
  }

  Result<double> seconds_alone(std::span<const BlockGroup> groups) {
    blocks_.flush();
    const auto start = Clock::now();
    for (const BlockGroup& group : groups) {
      sequence_->truncate(static_cast<std::int32_t>(group.front().tokens.size()));
      if (auto read = model_.engine().prefill(*sequence_, tokens_of(group)); !read) return fail(read.error());
    }
    return seconds_since(start);
  }

  Result<double> seconds_of_warm(std::span<const BlockGroup> groups) {
    const auto start = Clock::now();
    for (const BlockGroup& group : groups) {
      blocks_.wait_for_room({});
      const auto done = daemon::GroupRun(group, group.size()).run(model_.loaded(), blocks_, {});
      if (!done) return fail(done.error());
    }
    blocks_.flush();
    return seconds_since(start);
  }

  const BenchModel model_;
  ScratchFolder folder_;
  daemon::BlockCache blocks_;
  std::vector<BlockGroup> groups_;
  std::optional<engine::Sequence> sequence_;  // begins with the header
  WarmSpeed speed_;
};

}  // namespace

Result<WarmSpeed> run_warm_bench(const WarmBench& bench) {
  auto model = BenchModel::load(bench.common);
  if (!model) return fail(model.error());
  auto folder = ScratchFolder::make(bench.directory);
  if (!folder) return fail(folder.error());
  return WarmRun(std::move(*model), std::move(*folder)).run(bench);
}

void print_warm_speed(std::ostream& out, const WarmSpeed& speed, bool json) {
  const double share = speed.warm_tokens_per_s / speed.alone_tokens_per_s;
  if (json) {
    const nlohmann::ordered_json line = {{"files", speed.files},
                                         {"groups", speed.groups},
                                         {"tokens", speed.tokens},
                                         {"bytes", speed.bytes},
                                         {"warm_tokens_per_s", speed.warm_tokens_per_s},
                                         {"alone_tokens_per_s", speed.alone_tokens_per_s},
                                         {"share", share}};
    out << line.dump() << '\n';
    return;
  }
  char text[160];
  std::snprintf(
      text, sizeof text,
      "%lld tokens of %lld files, %.0f MB: warm %.0f tokens/s, the engine alone %.0f, that is %.0f %%\n",
      static_cast<long long>(speed.tokens), static_cast<long long>(speed.files),
      static_cast<double>(speed.bytes) / 1e6, speed.warm_tokens_per_s, speed.alone_tokens_per_s, 100 * share);
  out << text;
}

}  // namespace kvboost::bench
