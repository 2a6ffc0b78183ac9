// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/opening.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::engine {
namespace {

class OpeningTest : public testing::Test {
 protected:
  /// The texts of the tokens that may come next.
  std::vector<std::string> possible(Opening& opening) {
    const std::vector<float> logits(static_cast<std::size_t>(tokenizer_.vocabulary()), 1.0F);
    std::vector<std::string> texts;
    const auto fitting = opening.fitting(logits);
    if (!fitting) return texts;
    for (std::size_t id = 0; id < fitting->size(); ++id) {
      if (std::isfinite((*fitting)[id])) texts.emplace_back(tokenizer_.bytes(static_cast<TokenId>(id)));
    }
    return texts;
  }
  TokenId id_of(std::string_view text) {
    const auto ids = tokenizer_.encode(text);
    EXPECT_EQ(ids.size(), 1U) << text;
    return ids.front();
  }

  Tokenizer tokenizer_ = test::tiny_tokenizer();
};

TEST_F(OpeningTest, OnlyTokensThatGoOnWithItAreLeft) {
  Opening opening(" th", tokenizer_);
  EXPECT_EQ(possible(opening), (std::vector<std::string>{" ", " t", " the"}));
  EXPECT_EQ(opening.rest_of(id_of(" t")), "");
  EXPECT_EQ(possible(opening), (std::vector<std::string>{"h", "he"}));
  EXPECT_EQ(opening.rest_of(id_of("he")), "e");
}

TEST_F(OpeningTest, BehindItEverythingMayCome) {
  Opening opening("", tokenizer_);
  EXPECT_EQ(possible(opening).size(), static_cast<std::size_t>(tokenizer_.vocabulary()));
  EXPECT_EQ(opening.rest_of(id_of("x")), "x");
}

TEST_F(OpeningTest, AControlTokenGoesOnWithNothing) {
  Opening opening("<|im_end|>", tokenizer_);
  EXPECT_EQ(possible(opening), (std::vector<std::string>{"<"}));
}

}  // namespace
}  // namespace kvboost::engine
