// SPDX-License-Identifier: Apache-2.0
// A tokenizer of a tiny model: nearly a token a byte. For tests.
#pragma once

#include <stdexcept>

#include "engine/tokenizer.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::test {

inline engine::Tokenizer tiny_tokenizer(const TinyModel& model = {}) {
  const ScratchTree folder;
  const auto written = write_tiny_model(folder / "tiny.gguf", model);
  if (!written) throw std::runtime_error(written.error().text());
  auto gguf = engine::Gguf::open(folder / "tiny.gguf");
  if (!gguf) throw std::runtime_error(gguf.error().text());
  auto tokenizer = engine::Tokenizer::from_gguf(*gguf);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().text());
  return std::move(*tokenizer);
}

}  // namespace kvboost::test
