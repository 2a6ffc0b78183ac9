// SPDX-License-Identifier: Apache-2.0
// Repository: one work tree as the daemon sees it: which files there are, the spans that each is cut into,
// and an index of their words. It keeps no texts: digests, spans and the index stay in memory, and a text is
// read again when it is wanted. `refresh` brings all up to date and reads only what changed. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/rank/bm25.h"
#include "cache/track/work_tree.h"
#include "daemon/prompt/chunk_cache.h"

namespace kvboost::daemon {

struct RepositoryOptions {
  std::uint64_t max_file_bytes = 1'000'000;       // larger files are left out
  std::uint64_t max_indexed_bytes = 400'000'000;  // of text; files above that are found by name only
  std::uint64_t chunk_cache_bytes = 16'000'000;   // chunks of files that prompts took lately
  cache::ChunkOptions chunking = {};              // how files are cut
};

struct RankedSpan {
  std::string path;
  std::size_t begin = 0;  // bytes of the text as it was at the refresh
  std::size_t end = 0;
  double score = 0;
};

struct RefreshResult {
  std::size_t files = 0;    // that can be read
  std::size_t read = 0;     // in this refresh
  std::size_t changed = 0;  // of these, those with another content than before
  std::size_t removed = 0;
};

class Repository {
 public:
  /// The work tree that holds `directory`. Nothing is read yet.
  [[nodiscard]] static Result<std::shared_ptr<Repository>> open(const std::filesystem::path& directory,
                                                                const RepositoryOptions& options);
  ~Repository();

  [[nodiscard]] const std::filesystem::path& root() const;

  /// Names looked at, of which the total is not known (0); then files read, of those to be read.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;
  /// One refresh runs at a time; others wait for it (kCancelled when told to stop). A stopped one keeps what
  /// it has done so far.
  [[nodiscard]] Result<RefreshResult> refresh(const std::stop_token& stop, const Progress& progress = {});

  // As of the last refresh.
  [[nodiscard]] std::string note() const;   // what is odd about the work tree, or empty
  [[nodiscard]] std::string untold_note();  // the same, but empty until it is another one
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string branch() const;
  /// Files that can be read, sorted by path; with `folder` ("src/"), those beneath it.
  [[nodiscard]] std::vector<std::string> files(std::string_view folder = {}) const;
  [[nodiscard]] bool has(std::string_view path) const;
  /// Of the file's text; nothing for one that cannot be read.
  [[nodiscard]] std::optional<Digest> digest(std::string_view path) const;
  /// What was left out, sorted by path, and why.
  [[nodiscard]] std::vector<cache::SkippedFile> skipped() const;
  /// Why this file, or a folder that it is in, was left out; empty if it was not.
  [[nodiscard]] std::string skip_reason(std::string_view path) const;

  /// Best first.
  [[nodiscard]] std::vector<RankedSpan> rank_spans(std::span<const cache::QueryPart> query,
                                                   std::size_t limit) const;
  [[nodiscard]] std::vector<RankedSpan> rank_spans(std::string_view query, std::size_t limit) const;

  /// What any file beneath the root but secrets says now, listed or not, with line ends as "\n". The message
  /// of an error is the bare reason.
  [[nodiscard]] Result<std::string> read(std::string_view path) const;

  [[nodiscard]] ChunkCache& chunks();

 private:
  struct Impl;
  explicit Repository(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::daemon
