// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/stop_strings.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace kvboost::engine {
namespace {

struct Shown {
  std::string text;
  bool stopped = false;
};

Shown run(std::vector<std::string> stops, std::initializer_list<const char*> pieces) {
  StopStrings watch(std::move(stops));
  Shown shown;
  for (const char* piece : pieces) {
    auto step = watch.push(piece);
    shown.text += step.text;
    if (step.stopped) return {shown.text, true};
  }
  shown.text += watch.flush();
  return shown;
}

TEST(StopStrings, WithoutAnyTheTextPassesAtOnce) {
  StopStrings watch({""});
  EXPECT_EQ(watch.push("abc").text, "abc");
  EXPECT_EQ(watch.flush(), "");
}

TEST(StopStrings, EndsBeforeTheStopStringInOnePiece) {
  const auto shown = run({"END"}, {"one END two"});
  EXPECT_EQ(shown.text, "one ");
  EXPECT_TRUE(shown.stopped);
}

TEST(StopStrings, NothingOfAStopStringLeaksWhenItComesInPieces) {
  StopStrings watch({"\n\nUser:"});
  EXPECT_EQ(watch.push("answer\n").text, "answer");
  EXPECT_EQ(watch.push("\n").text, "");
  EXPECT_EQ(watch.push("Us").text, "");
  const auto step = watch.push("er: more");
  EXPECT_EQ(step.text, "");
  EXPECT_TRUE(step.stopped);
}

TEST(StopStrings, WhatOnlyLooksLikeOneIsShownInTheEnd) {
  EXPECT_EQ(run({"abcd"}, {"xab", "ce", "abc"}).text, "xabceabc");
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b", "z"}).text, "a");
}

TEST(StopStrings, TheFirstOfSeveralEndsIt) {
  const auto shown = run({"late", "early"}, {"it is early, not late"});
  EXPECT_EQ(shown.text, "it is ");
  EXPECT_EQ(run({"ab", "b"}, {"xa", "b"}).text, "x");
}

TEST(StopStrings, HoldsBackNoMoreThanItMust) {
  StopStrings watch({"stop"});
  EXPECT_EQ(watch.push("text s").text, "text ");
  EXPECT_EQ(watch.push("ays").text, "say");
  EXPECT_EQ(watch.flush(), "s");
}

}  // namespace
}  // namespace kvboost::engine
