// SPDX-License-Identifier: Apache-2.0
// SHA-256 digests (FIPS 180-4), by OpenSSL. A Digest is a plain value; a Hasher belongs to one thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kvboost {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  /// 64 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;
};

struct DigestHash {
  std::size_t operator()(const Digest& digest) const noexcept;
};

/// Feeds bytes piece by piece; `finish` ends it, after which the object may only be destroyed.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& update(std::span<const std::byte> bytes);
  Hasher& update(std::string_view text);
  /// Little-endian, 8 bytes: lengths and numbers, so that two fields never run together.
  Hasher& update_u64(std::uint64_t value);
  Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

}  // namespace kvboost
