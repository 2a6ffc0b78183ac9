// SPDX-License-Identifier: Apache-2.0
#include "cache/store/memory_store.h"

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

TEST(MemoryStore, FindsByPrefixAndByContent) {
  MemoryStore store(1 << 20);
  ASSERT_TRUE(store.put(record_of(1, 1000, 1, 7)).has_value());
  ASSERT_TRUE(store.put(record_of(2, 1000, 1, 7)).has_value());
  EXPECT_TRUE(has(store, 1, 1000));
  EXPECT_TRUE(store.contains(prefix_key(2)));
  EXPECT_FALSE(has(store, 3, 1000));
  EXPECT_EQ(store.prefixes_of(content_key(7))->size(), 2U);
  ASSERT_TRUE(*store.erase(prefix_key(1)));
  EXPECT_FALSE(*store.erase(prefix_key(1)));
  EXPECT_EQ(store.prefixes_of(content_key(7))->size(), 1U);
}

TEST(MemoryStore, NeverHoldsMoreThanItsLimit) {
  constexpr std::uint64_t kLimit = 100'000;
  MemoryStore store(kLimit);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store.put(record_of(i, 9'000)).has_value());
    ASSERT_LE(store.stats().front().used, kLimit);
  }
  EXPECT_TRUE(has(store, 99, 9'000));
  EXPECT_FALSE(has(store, 0, 9'000));
  EXPECT_GT(store.stats().front().evictions, 80U);
}

TEST(MemoryStore, RefusesWhatIsLargerThanAll) {
  MemoryStore store(10'000);
  ASSERT_TRUE(store.put(record_of(1, 1'000)).has_value());
  EXPECT_EQ(store.put(record_of(2, 20'000)).error().code, ErrorCode::kBusy);
  EXPECT_TRUE(has(store, 1, 1'000)) << "nothing was evicted for a record that cannot fit";
}

TEST(MemoryStore, APinnedRecordStaysReadable) {
  MemoryStore store(10'000);
  ASSERT_TRUE(store.put(record_of(1, 6'000)).has_value());
  auto pinned = store.get(prefix_key(1));
  ASSERT_TRUE(pinned && *pinned);
  EXPECT_EQ(store.put(record_of(2, 6'000)).error().code, ErrorCode::kBusy) << "all that is there is in use";
  ASSERT_TRUE(*store.erase(prefix_key(1)));
  EXPECT_TRUE(std::ranges::equal((*pinned)->payload(), payload_of(1, 6'000)));
  EXPECT_TRUE(store.put(record_of(2, 6'000)).has_value());
}

}  // namespace
}  // namespace kvboost::cache
