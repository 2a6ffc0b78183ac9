// SPDX-License-Identifier: Apache-2.0
// Bytes from outside: a bounds-checked little-endian reader, and sizes as people write them ("5G").
// Plain values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace kvboost {

/// Reads a buffer from front to back. Nothing is read past the end: `read` and `take` fail with kCorrupt
/// instead. The buffer is borrowed and must outlive the reader and every span it gave.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// A fixed-size number, little-endian (the only byte order that the program runs on).
  template <class T>
  [[nodiscard]] Result<T> read() {
    static_assert(std::is_trivially_copyable_v<T>);
    auto part = take(sizeof(T));
    if (!part) return fail(part.error());
    T value;
    std::memcpy(&value, part->data(), sizeof(T));
    return value;
  }

  [[nodiscard]] Result<std::span<const std::byte>> take(std::uint64_t count);
  [[nodiscard]] Result<std::string_view> take_text(std::uint64_t count);

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

/// "512", "64K", "1.5M", "5G", "2T" (powers of 1000, as human_size has them; Ki to Ti are powers of 1024; a
/// trailing B is allowed) to bytes.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

/// Bytes for a person: "98.4 MB" (powers of 1000, as disks and downloads are told).
[[nodiscard]] std::string human_size(std::uint64_t bytes);

}  // namespace kvboost
