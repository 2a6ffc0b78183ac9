// SPDX-License-Identifier: Apache-2.0
// write-tiny-model FILE [ARCHITECTURE]: a tiny random model as a file, for tests that are not written in C++.
#include <iostream>

#include "tests/support/tiny_model.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: write-tiny-model FILE [llama|qwen2|qwen3|gemma3]\n";
    return 2;
  }
  kvboost::test::TinyModel model;
  if (argc == 3) model.architecture = argv[2];
  const auto written = kvboost::test::write_tiny_model(argv[1], model);
  if (!written) std::cerr << written.error().text() << '\n';
  return written ? 0 : 1;
}
