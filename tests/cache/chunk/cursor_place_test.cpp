// SPDX-License-Identifier: Apache-2.0
// Where a block is wanted and where a line: "|" is the cursor.
#include "cache/chunk/cursor_place.h"

#include <gtest/gtest.h>

#include <string>

namespace kvboost::cache {
namespace {

CursorPlace place(std::string_view path, std::string text) {
  const std::size_t cursor = text.find('|');
  EXPECT_NE(cursor, std::string::npos);
  text.erase(cursor, 1);
  return cursor_place(path, text, cursor, std::chrono::seconds(10));
}

WantedText wanted(std::string_view path, const std::string& text) {
  return place(path, text).wanted;
}

TEST(CursorPlace, WithinALineTheRestOfItIsWanted) {
  EXPECT_EQ(wanted("a.c", "int f(|)\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.c", "int f() {\n  return |\n}\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "x = |1\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "|"), WantedText::kLine);
  EXPECT_EQ(wanted("a.c", "int f() {| return 1; }\n"), WantedText::kLine);
}

TEST(CursorPlace, AnEmptyBodyIsWantedWhole) {
  EXPECT_EQ(wanted("a.c", "int f() {|\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.c", "int f() {\n  |\n}\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.c", "int f() {|}\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.py", "def f(x):\n    |"), WantedText::kBody);
  EXPECT_EQ(wanted("a.py", "def f(x):\n    if x:|\n\ndef g():\n    pass\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.lua", "for i = 1, 2 do\n  |\nend\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.go", "func f() {\n\t|\n}\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.ts", "class A {\n  b(): void {\n    |\n  }\n}\n"), WantedText::kBody);
  EXPECT_EQ(place("a.py", "class A:\n    def f(x):\n        |").indent, 4U);
}

TEST(CursorPlace, ABodyThatHasLinesGetsOneMore) {
  EXPECT_EQ(wanted("a.c", "int f() {\n  |\n  return 1;\n}\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "def f(x):\n    |\n    return x\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "def f(x):\n    y = x\n    |\n"), WantedText::kLine);
}

TEST(CursorPlace, BracesAndColonsOfValuesOpenNoBody) {
  EXPECT_EQ(wanted("a.py", "x = {|"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "x = {\"a\":|}\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "x = a[1:|]\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.py", "x = {\"a\":|"), WantedText::kLine);
  EXPECT_EQ(wanted("a.js", "const x = {|}\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.js", "const x = {|"), WantedText::kLine);
  EXPECT_EQ(wanted("a.js", "call({|})\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.c", "int x[] = {|};\n"), WantedText::kLine);
}

TEST(CursorPlace, BehindACommentWhatItDescribesIsWanted) {
  EXPECT_EQ(wanted("a.c", "// Adds two numbers.\n|\n"), WantedText::kMember);
  EXPECT_EQ(wanted("a.py", "def f():\n    # Twice.\n    |\n\nx = 1\n"), WantedText::kMember);
  EXPECT_EQ(wanted("a.c", "// Adds two numbers.\n|\nint add(int a, int b);\n"), WantedText::kLine);
  EXPECT_EQ(wanted("a.c", "// Adds |\n"), WantedText::kLine);
}

TEST(CursorPlace, WithoutAGrammarTheLastCharacterDecides) {
  EXPECT_EQ(wanted("a.unknown", "thing {\n  |\n}\n"), WantedText::kBody);
  EXPECT_EQ(wanted("a.unknown", "name:\n  |\n"), WantedText::kLine);
}

TEST(CursorPlace, OddTextsAreNoTrouble) {
  EXPECT_EQ(wanted("a.c", "\xF0\x9F\x8D\x92{|"), WantedText::kBody);
  for (const std::string text : {"\n\n|", "}}}|", "\t|\t", "\"|", "\xff{|\xfe", "((((|"})
    (void)wanted("a.cpp", text);
}

TEST(CursorPlace, TabsCountAsFourColumns) {
  EXPECT_EQ(indent_of("\tx"), 4U);
  EXPECT_EQ(indent_of("  \tx"), 4U);
  EXPECT_EQ(indent_of("    x"), 4U);
  EXPECT_EQ(indent_of("x"), 0U);
}

}  // namespace
}  // namespace kvboost::cache
