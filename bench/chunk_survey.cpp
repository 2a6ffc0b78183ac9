// SPDX-License-Identifier: Apache-2.0
#include "bench/chunk_survey.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cache/chunk/line_ends.h"
#include "cache/track/work_tree.h"
#include "engine/model/gguf.h"
#include "engine/tokenizer.h"

namespace kvboost::bench {
namespace {

using cache::Chunk;
using cache::Chunking;

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 100 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

bool covers(std::string_view text, std::span<const Chunk> chunks) {
  std::size_t at = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.begin != at || chunk.end <= chunk.begin) return false;
    at = chunk.end;
  }
  return at == text.size();
}

cache::ChunkLimits wanted_sizes(const cache::ChunkOptions& options) {
  if (options.chunking != Chunking::kFixed) return options.limits;
  return {options.fixed_tokens - std::min(options.fixed_tokens, options.boundary_window),
          options.fixed_tokens + options.boundary_window};
}

/// Sizes of a file's chunks, and what explains one that is not of the wanted size.
class Sizes {
 public:
  Sizes(std::string_view text, std::span<const Chunk> chunks, const cache::ChunkOptions& options,
        const cache::TokenCounter& count)
      : text_(text), chunks_(chunks), limits_(wanted_sizes(options)), mode_(options.chunking), count_(count) {
    for (const Chunk& chunk : chunks) tokens_.push_back(count_of(chunk.begin, chunk.end));
  }

  std::size_t tokens(std::size_t i) const { return tokens_[i]; }
  bool within(std::size_t i) const {
    return tokens_[i] >= limits_.min_tokens && tokens_[i] <= limits_.max_tokens;
  }

  std::string why_outside(std::size_t i) const {
    if (mode_ == Chunking::kDocument) return "a whole document";
    if (tokens_[i] > limits_.max_tokens) return {};
    if (chunks_.size() == 1) return "a whole small file";
    if (mode_ == Chunking::kFixed) return i + 1 == chunks_.size() ? "the rest of a file" : "";
    const bool before = i == 0 || too_large(i - 1, i);
    const bool behind = i + 1 == chunks_.size() || too_large(i, i + 1);
    return before && behind ? "no room in its neighbours" : "";
  }

 private:
  std::size_t count_of(std::size_t begin, std::size_t end) const {
    return count_(cache::with_unix_line_ends(text_.substr(begin, end - begin)));
  }
  bool too_large(std::size_t first, std::size_t last) const {
    return count_of(chunks_[first].begin, chunks_[last].end) > limits_.max_tokens;
  }

  std::string_view text_;
  std::span<const Chunk> chunks_;
  cache::ChunkLimits limits_;
  Chunking mode_;
  const cache::TokenCounter& count_;
  std::vector<std::size_t> tokens_;
};

/// "a line of 31337 bytes (minified?)" → "a line of … bytes (minified?)": reasons are counted by kind.
std::string kind_of(std::string_view reason) {
  std::string kind;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with("…")) kind += "…";
  }
  return kind;
}

Result<void> survey_folder(const ChunkSurvey& survey, const std::filesystem::path& path,
                           const cache::TokenCounter& count, std::map<std::string, ChunkTally>& languages) {
  std::error_code error;
  const auto wanted = std::filesystem::canonical(path, error);
  if (error) return fail(ErrorCode::kNotFound, path.string() + ": " + error.message());
  const auto tree = cache::WorkTree::discover(wanted);
  if (!tree) return fail(tree.error());
  const auto listing = tree->list(survey.max_file_bytes);
  if (!listing) return fail(listing.error());
  const std::string prefix = wanted == tree->root() ? "" : wanted.lexically_relative(tree->root()).string();
  for (const cache::TrackedFile& file : listing->files) {
    const bool below = prefix.empty() || file.path == prefix || file.path.starts_with(prefix + "/");
    if (!below) continue;
    const auto text = tree->read_text(file.path);
    if (!text) continue;
    const auto start = std::chrono::steady_clock::now();
    const cache::ChunkedFile cut = cache::chunk(file.path, *text, survey.options, count);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    auto& tally = languages[cut.language.empty() ? "other" : cut.language];
    if (auto added = add_file(tally, *text, cut, survey.options, count, took.count()); !added) {
      return fail(ErrorCode::kInternal, file.path + ": " + added.error().message);
    }
  }
  return {};
}

ChunkTally sum_of(const std::map<std::string, ChunkTally>& languages) {
  ChunkTally all;
  for (const auto& [name, tally] : languages) all.add(tally);
  return all;
}

std::int64_t unexplained(const ChunkTally& tally) {
  const auto found = tally.outside.find("");
  return found == tally.outside.end() ? 0 : found->second;
}

double megabytes_per_s(const ChunkTally& tally) {
  return tally.seconds > 0 ? static_cast<double>(tally.bytes) / 1e6 / tally.seconds : 0;
}

void print_row(std::ostream& out, const std::string& name, const ChunkTally& t) {
  out << std::left << std::setw(12) << name << std::right << std::setw(7) << t.files << std::setw(10)
      << t.bytes / 1000 << std::setw(10) << t.tokens << std::setw(8) << t.chunks << std::setw(9)
      << fixed(percent(t.within, t.chunks), 2) << std::setw(11)
      << fixed(percent(t.chunks - unexplained(t), t.chunks), 2) << std::setw(8)
      << fixed(megabytes_per_s(t), 2) << '\n';
}

void print_counts(std::ostream& out, std::string_view title,
                  const std::map<std::string, std::int64_t>& counts) {
  if (counts.empty()) return;
  out << '\n' << title << '\n';
  for (const auto& [reason, n] : counts) {
    out << std::right << std::setw(8) << n << "  " << (reason.empty() ? "unexplained" : reason) << '\n';
  }
}

}  // namespace

void ChunkTally::add(const ChunkTally& other) {
  files += other.files;
  bytes += other.bytes;
  tokens += other.tokens;
  chunks += other.chunks;
  within += other.within;
  for (const auto& [reason, n] : other.outside) outside[reason] += n;
  for (const auto& [reason, n] : other.unparsed) unparsed[reason] += n;
  seconds += other.seconds;
}

Result<void> add_file(ChunkTally& tally, std::string_view text, const cache::ChunkedFile& file,
                      const cache::ChunkOptions& options, const cache::TokenCounter& count, double seconds) {
  if (!covers(text, file.chunks)) return fail(ErrorCode::kInternal, "its chunks do not cover it");
  const Sizes sizes(text, file.chunks, options, count);
  ++tally.files;
  tally.bytes += static_cast<std::int64_t>(text.size());
  tally.seconds += seconds;
  if (!file.reason.empty()) ++tally.unparsed[kind_of(file.reason)];
  for (std::size_t i = 0; i < file.chunks.size(); ++i) {
    tally.tokens += static_cast<std::int64_t>(sizes.tokens(i));
    ++tally.chunks;
    if (sizes.within(i)) {
      ++tally.within;
    } else {
      ++tally.outside[sizes.why_outside(i)];
    }
  }
  return {};
}

Result<std::map<std::string, ChunkTally>> survey_chunks(const ChunkSurvey& survey) {
  const auto gguf = engine::Gguf::open(survey.model);
  if (!gguf) return fail(gguf.error());
  const auto tokenizer = engine::Tokenizer::from_gguf(*gguf);
  if (!tokenizer) return fail(tokenizer.error());
  const auto count = [&](std::string_view text) { return tokenizer->count(text); };
  std::map<std::string, ChunkTally> languages;
  for (const auto& path : survey.paths) {
    if (auto done = survey_folder(survey, path, count, languages); !done) return fail(done.error());
  }
  return languages;
}

void print_survey(std::ostream& out, const std::map<std::string, ChunkTally>& languages) {
  out << std::left << std::setw(12) << "language" << std::right << std::setw(7) << "files" << std::setw(10)
      << "KB" << std::setw(10) << "tokens" << std::setw(8) << "chunks" << std::setw(9) << "within %"
      << std::setw(11) << "+ known %" << std::setw(8) << "MB/s" << '\n';
  for (const auto& [name, tally] : languages) print_row(out, name, tally);
  const ChunkTally all = sum_of(languages);
  print_row(out, "all", all);
  print_counts(out, "chunks that are smaller or larger, by why:", all.outside);
  print_counts(out, "files cut by lines although there is a grammar, by why:", all.unparsed);
}

void print_survey_json(std::ostream& out, const std::map<std::string, ChunkTally>& languages) {
  const auto print = [&](const std::string& name, const ChunkTally& t) {
    const nlohmann::ordered_json json = {{"language", name},       {"files", t.files},
                                         {"bytes", t.bytes},       {"tokens", t.tokens},
                                         {"chunks", t.chunks},     {"within", t.within},
                                         {"outside", t.outside},   {"unexplained", unexplained(t)},
                                         {"unparsed", t.unparsed}, {"mb_per_s", megabytes_per_s(t)}};
    out << json.dump() << '\n';
  };
  for (const auto& [name, tally] : languages) print(name, tally);
  print("all", sum_of(languages));
}

}  // namespace kvboost::bench
