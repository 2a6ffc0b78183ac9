// SPDX-License-Identifier: Apache-2.0
#include "cache/store/record.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

RecordInfo sample_info() {
  return {{30, 3, 64, 100}, kModel, prefix_key(1), content_key(2), 1.5F, 20.0F};
}

TEST(Record, ComesBackAsItWas) {
  const auto payload = payload_of(1, 1000);
  const auto record = seal_record(sample_info(), payload);
  EXPECT_EQ(record.size(), kRecordHeaderBytes + payload.size());
  const auto view = open_record(record);
  ASSERT_TRUE(view.has_value()) << view.error().text();
  EXPECT_EQ(view->info.shape, sample_info().shape);
  EXPECT_EQ(view->info.model, kModel);
  EXPECT_EQ(view->info.prefix_key, prefix_key(1));
  EXPECT_EQ(view->info.content_key, content_key(2));
  EXPECT_EQ(view->info.importance, 1.5F);
  EXPECT_EQ(view->info.rebuild_ms, 20.0F);
  EXPECT_TRUE(std::ranges::equal(view->payload, payload));
  EXPECT_EQ(content_key_of(record), content_key(2));
}

TEST(Record, EveryFlippedBitIsNoticed) {
  const auto record = seal_record(sample_info(), payload_of(1, 64));
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    auto damaged = record;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(open_record(damaged).has_value()) << "bit " << bit;
  }
}

TEST(Record, EveryLengthButItsOwnIsRefused) {
  auto record = seal_record(sample_info(), payload_of(1, 64));
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_EQ(open_record(std::span(record).first(size)).error().code, ErrorCode::kCorrupt) << size;
  }
  record.push_back(std::byte{0});
  EXPECT_EQ(open_record(record).error().code, ErrorCode::kCorrupt);
}

TEST(Record, AnotherVersionIsAMissAndNoDamage) {
  auto record = seal_record(sample_info(), payload_of(1, 64));
  const std::uint32_t version = kRecordVersion + 1;
  std::memcpy(record.data() + 4, &version, sizeof version);
  EXPECT_EQ(open_record(record).error().code, ErrorCode::kNotFound);
}

TEST(Record, DecodesInThePassThatVerifies) {
  const BlockShape shape{3, 2, 8, 40};
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kInt4}) {
    const SealedRecord record = block_record(1, codec, shape);
    std::vector<std::uint16_t> block;
    const auto info = decode_record(record.bytes(), block);
    ASSERT_TRUE(info.has_value()) << info.error().text();
    EXPECT_EQ(info->shape, shape);
    EXPECT_EQ(info->prefix_key, prefix_key(1));
    std::vector<std::uint16_t> expected(shape.elements());
    ASSERT_TRUE(decode_block(shape, record.ref().payload(), expected).has_value());
    EXPECT_EQ(block, expected);
    for (std::size_t byte = 0; byte < record.size(); ++byte) {
      std::vector<std::byte> damaged(record.bytes().begin(), record.bytes().end());
      damaged[byte] ^= std::byte{0x10};
      ASSERT_FALSE(decode_record(damaged, block).has_value()) << "byte " << byte;
    }
  }
}

TEST(Record, AShapeThatDoesNotFitTakesNoMemory) {
  RecordInfo info = sample_info();
  info.shape = {1 << 12, 1 << 12, 1 << 12, 1 << 22};
  std::vector<std::uint16_t> block;
  EXPECT_EQ(decode_record(seal_record(info, payload_of(1, 10'000)), block).error().code, ErrorCode::kCorrupt);
  info.shape = {1, 1 << 30, 1 << 30, 1 << 30};
  EXPECT_EQ(decode_record(seal_record(info, payload_of(1, 10'000)), block).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(block.capacity(), 0U);
}

TEST(Record, ImportanceIsTheMeanNormOfTheValues) {
  const BlockShape shape{2, 1, 2, 3};
  const auto bits = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
  std::vector<std::uint16_t> block(shape.elements(), bits(100.0F));
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t t = 0; t < 3; ++t) {
      std::uint16_t* value = block.data() + (2 * layer + 1) * shape.plane() + t * shape.row();
      value[0] = bits(3.0F);
      value[1] = bits(4.0F);
    }
  }
  EXPECT_FLOAT_EQ(value_norm(shape, block), 5.0F);
}

}  // namespace
}  // namespace kvboost::cache
