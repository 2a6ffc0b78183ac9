// SPDX-License-Identifier: Apache-2.0
// Tables, numbers and text for a person; hostile text must not reach the terminal as it is.
#include "cli/render.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace kvboost::cli {
namespace {

class RenderTest : public testing::Test {
 protected:
  Terminal plain_{stdout, "never"};
  Terminal coloured_{stdout, "always"};
};

TEST_F(RenderTest, TableAlignsByColumnsNotBytes) {
  Table table({{"name"}, {"size", true}, {"note"}});
  table.add({"日本", "7", "wide"});
  table.add({"über", "1,234", ""});
  EXPECT_EQ(table.text(plain_), "name   size  note\n日本      7  wide\nüber  1,234\n");
}

TEST_F(RenderTest, ALongCellPushesOnlyItsOwnLine) {
  Table table({{"path", false, 6}, {"why"}});
  table.add({"a/long/path", "x"});
  table.add({"b", "y"});
  EXPECT_EQ(table.text(plain_), "path    why\na/long/path  x\nb       y\n");
}

TEST_F(RenderTest, ColoursDoNotCountAsWidth) {
  Table table({{"a"}, {"b"}});
  table.add({"x", "y"}, {Style::kGood, Style::kPlain});
  EXPECT_EQ(table.text(coloured_), "\x1b[2ma\x1b[0m  \x1b[2mb\x1b[0m\n\x1b[32mx\x1b[0m  y\n");
  EXPECT_EQ(display_width("\x1b[32mx\x1b[0m"), 1);
}

TEST_F(RenderTest, CellsCannotSteerTheTerminal) {
  Table table({{"path"}});
  table.add({"evil\x1b]0;title\x07\nname\xff"});
  EXPECT_EQ(table.text(plain_), "path\nevil\\x1b]0;title\\x07\\x0aname\\xff\n");
}

TEST_F(RenderTest, FieldsLeaveOutWhatIsEmpty) {
  EXPECT_EQ(fields(plain_, {{"state", "ready"}, {"error", ""}, {"a longer label", "x"}}),
            "state           ready\na longer label  x\n");
}

TEST_F(RenderTest, Numbers) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(-1234567), "-1,234,567");
  EXPECT_EQ(plural(1, "file"), "1 file");
  EXPECT_EQ(plural(2000, "file"), "2,000 files");
  EXPECT_EQ(decimal(3.14159), "3.1");
  EXPECT_EQ(decimal(3.14159, 2), "3.14");
}

TEST(Printable, KeepsTextAndShowsTheRest) {
  EXPECT_EQ(printable("grün 日本 🍒"), "grün 日本 🍒");
  EXPECT_EQ(printable("a\tb\nc"), "a\\x09b\\x0ac");
  EXPECT_EQ(printable("a\tb\nc\r\x1b[2J", true), "a\tb\nc\\x0d\\x1b[2J");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");                                        // a C1 control: CSI in one character
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("ab\xe2\x82"), "ab\\xe2\\x82");                // cut off
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrapped("incomprehensibilities", 5, 2), "incomprehensibilities");
  EXPECT_EQ(wrapped("", 5, 2), "");
}

TEST(Shortened, TellsHowManyMoreThereAre) {
  const std::vector<std::string> six(6, "left out: x");
  EXPECT_EQ(shortened(six, "left out", "how"), six);  // a line that says "1 more" would be as long
  const auto lines = shortened(std::vector<std::string>(8, "left out: x"), "left out", "how");
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines.back(), "left out: 3 more files (`how` names them)");
}

TEST(JsonLine, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(json_line({{"a", "x\xff"}}), "{\"a\":\"x\xEF\xBF\xBD\"}\n");
}

TEST(JsonLine, FractionsHaveThreeDigits) {
  EXPECT_EQ(json_line({{"ms", 3.7945019999999996}, {"list", {0.1 + 0.2, 7, "0.12345"}}}),
            "{\"ms\":3.795,\"list\":[0.3,7,\"0.12345\"]}\n");
}

TEST(TerminalTest, AFileGetsBytesAsTheyAre) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  Terminal terminal(file, "auto");
  EXPECT_FALSE(terminal.interactive());
  EXPECT_EQ(terminal.paint(Style::kBad, "x"), "x");
  terminal.progress("not for a file");
  EXPECT_TRUE(terminal.write("\x1b[1m"));
  std::rewind(file);
  char text[16] = {};
  EXPECT_EQ(std::fread(text, 1, sizeof text, file), 4U);
  EXPECT_STREQ(text, "\x1b[1m");
  std::fclose(file);
}

TEST(TerminalTest, AFullDeviceIsNoticed) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Terminal terminal(full, "never");
  EXPECT_FALSE(terminal.write("x"));
  EXPECT_FALSE(terminal.write("y"));
  std::fclose(full);
}

}  // namespace
}  // namespace kvboost::cli
