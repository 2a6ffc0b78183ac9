// SPDX-License-Identifier: Apache-2.0
// What the tests of the stores share: records with content that can be told apart, and a directory of their
// own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cache/store/chunk_store.h"
#include "cache/store/lmdb_store.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::cache {

inline const Digest kModel = sha256("model");

inline Digest prefix_key(int i) {
  return sha256("prefix " + std::to_string(i));
}
inline Digest content_key(int i) {
  return sha256("content " + std::to_string(i));
}

/// The payload of record `i`, any bytes, the same each time.
inline std::vector<std::byte> payload_of(int i, std::size_t bytes) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::vector<std::byte> payload(bytes);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  return payload;
}

inline SealedRecord record_of(int i, std::size_t bytes, float importance = 1, int content = -1) {
  RecordInfo info;
  info.shape = {1, 1, 2, 1};
  info.model = kModel;
  info.prefix_key = prefix_key(i);
  info.content_key = content_key(content < 0 ? i : content);
  info.importance = importance;
  info.rebuild_ms = 100;
  return {info, payload_of(i, bytes)};
}

/// A record of a real block, in one of the codecs; its numbers are the same each time.
inline std::vector<std::uint16_t> block_of(int i, const BlockShape& shape) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::vector<std::uint16_t> block(shape.elements());
  for (std::uint16_t& bits : block) bits = static_cast<std::uint16_t>(0x3F00 + random() % 256);
  return block;
}
inline SealedRecord block_record(int i, Codec codec, const BlockShape& shape) {
  const std::vector<Codec> per_layer(static_cast<std::size_t>(shape.n_layers), codec);
  const auto payload = encode_block(shape, block_of(i, shape), per_layer);
  EXPECT_TRUE(payload.has_value());
  return {{shape, kModel, prefix_key(i), content_key(i), 1, 1}, *payload};
}

/// True if the store has record `i` with just its bytes; a record with other bytes fails the test.
inline bool has(ChunkStore& store, int i, std::size_t bytes) {
  auto found = store.get(prefix_key(i));
  EXPECT_TRUE(found.has_value()) << found.error().text();
  if (!found || !*found) return false;
  const auto payload = payload_of(i, bytes);
  EXPECT_TRUE(std::ranges::equal((*found)->payload(), payload)) << "record " << i << " has wrong bytes";
  return true;
}

/// While it lives, no file of this process can be written behind its first bytes.
class NoRoomOnDisk {
 public:
  NoRoomOnDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{64 << 10, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoomOnDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  NoRoomOnDisk(const NoRoomOnDisk&) = delete;
  NoRoomOnDisk& operator=(const NoRoomOnDisk&) = delete;

 private:
  rlimit before_{};
};

class StoreTest : public testing::Test {
 protected:
  /// Bytes on disk below the directory, as du counts them. Files may come and go meanwhile.
  [[nodiscard]] std::uint64_t disk_use() const {
    std::uint64_t sum = 0;
    std::error_code gone;
    std::filesystem::recursive_directory_iterator entry(directory_, gone);
    for (; !gone && entry != std::filesystem::end(entry); entry.increment(gone)) {
      struct stat status {};
      if (::lstat(entry->path().c_str(), &status) == 0)
        sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return sum;
  }

  const test::ScratchTree scratch_;
  const std::filesystem::path directory_ = scratch_.root();
};

constexpr std::uint64_t kMegabyte = 1ULL << 20;

class DiskStoreTest : public StoreTest {
 protected:
  [[nodiscard]] std::unique_ptr<LmdbStore> open(std::uint64_t max_bytes = 64 * kMegabyte,
                                                std::uint64_t free_floor = 0) const {
    auto store = LmdbStore::open(directory_, {max_bytes, free_floor});
    EXPECT_TRUE(store.has_value()) << store.error().text();
    return store ? std::move(*store) : nullptr;
  }
};

}  // namespace kvboost::cache
