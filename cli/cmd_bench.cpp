// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_bench.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/installation.h"

namespace kvboost::cli {
namespace {

/// Options on our command line reach the other binary as variables, the form in which it reads them anyway.
void export_flags(const Config& config) {
  for (const Option& option : option_table()) {
    const Config::Value& value = config.value(option.name);
    if (value.origin == Origin::kFlag) ::setenv(variable_name(option).c_str(), value.text.c_str(), 1);
  }
}

}  // namespace

int bench(Session& session, const std::vector<std::string>& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  const auto binary = find_program("kvboost-bench");
  if (!binary) return session.failed(binary.error(), kExitFailed);
  export_flags(*session.config());
  std::vector<std::string> words = {binary->string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return session.failed({ErrorCode::kIo, "cannot start " + words[0] + ": " + std::strerror(errno), ""},
                        kExitFailed);
}

}  // namespace kvboost::cli
