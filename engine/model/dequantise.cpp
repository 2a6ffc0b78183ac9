// SPDX-License-Identifier: Apache-2.0
// Each function reads one block. Offsets into a block stand as named constants at its head; all numbers are
// little-endian, scales IEEE halves. Quants are read bytewise, so a block may lie at any address.
#include "engine/model/dequantise.h"

#include <cstring>

#include "engine/model/half.h"

namespace kvboost::engine {
namespace {

using Byte = unsigned char;

float half_at(const Byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return half_to_float(bits);
}

// --- whole numbers -------------------------------------------------------------------------------------

void read_f32(const Byte* in, float* out) {
  std::memcpy(out, in, sizeof *out);
}

void read_f16(const Byte* in, float* out) {
  *out = half_at(in);
}

void read_bf16(const Byte* in, float* out) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, in, sizeof bits);
  *out = bfloat16_to_float(bits);
}

// --- 32 values, one scale ------------------------------------------------------------------------------
// Values j and j + 16 share a byte: low and high nibble of quant byte j. In the 5-bit kinds, bit i of the
// 32-bit word in front of the quants is the fifth bit of value i.

constexpr int kHalfBlock = 16;

// scale, quants
void read_q4_0(const Byte* in, float* out) {
  const float scale = half_at(in);
  const Byte* quants = in + 2;
  for (int j = 0; j < kHalfBlock; ++j) {
    out[j] = static_cast<float>((quants[j] & 15) - 8) * scale;
    out[j + kHalfBlock] = static_cast<float>((quants[j] >> 4) - 8) * scale;
  }
}

// scale, minimum, quants
void read_q4_1(const Byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  const Byte* quants = in + 4;
  for (int j = 0; j < kHalfBlock; ++j) {
    out[j] = static_cast<float>(quants[j] & 15) * scale + minimum;
    out[j + kHalfBlock] = static_cast<float>(quants[j] >> 4) * scale + minimum;
  }
}

int fifth_bit(std::uint32_t word, int value) {
  return static_cast<int>((word >> value) & 1U) << 4;
}

// scale, fifth bits, quants
void read_q5_0(const Byte* in, float* out) {
  const float scale = half_at(in);
  std::uint32_t high = 0;
  std::memcpy(&high, in + 2, sizeof high);
  const Byte* quants = in + 6;
  for (int j = 0; j < kHalfBlock; ++j) {
    out[j] = static_cast<float>(((quants[j] & 15) | fifth_bit(high, j)) - 16) * scale;
    out[j + kHalfBlock] =
        static_cast<float>(((quants[j] >> 4) | fifth_bit(high, j + kHalfBlock)) - 16) * scale;
  }
}

// scale, minimum, fifth bits, quants
void read_q5_1(const Byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  std::uint32_t high = 0;
  std::memcpy(&high, in + 4, sizeof high);
  const Byte* quants = in + 8;
  for (int j = 0; j < kHalfBlock; ++j) {
    out[j] = static_cast<float>((quants[j] & 15) | fifth_bit(high, j)) * scale + minimum;
    out[j + kHalfBlock] =
        static_cast<float>((quants[j] >> 4) | fifth_bit(high, j + kHalfBlock)) * scale + minimum;
  }
}

// scale, signed quants
void read_q8_0(const Byte* in, float* out) {
  const float scale = half_at(in);
  for (int j = 0; j < 2 * kHalfBlock; ++j)
    out[j] = static_cast<float>(static_cast<signed char>(in[2 + j])) * scale;
}

// --- 256 values, scales of their own for each 16 or 32 -------------------------------------------------
// A block is read in runs of 32 values (`run` 0..7). The quants of a run lie in a field of bits of 32
// neighbouring bytes; runs share these bytes.

constexpr int kRun = 32;
constexpr int kRuns = 8;

// 16 × (4-bit scale, 4-bit minimum), 2-bit quants (4 runs share 32 bytes), scale, minimum
void read_q2_k(const Byte* in, float* out) {
  const Byte* scales = in;
  const Byte* quants = in + 16;
  const float scale = half_at(in + 80);
  const float minimum = half_at(in + 82);
  for (int run = 0; run < kRuns; ++run) {
    const Byte* bytes = quants + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int packed = scales[run * 2 + j / 16];
      const int quant = (bytes[j] >> (run % 4 * 2)) & 3;
      out[run * kRun + j] = scale * static_cast<float>(packed & 15) * static_cast<float>(quant) -
                            minimum * static_cast<float>(packed >> 4);
    }
  }
}

/// Scale i of the 16 six-bit ones that Q3_K packs in 12 bytes: 4 low bits in the nibbles of the first 8
/// bytes, 2 high bits in the last 4.
int q3_k_scale(const Byte* packed, int i) {
  const int low = (packed[i % 8] >> (i / 8 * 4)) & 15;
  const int high = (packed[8 + i % 4] >> (i / 4 * 2)) & 3;
  return (low | (high << 4)) - 32;
}

// high bits (bit `run` of byte j), 2-bit quants, scales, scale. A clear high bit means minus 4.
void read_q3_k(const Byte* in, float* out) {
  const Byte* high = in;
  const Byte* quants = in + 32;
  const Byte* scales = in + 96;
  const float scale = half_at(in + 108);
  for (int run = 0; run < kRuns; ++run) {
    const Byte* bytes = quants + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int quant = ((bytes[j] >> (run % 4 * 2)) & 3) - (((high[j] >> run) & 1) != 0 ? 0 : 4);
      out[run * kRun + j] =
          scale * static_cast<float>(q3_k_scale(scales, run * 2 + j / 16)) * static_cast<float>(quant);
    }
  }
}

struct ScaleAndMinimum {
  float scale, minimum;
};

/// Pair `run` of the 8 six-bit pairs that Q4_K and Q5_K pack in 12 bytes: the first four in the low 6 bits
/// of bytes 0..3 and 4..7, the others in the nibbles of bytes 8..11 with their high bits atop of bytes 0..7.
ScaleAndMinimum k_pair(const Byte* packed, int run) {
  int scale = 0;
  int minimum = 0;
  if (run < 4) {
    scale = packed[run] & 63;
    minimum = packed[run + 4] & 63;
  } else {
    scale = (packed[run + 4] & 15) | (packed[run - 4] >> 6 << 4);
    minimum = (packed[run + 4] >> 4) | (packed[run] >> 6 << 4);
  }
  return {static_cast<float>(scale), static_cast<float>(minimum)};
}

// scale, minimum, pairs, 4-bit quants (2 runs share 32 bytes)
void read_q4_k(const Byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  const Byte* quants = in + 16;
  for (int run = 0; run < kRuns; ++run) {
    const ScaleAndMinimum pair = k_pair(in + 4, run);
    const float step = scale * pair.scale;
    const float offset = minimum * pair.minimum;
    const Byte* bytes = quants + run / 2 * kRun;
    for (int j = 0; j < kRun; ++j) {
      out[run * kRun + j] = step * static_cast<float>((bytes[j] >> (run % 2 * 4)) & 15) - offset;
    }
  }
}

// scale, minimum, pairs, fifth bits (bit `run` of byte j), 4-bit quants
void read_q5_k(const Byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  const Byte* high = in + 16;
  const Byte* quants = in + 48;
  for (int run = 0; run < kRuns; ++run) {
    const ScaleAndMinimum pair = k_pair(in + 4, run);
    const float step = scale * pair.scale;
    const float offset = minimum * pair.minimum;
    const Byte* bytes = quants + run / 2 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int quant = ((bytes[j] >> (run % 2 * 4)) & 15) | (((high[j] >> run) & 1) << 4);
      out[run * kRun + j] = step * static_cast<float>(quant) - offset;
    }
  }
}

// low 4 bits (runs 0 and 2, 1 and 3 of each four share 32 bytes), high 2 bits (four runs share 32 bytes),
// 16 signed scales, scale
void read_q6_k(const Byte* in, float* out) {
  const Byte* low = in;
  const Byte* high = in + 128;
  const Byte* scales = in + 192;
  const float scale = half_at(in + 208);
  for (int run = 0; run < kRuns; ++run) {
    const int part = run % 4;
    const Byte* low_bytes = low + run / 4 * 64 + part % 2 * kRun;
    const Byte* high_bytes = high + run / 4 * kRun;
    for (int j = 0; j < kRun; ++j) {
      const int quant =
          (((low_bytes[j] >> (part / 2 * 4)) & 15) | (((high_bytes[j] >> (part * 2)) & 3) << 4)) - 32;
      const auto step = static_cast<signed char>(scales[run * 2 + j / 16]);
      out[run * kRun + j] = scale * static_cast<float>(step) * static_cast<float>(quant);
    }
  }
}

using ReadBlock = void (*)(const Byte*, float*);

template <ReadBlock read>
void read_all(BlockFormat format, std::span<const std::byte> in, std::span<float> out) {
  const auto* block = reinterpret_cast<const Byte*>(in.data());
  const std::size_t blocks = out.size() / static_cast<std::size_t>(format.elements);
  float* to = out.data();
  for (std::size_t i = 0; i < blocks; ++i, block += format.bytes, to += format.elements) read(block, to);
}

}  // namespace

BlockFormat block_format(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return {1, 4};
    case TensorType::kF16:
      return {1, 2};
    case TensorType::kBF16:
      return {1, 2};
    case TensorType::kQ4_0:
      return {32, 18};
    case TensorType::kQ4_1:
      return {32, 20};
    case TensorType::kQ5_0:
      return {32, 22};
    case TensorType::kQ5_1:
      return {32, 24};
    case TensorType::kQ8_0:
      return {32, 34};
    case TensorType::kQ2_K:
      return {256, 84};
    case TensorType::kQ3_K:
      return {256, 110};
    case TensorType::kQ4_K:
      return {256, 144};
    case TensorType::kQ5_K:
      return {256, 176};
    case TensorType::kQ6_K:
      return {256, 210};
  }
  return {1, 4};
}

void dequantise(TensorType type, std::span<const std::byte> in, std::span<float> out) {
  const BlockFormat format = block_format(type);
  switch (type) {
    case TensorType::kF32:
      return read_all<read_f32>(format, in, out);
    case TensorType::kF16:
      return read_all<read_f16>(format, in, out);
    case TensorType::kBF16:
      return read_all<read_bf16>(format, in, out);
    case TensorType::kQ4_0:
      return read_all<read_q4_0>(format, in, out);
    case TensorType::kQ4_1:
      return read_all<read_q4_1>(format, in, out);
    case TensorType::kQ5_0:
      return read_all<read_q5_0>(format, in, out);
    case TensorType::kQ5_1:
      return read_all<read_q5_1>(format, in, out);
    case TensorType::kQ8_0:
      return read_all<read_q8_0>(format, in, out);
    case TensorType::kQ2_K:
      return read_all<read_q2_k>(format, in, out);
    case TensorType::kQ3_K:
      return read_all<read_q3_k>(format, in, out);
    case TensorType::kQ4_K:
      return read_all<read_q4_k>(format, in, out);
    case TensorType::kQ5_K:
      return read_all<read_q5_k>(format, in, out);
    case TensorType::kQ6_K:
      return read_all<read_q6_k>(format, in, out);
  }
}

}  // namespace kvboost::engine
