// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/recent_hints.h"

#include <gtest/gtest.h>

namespace kvboost::daemon {
namespace {

using Texts = std::vector<std::string>;

const Digest kKey = sha256("a model and a file");

/// "|" is the cursor.
EditBuffer buffer(std::string text) {
  const std::size_t cursor = text.find('|');
  text.erase(cursor, 1);
  return EditBuffer(text, static_cast<std::int64_t>(cursor));
}

TEST(RecentHints, WhatIsTypedOfAHintIsAnsweredByItsRest) {
  RecentHints recent;
  recent.keep(kKey, buffer("x = |;\n"), {"first + 1", "far"});
  EXPECT_EQ(recent.find(kKey, buffer("x = |;\n")), (Texts{"first + 1", "far"}));
  EXPECT_EQ(recent.find(kKey, buffer("x = f|;\n")), (Texts{"irst + 1", "ar"}));
  EXPECT_EQ(recent.find(kKey, buffer("x = first|;\n")), Texts{" + 1"});
}

TEST(RecentHints, AnythingElseIsNotKnown) {
  RecentHints recent;
  recent.keep(kKey, buffer("x = |;\n"), {"first"});
  EXPECT_FALSE(recent.find(kKey, buffer("x = g|;\n"))) << "another letter";
  EXPECT_FALSE(recent.find(kKey, buffer("x = first|;\n"))) << "nothing of it is left";
  EXPECT_FALSE(recent.find(kKey, buffer("x =| ;\n"))) << "before it";
  EXPECT_FALSE(recent.find(kKey, buffer("y = f|;\n"))) << "an edit above";
  EXPECT_FALSE(recent.find(kKey, buffer("x = f|);\n"))) << "an edit behind";
  EXPECT_FALSE(recent.find(sha256("another file"), buffer("x = f|;\n")));
}

TEST(RecentHints, ThatThereIsNoneIsKnownAtItsPlace) {
  RecentHints recent;
  recent.keep(kKey, buffer("x|"), {});
  EXPECT_EQ(recent.find(kKey, buffer("x|")), Texts{});
  EXPECT_FALSE(recent.find(kKey, buffer("xy|")));
}

TEST(RecentHints, TheLatestOfAPlaceCountsAndOldOnesGo) {
  RecentHints recent;
  recent.keep(kKey, buffer("x|"), {"old"});
  recent.keep(kKey, buffer("x|"), {"new"});
  EXPECT_EQ(recent.find(kKey, buffer("x|")), Texts{"new"});
  for (int i = 0; i < 100; ++i) recent.keep(kKey, buffer(std::to_string(i) + "|"), {"n"});
  EXPECT_FALSE(recent.find(kKey, buffer("x|")));
  EXPECT_TRUE(recent.find(kKey, buffer("99|")));
}

}  // namespace
}  // namespace kvboost::daemon
