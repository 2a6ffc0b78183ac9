// SPDX-License-Identifier: Apache-2.0
// GgufHeader: the parsed front of a GGUF file; tensors already point into the bytes. Internal to Gguf.
#pragma once

#include "engine/model/gguf.h"

namespace kvboost::engine {

struct GgufHeader {
  std::uint32_t version = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;
  std::map<std::string, std::size_t, std::less<>> index;  // of a tensor, by name
};

/// `bytes` is the whole file; the spans of the tensors lie in it. Errors as in Gguf::open.
[[nodiscard]] Result<GgufHeader> read_gguf_header(std::span<const std::byte> bytes);

}  // namespace kvboost::engine
