// SPDX-License-Identifier: Apache-2.0
#include "cache/store/manifest_row.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/bytes.h"

namespace kvboost::cache {
namespace {

/// A chunk as it lies in a row.
struct ChunkOnDisk {
  std::uint32_t begin, end;
  std::int32_t first_line, last_line;
  std::uint32_t tokens;
  Digest content, prefix;
};
static_assert(sizeof(ChunkOnDisk) == 84 && std::is_trivially_copyable_v<ChunkOnDisk>);
static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kIdBytes = sizeof(Digest);

RowKey key_of(const Digest& root_id, const Digest& path_id) {
  RowKey key;
  std::ranges::copy(std::as_bytes(std::span(root_id.bytes)), key.begin());
  std::ranges::copy(std::as_bytes(std::span(path_id.bytes)), key.begin() + kIdBytes);
  return key;
}

template <class T>
void append(RowBytes& row, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  row.insert(row.end(), bytes.begin(), bytes.end());
}

void append_text(RowBytes& row, std::string_view text) {
  append(row, static_cast<std::uint32_t>(text.size()));
  const auto bytes = std::as_bytes(std::span(text));
  row.insert(row.end(), bytes.begin(), bytes.end());
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

RowBytes sealed(RowBytes row) {
  append(row, checksum_of(row));
  return row;
}

std::unexpected<Error> broken() {
  return fail(ErrorCode::kCorrupt, "a row of the manifest is damaged");
}

struct OpenRow {
  ByteReader reader;  // behind the version, over all but the checksum, which is right
  std::uint32_t version;
};

/// kNotFound for a version above `newest`.
Result<OpenRow> open_row(std::span<const std::byte> row, std::uint32_t newest) {
  if (row.size() < sizeof(std::uint64_t)) return broken();
  const auto body = row.first(row.size() - sizeof(std::uint64_t));
  const auto checksum = ByteReader(row.subspan(body.size())).read<std::uint64_t>();
  if (!checksum || *checksum != checksum_of(body)) return broken();
  ByteReader reader(body);
  const auto version = reader.read<std::uint32_t>();
  if (!version || *version == 0) return broken();
  if (*version > newest) return fail(ErrorCode::kNotFound, "a row of a newer version");
  return OpenRow{reader, *version};
}

Result<std::string> read_text(ByteReader& reader) {
  const auto size = reader.read<std::uint32_t>();
  if (!size) return broken();
  const auto text = reader.take_text(*size);
  if (!text) return broken();
  return std::string(*text);
}

}  // namespace

RowKey file_key(std::string_view root, std::string_view path) {
  return key_of(sha256(root), sha256(path));
}

RowKey root_key(std::string_view root) {
  return key_of(sha256(root), Digest{});
}

bool is_root_key(const RowKey& key) {
  return std::ranges::all_of(std::span(key).subspan(kIdBytes),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

RowBytes encode_row(const FileRow& row) {
  RowBytes bytes;
  append(bytes, kFileRowVersion);
  append_text(bytes, row.path);
  append(bytes, row.file.text);
  append(bytes, row.file.context);
  append(bytes, static_cast<std::uint32_t>(row.file.chunks.size()));
  for (const ManifestChunk& chunk : row.file.chunks) {
    append(bytes, ChunkOnDisk{chunk.begin, chunk.end, chunk.first_line, chunk.last_line, chunk.tokens,
                              chunk.content, chunk.prefix});
  }
  return sealed(std::move(bytes));
}

RowBytes encode_row(const RootRow& row) {
  RowBytes bytes;
  append(bytes, kRootRowVersion);
  append_text(bytes, row.root);
  append(bytes, static_cast<std::uint32_t>(row.pins.size()));
  for (const std::string& pin : row.pins) append_text(bytes, pin);
  append(bytes, static_cast<std::uint32_t>(row.neighbours.size()));
  for (const Neighbour& neighbour : row.neighbours) {
    append_text(bytes, neighbour.path);
    append_text(bytes, neighbour.text);
  }
  return sealed(std::move(bytes));
}

Result<FileRow> decode_file_row(const RowKey& key, std::span<const std::byte> row) {
  auto opened = open_row(row, kFileRowVersion);
  if (!opened) return fail(opened.error());
  ByteReader& reader = opened->reader;
  auto path = read_text(reader);
  const auto text = reader.read<Digest>();
  const auto context = reader.read<Digest>();
  const auto count = reader.read<std::uint32_t>();
  if (!path || !text || !context || !count) return broken();
  const Digest path_id = sha256(*path);
  if (!std::ranges::equal(std::span(key).subspan(kIdBytes), std::as_bytes(std::span(path_id.bytes)))) {
    return broken();
  }
  if (reader.remaining() != *count * sizeof(ChunkOnDisk)) return broken();
  FileRow file{std::move(*path), {*text, *context, {}}};
  file.file.chunks.reserve(*count);
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto chunk = reader.read<ChunkOnDisk>();
    if (!chunk || chunk->begin > chunk->end) return broken();
    file.file.chunks.push_back({chunk->begin, chunk->end, chunk->first_line, chunk->last_line, chunk->tokens,
                                chunk->content, chunk->prefix});
  }
  return file;
}

Result<RootRow> decode_root_row(const RowKey& key, std::span<const std::byte> row) {
  auto opened = open_row(row, kRootRowVersion);
  if (!opened) return fail(opened.error());
  ByteReader& reader = opened->reader;
  auto root = read_text(reader);
  const auto pins = reader.read<std::uint32_t>();
  if (!root || !pins || root_key(*root) != key) return broken();
  RootRow found{std::move(*root), {}};
  for (std::uint32_t i = 0; i < *pins; ++i) {
    auto pin = read_text(reader);
    if (!pin) return broken();
    found.pins.insert(std::move(*pin));
  }
  const auto neighbours = opened->version == 1 ? Result<std::uint32_t>(0) : reader.read<std::uint32_t>();
  if (!neighbours) return broken();
  for (std::uint32_t i = 0; i < *neighbours; ++i) {
    auto path = read_text(reader), text = read_text(reader);
    if (!path || !text) return broken();
    found.neighbours.push_back({std::move(*path), std::move(*text)});
  }
  if (reader.remaining() != 0) return broken();
  return found;
}

}  // namespace kvboost::cache
