// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_mcp.h"

#include <unistd.h>

#include <mutex>

#include "base/build_id.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "cli/mcp_server.h"
#include "cli/mcp_tools.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstructions =
    "kvboost knows the source of the repository it was started for, and has a language model on this machine "
    "read it. Nothing leaves the machine.";

/// What the tools may look into: the directories named, or the one we stand in.
Result<std::vector<fs::path>> directories(const Session& session, const std::vector<std::string>& named) {
  if (auto there = session.need_directory(); !there) return fail(there.error());
  if (named.empty()) return std::vector<fs::path>{session.directory()};
  std::vector<fs::path> found;
  for (const std::string& name : named) {
    std::error_code error;
    found.push_back(session.directory() / name);
    if (!fs::is_directory(found.back(), error)) return fail(ErrorCode::kNotFound, name + " is no directory");
  }
  return found;
}

}  // namespace

int serve_mcp(Session& session, const McpArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  auto named = directories(session, arguments.directories);
  if (!named) return session.failed(named.error(), kExitUsage);
  session.note_warnings();
  if (::isatty(STDIN_FILENO) != 0) session.note("this is for assistants to start; Ctrl-D ends it");

  Interrupt interrupt;
  std::mutex connecting;  // a session is one thread's
  const McpPlaces places{.directories = std::move(*named), .connect = [&](std::stop_token stop) {
                           const std::lock_guard lock(connecting);
                           return session.connect(std::move(stop));
                         }};
  LineInput input(STDIN_FILENO, protocol::kMaxMessageBytes, interrupt.token());
  McpServer server({.version = std::string(version()), .instructions = kInstructions},
                   mcp_tools(places, *session.config()), [&](const std::string& line) {
                     if (!session.out().write(line + "\n")) interrupt.request();
                   });
  while (const auto line = input.next()) {
    if (line->too_long) {
      server.on_too_long_line(protocol::kMaxMessageBytes);
    } else {
      server.on_line(line->text);
    }
  }
  return kExitDone;
}

}  // namespace kvboost::cli
