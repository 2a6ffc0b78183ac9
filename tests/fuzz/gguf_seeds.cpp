// SPDX-License-Identifier: Apache-2.0
// Writes small good model files into a folder: what gguf_fuzz starts from.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tests/support/tiny_model.h"

namespace {

using kvboost::Result;
using kvboost::engine::TensorType;
using kvboost::test::GgufWriter;
using kvboost::test::TinyModel;

/// Every kind of value and one tensor, in a few hundred bytes, where every byte counts.
GgufWriter every_kind() {
  GgufWriter file;
  file.set("u8", std::uint8_t{1});
  file.set("i8", std::int8_t{-1});
  file.set("u16", std::uint16_t{1});
  file.set("i16", std::int16_t{-1});
  file.set("u32", std::uint32_t{1});
  file.set("i32", std::int32_t{-1});
  file.set("u64", std::uint64_t{1});
  file.set("i64", std::int64_t{-1});
  file.set("f32", 1.0F);
  file.set("f64", 1.0);
  file.set("bool", true);
  file.set("text", "text");
  file.set("texts", std::vector<std::string>{"a", "b"});
  file.set("bools", std::vector<bool>{true, false});
  file.set("numbers", std::vector<float>{1, 2});
  file.set("integers", std::vector<std::int8_t>{1, 2});
  file.set("general.alignment", std::uint32_t{32});
  return file;
}

Result<void> write_seeds(const std::filesystem::path& folder) {
  GgufWriter small = every_kind();
  const std::vector<float> row(256, 1.0F);
  if (auto added = small.add_tensor("t", {256, 1}, TensorType::kF32, row); !added) return added;
  if (auto written = small.write(folder / "every_kind.gguf"); !written) return written;
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const TinyModel options{.architecture = architecture,
                            .n_layers = 1,
                            .width = 32,
                            .n_heads = 2,
                            .n_kv_heads = 1,
                            .feed_forward = 32,
                            .type = TensorType::kQ4_0,
                            .rope_scaling = "yarn",
                            .rope_factor = 2.0F,
                            .original_context = 512,
                            .frequency_factors = std::vector<float>(8, 1.0F),
                            .sliding_window = 64};
    auto written = write_tiny_model(folder / (std::string(architecture) + ".gguf"), options);
    if (!written) return written;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FOLDER\n";
    return 2;
  }
  const auto written = write_seeds(argv[1]);
  if (!written) std::cerr << written.error().text() << "\n";
  return written ? 0 : 1;
}
