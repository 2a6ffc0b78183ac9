// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

class LmdbStoreTest : public DiskStoreTest {
 protected:
  [[nodiscard]] fs::path data_file() const { return directory_ / "kv-v1" / "data.mdb"; }
};

TEST_F(LmdbStoreTest, KeepsRecordsAcrossRestarts) {
  {
    auto store = open();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->put(record_of(i, 100'000, 1, i % 4)).has_value());
  }
  auto store = open();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(has(*store, i, 100'000)) << i;
  EXPECT_EQ(store->prefixes_of(content_key(1))->size(), 5U);
  EXPECT_TRUE(*store->erase(prefix_key(1)));
  EXPECT_FALSE(*store->erase(prefix_key(1)));
  EXPECT_FALSE(has(*store, 1, 100'000));
  EXPECT_EQ(store->prefixes_of(content_key(1))->size(), 4U);
}

TEST_F(LmdbStoreTest, KeepsAnyNumberOfRecordsOfOneContent) {
  constexpr int kRecords = 300;
  const auto store = open();
  for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(store->put(record_of(i, 100, 1, 7)).has_value());
  EXPECT_EQ(store->prefixes_of(content_key(7))->size(), std::size_t{kRecords});
  for (int i = 0; i < kRecords; i += 2) ASSERT_TRUE(*store->erase(prefix_key(i)));
  EXPECT_EQ(store->prefixes_of(content_key(7))->size(), std::size_t{kRecords / 2});
  for (int i = 1; i < kRecords; i += 2) ASSERT_TRUE(has(*store, i, 100));
  EXPECT_EQ(store->stats().front().problem, "");
}

/// KVBOOST_TEST_RECORDS is how many.
TEST_F(LmdbStoreTest, HoldsVeryManySmallRecords) {
  const char* wanted = std::getenv("KVBOOST_TEST_RECORDS");
  const int records = wanted != nullptr ? std::atoi(wanted) : 2000;
  const std::uint64_t limit = 256 * kMegabyte;
  const auto bytes_of_record = [](int i) { return static_cast<std::size_t>(40 + i % 400); };
  {
    const auto store = open(limit);
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(store->put(record_of(i, bytes_of_record(i), 1, i % 999)).has_value()) << i;
    }
  }
  const auto store = open(limit);
  ASSERT_EQ(store->stats().front().records, static_cast<std::uint64_t>(records));
  for (int i = 0; i < records; i += 7) ASSERT_TRUE(has(*store, i, bytes_of_record(i))) << i;
  EXPECT_EQ(*store->verify({}), 0U);
  EXPECT_EQ(store->stats().front().evictions, 0U);
  std::vector<Digest> half;
  for (int i = 0; i < records; i += 2) half.push_back(prefix_key(i));
  ASSERT_TRUE(store->erase_all(half).has_value());
  EXPECT_EQ(store->stats().front().records, static_cast<std::uint64_t>(records / 2));
  EXPECT_TRUE(has(*store, 1, bytes_of_record(1)));
  EXPECT_LE(disk_use(), limit);
}

TEST_F(LmdbStoreTest, TheMapGrowsByItself) {
  auto store = open(128 * kMegabyte);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(store->put(record_of(i, 8 * kMegabyte)).has_value()) << i;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(has(*store, i, 8 * kMegabyte)) << i;
  EXPECT_EQ(store->stats().front().evictions, 0U);
}

TEST_F(LmdbStoreTest, NeverTakesMoreThanItsLimitHoweverMuchComes) {
  constexpr std::uint64_t kLimit = 32 * kMegabyte;
  auto store = open(kLimit);
  for (int i = 0; i < 160; ++i) {
    const std::size_t bytes = 100'000 + static_cast<std::size_t>(i * 7919 % 2'000'000);
    ASSERT_TRUE(store->put(record_of(i, bytes)).has_value()) << i;
    ASSERT_LE(disk_use(), kLimit + 2 * kMegabyte) << i;
  }
  EXPECT_TRUE(has(*store, 159, 100'000 + 159 * 7919 % 2'000'000));
  EXPECT_GT(store->stats().front().evictions, 50U);
}

TEST_F(LmdbStoreTest, ALoweredLimitHoldsFromTheStart) {
  {
    auto store = open(64 * kMegabyte);
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(store->put(record_of(i, 2 * kMegabyte)).has_value());
  }
  const std::uint64_t before = disk_use();
  ASSERT_GT(before, 40 * kMegabyte);
  std::atomic<std::uint64_t> most = 0;
  std::jthread watch([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) most = std::max(most.load(), disk_use());
  });
  auto store = open(24 * kMegabyte);
  watch.request_stop();
  watch.join();
  EXPECT_LE(most, before + 6 * kMegabyte) << "not even meanwhile";
  EXPECT_LE(disk_use(), 24 * kMegabyte + 2 * kMegabyte);
  EXPECT_TRUE(has(*store, 24, 2 * kMegabyte)) << "the newest stay";
  EXPECT_EQ(store->prefixes_of(content_key(24))->size(), 1U);
  EXPECT_EQ(*store->verify({}), 0U);
  EXPECT_GE(store->stats().front().records, 9U);
  EXPECT_TRUE(store->put(record_of(100, 2 * kMegabyte)).has_value());
  EXPECT_LE(disk_use(), 24 * kMegabyte + 2 * kMegabyte);
}

TEST_F(LmdbStoreTest, WhatIsErasedIsGivenBackToTheDisk) {
  auto store = open();
  std::vector<Digest> keys;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
    if (i > 1) keys.push_back(prefix_key(i));
  }
  ASSERT_TRUE(store->give_back().has_value());
  EXPECT_GT(disk_use(), 20 * kMegabyte) << "all is in use";
  ASSERT_TRUE(store->erase_all(keys).has_value());
  ASSERT_TRUE(store->give_back().has_value());
  EXPECT_LT(disk_use(), 4 * kMegabyte);
  EXPECT_TRUE(has(*store, 0, kMegabyte));
  EXPECT_TRUE(has(*store, 1, kMegabyte));
  EXPECT_EQ(store->stats().front().records, 2U);
  EXPECT_TRUE(store->put(record_of(50, kMegabyte)).has_value());
}

TEST_F(LmdbStoreTest, FreePagesAreGivenBackWithoutWritingTheFileAnew) {
  {
    const auto store = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte, 1, 1)).has_value());
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(*store->erase(prefix_key(i)));
  }
  const auto before = disk_use();
  {
    const auto env = LmdbEnv::open(directory_ / "kv-v1", 64 * kMegabyte);
    ASSERT_TRUE(env && (*env)->forget_free_pages());
  }
  EXPECT_LE(disk_use(), before - 7 * kMegabyte);
  const auto store = open();
  for (int i = 8; i < 10; ++i) EXPECT_TRUE(has(*store, i, kMegabyte)) << i;
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte, 1, 1)).has_value());
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(has(*store, i, kMegabyte)) << i;
  EXPECT_EQ(store->stats().front().problem, "");
}

TEST_F(LmdbStoreTest, ARecordLargerThanTheLimitIsRefused) {
  auto store = open(16 * kMegabyte);
  ASSERT_TRUE(store->put(record_of(1, kMegabyte)).has_value());
  EXPECT_EQ(store->put(record_of(2, 20 * kMegabyte)).error().code, ErrorCode::kBusy);
  EXPECT_TRUE(has(*store, 1, kMegabyte));
}

TEST_F(LmdbStoreTest, DoesNotGrowIntoTheLastFreeBytesOfTheDisk) {
  auto store = open(1ULL << 40, 1ULL << 62);  // no disk has so much free
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(store->put(record_of(i, 4 * kMegabyte)).has_value()) << i;
  EXPECT_LE(disk_use(), 300 * kMegabyte);
}

TEST_F(LmdbStoreTest, ADamagedRecordIsRemovedAndTheOthersStay) {
  {
    auto store = open();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->put(record_of(i, 50'000)).has_value());
  }
  {
    const auto payload = payload_of(1, 50'000);
    std::ifstream in(data_file(), std::ios::binary);
    std::string file(std::istreambuf_iterator<char>(in), {});
    const std::string_view part(reinterpret_cast<const char*>(payload.data()) + 1000, 64);
    const auto at = file.find(part);
    ASSERT_NE(at, std::string::npos);
    std::fstream out(data_file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at));
    out.put(static_cast<char>(~file[at]));
  }
  auto store = open();
  EXPECT_FALSE(has(*store, 1, 50'000));
  EXPECT_EQ(store->stats().front().corrupt, 1U);
  EXPECT_FALSE(store->contains(prefix_key(1)));
  EXPECT_TRUE(store->prefixes_of(content_key(1))->empty());
  EXPECT_TRUE(has(*store, 0, 50'000));
  EXPECT_TRUE(has(*store, 2, 50'000));
  EXPECT_TRUE(store->put(record_of(1, 50'000)).has_value());
  EXPECT_TRUE(has(*store, 1, 50'000));
}

class DamagedFile : public LmdbStoreTest, public testing::WithParamInterface<std::string> {};

TEST_P(DamagedFile, IsMovedAsideAndTheCacheBeginsAnew) {
  {
    auto store = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->put(record_of(i, 200'000)).has_value());
  }
  const auto size = fs::file_size(data_file());
  if (GetParam() == "half") fs::resize_file(data_file(), size / 2 / 4096 * 4096);
  if (GetParam() == "odd length") fs::resize_file(data_file(), size / 2 + 777);
  if (GetParam() == "one page short") fs::resize_file(data_file(), size - 4096);
  if (GetParam() == "empty") fs::resize_file(data_file(), 0);
  if (GetParam() == "text") std::ofstream(data_file()) << std::string(100'000, 'x');
  auto store = open();
  ASSERT_NE(store, nullptr);
  for (int i = 0; i < 10; ++i) (void)has(*store, i, 200'000);  // right bytes or none
  EXPECT_TRUE(store->put(record_of(50, 200'000)).has_value());
  EXPECT_TRUE(has(*store, 50, 200'000));
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedFile,
                         testing::Values("half", "odd length", "one page short", "empty", "text"));

TEST_F(LmdbStoreTest, HealsWhenTheDirectoryIsRemovedUnderIt) {
  auto store = open();
  ASSERT_TRUE(store->put(record_of(1, 50'000)).has_value());
  fs::remove_all(directory_ / "kv-v1");
  ASSERT_TRUE(store->put(record_of(2, 50'000)).has_value());
  EXPECT_TRUE(fs::exists(data_file()));
  EXPECT_TRUE(has(*store, 2, 50'000));
  store.reset();
  store = open();
  EXPECT_TRUE(has(*store, 2, 50'000));
}

class CutUnderIt : public LmdbStoreTest, public testing::WithParamInterface<int> {};

TEST_P(CutUnderIt, FailsNobodyAndHeals) {
  auto store = open();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->put(record_of(i, 200'000)).has_value());
  fs::resize_file(data_file(), fs::file_size(data_file()) * static_cast<std::uintmax_t>(GetParam()) / 100);
  for (int i = 0; i < 10; ++i) {
    const auto found = store->get(prefix_key(i));
    EXPECT_FALSE(found && *found) << "an error or nothing, and no SIGBUS";
  }
  ASSERT_TRUE(store->put(record_of(50, 200'000)).has_value());
  EXPECT_TRUE(has(*store, 50, 200'000));
  EXPECT_FALSE(has(*store, 1, 200'000));
}

INSTANTIATE_TEST_SUITE_P(ToPercent, CutUnderIt, testing::Values(0, 50, 99));

TEST_F(LmdbStoreTest, DamagedPagesOfTheTreesEndInACacheThatWorks) {
  {
    auto store = open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store->put(record_of(i, 3'000)).has_value());
  }
  {
    std::fstream file(data_file(), std::ios::binary | std::ios::in | std::ios::out);
    const std::string zeros(4096, '\0');
    for (std::uintmax_t page = 2; (page + 1) * 4096 <= fs::file_size(data_file()); ++page) {
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file.write(zeros.data(), 4096);
    }
  }
  auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->put(record_of(50, 3'000)).has_value());
  EXPECT_TRUE(has(*store, 50, 3'000));
}

/// The map cannot grow under a read; neither may a read of this thread wait for the growth.
TEST_F(LmdbStoreTest, WhoHoldsARecordMayReadAnotherWhileTheFileMustGrow) {
  auto store = open(128 * kMegabyte);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->put(record_of(i, 4 * kMegabyte)).has_value());
  auto held = store->get(prefix_key(0));
  ASSERT_TRUE(held && *held);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    EXPECT_EQ(store->put(record_of(10, 56 * kMegabyte)).error().code, ErrorCode::kBusy);
    done = true;
  });
  while (!done) EXPECT_TRUE(has(*store, 1, 4 * kMegabyte));
  EXPECT_EQ(store->stats().front().evictions, 0U);
  held = std::nullopt;
  EXPECT_TRUE(store->put(record_of(10, 56 * kMegabyte)).has_value());
}

TEST_F(LmdbStoreTest, ErasesManyAtOnce) {
  auto store = open();
  std::vector<Digest> keys;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(store->put(record_of(i, 10'000)).has_value());
  for (const int i : {1, 2, 77}) keys.push_back(prefix_key(i));
  ASSERT_TRUE(store->erase_all(keys).has_value());
  EXPECT_FALSE(has(*store, 2, 10'000));
  EXPECT_TRUE(has(*store, 3, 10'000));
  EXPECT_EQ(store->stats().front().records, 4U);
}

TEST_F(LmdbStoreTest, APinnedRecordOutlastsWhateverComes) {
  constexpr std::uint64_t kLimit = 16 * kMegabyte;
  {
    auto store = open(kLimit);
    store->set_pinned(prefix_key(1), true);  // before it comes
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
    store->set_pinned(prefix_key(2), true);
    for (int i = 100; i < 130; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
    EXPECT_FALSE(has(*store, 0, kMegabyte));
  }
  auto store = open(kLimit);
  for (int i = 200; i < 230; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
  EXPECT_TRUE(has(*store, 1, kMegabyte));
  EXPECT_TRUE(has(*store, 2, kMegabyte));
  store->set_pinned(prefix_key(2), false);
  for (int i = 300; i < 330; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
  EXPECT_TRUE(has(*store, 1, kMegabyte));
  EXPECT_FALSE(has(*store, 2, kMegabyte));
}

TEST_F(LmdbStoreTest, WhenAllIsPinnedNothingIsEvictedForWhatCannotFit) {
  auto store = open(16 * kMegabyte);
  for (int i = 0; i < 13; ++i) {
    store->set_pinned(prefix_key(i), i < 12);
    ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value()) << i;
  }
  EXPECT_EQ(store->put(record_of(50, 3 * kMegabyte)).error().code, ErrorCode::kBusy);
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(has(*store, i, kMegabyte)) << i;
}

TEST_F(LmdbStoreTest, WhatCouldNotBeEvictedOnDiskIsStillKnown) {
  auto store = open(16 * kMegabyte);
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(store->put(record_of(i, kMegabyte)).has_value());
  ASSERT_EQ(store->stats().front().evictions, 0U);
  Result<void> refused;
  {
    const NoRoomOnDisk full;
    refused = store->put(record_of(50, 4 * kMegabyte));
  }
  EXPECT_EQ(refused.error().code, ErrorCode::kIo) << refused.error().text();
  const TierStats stats = store->stats().front();
  EXPECT_EQ(stats.failures, 1U);
  EXPECT_EQ(stats.evictions, 0U);
  EXPECT_EQ(stats.records, 13U);
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(has(*store, i, kMegabyte)) << i;
}

TEST_F(LmdbStoreTest, ReferencesOutliveARestart) {
  {
    auto store = open();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(store->put(record_of(i, 10'000)).has_value());
    store->set_referenced(prefix_key(1), false);
  }
  auto store = open();
  store->for_each([&](const Digest& key, const EvictionOrder::Entry& entry) {
    EXPECT_EQ(entry.referenced, key == prefix_key(0));
    EXPECT_EQ(entry.model, kModel);
  });
}

TEST_F(LmdbStoreTest, ManyThreads) {
  auto store = open(16 * kMegabyte);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int n = 0; n < 150; ++n) {
        const int i = static_cast<int>(random() % 60);
        switch (random() % 4) {
          case 0:
            (void)store->put(record_of(i, 200'000));
            break;
          case 1:
            (void)store->prefixes_of(content_key(i));
            break;
          case 2:
            store->set_referenced(prefix_key(i), n % 2 == 0);
            break;
          default:
            (void)has(*store, i, 200'000);
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(store->stats().front().corrupt, 0U);
  EXPECT_EQ(store->stats().front().failures, 0U) << store->stats().front().problem;
}

}  // namespace
}  // namespace kvboost::cache
