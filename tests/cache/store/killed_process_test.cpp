// SPDX-License-Identifier: Apache-2.0
// Processes that are killed while they write the cache's file, write it anew or read it: nothing that was
// stored is lost, no byte is wrong, and nothing is left behind.
#include <lmdb.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "cache/store/lmdb_store.h"
#include "cache/store/meta_row.h"
#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

class KilledProcessTest : public DiskStoreTest {
 protected:
  [[nodiscard]] fs::path folder() const { return directory_ / "kv-v1"; }

  /// Moves some records to a file beside it as compacting does, and no further.
  void move_records(int count) {
    fs::create_directory(folder() / "compact");
    const auto from = LmdbEnv::open(folder(), 64 * kMegabyte);
    const auto to = LmdbEnv::open(folder() / "compact", 64 * kMegabyte);
    ASSERT_TRUE(from && to);
    const auto view = (*from)->read();
    for (int i = 0; i < count; ++i) {
      const auto record = (*view)->get(Table::kBlocks, bytes_of(prefix_key(i)));
      ASSERT_TRUE(record && *record);
      ASSERT_TRUE((*to)
                      ->write([&](LmdbEnv::Write& write) {
                        return write.put(Table::kBlocks, bytes_of(prefix_key(i)), **record);
                      })
                      .has_value());
      (*from)->forget(**record);
    }
  }
};

class KilledWhileCompacting : public KilledProcessTest, public testing::WithParamInterface<int> {};

TEST_P(KilledWhileCompacting, LosesNoRecord) {
  constexpr int kRecords = 20;
  {
    const auto store = open();
    for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(store->put(record_of(i, 100'000, 1, i % 4)).has_value());
  }
  move_records(GetParam());
  const auto store = open();
  EXPECT_EQ(store->stats().front().problem, "");
  for (int i = 0; i < kRecords; ++i) EXPECT_TRUE(has(*store, i, 100'000)) << i;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(store->prefixes_of(content_key(i))->size(), 5U);
  EXPECT_FALSE(fs::exists(folder() / "compact"));
}

INSTANTIATE_TEST_SUITE_P(HavingMoved, KilledWhileCompacting, testing::Values(0, 7, 20));

TEST_F(KilledProcessTest, WhatIsNoFileOfOursIsNotMovedOn) {
  (void)open()->put(record_of(1, 1000));
  fs::create_directory(folder() / "compact");
  std::ofstream(folder() / "compact" / "data.mdb") << std::string(20'000, 'x');
  const auto store = open();
  EXPECT_TRUE(has(*store, 1, 1000));
  EXPECT_EQ(store->stats().front().problem, "");
  EXPECT_FALSE(fs::exists(folder() / "compact"));
}

TEST_F(KilledProcessTest, ALinkIsNotFollowed) {
  (void)open()->put(record_of(1, 1000));
  const fs::path outside = directory_ / "outside";
  fs::create_directory(outside);
  fs::copy(folder() / "data.mdb", outside / "data.mdb");
  fs::create_directory_symlink(outside, folder() / "compact");
  EXPECT_TRUE(has(*open(), 1, 1000));
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder() / "compact")));
  EXPECT_TRUE(fs::exists(outside / "data.mdb"));
}

/// A child that writes without end is killed at a random moment, again and again; what it leaves must open
/// each time, and every record in it must be whole.
TEST_F(KilledProcessTest, SurvivesFiftyKillsInMidWrite) {
  std::mt19937 random(7);
  std::size_t most = 0;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = LmdbStore::open(directory_, {48 * kMegabyte, 0});
      for (int i = round * 100; store; ++i) (void)(*store)->put(record_of(i, 300'000));
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 40));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
    auto store = open(48 * kMegabyte);
    ASSERT_NE(store, nullptr);
    EXPECT_TRUE(store->stats().front().problem.empty()) << store->stats().front().problem;
    std::vector<Digest> keys;
    store->for_each([&](const Digest& key, const EvictionOrder::Entry&) { keys.push_back(key); });
    EXPECT_EQ(*store->verify({}), 0U);
    for (const Digest& key : keys) EXPECT_TRUE(*store->get(key)) << "each record that is listed is there";
    most = std::max(most, keys.size());
  }
  EXPECT_GT(most, 20U) << "the children did write";
  for (const auto& entry : fs::directory_iterator(directory_ / "kv-v1")) {
    EXPECT_TRUE(entry.path().filename() == "data.mdb" || entry.path().filename() == "lock.mdb")
        << entry.path();
  }
}

TEST_F(KilledProcessTest, ReadersThatDiedLeaveNothingBehind) {
  auto store = open();
  ASSERT_TRUE(store->put(record_of(1, 50'000)).has_value());
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      MDB_env* env = nullptr;
      MDB_txn* txn = nullptr;
      if (mdb_env_create(&env) == 0 &&
          mdb_env_open(env, (directory_ / "kv-v1").c_str(), MDB_RDONLY, 0600) == 0) {
        (void)mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn);
      }
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(has(*store, 1, 50'000)) << "after " << i;
  }
  const auto before = disk_use();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(store->put(record_of(1000 + i, 50'000)).has_value());
    ASSERT_TRUE(store->erase(prefix_key(1000 + i)).has_value());
  }
  EXPECT_LE(disk_use(), before + 4 * kMegabyte) << "pages of erased records are used again";
}

}  // namespace
}  // namespace kvboost::cache
