// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_complete.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/duration.h"
#include "cli/chunk_table.h"
#include "cli/interrupt.h"
#include "cli/read_stream.h"
#include "cli/render.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::cli {
namespace {

using protocol::CompleteResult;

constexpr std::size_t kMostBytes = 4'000'000;  // a message of the protocol may have 16 MiB, escaped

Result<std::string> read_text(std::FILE* stream, const std::string& origin) {
  auto text = read_stream(stream, origin, kMostBytes, "files of that size are not completed");
  if (text && !protocol::is_utf8(*text)) {
    return fail(ErrorCode::kInvalidArgument, origin + " is not UTF-8 text",
                "convert it, for instance with iconv -t UTF-8; the offset is in bytes of that");
  }
  return text;
}

Result<std::string> read_buffer(const CompleteArguments& arguments) {
  if (!arguments.saved) return read_text(stdin, "the buffer on standard input");
  const Stream stream = open_stream(arguments.file);
  if (!stream) return fail_errno("cannot read " + arguments.file, errno);
  return read_text(stream.get(), arguments.file);
}

/// "path:12", or a path alone.
protocol::CompletePlace to_place(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::int32_t line = 0;
  if (colon != std::string::npos) {
    const auto [end, status] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
    if (status == std::errc() && end == text.data() + text.size() && line > 0)
      return {text.substr(0, colon), line};
  }
  return {text, 1};
}

Result<protocol::CompleteParams> to_params(const Session& session, const CompleteArguments& arguments) {
  protocol::CompleteParams params;
  params.directory = session.directory().string();
  params.path = arguments.file;
  params.shape = arguments.shape;
  params.alternatives = arguments.alternatives;
  params.max_tokens = arguments.max_tokens;
  params.reuse = !arguments.no_reuse;
  params.explain = arguments.explain;
  std::ranges::transform(arguments.ring, std::back_inserter(params.ring), to_place);
  if (!arguments.budget.empty()) {
    const auto seconds = parse_duration(arguments.budget);
    if (!seconds) return fail(seconds.error());
    params.budget_ms = *seconds * 1000;
  }
  auto text = read_buffer(arguments);
  if (!text) return fail(text.error());
  params.text = std::move(*text);
  params.offset = arguments.offset.value_or(std::ssize(params.text));
  return params;
}

}  // namespace

int complete(Session& session, const CompleteArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  if (auto there = session.need_directory(); !there) return session.failed(there.error());
  const auto params = to_params(session, arguments);
  if (!params) return session.failed(params.error(), kExitUsage);
  session.note_warnings();
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  const auto result = client->call<CompleteResult>(
      "complete", *params, [](std::string_view, const nlohmann::json&) {}, interrupt.token());
  if (!result) return interrupt.requested() ? kExitCancelled : session.failed(result.error());
  session.out().write(arguments.json ? json_line(nlohmann::ordered_json(protocol::encode(*result)))
                                     : hints_text(*result));
  if (!result->note.empty()) session.note(result->note);
  if (!result->incomplete.empty()) session.note(result->incomplete);
  if (result->hints.empty()) session.note("nothing worth showing came up here");
  if (arguments.explain) session.err().write_painted(complete_explanation(*result, session.err()));
  return kExitDone;
}

std::string hints_text(const CompleteResult& result) {
  std::string text;
  for (std::size_t i = 0; i < result.hints.size(); ++i) {
    if (result.hints.size() > 1) text += "--- " + std::to_string(i + 1) + "\n";
    text += result.hints[i].text;
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

std::string complete_explanation(const CompleteResult& result, const Terminal& terminal) {
  if (result.origin == "recent")
    return fields(terminal,
                  {{"from", "a hint that was shown here"}, {"whole", milliseconds(result.timings.total_ms)}});
  const protocol::CompleteTimings& times = result.timings;
  const std::string tokens = human_count(result.prompt_tokens) + ": " + human_count(result.live_tokens) +
                             " live, " + human_count(result.loaded_tokens) + " from stored blocks (" +
                             human_count(result.repaired_tokens) + " repaired), " +
                             human_count(result.computed_tokens) + " computed";
  return chunk_table(result.chunks, terminal) +
         fields(terminal,
                {{"method", result.family.empty() ? result.method : result.method + ", " + result.family},
                 {"shape", result.shape},
                 {"prompt", tokens},
                 {"repair", result.policy + " (" + result.policy_reason + ")"},
                 {"look-up", milliseconds(times.lookup_ms)},
                 {"queue", milliseconds(times.queue_ms)},
                 {"load", milliseconds(times.load_ms)},
                 {"select", milliseconds(times.select_ms)},
                 {"prefill", milliseconds(times.prefill_ms)},
                 {"suffix", milliseconds(times.suffix_ms)},
                 {"first token", milliseconds(times.first_token_ms)},
                 {"whole", milliseconds(times.total_ms)},
                 {"model", result.model},
                 {"work tree", result.root}});
}

}  // namespace kvboost::cli
