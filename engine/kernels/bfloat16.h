// SPDX-License-Identifier: Apache-2.0
// BFloat16: the upper half of a float32, as a plain value. Pure functions, any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace kvboost::engine {

struct BFloat16 {
  std::uint16_t bits = 0;
};

inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}
inline float to_float(float value) {
  return value;
}

/// Rounds to nearest, ties to even; a NaN stays one.
inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

template <class T>
T narrow(float value);
template <>
inline float narrow<float>(float value) {
  return value;
}
template <>
inline BFloat16 narrow<BFloat16>(float value) {
  return to_bfloat16(value);
}

}  // namespace kvboost::engine
