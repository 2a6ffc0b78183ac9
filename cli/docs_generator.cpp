// SPDX-License-Identifier: Apache-2.0
// kvboost-docs FOLDER: writes manual pages and shell completions, at build time, out of what the program
// itself parses, so that they cannot say anything else.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/build_id.h"
#include "cli/command_line.h"
#include "cli/completions.h"
#include "cli/doc_tree.h"
#include "cli/manual.h"

int main(int argc, char** argv) {
  using namespace kvboost::cli;
  if (argc != 2) return std::fputs("kvboost-docs FOLDER\n", stderr), kExitUsage;
  const std::filesystem::path folder = argv[1];
  const std::string version(kvboost::version());
  const CommandLine command_line("");
  const DocCommand root = describe(command_line.app());
  bool written = true;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder / name);
    file << text;
    written = written && file.flush().good();
  };
  write("kvboost.1", manual_of_commands(root, version));
  write("kvboostd.8", manual_of_daemon(version));
  write("kvboost.toml.5", manual_of_options(version));
  write("kvboost.bash", bash_completion(root));
  write("_kvboost", zsh_completion(root));
  write("kvboost.fish", fish_completion(root));
  if (!written) std::fprintf(stderr, "kvboost-docs: cannot write into %s\n", folder.c_str());
  return written ? kExitDone : kExitFailed;
}
