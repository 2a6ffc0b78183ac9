// SPDX-License-Identifier: Apache-2.0
// File systems on which a shared map is not safe. None of them can be mounted here, so what the system says
// of a directory is replaced: this program's own statfs stands before the C library's.
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/store/lmdb_store.h"
#include "tests/cache/store/store_fixture.h"

namespace {
unsigned pretended_type = 0;  // 0: the real one
}  // namespace

extern "C" int statfs(const char* path, struct statfs* status) noexcept {
  const auto code = static_cast<int>(::syscall(SYS_statfs, path, status));
  if (code == 0 && pretended_type != 0) status->f_type = pretended_type;
  return code;
}

namespace kvboost::cache {
namespace {

struct FileSystem {
  const char* name;
  unsigned type;  // man 2 statfs
};

class OddFileSystem : public StoreTest, public testing::WithParamInterface<FileSystem> {
 protected:
  void SetUp() override { pretended_type = GetParam().type; }
  void TearDown() override { pretended_type = 0; }
};

using UnfitFileSystem = OddFileSystem;
using FitFileSystem = OddFileSystem;

TEST_P(UnfitFileSystem, IsRefusedByName) {
  const auto store = LmdbStore::open(directory_, {1ULL << 20, 0});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(store.error().message.find(std::string("is on ") + GetParam().name), std::string::npos)
      << store.error().message;
  EXPECT_NE(store.error().remedy.find("cache_dir"), std::string::npos) << store.error().remedy;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "kv-v1" / "data.mdb"));
}

TEST_P(FitFileSystem, IsUsed) {
  const auto store = LmdbStore::open(directory_, {1ULL << 20, 0});
  ASSERT_TRUE(store.has_value()) << store.error().text();
  EXPECT_TRUE((*store)->put(record_of(1, 1000)).has_value());
  EXPECT_TRUE(has(**store, 1, 1000));
}

constexpr auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(On, UnfitFileSystem,
                         testing::Values(FileSystem{"NFS", 0x6969}, FileSystem{"9p", 0x01021997},
                                         FileSystem{"SMB", 0x517B}, FileSystem{"SMB", 0xFE534D42},
                                         FileSystem{"CIFS", 0xFF534D42}, FileSystem{"FUSE", 0x65735546},
                                         FileSystem{"Ceph", 0x00C36400}, FileSystem{"Lustre", 0x0BD00BD0}),
                         [](const auto& of) { return of.param.name + std::to_string(of.param.type); });
INSTANTIATE_TEST_SUITE_P(On, FitFileSystem,
                         testing::Values(FileSystem{"ext4", 0xEF53}, FileSystem{"overlayfs", 0x794C7630},
                                         FileSystem{"tmpfs", 0x01021994}, FileSystem{"btrfs", 0x9123683E},
                                         FileSystem{"xfs", 0x58465342}),
                         kName);

}  // namespace
}  // namespace kvboost::cache
