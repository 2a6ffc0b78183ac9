// SPDX-License-Identifier: Apache-2.0
// What is shown of what a model writes: "|" is the cursor.
#include "daemon/prompt/hint.h"

#include <gtest/gtest.h>

namespace kvboost::daemon {
namespace {

using cache::CursorPlace;
using cache::WantedText;

constexpr CursorPlace kLine{};
constexpr CursorPlace body(std::size_t indent) {
  return {WantedText::kBody, indent};
}
constexpr CursorPlace member(std::size_t indent) {
  return {WantedText::kMember, indent};
}

std::string shown(std::string text, std::string_view written, const CursorPlace& place = kLine) {
  const std::size_t cursor = text.find('|');
  EXPECT_NE(cursor, std::string::npos);
  text.erase(cursor, 1);
  return clean_hint(written, EditBuffer(text, static_cast<std::int64_t>(cursor)), place);
}

std::string ended(std::string_view text, const CursorPlace& place, bool reached) {
  const HintEnd end = find_hint_end(text, place);
  EXPECT_EQ(end.reached, reached) << text;
  return std::string(text.substr(0, end.length));
}

TEST(HintEnd, ALineEndsWithItself) {
  EXPECT_EQ(ended("x = 1", kLine, false), "x = 1");
  EXPECT_EQ(ended("x = 1\ny", kLine, true), "x = 1");
  EXPECT_EQ(ended("\nx", kLine, true), "");
}

TEST(HintEnd, ABodyEndsWithItsIndentation) {
  EXPECT_EQ(ended("\n  a;\n  b;", body(0), false), "\n  a;\n  b;");
  EXPECT_EQ(ended("\n  a;\n}", body(0), false), "\n  a;\n}") << "more may follow in this line";
  EXPECT_EQ(ended("\n  a;\n}\nint g", body(0), true), "\n  a;\n}");
  EXPECT_EQ(ended("\n    a\n\n\ndef g", body(0), true), "\n    a");
  EXPECT_EQ(ended("a\n        b\n    c", body(4), true), "a\n        b");
  EXPECT_EQ(ended("a\n  ", body(4), false), "a\n  ") << "its indentation may not be all there yet";
}

TEST(HintEnd, AMemberEndsBeforeTheNextOne) {
  EXPECT_EQ(ended("int f() {\n  a;\n}\n", member(0), true), "int f() {\n  a;\n}");
  EXPECT_EQ(ended("def f():\n    a\n\n    b\n\nx", member(0), true), "def f():\n    a\n\n    b");
  EXPECT_EQ(ended("a\n    b\n  c", member(4), true), "a\n    b");
}

TEST(Hint, WhatFollowsInTheLineIsTrimmed) {
  EXPECT_EQ(shown("foo(|)", "a, b)"), "a, b");
  EXPECT_EQ(shown("foo(|)", "a, b);"), "a, b");
  EXPECT_EQ(shown("foo(|)", "g(a), b"), "g(a), b");
  EXPECT_EQ(shown("foo(|);", "g(a));"), "g(a)");
  EXPECT_EQ(shown("x = |;", "1;"), "1");
  EXPECT_EQ(shown("say(\"|\")", "hello\")"), "hello");
  EXPECT_EQ(shown("say(\"|\")", "he said \\\"hi\\\""), "he said \\\"hi\\\"");
  EXPECT_EQ(shown("x = |foo + 1", "bar + foo + 1"), "bar +");
  EXPECT_EQ(shown("x = |foo + 1", "foo + 1"), "");
  EXPECT_EQ(shown("[|]", "]"), "");
}

TEST(Hint, WhatFollowsBelowIsTrimmed) {
  EXPECT_EQ(shown("int f() {\n  |\n}\n", "return 1;\n}\n", body(0)), "return 1;");
  EXPECT_EQ(shown("int f() {|\n}\n", "\n  return 1;\n}\n", body(0)), "\n  return 1;");
  EXPECT_EQ(shown("int f() {|}\n", "\n  return 1;\n}\n", body(0)), "\n  return 1;\n")
      << "a line before the bracket";
  EXPECT_EQ(shown("if x:\n    |\nprint(x)\n", "y = 1\nprint(x)\n", body(0)), "y = 1");
  EXPECT_EQ(shown("{\n  |\n  b;\n}\n", "b;"), "") << "the next line again";
  EXPECT_EQ(shown("{\n  |\n}\n", "}"), "");
}

TEST(Hint, TheIndentationIsTheBuffers) {
  EXPECT_EQ(shown("{\n    |", "  a;\n      b;", body(0)), "a;\n    b;");
  EXPECT_EQ(shown("{\n\t|", "a;\n    b;\n        c;", body(0)), "a;\n\tb;\n\t\tc;");
  EXPECT_EQ(shown("{\n    |", "a;\n\tb;", body(0)), "a;\n    b;");
  EXPECT_EQ(shown("x =| 1", " 2 +"), " 2 +") << "within a line blanks are text";
  EXPECT_EQ(shown("{\n|", "  a;\n  b;", body(0)), "  a;\n  b;");
}

TEST(Hint, RepetitionAndNothingAreDropped) {
  EXPECT_EQ(shown("a = 1\n|", "a = 1"), "");
  EXPECT_EQ(shown("  }\n  |", "}"), "}") << "brackets may follow each other";
  EXPECT_EQ(shown("x|", "   \n"), "");
  EXPECT_EQ(shown("x|", ""), "");
  EXPECT_EQ(shown("f:\n  |", "a()\n  b()\n  b()\n  b()\n  b()", body(0)), "a()\n  b()");
}

TEST(Hint, ControlCharactersEndIt) {
  EXPECT_EQ(shown("x|", " = 1\x1b[2J"), " = 1");
  EXPECT_EQ(shown("x|", " = 1\xEF\xBF\xBD"), " = 1");
  EXPECT_EQ(shown("x|", " = \"\xF0\x9F\x8D\x92\"  "), " = \"\xF0\x9F\x8D\x92\"");
}

TEST(Hint, OddPlacesAreNoTrouble) {
  for (const char* text : {"|", "|)", "))|((", "\"|", "\n\n|\n\n", "\t|}"}) {
    for (const char* written : {"", "\n", ")", "}\n}\n", "\"\"\"", "((((", "\\"}) {
      for (const CursorPlace& place : {kLine, body(0), member(4)}) (void)shown(text, written, place);
    }
  }
}

}  // namespace
}  // namespace kvboost::daemon
