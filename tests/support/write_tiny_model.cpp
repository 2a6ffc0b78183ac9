// SPDX-License-Identifier: Apache-2.0
// write-tiny-model FILE [ARCHITECTURE [FAMILY]]: a tiny random model as a file, for tests that are not
// written in C++. FAMILY: whose marks it has for filling in the middle.
#include <iostream>

#include "tests/support/tiny_model.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: write-tiny-model FILE [llama|qwen2|qwen3|gemma3 [FAMILY]]\n";
    return 2;
  }
  kvboost::test::TinyModel model;
  if (argc > 2) model.architecture = argv[2];
  if (argc > 3) model.marks = kvboost::test::fill_marks_of(argv[3]);
  if (argc > 3 && model.marks.empty()) {
    std::cerr << "no such family: " << argv[3] << '\n';
    return 2;
  }
  const auto written = kvboost::test::write_tiny_model(argv[1], model);
  if (!written) std::cerr << written.error().text() << '\n';
  return written ? 0 : 1;
}
