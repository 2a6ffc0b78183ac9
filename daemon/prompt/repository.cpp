// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/repository.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

#include "base/digest.h"
#include "cache/chunk/chunk.h"
#include "cache/chunk/line_ends.h"

namespace kvboost::daemon {
namespace {

using cache::DocumentId;
using cache::FileListing;
using cache::TrackedFile;

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Without a tokenizer: a token of code is about three bytes long.
std::vector<Span> cut_spans(std::string_view text) {
  const auto count = [](std::string_view piece) { return piece.size() / 3 + 1; };
  std::vector<Span> spans;
  for (const cache::Chunk& chunk : cache::chunk_lines(text, {.min_tokens = 64, .max_tokens = 400}, count)) {
    spans.push_back({static_cast<std::uint32_t>(chunk.begin), static_cast<std::uint32_t>(chunk.end)});
  }
  return spans;
}

std::int64_t now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &time);  // the clock that file times are taken from
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

struct Entry {
  TrackedFile stat;
  std::int64_t read_at_ns = 0;  // 0: never
  Digest digest;
  std::vector<Span> spans;
  std::vector<DocumentId> documents;  // one a span
  std::uint64_t indexed_bytes = 0;
  bool name_only = false;  // the index had no room for its words
  std::string unreadable;  // why there is no text

  // Whether what was read is what a file with this status says. A file changed within the clock's tick of its
  // reading can look unchanged: it counts as changed until it has been read later than that.
  [[nodiscard]] bool holds_for(const TrackedFile& file) const {
    if (read_at_ns == 0 || file.size != stat.size || file.mtime_ns != stat.mtime_ns ||
        file.ctime_ns != stat.ctime_ns || file.inode != stat.inode) {
      return false;
    }
    const bool coarse = file.mtime_ns % 1'000'000'000 == 0 && file.ctime_ns % 1'000'000'000 == 0;
    const std::int64_t tick = coarse ? 2'000'000'000 : 20'000'000;
    return std::max(file.mtime_ns, file.ctime_ns) + tick < read_at_ns;
  }
};

using Files = std::map<std::string, Entry, std::less<>>;

struct SpanPlace {
  const Files::value_type* file = nullptr;
  std::size_t index = 0;
};

}  // namespace

struct Repository::Impl {
  Impl(cache::WorkTree work_tree, const RepositoryOptions& wanted)
      : tree(std::move(work_tree)), options(wanted), chunks(wanted.chunk_cache_bytes, wanted.chunking) {}

  const cache::WorkTree tree;
  const RepositoryOptions options;
  ChunkCache chunks;

  mutable std::mutex mutex;  // guards all below; only the refresh writes, so it may read without
  Files files;
  FileListing listing;            // without its files
  std::string told_note;          // of the listing, or of an earlier one
  cache::Bm25Index index;         // of spans
  std::vector<SpanPlace> places;  // by document
  std::vector<DocumentId> free_documents;
  std::uint64_t indexed_bytes = 0;
  bool refreshing = false;  // by one thread at a time
  std::condition_variable_any refreshed;

  /// Waits for the turn to refresh; false when told to stop meanwhile.
  [[nodiscard]] bool begin_refresh(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    if (!refreshed.wait(lock, stop, [&] { return !refreshing; })) return false;
    refreshing = true;
    return true;
  }

  void end_refresh() {
    const std::lock_guard lock(mutex);
    refreshing = false;
    refreshed.notify_one();
  }

  [[nodiscard]] Result<std::string> read(std::string_view path) const {
    auto text = tree.read_text(path);
    if (text && text->find('\r') != std::string::npos) *text = cache::with_unix_line_ends(*text);
    return text;
  }

  DocumentId new_document(SpanPlace place) {
    if (free_documents.empty()) {
      places.push_back(place);
      return static_cast<DocumentId>(places.size() - 1);
    }
    const DocumentId document = free_documents.back();
    free_documents.pop_back();
    places[document] = place;
    return document;
  }

  void take_out(Entry& entry) {
    for (const DocumentId document : entry.documents) index.remove(document);
    free_documents.insert(free_documents.end(), entry.documents.begin(), entry.documents.end());
    indexed_bytes -= std::exchange(entry.indexed_bytes, 0);
    entry.documents.clear();
    entry.spans.clear();
    entry.name_only = false;
  }

  void put_in(Files::value_type& file, std::string_view text) {
    auto& [path, entry] = file;
    const bool room = indexed_bytes + text.size() <= options.max_indexed_bytes;
    entry.name_only = !room;
    entry.indexed_bytes = room ? text.size() : 0;
    indexed_bytes += entry.indexed_bytes;
    // An empty file, and one without room, can still be found by its name.
    entry.spans = room ? cut_spans(text) : std::vector<Span>();
    if (entry.spans.empty()) entry.spans.push_back({});
    for (std::size_t i = 0; i < entry.spans.size(); ++i) {
      const auto [begin, end] = entry.spans[i];
      entry.documents.push_back(new_document({&file, i}));
      index.add(entry.documents.back(), path, text.substr(begin, end - begin));
    }
  }

  /// Reads a file and takes its content over. Says whether it is another one than before.
  bool update(const TrackedFile& status) {
    const std::int64_t read_at = now_ns();
    const auto text = read(status.path);
    const std::string reason = text ? std::string() : text.error().message;
    const Digest digest = text ? sha256(*text) : Digest{};
    const auto known = files.find(status.path);
    const bool same =
        known != files.end() && known->second.digest == digest && known->second.unreadable == reason;

    const std::lock_guard lock(mutex);
    auto& file = *files.try_emplace(status.path).first;
    Entry& entry = file.second;
    entry.stat = status;
    entry.stat.path.clear();
    entry.read_at_ns = read_at;
    if (same) return false;
    take_out(entry);
    entry.digest = digest;
    entry.unreadable = reason;
    if (text) put_in(file, *text);
    return true;
  }

  std::size_t forget_missing(const std::vector<TrackedFile>& listed) {
    const std::lock_guard lock(mutex);
    std::size_t removed = 0;
    auto at = listed.begin();
    for (auto file = files.begin(); file != files.end();) {
      while (at != listed.end() && at->path < file->first) ++at;
      if (at != listed.end() && at->path == file->first) {
        ++file;
        continue;
      }
      take_out(file->second);
      file = files.erase(file);
      ++removed;
    }
    return removed;
  }

  [[nodiscard]] std::vector<const TrackedFile*> to_read(const std::vector<TrackedFile>& listed) const {
    std::vector<const TrackedFile*> stale;
    auto known = files.begin();
    for (const TrackedFile& file : listed) {
      while (known != files.end() && known->first < file.path) ++known;
      const bool holds = known != files.end() && known->first == file.path && known->second.holds_for(file);
      if (!holds) stale.push_back(&file);
    }
    return stale;
  }

  void keep_listing(FileListing fresh) {
    const std::lock_guard lock(mutex);
    listing = std::move(fresh);
    listing.files.clear();
    listing.files.shrink_to_fit();
    for (const auto& [path, entry] : files) {
      if (!entry.unreadable.empty()) listing.skipped.push_back({path, entry.unreadable});
    }
    std::ranges::sort(listing.skipped, {}, &cache::SkippedFile::path);
    const auto unindexed =
        std::ranges::count_if(files, [](const auto& file) { return file.second.name_only; });
    if (unindexed > 0) {
      if (!listing.note.empty()) listing.note += "; ";
      listing.note += std::to_string(unindexed) +
                      " files are found by name only: there is more text than the index takes";
    }
  }

  [[nodiscard]] std::size_t readable() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(files, [](const auto& file) { return file.second.unreadable.empty(); }));
  }

  [[nodiscard]] std::string reason_of(std::string_view path) const {
    const auto found = std::ranges::lower_bound(listing.skipped, path, {}, &cache::SkippedFile::path);
    return found != listing.skipped.end() && found->path == path ? found->reason : std::string();
  }
};

Result<std::shared_ptr<Repository>> Repository::open(const std::filesystem::path& directory,
                                                     const RepositoryOptions& options) {
  auto tree = cache::WorkTree::discover(directory);
  if (!tree) return fail(tree.error());
  return std::shared_ptr<Repository>(
      new Repository(std::unique_ptr<Impl>(new Impl(std::move(*tree), options))));
}

Repository::Repository(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Repository::~Repository() = default;

const std::filesystem::path& Repository::root() const {
  return impl_->tree.root();
}

Result<RefreshResult> Repository::refresh(const std::stop_token& stop, const Progress& progress) {
  if (!impl_->begin_refresh(stop)) {
    return fail(ErrorCode::kCancelled, "cancelled while waiting for the files to be read");
  }
  struct Turn {
    Impl& impl;
    ~Turn() { impl.end_refresh(); }
  } const turn{*impl_};
  const auto seen = [&](std::int64_t names) {
    if (progress) progress(names, 0);
  };
  auto listing = impl_->tree.list(impl_->options.max_file_bytes, stop, seen);
  if (!listing) return fail(listing.error());
  RefreshResult result;
  result.removed = impl_->forget_missing(listing->files);
  const auto stale = impl_->to_read(listing->files);
  for (const TrackedFile* file : stale) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while reading files");
    result.changed += impl_->update(*file) ? 1 : 0;
    ++result.read;
    if (progress && (result.read % 32 == 0 || result.read == stale.size())) {
      progress(static_cast<std::int64_t>(result.read), static_cast<std::int64_t>(stale.size()));
    }
  }
  impl_->keep_listing(std::move(*listing));
  result.files = impl_->readable();
  return result;
}

std::string Repository::note() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listing.note;
}

std::string Repository::untold_note() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->told_note == impl_->listing.note) return {};
  return impl_->told_note = impl_->listing.note;
}

std::string Repository::head() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listing.head;
}

std::string Repository::branch() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listing.branch;
}

std::vector<std::string> Repository::files(std::string_view folder) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> paths;
  for (auto at = impl_->files.lower_bound(folder); at != impl_->files.end() && at->first.starts_with(folder);
       ++at) {
    if (at->second.unreadable.empty()) paths.push_back(at->first);
  }
  return paths;
}

bool Repository::has(std::string_view path) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->files.find(path);
  return found != impl_->files.end() && found->second.unreadable.empty();
}

std::optional<Digest> Repository::digest(std::string_view path) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->files.find(path);
  if (found == impl_->files.end() || !found->second.unreadable.empty()) return std::nullopt;
  return found->second.digest;
}

std::vector<cache::SkippedFile> Repository::skipped() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listing.skipped;
}

std::string Repository::skip_reason(std::string_view path) const {
  const std::lock_guard lock(impl_->mutex);
  if (std::string reason = impl_->reason_of(path); !reason.empty()) return reason;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (std::string reason = impl_->reason_of(path.substr(0, slash + 1)); !reason.empty()) return reason;
  }
  return {};
}

std::vector<RankedSpan> Repository::rank_spans(std::string_view query, std::size_t limit) const {
  return rank_spans(std::vector<cache::QueryPart>{{std::string(query)}}, limit);
}

std::vector<RankedSpan> Repository::rank_spans(std::span<const cache::QueryPart> query,
                                               std::size_t limit) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<RankedSpan> ranked;
  for (const auto& [document, score] : impl_->index.query(query, limit)) {
    const SpanPlace& place = impl_->places[document];
    const Span span = place.file->second.spans[place.index];
    ranked.push_back({place.file->first, span.begin, span.end, score});
  }
  return ranked;
}

Result<std::string> Repository::read(std::string_view path) const {
  return impl_->read(path);
}

ChunkCache& Repository::chunks() {
  return impl_->chunks;
}

}  // namespace kvboost::daemon
