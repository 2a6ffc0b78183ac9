// SPDX-License-Identifier: Apache-2.0
// Good inputs for wire_fuzz: the examples of PROTOCOL.md, each alone and all in one stream.
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  std::ifstream document(KVBOOST_PROTOCOL_MD);
  std::string all = "\x10";
  int count = 0;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("→ ") && !line.starts_with("← ")) continue;
    const std::string message = line.substr(line.find(' ') + 1) + "\n";
    std::ofstream(folder / ("example" + std::to_string(count++))) << '\xff' << message;
    all += message;
  }
  std::ofstream(folder / "all") << all;
  return count > 10 ? 0 : 1;
}
