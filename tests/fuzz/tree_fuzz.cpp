// SPDX-License-Identifier: Apache-2.0
// Any damage to the cache's file: check_trees must read it within bounds, and what it lets pass LMDB must be
// able to read and write without a crash. An input is a list of changes to a good file, in which trees of
// each kind, branches, values of many pages and lists of free pages occur.
//   input  := pages:u8 change*       pages: what is left of the file; 0: all of it
//   change := page:u8 offset:u16 size:u8 bytes{size}
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "cache/store/lmdb_env.h"
#include "cache/store/meta_row.h"
#include "cache/store/tree_check.h"
#include "tests/support/scratch_tree.h"

namespace {

using namespace kvboost::cache;
using kvboost::Digest;
using kvboost::Result;
using kvboost::sha256;
namespace fs = std::filesystem;

constexpr std::uint64_t kMapBytes = 4ULL << 20;
constexpr std::size_t kPage = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

Digest key_of(int i) {
  return sha256("key " + std::to_string(i));
}

/// Erases some rows and writes others, in each table.
Result<void> write_rows(LmdbEnv::Write& write, int first, int count) {
  const std::vector<std::byte> value(6000, std::byte{7});
  const auto shared = sha256("content");
  for (int i = first; i < first + count; ++i) {
    const Digest key = key_of(i);
    const auto size = i % 15 == 0 ? value.size() : static_cast<std::size_t>(i % 200);
    if (auto put = write.put(Table::kBlocks, bytes_of(key), std::span(value).first(size)); !put) return put;
    if (auto put = write.put(Table::kMeta, bytes_of(key), std::span(value).first(96)); !put) return put;
    if (auto put = write.put(Table::kManifest, bytes_of(key), std::span(value).first(40)); !put) return put;
    if (auto put = write.put(Table::kContents, bytes_of(i % 2 == 0 ? shared : key), bytes_of(key)); !put)
      return put;
  }
  return {};
}

Result<void> erase_rows(LmdbEnv::Write& write, int first, int count) {
  const auto shared = sha256("content");
  for (int i = first; i < first + count; ++i) {
    const Digest key = key_of(i);
    for (const Table table : {Table::kBlocks, Table::kMeta, Table::kManifest}) {
      if (auto erased = write.erase(table, bytes_of(key)); !erased) return erased;
    }
    if (auto erased = write.erase(Table::kContents, bytes_of(shared), bytes_of(key)); !erased) return erased;
  }
  return {};
}

class Trial {
 public:
  Trial() {
    auto env = LmdbEnv::open(folder_.root(), kMapBytes);
    require(env.has_value());
    require((*env)->write([](auto& write) { return write_rows(write, 0, 300); }).has_value());
    require((*env)->write([](auto& write) { return erase_rows(write, 40, 60); }).has_value());
    require((*env)->write([](auto& write) { return write_rows(write, 300, 20); }).has_value());
    env->reset();
    std::ifstream stream(file_, std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(stream), {});
    require(good_.size() / kPage < 256);
  }

  void run(std::span<const std::uint8_t> input) {
    std::string bytes = good_;
    if (!input.empty() && input[0] != 0) bytes.resize(std::min(bytes.size(), input[0] * kPage));
    for (auto left = input.subspan(std::min<std::size_t>(1, input.size())); left.size() > 4;) {
      const std::size_t at = left[0] * kPage + (left[1] | left[2] << 8) % kPage;
      const std::size_t size = std::min<std::size_t>(left[3], left.size() - 4);
      if (at + size <= bytes.size()) std::memcpy(bytes.data() + at, left.data() + 4, size);
      left = left.subspan(4 + size);
    }
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    if (check_trees(file_)) use();
  }

 private:
  /// Reads and writes all tables; each call may fail, none may crash.
  void use() const {
    auto env = LmdbEnv::open(folder_.root(), kMapBytes);
    if (!env) return;
    if (auto read = (*env)->read()) {
      std::size_t sum = 0;
      for (const Table table : {Table::kBlocks, Table::kContents, Table::kMeta, Table::kManifest}) {
        (void)(*read)->for_each(table, [&](std::span<const std::byte> key, std::span<const std::byte> value) {
          for (const std::byte byte : key) sum += std::to_integer<std::size_t>(byte);
          for (const std::byte byte : value) sum += std::to_integer<std::size_t>(byte);
          return true;
        });
      }
      require(sum != 1);  // so that it is computed
    }
    (void)(*env)->write([](auto& write) { return erase_rows(write, 0, 40); });
    (void)(*env)->write([](auto& write) { return write_rows(write, 30, 60); });
    (void)(*env)->write([](auto& write) { return erase_rows(write, 100, 250); });
  }

  const kvboost::test::ScratchTree folder_;
  const fs::path file_ = folder_.root() / "data.mdb";
  std::string good_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Trial trial;
  trial.run({data, size});
  return 0;
}
