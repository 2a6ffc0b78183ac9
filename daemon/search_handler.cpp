// SPDX-License-Identifier: Apache-2.0
#include "daemon/search_handler.h"

#include <map>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

using protocol::SearchParams;
using protocol::SearchResult;

constexpr std::size_t kRankedSpans = 4'000;

/// Texts as they were at the refresh, each read once; empty for a file that has changed or gone since.
class Texts {
 public:
  explicit Texts(const Repository& repository) : repository_(repository) {}

  const std::string& of(const std::string& path) {
    const auto [found, is_new] = texts_.try_emplace(path);
    if (!is_new) return found->second;
    auto text = repository_.read(path);
    if (text && repository_.digest(path) == sha256(*text)) found->second = std::move(*text);
    return found->second;
  }

 private:
  const Repository& repository_;
  std::map<std::string, std::string> texts_;
};

protocol::SearchSpan cut_out(const RankedSpan& ranked, std::string_view text) {
  const std::string_view span = text.substr(ranked.begin, ranked.end - ranked.begin);
  protocol::SearchSpan out{.path = ranked.path, .score = ranked.score, .text = std::string(span)};
  out.first_line = line_number(text, ranked.begin);
  out.last_line = line_number(text, ranked.end) - (span.ends_with('\n') ? 1 : 0);
  return out;
}

}  // namespace

void SearchHandler::bind(Binder& binder) {
  binder.add<SearchParams, SearchResult>("search", RunOn::kIo, [this](auto context, auto params, auto reply) {
    ++parts_.metrics.requests;
    const std::stop_token stop = context.stop();
    parts_.workers.submit(
        Priority::kAsk,
        {.run = [this, context, params = std::move(params), reply] { end(reply, search(context, params)); },
         .drop = [this, reply](Error error) { end(reply, fail(std::move(error))); },
         .stop = stop});
  });
}

void SearchHandler::end(const Reply<SearchResult>& reply, const Result<SearchResult>& outcome) const {
  if (!outcome) parts_.metrics.count(outcome.error());
  reply(outcome);
}

Result<SearchResult> SearchHandler::search(const RequestContext& context, const SearchParams& params) const {
  const auto opened = parts_.repositories.open(params.directory);
  if (!opened) return fail(opened.error());
  Repository& repository = **opened;
  const auto fresh = repository.refresh(context.stop(), [&](std::int64_t done, std::int64_t total) {
    context.notify("search/progress", protocol::SearchProgress{"reading", done, total});
  });
  if (!fresh) return fail(fresh.error());
  const auto named = resolve_paths(repository, params.paths, params.directory);
  if (!named) return fail(named.error());
  const std::set<std::string> wanted(named->begin(), named->end());

  SearchResult result;
  Texts texts(repository);
  for (const RankedSpan& ranked : repository.rank_spans(params.query, kRankedSpans)) {
    if (result.spans.size() >= static_cast<std::size_t>(params.top)) break;
    if (!params.paths.empty() && !wanted.contains(ranked.path)) continue;
    const std::string& text = texts.of(ranked.path);
    if (ranked.end <= text.size()) result.spans.push_back(cut_out(ranked, text));
  }
  result.root = repository.root().string();
  result.note = repository.untold_note();
  return result;
}

}  // namespace kvboost::daemon
