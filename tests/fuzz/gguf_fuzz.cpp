// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model file: the header, the spec, and the first blocks of every tensor.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "engine/model/dequantise.h"
#include "engine/model/gguf.h"
#include "engine/model/spec_reader.h"

namespace {

using kvboost::engine::Gguf;
using kvboost::engine::GgufTensor;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_first_blocks(const GgufTensor& tensor) {
  constexpr std::int64_t kMost = 1024;
  const auto format = kvboost::engine::block_format(tensor.type);
  const std::int64_t blocks = std::min(tensor.elements(), kMost) / format.elements;
  require(blocks * format.bytes <= static_cast<std::int64_t>(tensor.data.size()));
  std::vector<float> values(static_cast<std::size_t>(blocks * format.elements));
  const auto size = static_cast<std::size_t>(blocks * format.bytes);
  dequantise(tensor.type, tensor.data.first(size), values);
  dequantise(tensor.type, tensor.data.last(size), values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto gguf = Gguf::parse(std::as_bytes(std::span(data, size)));
  if (!gguf) {
    require(!gguf.error().message.empty());
    return 0;
  }
  for (const auto& [key, value] : gguf->metadata()) require(gguf->find(key) == &value);
  for (const GgufTensor& tensor : gguf->tensors()) {
    require(gguf->tensor(tensor.name) == &tensor);
    read_first_blocks(tensor);
  }
  const auto spec = read_spec(*gguf, "model.gguf");
  if (!spec) return 0;
  for (const auto& expected : expected_tensors(*spec)) {
    const GgufTensor* tensor = gguf->tensor(expected.name);
    require(tensor != nullptr && tensor->shape == expected.shape);
  }
  return 0;
}
