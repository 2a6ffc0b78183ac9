// SPDX-License-Identifier: Apache-2.0
// The pages of LMDB's file, read with bounds and without LMDB. Pure functions, any thread.
//
// Grammar of data.mdb (LMDB 0.9; little-endian, 64 bit; a page has the size of the system's):
//   file     := meta meta page*
//   meta     := header magic:u32 version:u32 address:u64 map_bytes:u64 free:db main:db last_page:u64 txn:u64
//   db       := pad:u32 flags:u16 depth:u16 branches:u64 leaves:u64 overflows:u64 entries:u64 root:u64
//   header   := page:u64 pad:u16 kind:u16 (lower:u16 upper:u16 | overflow_pages:u32)
//   tree page:= header offset:u16{(lower - 16) / 2} ... node*         nodes between upper and the page's end
//   node     := low:u16 high:u16 flags:u16 key_bytes:u16 key value
//   value    := in a leaf of (high, low) bytes, or page:u64 of them (flag big), or db (flag sub), or a page
//               within the page (flag dup); in a branch none: (flags, high, low) is the page below
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kvboost::cache::lmdb_page {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kNodeBytes = 8;
inline constexpr std::size_t kMostKeyBytes = 511;
inline constexpr std::uint64_t kNoPage = ~0ULL;

inline constexpr std::uint32_t kMagic = 0xBEEFC0DE;
inline constexpr std::uint32_t kVersion = 1;

enum PageKind : std::uint16_t {
  kBranch = 1,
  kLeaf = 2,
  kOverflow = 4,
  kMeta = 8,
  kDirty = 16,
  kFixed = 32,
  kWithin = 64
};
enum NodeFlag : std::uint16_t { kBig = 1, kSub = 2, kDup = 4 };
enum DbFlag : std::uint16_t { kIntegerKeys = 8, kDupSort = 4, kDupFixed = 16 };

struct Db {
  std::uint32_t pad = 0;
  std::uint16_t flags = 0;
  std::uint16_t depth = 0;
  std::uint64_t branches = 0, leaves = 0, overflows = 0, entries = 0;
  std::uint64_t root = kNoPage;
};
static_assert(sizeof(Db) == 48);

struct Meta {
  std::uint32_t magic = 0, version = 0;
  std::uint64_t address = 0, map_bytes = 0;
  Db free, main;
  std::uint64_t last_page = 0, txn = 0;
};
static_assert(sizeof(Meta) == 136);

template <class T>
[[nodiscard]] T at(Bytes bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Node {
  std::uint16_t flags = 0;
  Bytes key;
  Bytes value;              // within the page
  std::uint32_t bytes = 0;  // of the value, wherever it is
  std::uint64_t below = 0;  // of a branch's node
};

/// How many nodes a page has; 0 when its header cannot be right.
[[nodiscard]] inline std::size_t nodes_of(Bytes page) {
  const std::size_t lower = at<std::uint16_t>(page, 12);
  const std::size_t upper = at<std::uint16_t>(page, 14);
  if (lower < kHeaderBytes || lower % 2 != 0 || lower > upper || upper > page.size()) return 0;
  return (lower - kHeaderBytes) / 2;
}

/// False when it leaves the page.
[[nodiscard]] inline bool read_node(Bytes page, std::size_t index, bool branch, Node& node) {
  const std::size_t begin = at<std::uint16_t>(page, kHeaderBytes + 2 * index);
  const std::size_t upper = at<std::uint16_t>(page, 14);
  if (begin < upper || begin % 2 != 0 || begin + kNodeBytes > page.size()) return false;
  const std::uint32_t low = at<std::uint32_t>(page, begin);
  node.flags = at<std::uint16_t>(page, begin + 4);
  const std::size_t key_bytes = at<std::uint16_t>(page, begin + 6);
  std::size_t left = page.size() - begin - kNodeBytes;
  if (key_bytes > kMostKeyBytes || key_bytes > left) return false;
  left -= key_bytes;
  node.key = page.subspan(begin + kNodeBytes, key_bytes);
  node.below = low | static_cast<std::uint64_t>(node.flags) << 32;
  node.bytes = branch ? 0 : low;
  const std::size_t within = branch ? 0 : (node.flags & kBig) != 0 ? sizeof(std::uint64_t) : node.bytes;
  if (within > left) return false;
  node.value = page.subspan(begin + kNodeBytes + key_bytes, within);
  return true;
}

/// Room that the nodes of a page take of it.
[[nodiscard]] inline std::size_t room_of(const Node& node) {
  return (kNodeBytes + node.key.size() + node.value.size() + 1) / 2 * 2;
}

/// Pages of a value of so many bytes that is not in the tree.
[[nodiscard]] inline std::uint64_t pages_of(std::uint64_t value_bytes, std::size_t page_bytes) {
  return (kHeaderBytes - 1 + value_bytes) / page_bytes + 1;
}

/// Whether the first page of such a value says what it must: LMDB frees the pages that it names.
[[nodiscard]] inline bool is_first_of(Bytes page, std::uint64_t number, std::uint64_t pages) {
  return at<std::uint64_t>(page, 0) == number && at<std::uint16_t>(page, 10) == kOverflow &&
         at<std::uint32_t>(page, 12) == pages;
}

}  // namespace kvboost::cache::lmdb_page
