// SPDX-License-Identifier: Apache-2.0
// Commands against the daemon without an engine: what they ask it, what they write where, and their exit
// codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cmd_cache.h"
#include "cli/cmd_complete.h"
#include "cli/cmd_locate.h"
#include "cli/cmd_status.h"
#include "cli/cmd_warm.h"
#include "tests/cli/client_fixture.h"

namespace kvboost::cli {
namespace {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

class CommandsTest : public ClientFixture {
 protected:
  /// Runs a command with a daemon that is there already.
  template <class Arguments>
  Ran run(int (*command)(Session&, const Arguments&), const Arguments& arguments) {
    const auto daemon = Client::connect(options("b"));
    EXPECT_TRUE(daemon) << daemon.error().text();
    Ran ran;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Session session({{"socket", (top_ / "d.sock").string()}}, "b");
    ran.code = command(session, arguments);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
  }
  static nlohmann::json json(const Ran& ran) { return nlohmann::json::parse(ran.out); }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(CommandsTest, WarmAsksForWhatWasSaid) {
  WarmArguments arguments;
  arguments.paths = {"a.c", "odd\xff.c"};
  arguments.since = "HEAD~2";
  arguments.dry_run = true;
  arguments.json = true;
  const Ran ran = run(warm, arguments);
  EXPECT_EQ(ran.code, kExitDone) << ran.err;
  const auto result = json(ran);
  EXPECT_EQ(result["root"], std::filesystem::current_path().string());
  EXPECT_EQ(result["files"], 2);
  EXPECT_EQ(result["note"], "HEAD~2");
  EXPECT_EQ(result["dry_run"], true);
  EXPECT_EQ(result["background"], false);
}

TEST_F(CommandsTest, WarmSaysOnStandardErrorWhatItLeftOut) {
  WarmArguments arguments;
  arguments.paths = {"a.c"};
  const Ran ran = run(warm, arguments);
  EXPECT_EQ(ran.code, kExitDone);
  EXPECT_TRUE(ran.out.starts_with("1 file, 2 chunks (200 tokens): 1 chunk (100 tokens) computed")) << ran.out;
  EXPECT_EQ(ran.err, "kvboost: left out: .env (secret)\n");
}

TEST_F(CommandsTest, WarmFailsAsTheDaemonSays) {
  WarmArguments arguments;
  arguments.paths = {"fail"};
  const Ran ran = run(warm, arguments);
  EXPECT_EQ(ran.code, kExitFailed);
  EXPECT_EQ(ran.err, "kvboost: fail: no such file or folder\n");
  EXPECT_EQ(ran.out, "");
}

TEST_F(CommandsTest, CtrlCEndsAWarmInTheDaemonToo) {
  WarmArguments arguments;
  arguments.paths = {"wait"};
  std::jthread pressing([](const std::stop_token& stop) {
    // Before the command listens, Ctrl-C would end the whole test.
    struct sigaction now = {};
    while (!stop.stop_requested()) {
      ::sigaction(SIGINT, nullptr, &now);
      if (now.sa_handler != SIG_DFL) {
        ::kill(::getpid(), SIGINT);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const Ran ran = run(warm, arguments);
  EXPECT_EQ(ran.code, kExitCancelled);
  EXPECT_TRUE(has(ran.err, "what is computed is kept")) << ran.err;
}

TEST_F(CommandsTest, LocateNamesFilesAndFunctions) {
  LocateArguments arguments;
  arguments.report = "  a report ";
  arguments.paths = {"a.c", "dir/b.c"};
  const Ran ran = run(locate, arguments);
  EXPECT_EQ(ran.code, kExitDone) << ran.err;
  EXPECT_TRUE(has(ran.out, "1  a.c:7") && has(ran.out, "2  dir/b.c:7") && has(ran.out, "first, second"))
      << ran.out;
  EXPECT_EQ(ran.err, "");
  arguments.format = "quickfix";
  EXPECT_EQ(run(locate, arguments).out, "a.c:7: a report\ndir/b.c:7: a report\n");
  arguments.json = true;
  EXPECT_EQ(json(run(locate, arguments))["files"][1]["path"], "dir/b.c");
}

TEST_F(CommandsTest, LocateWritesOneLineAFileWhateverItsName) {
  LocateArguments arguments;
  arguments.report = "two\nlines";
  arguments.paths = {"a\nb.c", "odd\xff.c"};
  arguments.format = "quickfix";
  const Ran ran = run(locate, arguments);
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2) << ran.out;
  arguments.json = true;
  EXPECT_EQ(json(run(locate, arguments))["files"][1]["path"]["base64"], "b2Rk/y5j");
}

TEST_F(CommandsTest, LocateSaysWhatIsMissing) {
  LocateArguments arguments;
  arguments.report = "a report";
  arguments.budget = "5s";
  const Ran nothing = run(locate, arguments);
  EXPECT_EQ(nothing.code, kExitDone);
  EXPECT_TRUE(has(nothing.err, "no source file has any word") && has(nothing.err, "the budget was over"))
      << nothing.err;
  arguments.explain = true;
  EXPECT_TRUE(has(run(locate, arguments).err, "work tree"));
  arguments.budget = "soon";
  EXPECT_EQ(run(locate, arguments).code, kExitUsage);
  arguments.budget = "";
  arguments.report = "fail";
  EXPECT_EQ(run(locate, arguments).code, kExitFailed);
  for (const std::string& bad : {std::string(), std::string(" \n"), std::string("\xff\xfe\x00junk", 8)}) {
    arguments.report = bad;
    EXPECT_EQ(run(locate, arguments).code, kExitUsage) << bad;
  }
}

TEST_F(CommandsTest, CompleteWritesWhatIsToBeInserted) {
  CompleteArguments arguments;
  arguments.file = (top_ / "a.c").string();
  arguments.saved = true;
  std::ofstream(arguments.file) << "int x;\n";
  arguments.offset = 3;
  EXPECT_EQ(run(complete, arguments).out, "int\n");
  arguments.alternatives = 2;
  EXPECT_EQ(run(complete, arguments).out, "--- 1\nint\n--- 2\nint\n");
  arguments.json = true;
  arguments.ring = {"b.c:7", "odd\xff.c", "c:d"};
  arguments.budget = "500ms";
  const Ran ran = run(complete, arguments);
  EXPECT_EQ(ran.code, kExitDone);
  EXPECT_EQ(json(ran)["offset"], 3);
  EXPECT_EQ(json(ran)["chunks"][0]["path"], "b.c");
  EXPECT_EQ(json(ran)["chunks"][0]["first_line"], 7);
  EXPECT_EQ(json(ran)["chunks"][1]["path"]["base64"], "b2Rk/y5j");
  EXPECT_EQ(json(ran)["chunks"][2]["path"], "c:d");
  EXPECT_TRUE(has(ran.err, "the time was over")) << ran.err;
  arguments.explain = true;
  EXPECT_TRUE(has(run(complete, arguments).err, "first token"));
  arguments.offset.reset();
  EXPECT_EQ(json(run(complete, arguments))["offset"], 7) << "the end";
}

TEST_F(CommandsTest, CompleteSaysWhatIsWrong) {
  CompleteArguments arguments;
  arguments.file = (top_ / "none.c").string();
  arguments.saved = true;
  EXPECT_EQ(run(complete, arguments).code, kExitUsage) << "no such file";
  std::ofstream(arguments.file) << "\xff\xfe";
  const Ran odd = run(complete, arguments);
  EXPECT_EQ(odd.code, kExitUsage);
  EXPECT_TRUE(has(odd.err, "UTF-8")) << odd.err;
  std::ofstream(arguments.file) << "fail";
  EXPECT_EQ(run(complete, arguments).code, kExitFailed);
  std::ofstream(arguments.file) << "";
  const Ran nothing = run(complete, arguments);
  EXPECT_EQ(nothing.code, kExitDone);
  EXPECT_EQ(nothing.out, "");
  EXPECT_TRUE(has(nothing.err, "nothing worth showing")) << nothing.err;
  arguments.budget = "soon";
  EXPECT_EQ(run(complete, arguments).code, kExitUsage);
}

TEST_F(CommandsTest, CacheStatsAndInspect) {
  EXPECT_TRUE(has(run(show_cache, CacheArguments()).out, "5 exact, 6 approximate, 7 missed"));
  CacheArguments arguments;
  arguments.json = true;
  EXPECT_EQ(json(run(show_cache, arguments))["roots"][0]["pinned"][0], "");
  arguments.path = "a.c";
  EXPECT_EQ(json(run(inspect_cache, arguments))["path"], "a.c");
  arguments.json = false;
  const Ran shown = run(inspect_cache, arguments);
  EXPECT_TRUE(has(shown.out, "1-9")) << shown.out;
  EXPECT_TRUE(has(shown.err, "a.c was changed since")) << shown.err;
}

TEST_F(CommandsTest, EvictWantsToBeToldWhat) {
  const Ran nothing = run(evict_cache, CacheArguments());
  EXPECT_EQ(nothing.code, kExitUsage);
  EXPECT_TRUE(has(nothing.err, "--older-than")) << nothing.err;
  CacheArguments arguments;
  arguments.older_than = "soon";
  EXPECT_EQ(run(evict_cache, arguments).code, kExitUsage);
  arguments.older_than = "0s";
  EXPECT_EQ(run(evict_cache, arguments).code, kExitUsage);
  arguments.older_than = "1h";
  EXPECT_EQ(run(evict_cache, arguments).out, "3,600 records (1.0 kB) removed\n");
  arguments.dry_run = true;
  EXPECT_EQ(run(evict_cache, arguments).out, "3,600 records (1.0 kB) would be removed\n");
  arguments.model = "none";
  EXPECT_EQ(run(evict_cache, arguments).code, kExitFailed);
}

TEST_F(CommandsTest, ClearAsksOrIsToldYes) {
  const std::FILE* const input = std::freopen("/dev/null", "r", stdin);
  ASSERT_NE(input, nullptr);
  const Ran unasked = run(clear_cache, CacheArguments());
  EXPECT_EQ(unasked.code, kExitUsage);
  EXPECT_TRUE(has(unasked.err, "--yes")) << unasked.err;
  CacheArguments arguments;
  arguments.dry_run = true;
  EXPECT_EQ(run(clear_cache, arguments).out, "7 records (700 kB) would be removed\n");
  arguments.dry_run = false;
  arguments.yes = true;
  EXPECT_EQ(run(clear_cache, arguments).out, "7 records (700 kB) removed\n");
}

TEST_F(CommandsTest, VerifyAndPins) {
  EXPECT_EQ(run(verify_cache, CacheArguments()).out, "7 records read, 1 of them broken and removed\n");
  CacheArguments arguments;
  arguments.path = "net";
  EXPECT_TRUE(has(run(pin_in_cache, arguments).out, ":\n  net\n"));
  EXPECT_TRUE(has(run(unpin_in_cache, arguments).out, ": nothing\n"));
}

TEST_F(CommandsTest, StatusNamesWhatIsLeftOut) {
  StatusArguments arguments;
  arguments.skipped = true;
  const Ran ran = run(status, arguments);
  EXPECT_EQ(ran.code, kExitDone) << ran.err;
  EXPECT_TRUE(has(ran.out, "a note\n")) << ran.out;
  EXPECT_TRUE(has(ran.out, "secret\n")) << ran.out;
}

TEST_F(CommandsTest, StatusStartsNoDaemonWhereNoneIsWanted) {
  testing::internal::CaptureStderr();
  Session session({{"socket", (top_ / "d.sock").string()}}, "b");
  StatusArguments arguments;
  arguments.skipped = true;
  arguments.if_running = true;
  EXPECT_EQ(status(session, arguments), kExitNoDaemon);
  EXPECT_TRUE(has(testing::internal::GetCapturedStderr(), "no daemon"));
}

}  // namespace
}  // namespace kvboost::cli
