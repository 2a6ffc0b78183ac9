// SPDX-License-Identifier: Apache-2.0
// tree_fuzz_seeds FOLDER: changes of the parts of a page that LMDB follows, one page a file.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  struct Part {
    const char* name;
    std::uint16_t offset;
    std::uint8_t size;
  };
  constexpr std::array<Part, 6> kParts = {{{"number", 0, 8},
                                           {"kind", 10, 2},
                                           {"bounds", 12, 4},
                                           {"first node", 16, 2},
                                           {"last node", 4040, 8},
                                           {"meta", 104, 48}}};
  std::ofstream(folder / "whole", std::ios::binary).put('\0');
  for (int page = 0; page < 90; page += 3) {
    const Part& part = kParts[static_cast<std::size_t>(page / 3) % kParts.size()];
    std::string change(1, '\0');
    change += static_cast<char>(page);
    change += static_cast<char>(part.offset & 0xFF);
    change += static_cast<char>(part.offset >> 8);
    change += static_cast<char>(part.size);
    change.append(part.size, '\1');
    std::ofstream(folder / (std::to_string(page) + " " + part.name), std::ios::binary) << change;
  }
  return 0;
}
