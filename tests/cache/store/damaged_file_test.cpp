// SPDX-License-Identifier: Apache-2.0
// Damage of any kind, anywhere in the cache's file, while nobody has it open and under a store that has: no
// crash, no wrong byte, and a cache that works. Each trial is a process of its own.
// KVBOOST_TEST_SEEDS is how many trials there are of each kind of moment (default 20).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cache/store/lmdb_store.h"
#include "cache/store/tree_check.h"
#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLimit = 64ULL << 20;
constexpr std::uint64_t kPage = 4096;
constexpr int kSmall = 150;   // records 0 to 149: in the trees, or of one page
constexpr int kLarge = 20;    // records 1000 to 1019: of many pages
constexpr int kShared = 140;  // of the small ones have one content: a tree of prefixes

std::size_t bytes_of_record(int i) {
  return i >= 1000 ? 30'000 : 300 + static_cast<std::size_t>(i) * 17;
}

std::vector<int> all_records() {
  std::vector<int> all;
  for (int i = 0; i < kSmall; ++i) all.push_back(i);
  for (int i = 1000; i < 1000 + kLarge; ++i) all.push_back(i);
  return all;
}

SealedRecord record(int i) {
  return record_of(i, bytes_of_record(i), 1, i < kShared ? 7 : i);
}

/// A row of the manifest's table, long enough for pages of its own where `i` is odd.
Result<void> write_row(LmdbStore& store, int i) {
  const auto row = payload_of(i, i % 2 == 0 ? 200 : 9'000);
  const std::string name = "row " + std::to_string(i);
  return store.write_rows(row.size(), [&](LmdbEnv::Write& write) {
    return write.put(Table::kManifest, std::as_bytes(std::span(name)), row);
  });
}

/// Fills a store, with free pages and lists of them in its file.
void fill(LmdbStore& store) {
  for (const int i : all_records()) ASSERT_TRUE(store.put(record(i)).has_value());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(write_row(store, i).has_value());
  for (int i = 500; i < 540; ++i) ASSERT_TRUE(store.put(record_of(i, 5'000)).has_value());
  for (int i = 500; i < 540; ++i) ASSERT_TRUE(*store.erase(prefix_key(i)));
  ASSERT_EQ(store.stats().front().records, all_records().size());
}

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  void apply(const fs::path& path) {
    const std::uint64_t bytes = fs::file_size(path);
    const std::uint64_t pages = bytes / kPage;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const std::uint64_t page = number(8) == 0 ? number(2) : number(pages);
    switch (number(9)) {
      case 0:  // a page's header
        write(file, page * kPage + number(16), noise(1 + number(16)));
        break;
      case 1: {  // the bounds of its nodes
        const std::uint16_t wild[] = {0, 15, 16, 18, 4095, 4096, 4098, 0x7FFE, 0xFFFE, 0xFFFF};
        std::vector<std::byte> two(2);
        std::memcpy(two.data(), &wild[number(std::size(wild))], 2);
        write(file, page * kPage + (number(2) == 0 ? 12 : 14), two);
        break;
      }
      case 2:  // where its nodes are
        write(file, page * kPage + 16 + number(64), noise(1 + number(32)));
        break;
      case 3:  // the end of the page, where the first nodes are
        write(file, page * kPage + kPage - 1 - number(200), noise(1));
        break;
      case 4:  // a whole page
        write(file, page * kPage, number(2) == 0 ? noise(kPage) : std::vector<std::byte>(kPage));
        break;
      case 5: {  // another page, in its place
        std::vector<char> other(kPage);
        file.seekg(static_cast<std::streamoff>(number(pages) * kPage));
        file.read(other.data(), kPage);
        file.seekp(static_cast<std::streamoff>(page * kPage));
        file.write(other.data(), kPage);
        break;
      }
      case 6:
        fs::resize_file(path, number(2) == 0 ? number(bytes) : number(pages) * kPage);
        break;
      case 7:  // many bytes, anywhere
        for (int i = 0; i < 200; ++i) write(file, number(bytes), noise(1));
        break;
      default:  // the first pages
        write(file, number(2) * kPage + number(152), noise(1 + number(8)));
    }
  }

 private:
  std::uint64_t number(std::uint64_t below) { return random_() % below; }
  std::vector<std::byte> noise(std::size_t bytes) {
    std::vector<std::byte> noise(bytes);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random_());
    return noise;
  }
  static void write(std::fstream& file, std::uint64_t at, std::span<const std::byte> bytes) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.flush();
  }

  std::mt19937_64 random_;
};

/// Uses the store in each way; false when a record has other bytes than were put, or nothing can be kept.
bool use(LmdbStore& store) {
  for (const int i : all_records()) {
    const auto found = store.get(prefix_key(i));
    if (found && *found && !std::ranges::equal((*found)->payload(), payload_of(i, bytes_of_record(i)))) {
      std::cerr << "record " << i << " has wrong bytes\n";
      return false;
    }
  }
  (void)store.prefixes_of(content_key(7));
  for (const int i : all_records()) {
    if (i % 9 == 0) (void)store.erase(prefix_key(i));
  }
  for (int i = 0; i < 20; i += 3) (void)write_row(store, i);
  for (int i = 2000; i < 2005; ++i) (void)store.put(record_of(i, 20'000));
  (void)store.verify({});
  const auto put = store.put(record_of(3000, 100));
  if (!put) std::cerr << put.error().text() << '\n';
  const auto got = store.get(prefix_key(3000));
  return put && got && *got && std::ranges::equal((*got)->payload(), payload_of(3000, 100));
}

class DamagedAnywhere : public StoreTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    auto store = LmdbStore::open(directory_ / "whole", {kLimit, 0});
    ASSERT_TRUE(store.has_value());
    fill(**store);
  }

  /// What `body` ends with in a process of its own: 0, 1, or -signal.
  static int in_a_process(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  static int seeds() {
    const char* wanted = std::getenv("KVBOOST_TEST_SEEDS");
    return wanted != nullptr ? std::atoi(wanted) : 20;
  }
};

TEST_P(DamagedAnywhere, IsNoCrashAndNoWrongByte) {
  const std::string when = GetParam();
  const fs::path trial = directory_ / "trial";
  const fs::path file = trial / "kv-v1" / "data.mdb";
  for (int seed = 0; seed < seeds(); ++seed) {
    fs::remove_all(trial);
    fs::create_directories(file.parent_path());
    fs::permissions(file.parent_path(), fs::perms::owner_all);
    fs::copy_file(directory_ / "whole" / "kv-v1" / "data.mdb", file);
    const auto damaged_and_used = [&] {
      Damage damage(static_cast<unsigned>(seed));
      if (when == "stopped") damage.apply(file);
      auto store = LmdbStore::open(trial, {kLimit, 0});
      if (!store) return false;
      if (when == "running") damage.apply(file);
      return use(**store);
    };
    ASSERT_EQ(in_a_process(damaged_and_used), 0) << "seed " << seed << ", damaged while " << when;
    const auto used_again = [&] {
      auto store = LmdbStore::open(trial, {kLimit, 0});
      return store && (*store)->stats().front().problem.empty() && use(**store);
    };
    ASSERT_EQ(in_a_process(used_again), 0) << "seed " << seed << ", at the next start";
  }
}

INSTANTIATE_TEST_SUITE_P(When, DamagedAnywhere, testing::Values("stopped", "running"),
                         [](const auto& when) { return std::string(when.param); });

using TreeCheckTest = StoreTest;

/// Whatever a store of this build leaves behind is whole.
TEST_F(TreeCheckTest, FindsNothingInWhatAStoreWrites) {
  std::mt19937 random(3);
  const fs::path file = directory_ / "kv-v1" / "data.mdb";
  auto store = LmdbStore::open(directory_, {8ULL << 20, 0});
  ASSERT_TRUE(store.has_value());
  for (int n = 0; n < 600; ++n) {
    const int i = static_cast<int>(random() % 200);
    if (random() % 3 == 0) {
      ASSERT_TRUE((*store)->erase(prefix_key(i)).has_value());
    } else {
      ASSERT_TRUE((*store)->put(record_of(i, 1 + random() % 150'000, 1, i % 3)).has_value());
    }
    if (n % 5 == 0) {
      ASSERT_TRUE(write_row(**store, n).has_value());
    }
    const auto checked = check_trees(file);
    ASSERT_TRUE(checked.has_value()) << "after " << n << ": " << checked.error().text();
  }
  EXPECT_GT((*store)->stats().front().evictions, 0U);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE((*store)->erase(prefix_key(i)).has_value());
  EXPECT_TRUE(check_trees(file).has_value());
}

TEST_F(TreeCheckTest, AnAbsentAndAnEmptyFileAreFine) {
  EXPECT_TRUE(check_trees(directory_ / "data.mdb").has_value());
  std::ofstream(directory_ / "data.mdb").flush();
  EXPECT_TRUE(check_trees(directory_ / "data.mdb").has_value());
}

}  // namespace
}  // namespace kvboost::cache
