// SPDX-License-Identifier: Apache-2.0
#include "cache/store/manifest_row.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>

namespace kvboost::cache {
namespace {

FileRow sample_file() {
  FileRow row{"src/a.cpp", {sha256("text"), sha256("context"), {}}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    row.file.chunks.push_back({i * 100, i * 100 + 90, static_cast<std::int32_t>(i), 7, 64,
                               sha256("content " + std::to_string(i)), sha256("prefix")});
  }
  return row;
}
const RowKey kFileKey = file_key("/root", "src/a.cpp");

TEST(ManifestRow, AFileComesBackAsItWas) {
  const auto found = decode_file_row(kFileKey, encode_row(sample_file()));
  ASSERT_TRUE(found.has_value()) << found.error().text();
  EXPECT_EQ(found->path, "src/a.cpp");
  EXPECT_EQ(found->file, sample_file().file);
  EXPECT_FALSE(is_root_key(kFileKey));
}

TEST(ManifestRow, ARootComesBackAsItWas) {
  const RootRow row{"/root", {"", "src", "doc/a.md"}};
  const RowKey key = root_key("/root");
  const auto found = decode_root_row(key, encode_row(row));
  ASSERT_TRUE(found.has_value()) << found.error().text();
  EXPECT_EQ(found->root, row.root);
  EXPECT_EQ(found->pins, row.pins);
  EXPECT_TRUE(is_root_key(key));
}

TEST(ManifestRow, ARootKeepsItsNeighbours) {
  const RootRow row{"/root", {"src"}, {{"src/a.c", "int a;\n"}, {"src/b.c", ""}}};
  const auto found = decode_root_row(root_key("/root"), encode_row(row));
  ASSERT_TRUE(found.has_value()) << found.error().text();
  EXPECT_EQ(found->pins, row.pins);
  EXPECT_EQ(found->neighbours, row.neighbours);
}

TEST(ManifestRow, EveryFlippedBitAndEveryOtherLengthIsRefused) {
  const RowBytes row = encode_row(sample_file());
  for (std::size_t bit = 0; bit < row.size() * 8; ++bit) {
    RowBytes damaged = row;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(decode_file_row(kFileKey, damaged).error().code, ErrorCode::kCorrupt) << "bit " << bit;
  }
  for (std::size_t size = 0; size < row.size(); ++size) {
    EXPECT_FALSE(decode_file_row(kFileKey, std::span(row).first(size)).has_value()) << size;
  }
}

TEST(ManifestRow, ARowBelongsToItsKey) {
  const RowBytes row = encode_row(sample_file());
  EXPECT_FALSE(decode_file_row(file_key("/root", "src/b.cpp"), row).has_value());
  EXPECT_FALSE(decode_root_row(root_key("/other"), encode_row(RootRow{"/root", {}})).has_value());
}

/// Writes the right checksum under a body that is wrong.
RowBytes resealed(RowBytes row) {
  const std::uint64_t checksum = XXH3_64bits(row.data(), row.size() - 8);
  std::memcpy(row.data() + row.size() - 8, &checksum, sizeof checksum);
  return row;
}

TEST(ManifestRow, CountsAndVersionsAreNotTrusted) {
  RowBytes row = encode_row(sample_file());
  const std::size_t count_at = 4 + 4 + std::strlen("src/a.cpp") + 64;
  const std::uint32_t huge = 0xFFFFFFFF;
  RowBytes many = row;
  std::memcpy(many.data() + count_at, &huge, sizeof huge);
  EXPECT_EQ(decode_file_row(kFileKey, resealed(many)).error().code, ErrorCode::kCorrupt);
  RowBytes backwards = row;
  std::memcpy(backwards.data() + count_at + 4, &huge, sizeof huge);  // begin > end
  EXPECT_EQ(decode_file_row(kFileKey, resealed(backwards)).error().code, ErrorCode::kCorrupt);
  const std::uint32_t version = kFileRowVersion + 1;
  std::memcpy(row.data(), &version, sizeof version);
  EXPECT_EQ(decode_file_row(kFileKey, resealed(row)).error().code, ErrorCode::kNotFound);
  const std::uint32_t none = 0;
  std::memcpy(row.data(), &none, sizeof none);
  EXPECT_EQ(decode_file_row(kFileKey, resealed(row)).error().code, ErrorCode::kCorrupt);
}

// Version 1 knew no neighbours: its rows end behind the pins.
TEST(ManifestRow, ARootOfVersion1IsRead) {
  RowBytes row = encode_row(RootRow{"/root", {"src"}});
  row.erase(row.end() - 12, row.end() - 8);  // the number of neighbours
  const std::uint32_t version = 1;
  std::memcpy(row.data(), &version, sizeof version);
  const auto found = decode_root_row(root_key("/root"), resealed(row));
  ASSERT_TRUE(found.has_value()) << found.error().text();
  EXPECT_EQ(found->pins, (std::set<std::string>{"src"}));
  EXPECT_TRUE(found->neighbours.empty());
}

}  // namespace
}  // namespace kvboost::cache
