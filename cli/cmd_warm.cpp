// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_warm.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/duration.h"
#include "cli/interrupt.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::WarmProgress;
using protocol::WarmResult;

constexpr std::int64_t kBarWidth = 8;  // all of the line fits 80 columns

std::string bar(std::int64_t done, std::int64_t total) {
  const std::int64_t filled =
      total > 0 ? std::clamp<std::int64_t>(done * kBarWidth / total, 0, kBarWidth) : 0;
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - filled), '.') + "]";
}

/// "512", "24.0 k", "5.3 M".
std::string short_count(std::int64_t number) {
  std::string text = human_size(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)));
  text.pop_back();  // the B
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

protocol::WarmParams to_params(const Session& session, const WarmArguments& arguments) {
  protocol::WarmParams params;
  params.directory = session.directory().string();
  params.paths = arguments.paths;
  params.changed = arguments.changed;
  params.since = arguments.since;
  params.background = arguments.background;
  params.dry_run = arguments.dry_run;
  return params;
}

std::string chunks_and_tokens(std::int64_t chunks, std::int64_t tokens) {
  return plural(chunks, "chunk") + " (" + plural(tokens, "token") + ")";
}

void report_skipped(Session& session, const WarmResult& result) {
  std::vector<std::string> lines;
  for (const protocol::SkippedPath& item : result.skipped) {
    lines.push_back("left out: " + item.path + " (" + item.reason + ")");
  }
  for (const std::string& line : shortened(std::move(lines), "left out", "kvboost status --skipped")) {
    session.note(line);
  }
}

}  // namespace

int warm(Session& session, const WarmArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  session.note_warnings();
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  const auto result = client->call<WarmResult>(
      "warm", to_params(session, arguments),
      [&](std::string_view method, const nlohmann::json& params) {
        if (method != "warm/progress") return;
        if (const auto progress = protocol::decode<WarmProgress>(params)) {
          session.err().progress(warm_progress_text(*progress));
        }
      },
      interrupt.token());
  session.err().end_progress();
  if (!result && interrupt.requested()) {
    session.note("stopped; what is computed is kept, and `kvboost warm` goes on from there");
    return kExitCancelled;
  }
  if (!result) return session.failed(result.error());
  if (arguments.json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(*result))));
  } else {
    session.out().write(warm_summary(*result));
  }
  if (!result->note.empty()) session.note(result->note);
  if (result->refused_bytes > 0) {
    session.note(human_size(result->refused_bytes) + " could not be stored: " + result->refusal);
  }
  report_skipped(session, *result);
  return kExitDone;
}

std::string warm_progress_text(const WarmProgress& progress) {
  const std::string files = human_count(progress.files_done) + "/" + human_count(progress.files) + " files";
  if (progress.stage == "reading") return "looking at files" + (progress.files > 0 ? " " + files : "");
  if (progress.stage == "waiting") {
    return "waiting for the model or for other requests" + (progress.files > 0 ? ", " + files : "");
  }
  if (progress.stage == "trying") {
    return "trying what reuse does to the model's answers, once a model: " +
           std::to_string(progress.percent) + " %";
  }
  std::string text = bar(progress.tokens_done, progress.tokens) + " ";
  const bool knows_speed = progress.tokens_per_second > 0;
  if (knows_speed) {
    const auto left = static_cast<double>(std::max<std::int64_t>(progress.tokens - progress.tokens_done, 0));
    text += human_duration(left / progress.tokens_per_second) + " left, ";
  }
  text += files + ", " + short_count(progress.tokens_done) + "/" + short_count(progress.tokens) + " tokens";
  if (knows_speed) {
    text += " at " + human_count(static_cast<std::int64_t>(progress.tokens_per_second)) + "/s";
  }
  return text + ", " + human_size(progress.bytes);
}

std::string warm_summary(const WarmResult& result) {
  if (result.files == 0) return "there is nothing to warm\n";
  if (result.background) {
    return plural(result.files, "file") + (result.files == 1 ? " is" : " are") +
           " being warmed in the background; `kvboost status` shows how far that is\n";
  }
  const std::string missing = chunks_and_tokens(result.computed_chunks, result.computed_tokens);
  std::string text =
      plural(result.files, "file") + ", " + chunks_and_tokens(result.chunks, result.tokens) + ": ";
  if (result.dry_run) {
    text += missing + " would be computed\n";
  } else if (result.computed_chunks == 0) {
    text += "all there already\n";
  } else {
    text += missing + " computed in " + human_duration(result.seconds) + ", " +
            human_count(static_cast<std::int64_t>(result.tokens_per_second)) + " tokens/s, " +
            human_size(result.stored_bytes) + " stored\n";
  }
  if (result.later_chunks > 0) {
    text += plural(result.later_chunks, "chunk") + (result.later_chunks == 1 ? " stands" : " stand") +
            " behind an older left context; the daemon renews that when it is idle\n";
  }
  return text;
}

}  // namespace kvboost::cli
