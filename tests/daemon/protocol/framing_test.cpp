// SPDX-License-Identifier: Apache-2.0
// Lines out of a stream that comes in any pieces.
#include "daemon/protocol/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvboost::protocol {
namespace {

std::vector<std::string> lines_of(LineFramer& framer) {
  std::vector<std::string> lines;
  for (;;) {
    auto line = framer.next();
    if (!line || !*line) return lines;
    lines.push_back(std::move(**line));
  }
}

TEST(Framing, AnySplitGivesTheSameLines) {
  const std::string stream = "one\r\n\n  \ntwo\nthr\ree\n{}\n";
  const std::vector<std::string> expected = {"one", "two", "thr\ree", "{}"};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    LineFramer framer;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < stream.size(); i += piece) {
      framer.append(std::string_view(stream).substr(i, piece));
      for (auto& line : lines_of(framer)) lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, expected) << "in pieces of " << piece;
    EXPECT_EQ(framer.pending(), 0U);
  }
}

TEST(Framing, AnUnfinishedLineWaits) {
  LineFramer framer;
  framer.append("half");
  EXPECT_TRUE(lines_of(framer).empty());
  EXPECT_EQ(framer.pending(), 4U);
  framer.append(" done\n");
  EXPECT_EQ(lines_of(framer), std::vector<std::string>{"half done"});
}

TEST(Framing, TheLimitHoldsWithAndWithoutAnEnd) {
  for (const char* end : {"", "\n"}) {
    LineFramer framer(8);
    framer.append("12345678\n123456789");
    framer.append(end);
    auto line = framer.next();
    ASSERT_TRUE(line);
    EXPECT_EQ(*line, "12345678");
    line = framer.next();
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().code, ErrorCode::kProtocol);
    EXPECT_FALSE(framer.next()) << "it does not find its way again";
  }
}

TEST(Framing, NulAndHighBytesPass) {
  LineFramer framer;
  framer.append(std::string_view("a\0\xff\n", 4));
  EXPECT_EQ(lines_of(framer), std::vector<std::string>{std::string("a\0\xff", 3)});
}

}  // namespace
}  // namespace kvboost::protocol
