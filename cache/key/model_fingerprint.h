// SPDX-License-Identifier: Apache-2.0
// ModelFingerprints: whose blocks are whose. A model's fingerprint covers every byte of its file (weights,
// tokenizer, RoPE parameters) and what else its KV hangs on. The digest of a file takes a second a gigabyte,
// so it is remembered; the file is known again by its place, size and times, and by a digest of pieces spread
// over it, so that other weights under the same name and time are noticed. Any thread.
//
//   fingerprint = SHA-256("kvboost model" file:u8[32] dtype:text force_tokenizer:u64 block_format:u64)
//   text        = size:u64 bytes
//
// The memo is a text file, and only a memo: one that is damaged or cannot be written costs time.
//   memo  := "kvboost-models 1\n" line{n} SHA-256 of all before, as hex, "\n"
//   line  := path_id device inode size mtime ctime sample digest "\n"    by single spaces; times in ns
//   path_id := SHA-256 of the path, as hex; sample, digest: hex
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/digest.h"
#include "base/error.h"

namespace kvboost::cache {

/// How a model's file is used, as far as its KV hangs on it.
struct ModelUse {
  std::string dtype;             // of the computation: "bfloat16", "float32"
  bool force_tokenizer = false;  // tokenised by rules that are not its own
  std::uint32_t block_format = 0;
};

class ModelFingerprints {
 public:
  /// `memo` need not be there.
  explicit ModelFingerprints(std::filesystem::path memo);

  /// Bytes read so far, and in all. Not called when the memo knows the file.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

  /// kCancelled when `stop` came first; kNotFound or kIo when the file cannot be read.
  [[nodiscard]] Result<Digest> of(const std::filesystem::path& model, const ModelUse& use,
                                  std::stop_token stop = {}, const Progress& progress = {});

 private:
  /// By what a file is known again.
  struct Known {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t mtime = 0, ctime = 0;
    Digest sample;

    bool operator==(const Known&) const = default;
  };
  struct Entry {
    Known known;
    Digest digest;
  };
  class File;
  using Entries = std::map<std::string, Entry>;  // by path_id

  [[nodiscard]] Result<Digest> digest_of(const std::filesystem::path& model, const std::stop_token& stop,
                                         const Progress& progress);
  [[nodiscard]] static Entries parse(std::string_view text);
  [[nodiscard]] static std::string write(const Entries& entries);
  void remember(const std::string& path_id, const Entry& entry);

  const std::filesystem::path memo_;
  std::mutex mutex_;
  Entries entries_;
  bool told_ = false;  // that the memo cannot be kept
};

}  // namespace kvboost::cache
