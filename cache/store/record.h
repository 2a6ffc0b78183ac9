// SPDX-License-Identifier: Apache-2.0
// Record: a block as it stands in a store: header, payload (cache/codec/block_codec.h), checksum. Pure
// functions, any thread. A record is written once and never changed.
//
// Grammar (little-endian, 144 bytes of header so that the payload stays 16-byte aligned):
//   record  := header payload
//   header  := magic version:u32 size:u64 shape prefix_key content_key importance:f32 rebuild_ms:f32
//              model checksum:u64
//   magic   := "KVBR"        size := payload bytes      keys, model := u8[32] (SHA-256)
//   shape   := n_layers:i32 n_kv_heads:i32 head_dim:i32 n_tokens:i32
//   checksum := XXH3-64 of the payload, seeded with the XXH3-64 of the header before the checksum
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/codec/block_codec.h"

namespace kvboost::cache {

inline constexpr std::uint32_t kRecordVersion = 1;
inline constexpr std::size_t kRecordHeaderBytes = 144;

struct RecordInfo {
  BlockShape shape;
  Digest model;  // the fingerprint of the one that computed the block
  Digest prefix_key;
  Digest content_key;
  float importance = 0;  // mean L2 norm of the block's values over tokens, heads and layers
  float rebuild_ms = 0;  // what computing it cost
};

struct RecordView {
  RecordInfo info;
  std::span<const std::byte> payload;
};

/// Header and payload as one run of bytes.
[[nodiscard]] std::vector<std::byte> seal_record(const RecordInfo& info, std::span<const std::byte> payload);

/// Checks magic, size and checksum before anything is believed. kCorrupt when they do not fit; kNotFound for
/// a version that this build does not know (a miss, nothing to be deleted).
[[nodiscard]] Result<RecordView> open_record(std::span<const std::byte> bytes);

/// As open_record, and decodes the block into `block` (shape.elements() elements) in the same pass over the
/// bytes. What is in `block` after a failure means nothing.
[[nodiscard]] Result<RecordInfo> decode_record(std::span<const std::byte> bytes,
                                               std::vector<std::uint16_t>& block);

/// The content key of a record that need not be whole: what `contents` must forget when it goes. At least a
/// header.
[[nodiscard]] Digest content_key_of(std::span<const std::byte> bytes);

/// Mean L2 norm of the values, (n_layers, n_tokens, n_kv_heads) of them: the importance of a block.
[[nodiscard]] float value_norm(const BlockShape& shape, std::span<const std::uint16_t> block);

}  // namespace kvboost::cache
