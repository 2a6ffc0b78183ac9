// SPDX-License-Identifier: Apache-2.0
// Text in which names of control tokens count.
#include "daemon/prompt/marked_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

using engine::TextPosition;

TEST(MarkedText, NamesOfControlTokensAreTheseAndTheRestIsText) {
  const auto tokenizer = test::tiny_tokenizer();
  const engine::TokenId start = *tokenizer.special("<|im_start|>"), end = *tokenizer.special("<|im_end|>");
  const std::string text = "<|im_start|>user<|im_end|><|im_end|>\n<|im_en";
  const auto ids = encode_marked(tokenizer, text, TextPosition::kInside);
  std::vector<engine::TokenId> want = {start};
  for (const auto id : tokenizer.encode("user")) want.push_back(id);
  want.insert(want.end(), 2, end);
  for (const auto id : tokenizer.encode("\n<|im_en")) want.push_back(id);
  EXPECT_EQ(ids, want);
  std::string back;
  for (const auto id : ids) back += bytes_or_mark(tokenizer, id);
  EXPECT_EQ(back, text);
}

TEST(MarkedText, WithoutMarksItIsAsEver) {
  const auto tokenizer = test::tiny_tokenizer();
  for (const std::string text : {"", "<", "a < b", "\xff\xfe", "h\xc3\xb6h\xc3\xb6"})
    EXPECT_EQ(encode_marked(tokenizer, text, TextPosition::kStart),
              tokenizer.encode(text, TextPosition::kStart));
}

}  // namespace
}  // namespace kvboost::daemon
