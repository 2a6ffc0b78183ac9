// SPDX-License-Identifier: Apache-2.0
// From ranked spans to ranked files and chunks. Pure functions, any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/prompt/chunk_cache.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

struct RankedFile {
  std::string path;
  double score = 0;               // its spans' scores, each next one counting less
  std::vector<RankedSpan> spans;  // best first
};

/// `spans` best first. Files best first, equal ones by path; only those that are wanted.
using FileFilter = std::function<bool(const std::string& path)>;
[[nodiscard]] std::vector<RankedFile> rank_files(std::span<const RankedSpan> spans,
                                                 const FileFilter& wanted = {});

/// The chunks that hold the best of a file's ranked spans, as many as fit into `most_tokens`, by their place
/// in the file. With no spans, the first one.
[[nodiscard]] std::vector<std::size_t> best_chunks(const EncodedFile& file, std::span<const RankedSpan> spans,
                                                   std::size_t most_tokens);

/// What scores less than this part of the best is noise, which costs time and misleads small models.
inline constexpr double kScoreFloor = 0.45;

/// The chunks of `text` that fit the query, best first, down to the floor. Words are weighed by how rare they
/// are in this text alone, so that the file need not be in any index.
[[nodiscard]] std::vector<std::size_t> rank_chunks(std::string_view text, const EncodedFile& file,
                                                   std::string_view query);

}  // namespace kvboost::daemon
