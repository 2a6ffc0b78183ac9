// SPDX-License-Identifier: Apache-2.0
#include "cache/store/other_formats.h"

#include <fstream>

#include "cache/store/lmdb_store.h"
#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

using OtherFormatsTest = StoreTest;

TEST_F(OtherFormatsTest, AreLeftAloneListedAndRemoved) {
  for (const char* folder : {"kv-v0", "kv-v12", "kv-vx", "models"}) {
    fs::create_directory(directory_ / folder);
    std::ofstream(directory_ / folder / "data.mdb") << "another format";
  }
  fs::create_directory_symlink(directory_ / "models", directory_ / "kv-v7");
  auto store = LmdbStore::open(directory_, {16ULL << 20, 0});
  ASSERT_TRUE(store.has_value());
  ASSERT_TRUE((*store)->put(record_of(1, 50'000)).has_value());
  const auto found = other_formats(directory_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "kv-v0");
  EXPECT_EQ(found[1].name, "kv-v12");
  EXPECT_EQ(found[1].bytes, 14U);
  for (const OtherFormat& format : found) remove(directory_, format);
  EXPECT_TRUE(other_formats(directory_).empty());
  EXPECT_TRUE(fs::exists(directory_ / "models" / "data.mdb"));
  EXPECT_TRUE(has(**store, 1, 50'000));
}

}  // namespace
}  // namespace kvboost::cache
