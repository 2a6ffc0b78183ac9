// SPDX-License-Identifier: Apache-2.0
// From ranked spans to ranked files and chunks. Pure functions, any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
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

}  // namespace kvboost::daemon
