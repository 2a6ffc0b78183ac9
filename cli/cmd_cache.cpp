// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_cache.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/duration.h"
#include "cli/interrupt.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::CacheEvictResult;
using protocol::CachePinResult;
using protocol::CacheStatsResult;

constexpr std::size_t kDigitsShown = 12;  // of a digest

std::string short_digest(const std::string& hex) {
  return hex.substr(0, kDigitsShown);
}

/// Calls a method and shows what comes back; Ctrl-C cancels it.
template <class Out, class In, class Show>
int request(Session& session, std::string_view method, const In& params, bool json, const Show& show) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  session.note_warnings();
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  const auto on_progress = [&](std::string_view name, const nlohmann::json& what) {
    if (name != "cache/progress") return;
    if (const auto progress = protocol::decode<protocol::CacheProgress>(what)) {
      session.err().progress("reading records " + human_count(progress->done) + " of " +
                             human_count(progress->total));
    }
  };
  const auto result = client->template call<Out>(method, params, on_progress, interrupt.token());
  session.err().end_progress();
  if (!result) return interrupt.requested() ? kExitCancelled : session.failed(result.error());
  if (json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(*result))));
  } else {
    show(*result);
  }
  return kExitDone;
}

std::string removed_text(const CacheEvictResult& result) {
  const auto records = static_cast<std::int64_t>(result.records);
  return plural(records, "record") + " (" + human_size(result.bytes) + ")" +
         (result.dry_run ? " would be removed\n" : " removed\n");
}

/// Asks on the terminal; anything but yes is no.
bool confirmed(Session& session, const CacheEvictResult& all) {
  session.err().write("remove " + plural(static_cast<std::int64_t>(all.records), "record") + " (" +
                      human_size(all.bytes) + "), all that is cached? [y/N] ");
  const int first = std::getchar();
  return first == 'y' || first == 'Y';
}

int set_pin(Session& session, const CacheArguments& arguments, bool remove) {
  const protocol::CachePinParams params{session.directory().string(), arguments.path, remove};
  return request<CachePinResult>(session, "cache/pin", params, arguments.json,
                                 [&](const CachePinResult& result) {
                                   std::string text = "pinned in " + result.root + ":";
                                   if (result.pins.empty()) text += " nothing";
                                   for (const std::string& pin : result.pins) {
                                     text += "\n  " + (pin.empty() ? "." : printable(pin));
                                   }
                                   session.out().write(text + "\n");
                                 });
}

std::string models_text(const CacheStatsResult& stats, const Terminal& terminal) {
  Table models({{"model"}, {"records", true}, {"size", true}, {"file"}});
  for (const protocol::CacheModel& model : stats.models) {
    const std::string file = model.path.empty() ? "unknown" : model.path;
    models.add({short_digest(model.fingerprint), human_count(static_cast<std::int64_t>(model.records)),
                human_size(model.bytes), file + (model.current ? " (in use)" : "")},
               {model.current ? Style::kStrong : Style::kPlain});
  }
  return models.empty() ? "" : "\n" + models.text(terminal);
}

std::string roots_text(const CacheStatsResult& stats, const Terminal& terminal) {
  Table roots({{"repository"}, {"files", true}, {"chunks", true}, {"size", true}, {"pinned"}});
  for (const protocol::CacheRoot& root : stats.roots) {
    std::string pins;
    for (const std::string& pin : root.pinned) pins += (pins.empty() ? "" : ", ") + (pin.empty() ? "." : pin);
    roots.add({root.root, human_count(root.files), human_count(root.chunks), human_size(root.bytes), pins});
  }
  return roots.empty() ? "" : "\n" + roots.text(terminal);
}

}  // namespace

std::string tier_text(const protocol::CacheTier& tier) {
  const auto count = [](std::uint64_t number, std::string_view noun) {
    return plural(static_cast<std::int64_t>(number), noun);
  };
  const std::string_view set_by = tier.name == "memory" ? " (within max_memory)"
                                  : tier.name == "disk" ? " (max_disk)"
                                                        : "";
  std::string text = human_size(tier.used) + " of " + human_size(tier.limit) + std::string(set_by) + ", " +
                     count(tier.records, "record") + ", " + count(tier.hits, "hit") + ", " +
                     human_count(static_cast<std::int64_t>(tier.misses)) + " missed, " +
                     human_count(static_cast<std::int64_t>(tier.evictions)) + " evicted";
  if (tier.corrupt > 0) text += ", " + human_count(static_cast<std::int64_t>(tier.corrupt)) + " corrupt";
  if (tier.failures > 0) text += ", " + count(tier.failures, "failure");
  return tier.problem.empty() ? text : text + ": " + tier.problem;
}

std::string reuse_text(const protocol::ReuseCount& reuse) {
  return human_count(reuse.exact) + " exact, " + human_count(reuse.approximate) + " approximate, " +
         human_count(reuse.missed) + " missed";
}

std::string cache_text(const CacheStatsResult& stats, const Terminal& terminal) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const protocol::CacheTier& tier : stats.tiers) rows.emplace_back(tier.name, tier_text(tier));
  rows.emplace_back("chunks", reuse_text(stats.reuse));
  if (stats.queue_bytes > 0) rows.emplace_back("queue", human_size(stats.queue_bytes) + " to be written");
  rows.emplace_back("no longer needed", human_size(stats.unreferenced_bytes));
  for (const protocol::CacheFormat& format : stats.other_formats) {
    rows.emplace_back(
        printable(format.name),
        human_size(format.bytes) + " of another build's format; `kvboost cache clear` removes it");
  }
  return fields(terminal, rows) + models_text(stats, terminal) + roots_text(stats, terminal);
}

std::string chunks_text(const protocol::CacheInspectResult& file, const Terminal& terminal) {
  Table table({{"lines", true},
               {"tokens", true},
               {"where"},
               {"size", true},
               {"codec"},
               {"left context"},
               {"importance", true},
               {"rebuild", true},
               {"content"},
               {"prefix"}});
  for (const protocol::CacheChunk& chunk : file.chunks) {
    const std::string lines = std::to_string(chunk.first_line) + "-" + std::to_string(chunk.last_line);
    const std::string tokens = human_count(chunk.tokens);
    const std::string content = short_digest(chunk.content);
    if (chunk.where == "absent") {
      table.add({lines, tokens, chunk.where, "", "", "", "", "", content, short_digest(chunk.prefix)},
                {Style::kPlain, Style::kPlain, Style::kWarning});
      continue;
    }
    table.add({lines, tokens, chunk.where, human_size(chunk.bytes), chunk.codec, chunk.left,
               decimal(chunk.importance, 2), human_duration(chunk.rebuild_ms / 1000), content,
               short_digest(chunk.prefix)});
  }
  return table.text(terminal);
}

int show_cache(Session& session, const CacheArguments& arguments) {
  return request<CacheStatsResult>(session, "cache/stats", protocol::Nothing{}, arguments.json,
                                   [&](const CacheStatsResult& result) {
                                     session.out().write_painted(cache_text(result, session.out()));
                                   });
}

int inspect_cache(Session& session, const CacheArguments& arguments) {
  using protocol::CacheInspectResult;
  const protocol::CacheInspectParams params{session.directory().string(), arguments.path};
  return request<CacheInspectResult>(
      session, "cache/inspect", params, arguments.json, [&](const CacheInspectResult& result) {
        session.out().write_painted(chunks_text(result, session.out()));
        if (!result.current) session.note(result.path + " was changed since; `kvboost warm` cuts it anew");
      });
}

int evict_cache(Session& session, const CacheArguments& arguments) {
  protocol::CacheEvictParams params;
  if (!arguments.older_than.empty()) {
    const auto seconds = parse_duration(arguments.older_than);
    if (!seconds) return session.failed(seconds.error(), kExitUsage);
    params.older_than_s = *seconds;
  }
  params.model = arguments.model;
  params.stale = arguments.stale;
  params.directory = session.directory().string();
  params.paths = arguments.paths;
  params.dry_run = arguments.dry_run;
  if (params.older_than_s <= 0 && params.model.empty() && !params.stale && params.paths.empty()) {
    return session.failed({ErrorCode::kInvalidArgument, "nothing says what to remove",
                           "name paths, or use --older-than, --namespace or --stale; `kvboost cache clear` "
                           "removes everything"},
                          kExitUsage);
  }
  return request<CacheEvictResult>(
      session, "cache/evict", params, arguments.json,
      [&](const CacheEvictResult& result) { session.out().write(removed_text(result)); });
}

int clear_cache(Session& session, const CacheArguments& arguments) {
  const auto show = [&](const CacheEvictResult& result) { session.out().write(removed_text(result)); };
  if (!arguments.dry_run && !arguments.yes) {
    if (::isatty(STDIN_FILENO) != 1) {
      return session.failed({ErrorCode::kInvalidArgument, "nobody is here to be asked",
                             "add --yes to remove all that is cached"},
                            kExitUsage);
    }
    CacheEvictResult all;
    const int code = request<CacheEvictResult>(session, "cache/clear", protocol::CacheClearParams{true},
                                               false, [&](const CacheEvictResult& result) { all = result; });
    if (code != kExitDone) return code;
    if (!confirmed(session, all)) {
      session.note("nothing was removed");
      return kExitCancelled;
    }
  }
  return request<CacheEvictResult>(session, "cache/clear", protocol::CacheClearParams{arguments.dry_run},
                                   arguments.json, show);
}

int verify_cache(Session& session, const CacheArguments& arguments) {
  using protocol::CacheVerifyResult;
  return request<CacheVerifyResult>(
      session, "cache/verify", protocol::Nothing{}, arguments.json, [&](const CacheVerifyResult& result) {
        session.out().write(plural(static_cast<std::int64_t>(result.checked), "record") + " read, " +
                            human_count(static_cast<std::int64_t>(result.corrupt)) +
                            " of them broken and removed\n");
        if (!result.problem.empty()) session.note(result.problem);
      });
}

int pin_in_cache(Session& session, const CacheArguments& arguments) {
  return set_pin(session, arguments, false);
}

int unpin_in_cache(Session& session, const CacheArguments& arguments) {
  return set_pin(session, arguments, true);
}

}  // namespace kvboost::cli
