// SPDX-License-Identifier: Apache-2.0
// A function a type. What stands in a block, in order, is said above each; all numbers are little-endian,
// scales and minima IEEE halves.
#include "engine/model/quant_block.h"

#include <cstring>

namespace kvboost::engine {
namespace {

using Byte = std::uint8_t;

std::uint16_t half_at(const Byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

/// The K types store what is subtracted.
std::uint16_t negated(std::uint16_t half) {
  return half ^ 0x8000U;
}

// --- 32 values, one scale ------------------------------------------------------------------------------
// Values j and j + 16 share a byte: low and high nibble of quant byte j. In the 5-bit types, bit i of the
// 32-bit word in front of the quants is the fifth bit of value i.

constexpr int kHalfBlock = 16;

void take_nibbles(const Byte* from, QuantBlock& to) {
  for (int j = 0; j < kHalfBlock; ++j) {
    to.quants[j] = from[j] & 15;
    to.quants[j + kHalfBlock] = from[j] >> 4;
  }
}

void take_fifth_bits(const Byte* from, QuantBlock& to) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  for (int j = 0; j < 2 * kHalfBlock; ++j) to.quants[j] |= static_cast<Byte>(((word >> j) & 1U) << 4);
}

// scale, quants
void take_q4_0(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  take_nibbles(from + 2, to);
}

// scale, minimum, quants
void take_q4_1(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  to.minimum = half_at(from + 2);
  take_nibbles(from + 4, to);
}

// scale, fifth bits, quants
void take_q5_0(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  take_nibbles(from + 6, to);
  take_fifth_bits(from + 2, to);
}

// scale, minimum, fifth bits, quants
void take_q5_1(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  to.minimum = half_at(from + 2);
  take_nibbles(from + 8, to);
  take_fifth_bits(from + 4, to);
}

// scale, signed quants
void take_q8_0(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  for (int j = 0; j < 2 * kHalfBlock; ++j) to.quants[j] = from[2 + j] ^ 0x80;  // + 128
}

// --- 256 values, scales of their own for each 16 or 32 -------------------------------------------------
// A block is read in runs of 32 values (`run` 0..7). The quants of a run lie in a field of bits of 32
// neighbouring bytes; runs share these bytes.

constexpr int kRun = 32;
constexpr int kRuns = 8;

// 16 × (4-bit scale, 4-bit minimum), 2-bit quants (4 runs share 32 bytes), scale, minimum
void take_q2_k(const Byte* from, QuantBlock& to) {
  for (int g = 0; g < 16; ++g) {
    to.scales[g] = static_cast<std::int8_t>(from[g] & 15);
    to.minima[g] = from[g] >> 4;
  }
  for (int run = 0; run < kRuns; ++run) {
    const Byte* bytes = from + 16 + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) to.quants[run * kRun + j] = (bytes[j] >> (run % 4 * 2)) & 3;
  }
  to.scale = half_at(from + 80);
  to.minimum = negated(half_at(from + 82));
}

// high bits (bit `run` of byte j), 2-bit quants, scales, scale. The 16 six-bit scales have their 4 low bits
// in the nibbles of 8 bytes and their 2 high bits in 4 more.
void take_q3_k(const Byte* from, QuantBlock& to) {
  const Byte* high = from;
  const Byte* packed = from + 96;
  for (int g = 0; g < 16; ++g) {
    const int low_bits = (packed[g % 8] >> (g / 8 * 4)) & 15;
    const int high_bits = (packed[8 + g % 4] >> (g / 4 * 2)) & 3;
    to.scales[g] = static_cast<std::int8_t>((low_bits | (high_bits << 4)) - 32);
  }
  for (int run = 0; run < kRuns; ++run) {
    const Byte* bytes = from + 32 + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int low_bits = (bytes[j] >> (run % 4 * 2)) & 3;
      to.quants[run * kRun + j] = static_cast<Byte>(low_bits | (((high[j] >> run) & 1) << 2));
    }
  }
  to.scale = half_at(from + 108);
}

/// The 8 pairs of six-bit scale and minimum that Q4_K and Q5_K pack in 12 bytes: the first four in the low 6
/// bits of bytes 0..3 and 4..7, the others in the nibbles of bytes 8..11 with their high bits atop of bytes
/// 0..7.
void take_pairs(const Byte* packed, QuantBlock& to) {
  for (int g = 0; g < 4; ++g) {
    to.scales[g] = static_cast<std::int8_t>(packed[g] & 63);
    to.minima[g] = packed[g + 4] & 63;
    to.scales[g + 4] = static_cast<std::int8_t>((packed[g + 8] & 15) | (packed[g] >> 6 << 4));
    to.minima[g + 4] = static_cast<Byte>((packed[g + 8] >> 4) | (packed[g + 4] >> 6 << 4));
  }
}

void take_run_nibbles(const Byte* from, QuantBlock& to) {
  for (int run = 0; run < kRuns; ++run) {
    const Byte* bytes = from + run / 2 * kRun;
    for (int j = 0; j < kRun; ++j) to.quants[run * kRun + j] = (bytes[j] >> (run % 2 * 4)) & 15;
  }
}

// scale, minimum, pairs, 4-bit quants (2 runs share 32 bytes)
void take_q4_k(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  to.minimum = negated(half_at(from + 2));
  take_pairs(from + 4, to);
  take_run_nibbles(from + 16, to);
}

// scale, minimum, pairs, fifth bits (bit `run` of byte j), 4-bit quants
void take_q5_k(const Byte* from, QuantBlock& to) {
  to.scale = half_at(from);
  to.minimum = negated(half_at(from + 2));
  take_pairs(from + 4, to);
  take_run_nibbles(from + 48, to);
  const Byte* high = from + 16;
  for (int run = 0; run < kRuns; ++run) {
    for (int j = 0; j < kRun; ++j)
      to.quants[run * kRun + j] |= static_cast<Byte>(((high[j] >> run) & 1) << 4);
  }
}

// low 4 bits (runs 0 and 2, 1 and 3 of each four share 32 bytes), high 2 bits (four runs share 32 bytes),
// 16 signed scales, scale
void take_q6_k(const Byte* from, QuantBlock& to) {
  std::memcpy(to.scales.data(), from + 192, to.scales.size());
  for (int run = 0; run < kRuns; ++run) {
    const int part = run % 4;
    const Byte* low = from + run / 4 * 64 + part % 2 * kRun;
    const Byte* high = from + 128 + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int low_bits = (low[j] >> (part / 2 * 4)) & 15;
      const int high_bits = (high[j] >> (part * 2)) & 3;
      to.quants[run * kRun + j] = static_cast<Byte>(low_bits | (high_bits << 4));
    }
  }
  to.scale = half_at(from + 208);
}

}  // namespace

std::optional<QuantLayout> quant_layout(TensorType type) {
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return std::nullopt;
    case TensorType::kQ4_0:
      return QuantLayout{32, 18, 32, 4, -8, false, false};
    case TensorType::kQ4_1:
      return QuantLayout{32, 20, 32, 4, 0, false, true};
    case TensorType::kQ5_0:
      return QuantLayout{32, 22, 32, 5, -16, false, false};
    case TensorType::kQ5_1:
      return QuantLayout{32, 24, 32, 5, 0, false, true};
    case TensorType::kQ8_0:
      return QuantLayout{32, 34, 32, 8, -128, false, false};
    case TensorType::kQ2_K:
      return QuantLayout{256, 84, 16, 2, 0, true, true};
    case TensorType::kQ3_K:
      return QuantLayout{256, 110, 16, 3, -4, true, false};
    case TensorType::kQ4_K:
      return QuantLayout{256, 144, 32, 4, 0, true, true};
    case TensorType::kQ5_K:
      return QuantLayout{256, 176, 32, 5, 0, true, true};
    case TensorType::kQ6_K:
      return QuantLayout{256, 210, 16, 6, -32, true, false};
  }
  return std::nullopt;
}

void take_apart(TensorType type, const std::byte* from, QuantBlock& to) {
  const auto* bytes = reinterpret_cast<const Byte*>(from);
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return;
    case TensorType::kQ4_0:
      return take_q4_0(bytes, to);
    case TensorType::kQ4_1:
      return take_q4_1(bytes, to);
    case TensorType::kQ5_0:
      return take_q5_0(bytes, to);
    case TensorType::kQ5_1:
      return take_q5_1(bytes, to);
    case TensorType::kQ8_0:
      return take_q8_0(bytes, to);
    case TensorType::kQ2_K:
      return take_q2_k(bytes, to);
    case TensorType::kQ3_K:
      return take_q3_k(bytes, to);
    case TensorType::kQ4_K:
      return take_q4_k(bytes, to);
    case TensorType::kQ5_K:
      return take_q5_k(bytes, to);
    case TensorType::kQ6_K:
      return take_q6_k(bytes, to);
  }
}

}  // namespace kvboost::engine
