// SPDX-License-Identifier: Apache-2.0
// ModelSpec out of a GGUF: metadata, range-checked, and the tensors that a model of that shape has.
// Torch-free, any thread. Afterwards a loader may rely on every tensor of `expected_tensors` being there in
// that shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/model/gguf.h"
#include "engine/model_spec.h"

namespace kvboost::engine {

/// `file` is for the name and for messages. kModel, with the key or tensor, what it is and what was expected;
/// for an architecture that is not supported, with those that are.
[[nodiscard]] Result<ModelSpec> read_spec(const Gguf& gguf, const std::filesystem::path& file);

struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // shape[0] is the contiguous dimension
};

/// All tensors that a model of this spec has, by their GGUF names; output.weight only if untied.
[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec);

}  // namespace kvboost::engine
