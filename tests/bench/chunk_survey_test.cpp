// SPDX-License-Identifier: Apache-2.0
#include "bench/chunk_survey.h"

#include <gtest/gtest.h>

#include <sstream>

namespace kvboost::bench {
namespace {

using cache::Chunk;
using cache::ChunkedFile;
using cache::ChunkOptions;

std::size_t count_bytes(std::string_view text) {
  return text.size();
}

constexpr ChunkOptions kOptions = {.limits = {.min_tokens = 10, .max_tokens = 20}};

ChunkedFile cut_at(const std::vector<std::size_t>& ends) {
  ChunkedFile file;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    file.chunks.push_back({begin, end, 1, 1});
    begin = end;
  }
  return file;
}

ChunkTally tally_of(const std::vector<std::size_t>& ends, const ChunkOptions& options = kOptions) {
  ChunkTally tally;
  const std::string text(ends.back(), 'x');
  EXPECT_TRUE(add_file(tally, text, cut_at(ends), options, count_bytes, 1));
  return tally;
}

TEST(ChunkSurvey, CountsChunksWithinTheLimits) {
  const ChunkTally tally = tally_of({10, 30, 45});
  EXPECT_EQ(tally.files, 1);
  EXPECT_EQ(tally.bytes, 45);
  EXPECT_EQ(tally.tokens, 45);
  EXPECT_EQ(tally.chunks, 3);
  EXPECT_EQ(tally.within, 3);
  EXPECT_TRUE(tally.outside.empty());
}

TEST(ChunkSurvey, ExplainsOnlyWhatCouldNotBeOtherwise) {
  using Outside = std::map<std::string, std::int64_t>;
  EXPECT_EQ(tally_of({9}).outside, (Outside{{"a whole small file", 1}}));
  EXPECT_EQ(tally_of({18, 23, 40}).outside, (Outside{{"no room in its neighbours", 1}}));
  EXPECT_EQ(tally_of({15, 20}).outside, (Outside{{"", 1}}));  // the two would fit into one
  EXPECT_EQ(tally_of({15, 36}).outside, (Outside{{"", 1}}));  // too large
  EXPECT_EQ(tally_of({15, 36}, {.chunking = cache::Chunking::kDocument, .limits = kOptions.limits}).outside,
            (Outside{{"a whole document", 1}}));
  const ChunkOptions fixed{.chunking = cache::Chunking::kFixed, .fixed_tokens = 15, .boundary_window = 5};
  EXPECT_EQ(tally_of({15, 22, 27}, fixed).outside, (Outside{{"", 1}, {"the rest of a file", 1}}));
}

TEST(ChunkSurvey, RefusesChunksThatDoNotCoverTheText) {
  ChunkTally tally;
  EXPECT_FALSE(add_file(tally, std::string(31, 'x'), cut_at({15, 30}), kOptions, count_bytes, 1));
  ChunkedFile gap = cut_at({15, 30});
  gap.chunks[1].begin = 16;
  EXPECT_FALSE(add_file(tally, std::string(30, 'x'), gap, kOptions, count_bytes, 1));
  EXPECT_EQ(tally.files, 0);
}

TEST(ChunkSurvey, CountsReasonsByKindAndAddsUp) {
  ChunkTally tally;
  ChunkedFile file = cut_at({12});
  for (const char* reason :
       {"a line of 6000 bytes (minified?)", "a line of 7 bytes (minified?)", "generated"}) {
    file.reason = reason;
    ASSERT_TRUE(add_file(tally, std::string(12, 'x'), file, kOptions, count_bytes, 0.5));
  }
  EXPECT_EQ(tally.unparsed,
            (std::map<std::string, std::int64_t>{{"a line of … bytes (minified?)", 2}, {"generated", 1}}));
  std::ostringstream out;
  print_survey_json(out, {{"C", tally}, {"Go", tally_of({9})}});
  EXPECT_NE(out.str().find(R"({"language":"all","files":4,"bytes":45,"tokens":45,"chunks":4,"within":3,)"
                           R"("outside":{"a whole small file":1},"unexplained":0,)"),
            std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace kvboost::bench
