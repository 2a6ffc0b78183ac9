// SPDX-License-Identifier: Apache-2.0
// How the files of a work tree are cut into chunks: how many of these have a wanted size, and why the others
// have not. Checks on the way that every byte of a file is in exactly one chunk. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/chunk/chunker.h"

namespace kvboost::bench {

struct ChunkSurvey {
  std::filesystem::path model;               // whose tokens are counted
  std::vector<std::filesystem::path> paths;  // folders or files of work trees
  cache::ChunkOptions options;
  std::uint64_t max_file_bytes = 1'000'000;
};

/// Of one language, or of all. Sizes in tokens of the model.
struct ChunkTally {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;
  std::int64_t chunks = 0;
  std::int64_t within = 0;                      // of the chunks: of the wanted size
  std::map<std::string, std::int64_t> outside;  // the others, by what explains them; "" for those unexplained
  std::map<std::string, std::int64_t> unparsed;  // files that were cut by lines, by why
  double seconds = 0;                            // of cutting, counting the tokens included

  void add(const ChunkTally& other);
};

/// Adds one file, which took `seconds` to cut. kInternal when the chunks do not cover the text.
[[nodiscard]] Result<void> add_file(ChunkTally& tally, std::string_view text, const cache::ChunkedFile& file,
                                    const cache::ChunkOptions& options, const cache::TokenCounter& count,
                                    double seconds);

/// By language; "other" for files without a grammar. Files that the daemon would not read are left out.
[[nodiscard]] Result<std::map<std::string, ChunkTally>> survey_chunks(const ChunkSurvey& survey);

void print_survey(std::ostream& out, const std::map<std::string, ChunkTally>& languages);
/// One object a line: each language's, then that of "all".
void print_survey_json(std::ostream& out, const std::map<std::string, ChunkTally>& languages);

}  // namespace kvboost::bench
