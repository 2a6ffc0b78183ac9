// SPDX-License-Identifier: Apache-2.0
#include "cache/store/tiered_store.h"

#include <thread>

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

class TieredStoreTest : public StoreTest {
 protected:
  std::unique_ptr<TieredStore> open(std::uint64_t memory) {
    auto disk = LmdbStore::open(directory_, {64 * kMegabyte, 0});
    EXPECT_TRUE(disk.has_value()) << disk.error().text();
    return std::make_unique<TieredStore>(std::make_unique<MemoryStore>(memory), std::move(*disk));
  }
  static TierStats tier(const TieredStore& store, std::size_t index) { return store.stats().at(index); }
};

TEST_F(TieredStoreTest, AnswersFromMemoryAtOnceAndFromDiskAfterARestart) {
  {
    auto store = open(8 * kMegabyte);
    ASSERT_TRUE(store->put(record_of(1, 100'000)).has_value());
    EXPECT_TRUE(has(*store, 1, 100'000));
    EXPECT_EQ(tier(*store, 0).hits, 1U);
  }
  auto store = open(8 * kMegabyte);
  EXPECT_TRUE(store->contains(prefix_key(1)));
  EXPECT_TRUE(has(*store, 1, 100'000));
  EXPECT_EQ(tier(*store, 1).hits, 1U);
  EXPECT_EQ(tier(*store, 0).records, 0U) << "one read does not displace others";
  EXPECT_TRUE(has(*store, 1, 100'000));
  EXPECT_EQ(tier(*store, 0).records, 1U) << "the second one does";
  EXPECT_TRUE(has(*store, 1, 100'000));
  EXPECT_EQ(tier(*store, 0).hits, 1U);
}

TEST_F(TieredStoreTest, WhatDoesNotFitMemoryIsFoundOnDisk) {
  auto store = open(1000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(store->put(record_of(i, 500'000, 1, 3)).has_value());
    EXPECT_TRUE(has(*store, i, 500'000));
  }
  EXPECT_EQ(store->prefixes_of(content_key(3))->size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(has(*store, i, 500'000));
}

TEST_F(TieredStoreTest, WhatTheDiskRefusedIsWrittenWhenItCanAgain) {
  auto store = open(8 * kMegabyte);
  ASSERT_TRUE(store->put(record_of(1, 100'000)).has_value());
  {
    const NoRoomOnDisk full;
    const auto refused = store->put(record_of(2, 900'000));
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().text().find("max_disk"), std::string::npos) << "it names the remedy";
    EXPECT_TRUE(has(*store, 2, 900'000)) << "in memory";
    EXPECT_EQ(store->catch_up().refused, 900'000 + kRecordHeaderBytes);
    EXPECT_NE(tier(*store, 1).problem, "");
  }
  while (store->catch_up().written == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(tier(*store, 1).problem, "");
  EXPECT_EQ(tier(*store, 1).records, 2U);
  EXPECT_EQ(store->catch_up().refused, 0U);
  store.reset();
  store = open(8 * kMegabyte);
  EXPECT_TRUE(has(*store, 2, 900'000));
}

TEST_F(TieredStoreTest, WhatMemoryHoldsIsWrittenAgainWhenTheDiskWasLost) {
  auto store = open(8 * kMegabyte);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->put(record_of(i, 100'000)).has_value());
  std::filesystem::remove_all(directory_ / "kv-v1");
  EXPECT_TRUE(store->contains(prefix_key(1)));
  EXPECT_FALSE(store->disk()->contains(prefix_key(1)));
  EXPECT_EQ(store->catch_up().written, 3 * (100'000 + kRecordHeaderBytes));
  store.reset();
  store = open(8 * kMegabyte);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(has(*store, i, 100'000));
}

TEST_F(TieredStoreTest, WithoutADiskItIsMemoryOnly) {
  TieredStore store(std::make_unique<MemoryStore>(kMegabyte), nullptr);
  ASSERT_TRUE(store.put(record_of(1, 100'000)).has_value());
  EXPECT_TRUE(has(store, 1, 100'000));
  EXPECT_FALSE(has(store, 2, 100'000));
  EXPECT_TRUE(*store.erase(prefix_key(1)));
  EXPECT_FALSE(has(store, 1, 100'000));
  EXPECT_EQ(store.stats().size(), 1U);
}

TEST_F(TieredStoreTest, ErasedIsGoneFromBoth) {
  auto store = open(8 * kMegabyte);
  ASSERT_TRUE(store->put(record_of(1, 100'000)).has_value());
  EXPECT_TRUE(*store->erase(prefix_key(1)));
  EXPECT_FALSE(has(*store, 1, 100'000));
  store.reset();
  store = open(8 * kMegabyte);
  EXPECT_FALSE(has(*store, 1, 100'000));
}

TEST_F(TieredStoreTest, ListsEachRecordOnceAndRemovesWhatIsChosen) {
  {
    auto store = open(8 * kMegabyte);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(store->put(record_of(i, 100'000)).has_value());
    store->set_referenced(prefix_key(1), false);
    store->set_pinned(prefix_key(2), true);
  }
  auto store = open(8 * kMegabyte);
  ASSERT_TRUE(store->put(record_of(4, 100'000)).has_value());
  int seen = 0;
  store->for_each([&](const Digest& key, const TieredStore::Item& item) {
    ++seen;
    EXPECT_EQ(item.entry.bytes, 100'000 + kRecordHeaderBytes);
    EXPECT_EQ(item.entry.model, kModel);
    EXPECT_GT(item.entry.last_use, 0);
    EXPECT_EQ(item.entry.referenced, key != prefix_key(1));
    EXPECT_EQ(item.entry.pinned, key == prefix_key(2));
    EXPECT_TRUE(item.on_disk);
    EXPECT_EQ(item.in_memory, key == prefix_key(4));
  });
  EXPECT_EQ(seen, 5);
  const auto stale = [](const Digest& key, const TieredStore::Item& item) {
    return !item.entry.referenced || key == prefix_key(4);
  };
  const auto counted = store->remove_if(stale, true);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(counted->records, 2U);
  EXPECT_EQ(counted->bytes, 2 * (100'000 + kRecordHeaderBytes));
  EXPECT_TRUE(has(*store, 4, 100'000));
  EXPECT_EQ(store->remove_if(stale, false)->bytes, counted->bytes);
  EXPECT_FALSE(has(*store, 1, 100'000));
  EXPECT_FALSE(has(*store, 4, 100'000));
  EXPECT_TRUE(has(*store, 0, 100'000));
  EXPECT_EQ(*store->verify({}), 0U);
}

TEST_F(TieredStoreTest, LoadsDecodedBlocksFromEachTier) {
  const BlockShape shape{2, 2, 64, 100};
  const auto loads = [&](TieredStore& store, int i) {
    std::vector<std::uint16_t> block;
    const auto info = store.load(prefix_key(i), block);
    EXPECT_TRUE(info.has_value()) << info.error().text();
    return info && *info && (*info)->shape == shape && block == block_of(i, shape);
  };
  {
    auto store = open(8 * kMegabyte);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(store->put(block_record(i, Codec::kBf16, shape)).has_value());
      EXPECT_TRUE(loads(*store, i)) << "memory";
    }
    EXPECT_FALSE(loads(*store, 77));
    EXPECT_EQ(tier(*store, 0).hits, 3U);
    EXPECT_EQ(tier(*store, 0).misses, 1U);
  }
  auto store = open(8 * kMegabyte);
  EXPECT_TRUE(loads(*store, 1)) << "disk";
  EXPECT_EQ(tier(*store, 0).records, 0U);
  EXPECT_TRUE(loads(*store, 1)) << "disk, and moves up";
  EXPECT_EQ(tier(*store, 0).records, 1U);
  EXPECT_TRUE(loads(*store, 1)) << "memory";
  EXPECT_EQ(tier(*store, 0).hits, 1U);
  EXPECT_EQ(tier(*store, 1).hits, 2U);
}

TEST_F(TieredStoreTest, WithoutADiskPinsHoldInMemory) {
  TieredStore store(std::make_unique<MemoryStore>(kMegabyte), nullptr);
  store.set_pinned(prefix_key(1), true);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(store.put(record_of(i, 100'000)).has_value());
  EXPECT_TRUE(has(store, 1, 100'000));
  EXPECT_FALSE(has(store, 2, 100'000));
}

}  // namespace
}  // namespace kvboost::cache
