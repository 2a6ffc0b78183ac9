// SPDX-License-Identifier: Apache-2.0
#include "cache/key/model_fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/replace_file.h"

namespace kvboost::cache {
namespace {

constexpr std::string_view kFirstLine = "kvboost-models 1\n";
constexpr std::size_t kHexDigits = 64;
constexpr std::uint64_t kPieces = 64;
constexpr std::uint64_t kPieceBytes = 4096;
constexpr std::uint64_t kReadBytes = 4 << 20;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::optional<Digest> parse_digest(std::string_view hex) {
  if (hex.size() != kHexDigits) return std::nullopt;
  const auto value = [](char digit) {
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
  };
  Digest digest;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = value(hex[2 * i]);
    const int low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace

/// A model's file, open.
class ModelFingerprints::File {
 public:
  [[nodiscard]] static Result<File> open(const std::filesystem::path& path) {
    File file;
    file.path_ = path.string();
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.descriptor_ < 0) return fail_errno(file.path_, errno);
    struct stat status {};
    if (::fstat(file.descriptor_, &status) != 0) return fail_errno(file.path_, errno);
    if (!S_ISREG(status.st_mode))
      return fail(ErrorCode::kInvalidArgument, file.path_ + " is no regular file");
    return file;
  }
  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] Result<Known> known() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return fail_errno(path_, errno);
    Known known{status.st_dev,
                status.st_ino,
                static_cast<std::uint64_t>(status.st_size),
                nanoseconds(status.st_mtim),
                nanoseconds(status.st_ctim),
                {}};
    auto sample = sample_of(known.size);
    if (!sample) return fail(sample.error());
    known.sample = *sample;
    return known;
  }

  [[nodiscard]] Result<Digest> digest(std::uint64_t size, const std::stop_token& stop,
                                      const Progress& progress) const {
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
    Hasher hasher;
    std::vector<std::byte> buffer(kReadBytes);
    for (std::uint64_t done = 0; done < size;) {
      if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
      const auto piece = std::span(buffer).first(std::min(kReadBytes, size - done));
      if (auto read = read_at(done, piece); !read) return fail(read.error());
      hasher.update(piece);
      done += piece.size();
      if (progress) progress(done, size);
    }
    return hasher.finish();
  }

 private:
  File() = default;

  /// Of pieces spread over the file, the first and the last among them.
  [[nodiscard]] Result<Digest> sample_of(std::uint64_t size) const {
    Hasher hasher;
    std::vector<std::byte> buffer(kPieceBytes);
    const auto piece = std::span(buffer).first(std::min(kPieceBytes, size));
    const std::uint64_t last = size - piece.size();
    for (std::uint64_t i = 0; i < kPieces; ++i) {
      const std::uint64_t at = last / (kPieces - 1) * i + last % (kPieces - 1) * i / (kPieces - 1);
      if (auto read = read_at(at, piece); !read) return fail(read.error());
      hasher.update(piece);
    }
    return hasher.finish();
  }

  [[nodiscard]] Result<void> read_at(std::uint64_t at, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t read = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return fail_errno(path_, errno);
      if (read == 0) return fail(ErrorCode::kIo, path_ + " became shorter while it was read");
      bytes = bytes.subspan(static_cast<std::size_t>(read));
      at += static_cast<std::uint64_t>(read);
    }
    return {};
  }

  std::string path_;
  int descriptor_ = -1;
};

ModelFingerprints::ModelFingerprints(std::filesystem::path memo) : memo_(std::move(memo)) {
  std::ifstream in(memo_, std::ios::binary);
  entries_ = parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

ModelFingerprints::Entries ModelFingerprints::parse(std::string_view text) {
  const std::size_t seal = kHexDigits + 1;
  if (!text.starts_with(kFirstLine) || text.size() < kFirstLine.size() + seal) return {};
  const std::string_view body = text.substr(0, text.size() - seal);
  if (text.substr(body.size()) != sha256(body).hex() + "\n") return {};
  Entries entries;
  std::istringstream lines{std::string(body.substr(kFirstLine.size()))};
  for (std::string path_id, sample, digest; lines >> path_id;) {
    Entry entry;
    Known& known = entry.known;
    lines >> known.device >> known.inode >> known.size >> known.mtime >> known.ctime >> sample >> digest;
    const auto parsed_sample = parse_digest(sample);
    const auto parsed_digest = parse_digest(digest);
    if (!lines || !parsed_sample || !parsed_digest) return {};
    known.sample = *parsed_sample;
    entry.digest = *parsed_digest;
    entries.emplace(path_id, entry);
  }
  return entries;
}

std::string ModelFingerprints::write(const Entries& entries) {
  std::ostringstream text;
  text << kFirstLine;
  for (const auto& [path_id, entry] : entries) {
    const Known& known = entry.known;
    text << path_id << ' ' << known.device << ' ' << known.inode << ' ' << known.size << ' ' << known.mtime
         << ' ' << known.ctime << ' ' << known.sample.hex() << ' ' << entry.digest.hex() << '\n';
  }
  const std::string body = text.str();
  return body + sha256(body).hex() + "\n";
}

void ModelFingerprints::remember(const std::string& path_id, const Entry& entry) {
  const std::lock_guard lock(mutex_);
  entries_[path_id] = entry;
  auto written = replace_file(memo_, write(entries_));
  if (written || std::exchange(told_, true)) return;
  log::warn("the model's fingerprint cannot be remembered, and is computed at each start: {}",
            written.error().message);
}

Result<Digest> ModelFingerprints::digest_of(const std::filesystem::path& model, const std::stop_token& stop,
                                            const Progress& progress) {
  auto file = File::open(model);
  if (!file) return fail(file.error());
  auto known = file->known();
  if (!known) return fail(known.error());
  const std::string path_id = sha256(model.string()).hex();
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(path_id);
    if (found != entries_.end() && found->second.known == *known) return found->second.digest;
  }
  auto digest = file->digest(known->size, stop, progress);
  if (!digest) return digest;
  const auto after = file->known();
  if (!after || *after != *known) {
    return fail(ErrorCode::kIo, model.string() + " changed while it was read",
                "try again when it is written");
  }
  remember(path_id, {*known, *digest});
  return digest;
}

Result<Digest> ModelFingerprints::of(const std::filesystem::path& model, const ModelUse& use,
                                     std::stop_token stop, const Progress& progress) {
  auto file = digest_of(model, stop, progress);
  if (!file) return file;
  return Hasher()
      .update("kvboost model")
      .update(std::as_bytes(std::span(file->bytes)))
      .update_u64(use.dtype.size())
      .update(use.dtype)
      .update_u64(use.force_tokenizer ? 1 : 0)
      .update_u64(use.block_format)
      .finish();
}

}  // namespace kvboost::cache
