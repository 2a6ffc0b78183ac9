// SPDX-License-Identifier: Apache-2.0
// 16-bit floats of a file, as bits, to float. Exact; independent of the CPU's flush-to-zero mode. Any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace kvboost::engine {

/// IEEE binary16.
[[nodiscard]] inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  if (magnitude < 0x400U) {
    constexpr float kSubnormalUnit = 0x1p-24F;
    return std::bit_cast<float>(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * kSubnormalUnit));
  }
  constexpr std::uint32_t kBiasStep = (127U - 15U) << 23;
  return std::bit_cast<float>(sign | ((magnitude << 13) + kBiasStep));
}

/// The upper half of a float.
[[nodiscard]] inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace kvboost::engine
