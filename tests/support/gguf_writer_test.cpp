// SPDX-License-Identifier: Apache-2.0
// What the writer writes, the reader reads: the tests that stand on tiny models stand on this.
#include "tests/support/gguf_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/model/dequantise.h"
#include "tests/support/tiny_model.h"

namespace kvboost::test {
namespace {

using engine::Gguf;
using engine::TensorType;

/// The largest distance of the values from what the file gives back.
float error_of(TensorType type, const std::vector<float>& values) {
  GgufWriter file;
  EXPECT_TRUE(file.add_tensor("t", {static_cast<std::int64_t>(values.size())}, type, values).has_value());
  const auto bytes = file.bytes();
  const auto gguf = Gguf::parse(bytes);
  EXPECT_TRUE(gguf.has_value()) << gguf.error().text();
  std::vector<float> back(values.size());
  dequantise(type, gguf->tensor("t")->data, back);
  float most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) most = std::max(most, std::fabs(back[i] - values[i]));
  return most;
}

TEST(GgufWriter, EncodesEachType) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back(std::sin(static_cast<float>(i) * 1.7F) * 3.0F);
  EXPECT_EQ(error_of(TensorType::kF32, values), 0.0F);
  EXPECT_LE(error_of(TensorType::kF16, values), 4.0F / 4096);
  EXPECT_LE(error_of(TensorType::kBF16, values), 4.0F / 512);
  EXPECT_LE(error_of(TensorType::kQ8_0, values), 3.0F / 127 / 2 * 1.1F);
  EXPECT_LE(error_of(TensorType::kQ4_0, values), 3.0F / 8 * 1.1F);
  EXPECT_LE(error_of(TensorType::kQ4_1, values), 6.0F / 15 / 2 * 1.1F);
  EXPECT_EQ(error_of(TensorType::kQ8_0, std::vector<float>(32)), 0.0F);
  EXPECT_EQ(error_of(TensorType::kQ4_0, std::vector<float>(32)), 0.0F);
}

TEST(GgufWriter, HalvesRoundToNearestEven) {
  const std::vector<float> exact = {1.0F,     -2.5F, 65504.0F,      0x1p-14F,
                                    0x1p-24F, 0.0F,  1.0009765625F, -0x1.8p-16F};
  EXPECT_EQ(error_of(TensorType::kF16, exact), 0.0F);
  // Half way between 2048 and 2050 lies 2049, and the even mantissa is 2048's; 2051's is 2052's.
  EXPECT_EQ(error_of(TensorType::kF16, {2049.0F}), 1.0F);
  EXPECT_EQ(error_of(TensorType::kF16, {2049.5F}), 0.5F);
}

TEST(GgufWriter, RefusesWhatItCannotEncode) {
  GgufWriter file;
  const std::vector<float> values(64);
  EXPECT_FALSE(file.add_tensor("t", {64}, TensorType::kQ6_K, values).has_value());
  EXPECT_FALSE(file.add_tensor("t", {63}, TensorType::kF32, values).has_value());
  EXPECT_FALSE(file.add_tensor("t", {16, 4}, TensorType::kQ8_0, values).has_value());
}

TEST(GgufWriter, ReplacesAndRemoves) {
  GgufWriter file;
  file.set("a", std::uint32_t{1});
  file.set("a", "text");
  file.set("b", std::vector<bool>{true, false});
  file.set("c", 1.5);
  file.remove("c");
  const auto bytes = file.bytes();
  const auto gguf = Gguf::parse(bytes);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  EXPECT_EQ(gguf->text("a"), "text");
  EXPECT_EQ(gguf->find("c"), nullptr);
  ASSERT_NE(gguf->find("b"), nullptr);
  EXPECT_EQ(std::get<std::vector<bool>>(*gguf->find("b")), (std::vector<bool>{true, false}));
}

TEST(TinyModel, IsReadBackAndTheSameEachTime) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const TinyModel options{.architecture = architecture, .type = TensorType::kQ8_0, .tied_output = false};
    const auto bytes = make_tiny_model(options).bytes();
    EXPECT_EQ(bytes, make_tiny_model(options).bytes());
    const auto gguf = Gguf::parse(bytes);
    ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
    EXPECT_EQ(gguf->text("general.architecture"), architecture);
    EXPECT_EQ(gguf->texts("tokenizer.ggml.tokens")->size(), static_cast<std::size_t>(kTinyVocabulary));
    EXPECT_EQ(gguf->texts("tokenizer.ggml.tokens")->at(kTinyFirstByte + 'A'), "A");
    EXPECT_EQ(gguf->texts("tokenizer.ggml.tokens")->at(kTinyFirstByte + ' '), "Ġ");
    EXPECT_NE(gguf->tensor("output.weight"), nullptr);
    EXPECT_EQ(gguf->tensor("blk.0.attn_q.bias") != nullptr, std::string_view(architecture) == "qwen2");
  }
}

TEST(TinyModel, SeedsDiffer) {
  EXPECT_NE(make_tiny_model({.seed = 1}).bytes(), make_tiny_model({.seed = 2}).bytes());
}

}  // namespace
}  // namespace kvboost::test
