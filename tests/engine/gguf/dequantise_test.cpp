// SPDX-License-Identifier: Apache-2.0
// Dequantisation against numbers that an independent implementation made:
// tests/engine/data/make_dequantise.py.
#include "engine/model/dequantise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace kvboost::engine {
namespace {

struct Golden {
  TensorType type;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

std::vector<Golden> read_golden() {
  std::ifstream file(KVBOOST_TEST_DATA "/dequantise.bin", std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ByteReader reader(std::as_bytes(std::span(content)));
  std::vector<Golden> all;
  while (reader.remaining() > 0) {
    const auto type = static_cast<TensorType>(reader.read<std::uint32_t>().value());
    const auto bytes = reader.read<std::uint32_t>().value();
    const auto values = reader.read<std::uint32_t>().value();
    const auto blocks = reader.take(bytes).value();
    Golden golden{type, {blocks.begin(), blocks.end()}, std::vector<float>(values)};
    for (float& value : golden.values) value = reader.read<float>().value();
    all.push_back(std::move(golden));
  }
  return all;
}

TEST(Dequantise, EveryTypeEqualsTheIndependentImplementation) {
  std::set<TensorType> seen;
  for (const Golden& golden : read_golden()) {
    SCOPED_TRACE(to_string(golden.type));
    seen.insert(golden.type);
    std::vector<float> values(golden.values.size());
    dequantise(golden.type, golden.blocks, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(golden.values[i])) {
        ASSERT_TRUE(std::isnan(values[i])) << "value " << i;
      } else {
        ASSERT_EQ(values[i], golden.values[i]) << "value " << i;
      }
    }
  }
  EXPECT_EQ(seen.size(), 13U);
}

TEST(Dequantise, BlocksMayLieAtAnyAddress) {
  for (const Golden& golden : read_golden()) {
    SCOPED_TRACE(to_string(golden.type));
    std::vector<std::byte> shifted(1);
    shifted.insert(shifted.end(), golden.blocks.begin(), golden.blocks.end());
    std::vector<float> aligned(golden.values.size());
    std::vector<float> odd(golden.values.size());
    dequantise(golden.type, golden.blocks, aligned);
    dequantise(golden.type, std::span(shifted).subspan(1), odd);
    for (std::size_t i = 0; i < odd.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(odd[i]), std::bit_cast<std::uint32_t>(aligned[i]))
          << "value " << i;
    }
  }
}

TEST(Dequantise, GoldenBlocksHaveTheFormatsSizes) {
  for (const Golden& golden : read_golden()) {
    const BlockFormat format = block_format(golden.type);
    EXPECT_EQ(static_cast<std::int64_t>(golden.values.size()) / format.elements * format.bytes,
              static_cast<std::int64_t>(golden.blocks.size()))
        << to_string(golden.type);
  }
}

}  // namespace
}  // namespace kvboost::engine
