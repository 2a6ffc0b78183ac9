// SPDX-License-Identifier: Apache-2.0
// store_fuzz_seeds FOLDER: records of each codec, and rows of the manifest without their checksum.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "cache/store/manifest_row.h"
#include "cache/store/record.h"

namespace {

using namespace kvboost::cache;
using kvboost::sha256;

void write(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> record_in(Codec first, Codec others) {
  const BlockShape shape{3, 2, 8, 35};
  std::vector<std::uint16_t> block(shape.elements());
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::uint16_t>(0x3F00 + i % 251);
  const auto payload = encode_block(shape, block, std::vector{first, others, others});
  if (!payload) return {};
  return seal_record({shape, sha256("model"), sha256("prefix"), sha256("content"), 1.5F, 20.0F}, *payload);
}

void write_row(const std::filesystem::path& file, const RowBytes& row) {
  write(file, std::span(row).first(row.size() - sizeof(std::uint64_t)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  write(folder / "bf16", record_in(Codec::kBf16, Codec::kBf16));
  write(folder / "int8", record_in(Codec::kInt8, Codec::kInt8));
  write(folder / "mixed", record_in(Codec::kInt8, Codec::kInt4));
  FileRow file{"src/a.cpp", {sha256("text"), sha256("context"), {}}};
  write_row(folder / "empty file", encode_row(file));
  for (std::uint32_t i = 0; i < 3; ++i) {
    file.file.chunks.push_back({i * 100, i * 100 + 90, 1, 9, 64, sha256("content"), sha256("prefix")});
  }
  write_row(folder / "file", encode_row(file));
  write_row(folder / "root",
            encode_row(RootRow{"/home/someone/project", {"", "src", "doc/a.md"}, {{"src/a.c", "int a;\n"}}}));
  return 0;
}
