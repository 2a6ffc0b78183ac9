// SPDX-License-Identifier: Apache-2.0
// Any bytes as what the cache's file may hold: a record, and a row of the manifest. The row's checksum and
// key are made to fit, so that what is behind them is reached.
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cache/store/manifest_row.h"
#include "cache/store/record.h"

namespace {

using namespace kvboost::cache;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_record(std::span<const std::byte> bytes) {
  std::vector<std::uint16_t> block;
  const auto decoded = decode_record(bytes, block);
  const auto opened = open_record(bytes);
  require(!decoded || opened.has_value());
  if (!decoded) return;
  require(block.size() == decoded->shape.elements());
  require(decoded->prefix_key == opened->info.prefix_key);
  require(std::ranges::equal(seal_record(*decoded, opened->payload), bytes));
}

/// The text that a row begins with: the path, or the root.
std::string name_in(std::span<const std::byte> row) {
  std::uint32_t size = 0;
  if (row.size() < 8) return {};
  std::memcpy(&size, row.data() + 4, sizeof size);
  const auto text = row.subspan(8, std::min<std::size_t>(size, row.size() - 8));
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void read_rows(std::span<const std::byte> bytes) {
  RowBytes row(bytes.begin(), bytes.end());
  const std::uint64_t checksum = XXH3_64bits(row.data(), row.size());
  const auto* tail = reinterpret_cast<const std::byte*>(&checksum);
  row.insert(row.end(), tail, tail + sizeof checksum);
  const std::string name = name_in(bytes);
  if (const auto file = decode_file_row(file_key("root", name), row)) {
    require(file->path == name && encode_row(*file) == row);
  }
  if (const auto root = decode_root_row(root_key(name), row)) {
    const auto again = decode_root_row(root_key(name), encode_row(*root));
    require(again && again->root == name && again->pins == root->pins);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_record(bytes);
  read_rows(bytes);
  return 0;
}
