// SPDX-License-Identifier: Apache-2.0
#include "cache/store/manifest.h"

#include <thread>

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 10'000;
const std::string kRoot = "/home/someone/project";

/// A file whose chunks have the blocks `records`.
ManifestFile file_of(const std::vector<int>& records) {
  ManifestFile file{sha256("text"), sha256("context"), {}};
  for (std::uint32_t i = 0; const int record : records) {
    file.chunks.push_back({i * 100, i * 100 + 100, static_cast<std::int32_t>(i * 10),
                           static_cast<std::int32_t>(i * 10 + 9), 64, content_key(record),
                           prefix_key(record)});
    ++i;
  }
  return file;
}

/// With a disk tier, and without.
class ManifestTest : public StoreTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { reopen(); }

  void reopen(std::uint64_t disk_bytes = 16 * kMegabyte) {
    manifest_.reset();
    store_.reset();
    std::unique_ptr<LmdbStore> disk;
    if (GetParam()) {
      auto opened = LmdbStore::open(directory_, {disk_bytes, 0});
      ASSERT_TRUE(opened.has_value()) << opened.error().text();
      disk = std::move(*opened);
    }
    store_ = std::make_unique<TieredStore>(std::make_unique<MemoryStore>(4 * kMegabyte), std::move(disk));
    manifest_ = std::make_unique<Manifest>(*store_);
  }

  void put_records(int first, int last, std::size_t bytes = kBytes) {
    for (int i = first; i <= last; ++i) ASSERT_TRUE(store_->put(record_of(i, bytes)).has_value());
  }
  void put_file(const std::string& path, const std::vector<int>& records, const std::string& root = kRoot) {
    const auto put = manifest_->put(root, path, file_of(records));
    ASSERT_TRUE(put.has_value()) << put.error().text();
  }

  std::set<int> records_that(bool (*holds)(const EvictionOrder::Entry&)) {
    std::set<int> found;
    store_->for_each([&](const Digest& key, const TieredStore::Item& item) {
      for (int i = 0; i < 400; ++i) {
        if (key == prefix_key(i) && holds(item.entry)) found.insert(i);
      }
    });
    return found;
  }
  std::set<int> unreferenced() {
    return records_that([](const EvictionOrder::Entry& entry) { return !entry.referenced; });
  }
  std::set<int> pinned() {
    return records_that([](const EvictionOrder::Entry& entry) { return entry.pinned; });
  }

  std::unique_ptr<TieredStore> store_;
  std::unique_ptr<Manifest> manifest_;
};

INSTANTIATE_TEST_SUITE_P(Disk, ManifestTest, testing::Bool(),
                         [](const auto& with) { return with.param ? "Disk" : "MemoryOnly"; });

TEST_P(ManifestTest, KnowsItsFiles) {
  put_file("a.cpp", {1, 2});
  put_file("src/b.cpp", {3});
  put_file("a.cpp", {9}, "/other");
  if (GetParam()) reopen();
  EXPECT_EQ(*manifest_->find(kRoot, "a.cpp"), file_of({1, 2}));
  EXPECT_EQ(*manifest_->find(kRoot, "b.cpp"), std::nullopt);
  EXPECT_EQ(*manifest_->find("/other", "a.cpp"), file_of({9}));
  const auto roots = manifest_->roots();
  ASSERT_EQ(roots.size(), 2U);
  EXPECT_EQ(roots[0].root, kRoot);
  EXPECT_EQ(roots[0].files, 2U);
  EXPECT_EQ(roots[0].chunks, 3U);
  std::set<std::string> paths;
  ASSERT_TRUE(manifest_
                  ->for_each(kRoot,
                             [&](const std::string& path, const ManifestFile& file) {
                               paths.insert(path);
                               EXPECT_EQ(*manifest_->find(kRoot, path), file);
                             })
                  .has_value());
  EXPECT_EQ(paths, (std::set<std::string>{"a.cpp", "src/b.cpp"}));
}

TEST_P(ManifestTest, WhatNoFileNamesIsUnreferenced) {
  put_records(1, 2);
  put_file("a", {1, 2, 3, 4});
  put_file("b", {4, 5});
  put_records(3, 5);  // after their rows
  EXPECT_EQ(unreferenced(), std::set<int>{});
  put_file("a", {1, 6});
  EXPECT_EQ(unreferenced(), (std::set{2, 3})) << "b still names 4";
  put_file("a", {1, 2, 3, 4});
  EXPECT_EQ(unreferenced(), std::set<int>{}) << "back on the branch";
  ASSERT_TRUE(manifest_->keep_only(kRoot, {"b"}).has_value());
  EXPECT_EQ(unreferenced(), (std::set{1, 2, 3}));
  EXPECT_EQ(*manifest_->find(kRoot, "a"), std::nullopt);
  EXPECT_EQ(manifest_->roots().at(0).files, 1U);
  EXPECT_EQ(manifest_->roots().at(0).chunks, 2U);
  if (GetParam()) {
    reopen();
    EXPECT_EQ(unreferenced(), (std::set{1, 2, 3}));
  }
  ASSERT_TRUE(manifest_->forget(kRoot).has_value());
  EXPECT_EQ(unreferenced(), (std::set{1, 2, 3, 4, 5}));
  EXPECT_TRUE(manifest_->roots().empty());
}

TEST_P(ManifestTest, NeighboursStayUntilTheRootIsForgotten) {
  const std::vector<Neighbour> chosen = {{"a.cpp", "int a;\n"}, {"b.cpp", "int b;\n"}};
  EXPECT_TRUE(manifest_->neighbours(kRoot).empty());
  ASSERT_TRUE(manifest_->set_neighbours(kRoot, chosen).has_value());
  put_file("a.cpp", {1});
  ASSERT_TRUE(manifest_->pin(kRoot, "a.cpp").has_value());
  ASSERT_TRUE(manifest_->keep_only(kRoot, {}).has_value());
  EXPECT_EQ(manifest_->neighbours(kRoot), chosen);
  if (GetParam()) {
    reopen();
    EXPECT_EQ(manifest_->neighbours(kRoot), chosen);
    EXPECT_EQ(manifest_->pins(kRoot), (std::set<std::string>{"a.cpp"}));
  }
  EXPECT_TRUE(manifest_->neighbours("/another").empty());
  ASSERT_TRUE(manifest_->forget(kRoot).has_value());
  EXPECT_TRUE(manifest_->neighbours(kRoot).empty());
}

TEST_P(ManifestTest, ABlockThatOneFileNamesTwiceIsCountedTwice) {
  put_records(1, 1);
  put_file("a", {1, 1});
  put_file("a", {1});
  EXPECT_EQ(unreferenced(), std::set<int>{});
  put_file("a", {});
  EXPECT_EQ(unreferenced(), std::set{1});
}

TEST_P(ManifestTest, PinsHoldForWhatIsThereAndWhatComes) {
  put_file("src/a", {1});
  put_file("src/deep/b", {2});
  put_file("srcs/c", {3});
  put_records(1, 1);
  ASSERT_TRUE(manifest_->pin(kRoot, "./src/").has_value());
  put_records(2, 4);
  EXPECT_EQ(pinned(), (std::set{1, 2}));
  put_file("src/new", {4});
  EXPECT_EQ(pinned(), (std::set{1, 2, 4}));
  put_file("srcs/c", {3, 4});
  put_file("src/new", {});
  EXPECT_EQ(pinned(), (std::set{1, 2}));
  if (GetParam()) {
    reopen();
    EXPECT_EQ(pinned(), (std::set{1, 2}));
  }
  EXPECT_EQ(manifest_->pins(kRoot), std::set<std::string>{"src"});
  EXPECT_EQ(manifest_->unpin(kRoot, "src/a").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(manifest_->pin(kRoot, "src/a").has_value());
  ASSERT_TRUE(manifest_->unpin(kRoot, "src").has_value());
  EXPECT_EQ(pinned(), std::set{1});
  ASSERT_TRUE(manifest_->pin(kRoot, "").has_value());
  EXPECT_EQ(pinned(), (std::set{1, 2, 3, 4}));
}

TEST_P(ManifestTest, PinnedRecordsOutlastAWarmOfManyTimesTheLimit) {
  ASSERT_TRUE(manifest_->pin(kRoot, "a").has_value());
  put_file("a", {1, 2});
  put_records(1, 2, 200'000);
  for (int i = 100; i < 400; ++i) {
    ASSERT_TRUE(store_->put(record_of(i, 200'000)).has_value());
  }
  EXPECT_TRUE(has(*store_, 1, 200'000));
  EXPECT_TRUE(has(*store_, 2, 200'000));
  EXPECT_FALSE(has(*store_, 100, 200'000));
}

class ManifestOnDisk : public ManifestTest {
 protected:
  [[nodiscard]] fs::path data_file() const { return directory_ / "kv-v1" / "data.mdb"; }
  void write_row(const RowKey& key, const RowBytes& row) {
    ASSERT_TRUE(rows_on_disk(*store_->disk())->write({{key, row}}).has_value());
  }
};

INSTANTIATE_TEST_SUITE_P(Disk, ManifestOnDisk, testing::Values(true));

TEST_P(ManifestOnDisk, UnreferencedRecordsGoFirst) {
  put_file("a", {1, 2});
  put_file("b", {3, 4});
  put_records(1, 12, kMegabyte);
  put_file("b", {3});
  put_records(13, 14, kMegabyte);
  EXPECT_TRUE(store_->contains(prefix_key(1))) << "it is the oldest";
  EXPECT_FALSE(store_->disk()->contains(prefix_key(4)));
}

TEST_P(ManifestOnDisk, DamagedRowsAreDroppedAndCounted) {
  put_file("a", {1});
  put_file("b", {2});
  put_records(1, 2);
  RowBytes damaged = encode_row(FileRow{"b", file_of({2})});
  damaged[40] ^= std::byte{1};
  write_row(file_key(kRoot, "b"), damaged);
  EXPECT_EQ(*manifest_->find(kRoot, "b"), std::nullopt);
  EXPECT_EQ(manifest_->corrupt(), 1U);
  EXPECT_EQ(manifest_->roots().at(0).files, 1U);
  EXPECT_EQ(unreferenced(), std::set{2});
  put_file("b", {2});
  EXPECT_EQ(unreferenced(), std::set<int>{});

  write_row(file_key(kRoot, "b"), damaged);
  write_row(file_key("/root without a row", "c"), encode_row(FileRow{"c", file_of({1})}));
  reopen();
  EXPECT_EQ(manifest_->corrupt(), 2U);
  EXPECT_EQ(*manifest_->find(kRoot, "a"), file_of({1}));
  EXPECT_EQ(*manifest_->find(kRoot, "b"), std::nullopt);
  reopen();
  EXPECT_EQ(manifest_->corrupt(), 0U) << "they are gone";
}

TEST_P(ManifestOnDisk, BeginsAnewWithTheFileThatWasRemovedUnderIt) {
  put_file("a", {1});
  ASSERT_TRUE(manifest_->pin(kRoot, "a").has_value());
  put_records(1, 1);
  fs::remove_all(directory_ / "kv-v1");
  put_records(2, 2);  // heals the file
  EXPECT_EQ(*manifest_->find(kRoot, "a"), std::nullopt);
  EXPECT_TRUE(manifest_->roots().empty());
  EXPECT_EQ(pinned(), std::set<int>{});
  put_file("a", {2});
  EXPECT_EQ(*manifest_->find(kRoot, "a"), file_of({2}));
  fs::remove_all(directory_ / "kv-v1");
  put_file("b", {2});  // heals the file by itself
  EXPECT_EQ(*manifest_->find(kRoot, "b"), file_of({2}));
  reopen();
  EXPECT_EQ(*manifest_->find(kRoot, "b"), file_of({2}));
  EXPECT_EQ(manifest_->corrupt(), 0U);
}

TEST_P(ManifestOnDisk, WithoutItsBlocksItMissesAndTheyComeAgain) {
  put_file("a", {1});
  put_records(1, 1);
  ASSERT_TRUE(store_->remove_if([](const auto&, const auto&) { return true; }, false).has_value());
  reopen();
  EXPECT_EQ(*manifest_->find(kRoot, "a"), file_of({1}));
  EXPECT_FALSE(has(*store_, 1, kBytes));
  put_records(1, 1);
  EXPECT_TRUE(has(*store_, 1, kBytes));
  EXPECT_EQ(unreferenced(), std::set<int>{});
}

TEST_P(ManifestOnDisk, ManyThreads) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int n = 0; n < 60; ++n) {
        const int i = static_cast<int>(random() % 20);
        const std::string path = "f" + std::to_string(i);
        switch (random() % 5) {
          case 0:
            (void)store_->put(record_of(i, 100'000));
            break;
          case 1:
            EXPECT_TRUE(manifest_->put(kRoot, path, file_of({i, i + 1})).has_value());
            break;
          case 2:
            EXPECT_TRUE(
                (n % 2 == 0 ? manifest_->pin(kRoot, path) : manifest_->keep_only(kRoot, {path, "f1", "f2"}))
                    .has_value());
            break;
          case 3:
            EXPECT_TRUE(manifest_->find(kRoot, path).has_value());
            break;
          default:
            (void)has(*store_, i, 100'000);
        }
      }
    });
  }
  threads.clear();
  std::uint64_t files = 0;
  ASSERT_TRUE(manifest_->for_each(kRoot, [&](const auto&, const auto&) { ++files; }).has_value());
  EXPECT_EQ(manifest_->roots().at(0).files, files);
  const auto live_marks = std::pair(unreferenced(), pinned());
  reopen();
  EXPECT_EQ(std::pair(unreferenced(), pinned()), live_marks);
  EXPECT_EQ(manifest_->roots().at(0).files, files);
}

}  // namespace
}  // namespace kvboost::cache
