// SPDX-License-Identifier: Apache-2.0
// A daemon without an engine, made of the real pieces in the order that daemonise.h asks for: what the
// client's tests start. It answers with made-up numbers. Flags: --socket=PATH --build=ID --starts=FILE (each
// daemon that serves adds its pid), and how to misbehave: --fail=MESSAGE, --crash, --crash-on-handshake.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/daemon_files.h"
#include "daemon/net/daemonise.h"
#include "daemon/net/lifecycle.h"
#include "daemon/net/listener.h"
#include "daemon/net/server.h"

namespace kvboost::daemon {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    word.remove_prefix(2);
    const auto equals = word.find('=');
    flags.emplace(word.substr(0, equals), equals == std::string_view::npos ? "" : word.substr(equals + 1));
  }
  return flags;
}

void sleep_a_little() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// `ask` gives the question back letter by letter; "wait" waits to be cancelled and leaves the file
/// `cancelled` in `dir` to show for it, "slow" waits for the file `go`.
void bind_ask(Binder& binder, const std::filesystem::path& dir) {
  binder.add<protocol::AskParams, protocol::AskResult>(
      "ask", RunOn::kWorker,
      [=](const RequestContext& context, const protocol::AskParams& params,
          const Reply<protocol::AskResult>& reply) {
        if (params.question == "die") std::abort();
        if (params.question == "fail") return reply(fail(ErrorCode::kModel, "no model", "kvboost model add"));
        if (params.question == "wait") {
          context.notify("ask/progress", protocol::AskProgress{"prefill", 0, 1});
          while (!context.stop().stop_requested()) sleep_a_little();
          std::ofstream(dir / "cancelled") << "cancelled";
          return reply(fail(ErrorCode::kCancelled, "cancelled"));
        }
        if (params.question == "slow") {
          context.notify("ask/progress", protocol::AskProgress{"prefill", 0, 1});
          while (!std::filesystem::exists(dir / "go")) sleep_a_little();
        }
        for (const char letter : params.question)
          context.notify("ask/token", protocol::AskToken{std::string(1, letter)});
        protocol::AskResult result;
        result.text = params.question;
        reply(result);
      });
}

/// `warm` of "wait" is like that of `ask`, of "fail" fails; of anything else it says what it was asked for:
/// each path is a file of two chunks, one of which is there already.
void bind_warm(Binder& binder, const std::filesystem::path& dir) {
  using protocol::WarmResult;
  binder.add<protocol::WarmParams, WarmResult>(
      "warm", RunOn::kWorker,
      [=](const RequestContext& context, const protocol::WarmParams& params, const Reply<WarmResult>& reply) {
        const std::string first = params.paths.empty() ? "." : params.paths.front();
        if (first == "fail") return reply(fail(ErrorCode::kNotFound, "fail: no such file or folder"));
        context.notify("warm/progress", protocol::WarmProgress{.stage = "warming", .path = first});
        if (first == "wait") {
          while (!context.stop().stop_requested()) sleep_a_little();
          std::ofstream(dir / "cancelled") << "cancelled";
          return reply(fail(ErrorCode::kCancelled, "cancelled"));
        }
        WarmResult result;
        result.root = params.directory;
        result.note = params.since;
        result.files = static_cast<std::int64_t>(params.paths.size());
        result.chunks = 2 * result.files;
        result.tokens = 200 * result.files;
        result.computed_chunks = result.files;
        result.computed_tokens = 100 * result.files;
        result.skipped = {{".env", "secret"}};
        result.background = params.background;
        result.dry_run = params.dry_run;
        reply(result);
      });
}

/// `locate` finds the paths that it was given, and says how the report began; "wait" and "fail" as in `ask`.
void bind_locate(Binder& binder) {
  using protocol::LocateResult;
  binder.add<protocol::LocateParams, LocateResult>(
      "locate", RunOn::kWorker,
      [](const RequestContext& context, const protocol::LocateParams& params,
         const Reply<LocateResult>& reply) {
        if (params.report == "fail") return reply(fail(ErrorCode::kNotFound, "fail: no such directory"));
        LocateResult result;
        result.root = params.directory;
        for (const std::string& path : params.paths) {
          protocol::LocateFile& file = result.files.emplace_back();
          file.path = path;
          file.line = 7;
          file.text = params.report;
          file.scores = {{"words", 1.5}};
          file.functions = {{"first", 7, 9}, {"second", 1, 3}};
        }
        context.notify("locate/ranking", protocol::LocateRanking{"words", result.files});
        if (params.report == "wait") {
          while (!context.stop().stop_requested()) sleep_a_little();
          return reply(fail(ErrorCode::kCancelled, "cancelled"));
        }
        if (params.budget_s > 0) result.incomplete = "the budget was over";
        if (params.model) result.model = "m";
        reply(result);
      });
}

/// `search` finds the query in the first path; "wait" and "fail" as in `ask`.
void bind_search(Binder& binder) {
  using protocol::SearchResult;
  binder.add<protocol::SearchParams, SearchResult>(
      "search", RunOn::kWorker,
      [](const RequestContext& context, const protocol::SearchParams& params,
         const Reply<SearchResult>& reply) {
        if (params.query == "fail") return reply(fail(ErrorCode::kNotFound, "fail: no such directory"));
        context.notify("search/progress", protocol::SearchProgress{"reading", 1, 2});
        if (params.query == "wait") {
          while (!context.stop().stop_requested()) sleep_a_little();
          return reply(fail(ErrorCode::kCancelled, "cancelled"));
        }
        SearchResult result{.root = params.directory, .note = {}, .spans = {}};
        if (!params.paths.empty()) result.spans = {{params.paths.front(), 7, 9, 1.5, params.query}};
        reply(result);
      });
}

/// `complete` writes what stands in front of the cursor again, once for each alternative; "wait" and "fail"
/// as in `ask`.
void bind_complete(Binder& binder) {
  using protocol::CompleteResult;
  binder.add<protocol::CompleteParams, CompleteResult>(
      "complete", RunOn::kWorker,
      [](const RequestContext& context, const protocol::CompleteParams& params,
         const Reply<CompleteResult>& reply) {
        if (params.text == "fail") return reply(fail(ErrorCode::kInvalidArgument, "fail: secret"));
        const std::string before = params.text.substr(0, static_cast<std::size_t>(params.offset));
        context.notify("complete/token", protocol::CompleteToken{before});
        if (params.text == "wait") {
          while (!context.stop().stop_requested()) sleep_a_little();
          return reply(fail(ErrorCode::kCancelled, "cancelled"));
        }
        CompleteResult result;
        result.offset = params.offset;
        result.shape = params.shape;
        result.origin = "model";
        result.root = params.directory;
        if (params.budget_ms > 0) result.incomplete = "the time was over";
        for (std::int32_t i = 0; i < params.alternatives && !before.empty(); ++i)
          result.hints.push_back({before, "line"});
        for (const protocol::CompletePlace& place : params.ring)
          result.chunks.push_back({.path = place.path, .first_line = place.line, .match = "live"});
        reply(result);
      });
}

void bind_cache(Binder& binder) {
  using namespace protocol;
  binder.add<Nothing, CacheStatsResult>("cache/stats", RunOn::kIo, [](auto, auto, auto reply) {
    CacheStatsResult stats;
    stats.tiers.emplace_back().name = "disk";
    stats.models = {{std::string(64, 'a'), "/m/a.gguf", true, 7, 700'000}};
    stats.roots = {{"/r", 2, 7, 700'000, {""}}};
    stats.reuse = {5, 6, 7};
    reply(stats);
  });
  binder.add<CacheInspectParams, CacheInspectResult>(
      "cache/inspect", RunOn::kIo, [](auto, const auto& params, auto reply) {
        CacheChunk chunk;
        chunk.first_line = 1;
        chunk.last_line = 9;
        chunk.where = "absent";
        reply(CacheInspectResult{params.directory, params.path, false, {chunk}});
      });
  binder.add<CacheEvictParams, CacheEvictResult>(
      "cache/evict", RunOn::kIo, [](auto, const auto& params, auto reply) {
        if (params.model == "none") return reply(fail(ErrorCode::kNotFound, "no model begins with none"));
        reply(CacheEvictResult{static_cast<std::uint64_t>(params.older_than_s), 1000, params.dry_run});
      });
  binder.add<CacheClearParams, CacheEvictResult>("cache/clear", RunOn::kIo,
                                                 [](auto, const auto& params, auto reply) {
                                                   reply(CacheEvictResult{7, 700'000, params.dry_run});
                                                 });
  binder.add<Nothing, CacheVerifyResult>("cache/verify", RunOn::kIo, [](auto context, auto, auto reply) {
    context.notify("cache/progress", CacheProgress{3, 7});
    reply(CacheVerifyResult{7, 1, {}});
  });
  binder.add<CachePinParams, CachePinResult>(
      "cache/pin", RunOn::kIo, [](auto, const auto& params, auto reply) {
        using Pins = std::vector<std::string>;
        reply(CachePinResult{params.directory, params.remove ? Pins() : Pins{params.path}});
      });
  binder.add<SkippedParams, SkippedResult>("skipped", RunOn::kIo, [](auto, const auto& params, auto reply) {
    reply(SkippedResult{params.directory, "a note", {{".env", "secret"}}});
  });
}

int serve(const Flags& flags, StartReport report) {
  const auto flag = [&](std::string_view name) {
    const auto found = flags.find(name);
    return found == flags.end() ? std::string() : found->second;
  };
  if (flags.contains("crash")) ::raise(SIGKILL);
  if (flags.contains("fail")) return report.failed({ErrorCode::kIo, flag("fail"), "try again"}, "/the/log");
  const auto files = daemon_files(flag("socket"));
  if (!files) return report.failed(files.error(), "");
  auto listener = Listener::open(*files, flag("build"));
  if (!listener && listener.error().code == ErrorCode::kBusy) {
    report.ready();
    return 0;
  }
  if (!listener) return report.failed(listener.error(), "");
  std::ofstream(flag("starts"), std::ios::app) << ::getpid() << "\n";
  Binder binder;
  Server server(*listener, binder, {.handle_signals = true});
  bind_ask(binder, files->socket.parent_path());
  bind_warm(binder, files->socket.parent_path());
  bind_locate(binder);
  bind_complete(binder);
  bind_search(binder);
  bind_cache(binder);
  if (flags.contains("crash-on-handshake")) {
    binder.add<protocol::InitializeParams, protocol::InitializeResult>(
        "initialize", RunOn::kIo,
        [](const RequestContext&, const protocol::InitializeParams&,
           const Reply<protocol::InitializeResult>&) { ::_exit(9); });
  } else {
    bind_lifecycle(binder, server, {"0.1.0", flag("build"), {{"socket", flag("socket")}}});
  }
  report.ready();
  return server.run() ? 0 : 1;
}

}  // namespace
}  // namespace kvboost::daemon

int main(int argc, char** argv) {
  auto report = kvboost::daemon::daemonise();
  if (!report) return 1;
  return kvboost::daemon::serve(kvboost::daemon::read_flags(argc, argv), std::move(*report));
}
