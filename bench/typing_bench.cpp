// SPDX-License-Identifier: Apache-2.0
#include "bench/typing_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "bench/bench_model.h"
#include "bench/measurement.h"
#include "cache/chunk/grammars.h"
#include "daemon/pipeline/completer.h"

namespace kvboost::bench {
namespace {

using Clock = std::chrono::steady_clock;
using daemon::EditBuffer;

constexpr double kTypedFrom = 0.5;  // of the file
constexpr std::int64_t kMiddling = 16'000;

class TypingRun {
 public:
  TypingRun(const TypingBench& bench, BenchModel model)
      : bench_(bench), model_(std::move(model)), completer_(repositories_, {bench.prompt_tokens}) {
    const daemon::ModelLimits limits;
    model_.loaded().live = {model_.engine(), limits.live_sequences, limits.live_bytes};
  }

  Result<TypingFigures> run() {
    auto repository = repositories_.open(bench_.repository);
    if (!repository) return fail(repository.error());
    if (const auto fresh = (*repository)->refresh({}); !fresh) return fail(fresh.error());
    figures_.file = bench_.file.empty() ? middling_file(**repository) : bench_.file;
    auto text = (*repository)->read(figures_.file);
    if (!text) return fail(ErrorCode::kInvalidArgument, figures_.file + ": " + text.error().message);
    if (text->size() < 2 * bench_.keys)
      return fail(ErrorCode::kInvalidArgument, figures_.file + " is too short to type so much of it");
    const auto middle = static_cast<std::size_t>(kTypedFrom * static_cast<double>(text->size()));
    const std::size_t begin = text->rfind('\n', std::min(middle, text->size() - bench_.keys)) + 1;
    for (std::size_t key = 1; key <= bench_.keys; ++key) {
      const std::size_t cursor = begin + key;
      const std::string buffer = text->substr(0, cursor) + text->substr(begin + bench_.keys);
      const std::string_view next = std::string_view(*text).substr(cursor);
      if (auto typed = type(EditBuffer(buffer, static_cast<std::int64_t>(cursor)), next); !typed)
        return fail(typed.error());
      if (key % 100 == 0) std::cerr << key << " of " << bench_.keys << " keys\n";
    }
    if (!computed_.empty()) {
      figures_.computed_tokens = median(computed_);
      figures_.prompt_tokens = prompt_tokens_ / static_cast<double>(computed_.size());
    }
    return std::move(figures_);
  }

 private:
  /// A source file, so that there is something to complete.
  static std::string middling_file(const daemon::Repository& repository) {
    std::string best;
    std::int64_t distance = 0;
    for (const std::string& path : repository.files()) {
      if (cache::find_grammar(path, "") == nullptr || path.ends_with(".md")) continue;
      const auto text = repository.read(path);
      if (!text) continue;
      const std::int64_t off = std::abs(std::ssize(*text) - kMiddling);
      if (best.empty() || off < distance) {
        best = path;
        distance = off;
      }
    }
    return best;
  }

  Result<void> type(EditBuffer buffer, std::string_view next) {
    const auto start = Clock::now();
    const daemon::CompletionRequest request{.client = "bench",
                                            .directory = bench_.repository,
                                            .path = figures_.file,
                                            .buffer = std::move(buffer)};
    ++figures_.keys;
    daemon::LoadedModel& model = model_.loaded();
    if (completer_.recent(request, model)) {
      ++figures_.recent;
      return {};
    }
    const auto prepared = completer_.prepare(request, model, {}, {});
    if (!prepared) return fail(prepared.error());
    const daemon::Reuse reuse{&blocks_, model_.fingerprint(), model_.context()};
    std::optional<double> first;
    const auto see = [&](std::string_view) {
      if (!first) first = ms_since(start);
      return true;
    };
    const auto written = completer_.write(*prepared, model, {.reuse = &reuse, .sink = see});
    if (!written) return fail(written.error());
    take(*prepared, *written, first, ms_since(start), next);
    return {};
  }

  void take(const daemon::Completer::Prepared& prepared, const daemon::WrittenHints& written,
            std::optional<double> first, double whole, std::string_view next) {
    computed_.push_back(written.computed_tokens);
    prompt_tokens_ += written.prompt_tokens;
    if (computed_.size() == 1) {
      figures_.opened_ms = first.value_or(whole);
      return;
    }
    if (first) figures_.first_ms.push_back(*first);
    if (prepared.place.wanted != cache::WantedText::kLine || written.hints.empty()) return;
    figures_.line_ms.push_back(whole);
    ++figures_.lines;
    const std::string& hint = written.hints.front().text;
    if (next.substr(0, next.find('\n')) == hint) ++figures_.right;
  }

  const TypingBench& bench_;
  const BenchModel model_;
  daemon::Repositories repositories_{daemon::RepositoryOptions{}};
  daemon::BlockCache blocks_{daemon::BlockCache::Options{}};
  daemon::Completer completer_;
  TypingFigures figures_;
  std::vector<double> computed_;
  double prompt_tokens_ = 0;
};

}  // namespace

Result<TypingFigures> run_typing_bench(const TypingBench& bench) {
  auto model = BenchModel::load(bench.common);
  if (!model) return fail(model.error());
  TypingBench absolute = bench;
  absolute.repository = std::filesystem::absolute(bench.repository);
  return TypingRun(absolute, std::move(*model)).run();
}

void print_typing(std::ostream& out, const TypingFigures& f, bool json) {
  const double first50 = percentile(f.first_ms, 0.5), first95 = percentile(f.first_ms, 0.95);
  const double line50 = percentile(f.line_ms, 0.5), line95 = percentile(f.line_ms, 0.95);
  if (json) {
    const nlohmann::ordered_json line = {{"file", f.file},
                                         {"keys", f.keys},
                                         {"recent", f.recent},
                                         {"prompt_tokens", f.prompt_tokens},
                                         {"computed_tokens_p50", f.computed_tokens},
                                         {"opened_ms", f.opened_ms},
                                         {"first_ms_p50", first50},
                                         {"first_ms_p95", first95},
                                         {"first_n", f.first_ms.size()},
                                         {"line_ms_p50", line50},
                                         {"line_ms_p95", line95},
                                         {"lines", f.lines},
                                         {"right", f.right}};
    out << line.dump() << '\n';
    return;
  }
  out << formatted("%lld keys in %s, %lld of them answered by what had been shown\n",
                   static_cast<long long>(f.keys), f.file.c_str(), static_cast<long long>(f.recent))
      << formatted("a prompt has %.0f tokens, of which a key computes %.0f\n", f.prompt_tokens,
                   f.computed_tokens)
      << formatted("opened      %.0f ms\nfirst text  p50 %.0f ms, p95 %.0f ms, n %zu\n", f.opened_ms, first50,
                   first95, f.first_ms.size())
      << formatted("a line      p50 %.0f ms, p95 %.0f ms, n %zu\n", line50, line95, f.line_ms.size())
      << formatted("%lld of %lld lines are what was typed next\n", static_cast<long long>(f.right),
                   static_cast<long long>(f.lines));
}

}  // namespace kvboost::bench
