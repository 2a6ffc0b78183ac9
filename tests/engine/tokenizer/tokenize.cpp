// SPDX-License-Identifier: Apache-2.0
// kvboost-tokenize MODEL [--time]: the token ids of texts, for comparisons with other tokenizers. On stdin
// each text is its length in bytes, a newline and the bytes; on stdout each gives one line of ids. --time
// adds a line on stderr with the time that encoding took.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/tokenizer.h"

namespace {

using kvboost::engine::Gguf;
using kvboost::engine::TextPosition;
using kvboost::engine::Tokenizer;
using Clock = std::chrono::steady_clock;

int encode_all(const Tokenizer& tokenizer, TextPosition position, bool timed) {
  std::size_t bytes = 0;
  std::size_t tokens = 0;
  Clock::duration spent{};
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string text(std::stoull(line), '\0');
    if (!std::cin.read(text.data(), static_cast<std::streamsize>(text.size()))) return 1;
    const auto start = Clock::now();
    const auto ids = tokenizer.encode(text, position);
    spent += Clock::now() - start;
    bytes += text.size();
    tokens += ids.size();
    std::string out;
    for (const auto id : ids) out += std::to_string(id) + ' ';
    std::puts(out.c_str());
  }
  const double seconds = std::chrono::duration<double>(spent).count();
  if (timed)
    std::fprintf(stderr, "%zu bytes, %zu tokens, %.4f s, %.2f MB/s\n", bytes, tokens, seconds,
                 static_cast<double>(bytes) / 1e6 / seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: kvboost-tokenize MODEL [--start] [--time]\n", stderr);
    return 2;
  }
  const std::vector<std::string_view> options(argv + 2, argv + argc);
  const auto given = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  const auto gguf = Gguf::open(argv[1]);
  if (!gguf) {
    std::fprintf(stderr, "%s\n", gguf.error().text().c_str());
    return 1;
  }
  const auto tokenizer = Tokenizer::from_gguf(*gguf);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().text().c_str());
    return 1;
  }
  return encode_all(*tokenizer, given("--start") ? TextPosition::kStart : TextPosition::kInside,
                    given("--time"));
}
