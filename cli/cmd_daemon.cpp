// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_daemon.h"

#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/paths.h"
#include "cli/interrupt.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPoll = 200ms;

int started(Session& session, const Interrupt& interrupt, std::string_view verb) {
  const auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  session.note("the daemon " + std::string(verb) + ", process " + std::to_string(client->server().pid));
  return kExitDone;
}

int stop(Session& session, const Interrupt& interrupt, bool now) {
  auto client = session.connect_if_running();
  if (!client && client.error().code == ErrorCode::kNotFound) return kExitNoDaemon;
  if (!client) return session.not_connected(client.error());
  // With a model that cannot be used the next one would not start.
  if (auto good = session.check_model_flag(*client); !good) return session.failed(good.error());
  const auto done = client->call<protocol::Nothing>("shutdown", protocol::ShutdownParams{now});
  if (!done) return session.failed(done.error());
  while (!client->wait_until_gone(kPoll, interrupt.token())) {
    if (interrupt.requested()) return kExitCancelled;
    session.err().progress("waiting for the daemon to finish its work (--now cancels it)");
  }
  session.err().end_progress();
  return kExitDone;
}

Result<std::string> read_all(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return fail(ErrorCode::kNotFound, "there is no log yet at " + file.string(),
                "the daemon's first start makes it");
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Which file a name stands for, and how long it is: a rotated log is another file.
struct FileState {
  ino_t inode = 0;
  std::uint64_t size = 0;
};

FileState state_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size)};
}

void follow(Session& session, const Interrupt& interrupt, const std::filesystem::path& file, FileState seen) {
  while (!interrupt.requested()) {
    std::this_thread::sleep_for(kPoll);
    const FileState now = state_of(file);
    if (now.inode == 0) continue;
    if (now.inode != seen.inode || now.size < seen.size) seen = {now.inode, 0};
    if (now.size == seen.size) continue;
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(seen.size));
    std::ostringstream text;
    text << stream.rdbuf();
    seen.size += text.str().size();
    if (!session.out().write(text.str())) return;
  }
}

}  // namespace

int start_daemon(Session& session, const DaemonArguments&) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  const Interrupt interrupt;
  const bool running = session.connect_if_running().has_value();
  return started(session, interrupt, running ? "is running already" : "is running");
}

int stop_daemon(Session& session, const DaemonArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  const Interrupt interrupt;
  const int code = stop(session, interrupt, arguments.now);
  if (code == kExitDone) session.note("the daemon has left");
  if (code != kExitNoDaemon) return code;
  session.note("no daemon is running");
  return kExitDone;
}

int restart_daemon(Session& session, const DaemonArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  const Interrupt interrupt;
  const int code = stop(session, interrupt, arguments.now);
  if (code != kExitDone && code != kExitNoDaemon) return code;
  return started(session, interrupt, "is running anew");
}

int show_logs(Session& session, const DaemonArguments& arguments) {
  const auto folder = state_dir();
  if (!folder) return session.failed(folder.error());
  const auto file = *folder / "kvboostd.log";
  const FileState seen = state_of(file);
  const auto text = read_all(file);
  if (!text) return session.failed(text.error());
  session.out().write(last_lines(std::string_view(*text).substr(0, seen.size), arguments.lines));
  if (!arguments.follow) return kExitDone;
  const Interrupt interrupt;
  follow(session, interrupt, file, seen);
  return interrupt.requested() ? kExitCancelled : kExitDone;
}

std::string_view last_lines(std::string_view text, std::int64_t count) {
  if (count <= 0) return {};
  std::size_t start = text.size();
  if (text.ends_with('\n')) --start;
  for (std::int64_t line = 0; line < count; ++line) {
    if (start == 0) return text;
    const auto newline = text.rfind('\n', start - 1);
    if (newline == std::string_view::npos) return text;
    start = newline;
  }
  return text.substr(start + 1);
}

}  // namespace kvboost::cli
