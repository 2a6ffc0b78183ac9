// SPDX-License-Identifier: Apache-2.0
// Manifest rows: what is known of a file's chunks and of a root, as bytes of table manifest. Pure functions,
// any thread.
//
// Grammar (little-endian):
//   key        := root_id path_id        SHA-256 of the root's path, of the file's path in it; zeros: the
//   root row        := version:u32 (file | root) checksum:u64                             XXH3-64 of all
//   before it file       := path:text text context count:u32 chunk{count}    text, context, content, prefix
//   := u8[32] chunk      := begin:u32 end:u32 first_line:i32 last_line:i32 tokens:u32 content prefix root :=
//   root:text count:u32 pin:text{count} count:u32 neighbour{count} neighbour  := path:text piece:text text :=
//   size:u32 u8{size}
// Version 1 of a root ends behind its pins.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace kvboost::cache {

/// One chunk of a file: where it stands, and the keys of its block.
struct ManifestChunk {
  std::uint32_t begin = 0, end = 0;  // bytes of the file's text
  std::int32_t first_line = 0, last_line = 0;
  std::uint32_t tokens = 0;
  Digest content;
  Digest prefix;

  bool operator==(const ManifestChunk&) const = default;
};

struct ManifestFile {
  Digest text;     // of the file's text
  Digest context;  // model, header and how it was cut: what else the chunks hang on
  std::vector<ManifestChunk> chunks;

  bool operator==(const ManifestFile&) const = default;
};

/// A piece of one of a root's files, that blocks of its other files are computed behind.
struct Neighbour {
  std::string path;
  std::string text;

  bool operator==(const Neighbour&) const = default;
};

inline constexpr std::uint32_t kFileRowVersion = 1;
inline constexpr std::uint32_t kRootRowVersion = 2;

using RowKey = std::array<std::byte, 64>;
using RowBytes = std::vector<std::byte>;

[[nodiscard]] RowKey file_key(std::string_view root, std::string_view path);
[[nodiscard]] RowKey root_key(std::string_view root);
[[nodiscard]] bool is_root_key(const RowKey& key);

struct FileRow {
  std::string path;
  ManifestFile file;
};
struct RootRow {
  std::string root;
  std::set<std::string> pins;
  std::vector<Neighbour> neighbours{};
};

[[nodiscard]] RowBytes encode_row(const FileRow& row);
[[nodiscard]] RowBytes encode_row(const RootRow& row);

/// kCorrupt when the row is not whole, or not the one of its key; kNotFound for a version that this build
/// does not know.
[[nodiscard]] Result<FileRow> decode_file_row(const RowKey& key, std::span<const std::byte> row);
[[nodiscard]] Result<RootRow> decode_root_row(const RowKey& key, std::span<const std::byte> row);

}  // namespace kvboost::cache
