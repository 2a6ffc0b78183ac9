// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_status.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/duration.h"
#include "cli/cmd_cache.h"
#include "cli/interrupt.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

constexpr int kPathColumns = 48;

std::string model_text(const protocol::StatusResult& status) {
  if (status.model.empty()) return "none set";
  return status.model_name.empty() ? status.model : status.model_name + " (" + status.model + ")";
}

std::string compute_text(const protocol::StatusResult& status) {
  if (status.compute.empty()) return {};
  const std::string why = status.compute_reason.empty() ? "" : " (" + status.compute_reason + ")";
  return status.compute + why + ", " + plural(status.threads, "thread") + ", context " +
         human_count(status.context) + ", loaded in " + human_duration(status.load_seconds);
}

std::string share_text(const protocol::StatusResult& status) {
  std::string text = human_count(status.prompt_tokens);
  if (status.prompt_tokens > 0) {
    const double share =
        100.0 * static_cast<double>(status.reused_tokens) / static_cast<double>(status.prompt_tokens);
    text += ", " + human_count(status.reused_tokens) + " of them reused (" + decimal(share) + " %)";
  }
  return text;
}

/// The rest is the engine's scratch, the programs themselves, and pages of the cache's file.
std::string memory_text(const protocol::StatusResult& status) {
  const std::uint64_t known = status.weight_bytes + status.live_kv_bytes + status.cached_kv_bytes;
  const std::uint64_t rest = status.resident_bytes > known ? status.resident_bytes - known : 0;
  return human_size(status.resident_bytes) + " resident: weights " + human_size(status.weight_bytes) +
         ", live KV " + human_size(status.live_kv_bytes) + " in " +
         plural(status.live_sequences, "sequence") + ", cached KV " + human_size(status.cached_kv_bytes) +
         ", scratch and other " + human_size(rest);
}

std::string warming_text(const protocol::WarmingState& warming) {
  if (warming.root.empty()) return {};
  return warming.root + ", " + human_count(warming.files_done) + " of " + plural(warming.files, "file") +
         ", " + human_count(static_cast<std::int64_t>(warming.tokens_per_second)) + " tokens/s";
}

std::string repository_text(const protocol::RepositoryState& repository) {
  std::string text = repository.root;
  if (!repository.branch.empty()) text += ", " + repository.branch;
  if (!repository.head.empty()) text += " at " + repository.head.substr(0, 12);
  if (repository.watched_folders > 0)
    text += ", " + plural(repository.watched_folders, "folder") + " watched";
  return text;
}

/// Why files are not watched: each reason once.
std::set<std::string> watch_notes(const protocol::StatusResult& status) {
  std::set<std::string> notes;
  for (const protocol::RepositoryState& repository : status.repositories) {
    if (!repository.note.empty()) notes.insert(repository.note);
  }
  return notes;
}

template <class Result>
void show(Session& session, const Result& result, bool json,
          std::string (*text)(const Result&, const Terminal&)) {
  if (json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(result))));
  } else {
    session.out().write_painted(text(result, session.out()));
  }
}

}  // namespace

std::string skipped_text(const protocol::SkippedResult& result, const Terminal& terminal) {
  std::string text;
  if (!result.note.empty()) text += printable(result.note) + "\n\n";
  if (result.skipped.empty()) return text + "nothing is left out of " + printable(result.root) + "\n";
  text += "left out of " + printable(result.root) + ":\n";
  Table table({{"path", false, kPathColumns}, {"why"}});
  for (const protocol::SkippedPath& item : result.skipped) table.add({item.path, item.reason});
  return text + table.text(terminal);
}

std::string status_text(const protocol::StatusResult& status, const Terminal& terminal) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"state", status.state + ", " + plural(status.running, "request") + " running, " +
                    human_count(status.queued) + " queued, " + plural(status.connections, "connection")},
      {"model", model_text(status)},
      {"model error", status.model_error},
      {"compute", compute_text(status)},
      {"memory", memory_text(status)},
      {"requests", human_count(status.requests) + ", " + human_count(status.cancelled) + " cancelled, " +
                       human_count(status.failed) + " failed"},
      {"prompt tokens", share_text(status)},
      {"chunks", reuse_text(status.reuse)},
      {"repair", status.repair.empty() ? "" : status.repair + " (" + status.repair_reason + ")"}};
  for (const protocol::CacheTier& tier : status.tiers)
    rows.emplace_back("cache: " + tier.name, tier_text(tier));
  if (status.queue_bytes > 0)
    rows.emplace_back("cache: queue", human_size(status.queue_bytes) + " to be written");
  rows.emplace_back("warming", warming_text(status.warming));
  for (const auto& repository : status.repositories) {
    rows.emplace_back("repository", repository_text(repository));
  }
  for (const std::string& note : watch_notes(status)) rows.emplace_back("watching", note);
  rows.insert(rows.end(),
              {{"daemon", status.version + " (build " + status.build + "), process " +
                              std::to_string(status.pid) + ", up for " + human_duration(status.uptime_s)},
               {"socket", status.socket},
               {"http", status.http.empty() ? "" : status.http + ", token in " + status.http_token_file},
               {"log", status.log_file}});
  return fields(terminal, rows);
}

int status(Session& session, const StatusArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  const Interrupt interrupt;
  auto client = arguments.if_running ? session.connect_if_running() : session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  if (arguments.skipped) {
    const auto result = client->call<protocol::SkippedResult>(
        "skipped", protocol::SkippedParams{session.directory().string()});
    if (!result) return session.failed(result.error());
    show(session, *result, arguments.json, skipped_text);
    return kExitDone;
  }
  const auto result = client->call<protocol::StatusResult>("status", protocol::Nothing{});
  if (!result) return session.failed(result.error());
  show(session, *result, arguments.json, status_text);
  return kExitDone;
}

}  // namespace kvboost::cli
