// SPDX-License-Identifier: Apache-2.0
// kvboost: parses the command line, reads the configuration, runs one command. Starts in milliseconds:
// nothing of the engine is linked.
#include <csignal>
#include <string>

#include "base/build_id.h"
#include "base/log.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace kvboost::cli;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left shows as a failed write
  const std::string build(kvboost::build_id());
  CommandLine command_line("kvboost " + std::string(kvboost::version()) + " (build " + build + ")");
  if (const auto code = command_line.parse(argc, argv)) return *code;
  kvboost::log::for_people();
  Session session(command_line.invocation().flags, build);
  return command_line.invocation().run(session);
}
