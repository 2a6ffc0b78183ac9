// SPDX-License-Identifier: Apache-2.0
#include "cache/codec/quantise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KVBOOST_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KVBOOST_CLONES
#endif

namespace kvboost::cache {
namespace {

inline float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// To the nearest bfloat16, ties to even. Finite input only.
inline std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// The step that spans [low, high] in `levels` steps, rounded up to bfloat16. Positive always: a group of
/// equal numbers has q = 0.
std::uint16_t step_up(float low, float high, int levels) {
  const float exact = high / static_cast<float>(levels) - low / static_cast<float>(levels);
  const auto bits = std::bit_cast<std::uint32_t>(std::max(exact, 1e-30F));
  return static_cast<std::uint16_t>((bits + 0xFFFF) >> 16);
}

inline int level_of(float value, float low, float inverse, int levels) {
  const float scaled = (value - low) * inverse + 0.5F;
  return static_cast<int>(std::min(scaled, static_cast<float>(levels)));
}

constexpr int levels(int bits) {
  return (1 << bits) - 1;
}

/// q of one row, ranges given for each column by index(c).
template <class RangeOf>
inline void write_levels(const std::uint16_t* in, std::size_t row, int bits, RangeOf range_of,
                         std::uint8_t* q) {
  const int top = levels(bits);
  if (bits == 8) {
    for (std::size_t c = 0; c < row; ++c) {
      const auto [low, inverse] = range_of(c);
      q[c] = static_cast<std::uint8_t>(level_of(widen(in[c]), low, inverse, top));
    }
    return;
  }
  for (std::size_t c = 0; c < row; c += 2) {
    const auto [low0, inverse0] = range_of(c);
    const auto [low1, inverse1] = range_of(c + 1);
    const int even = level_of(widen(in[c]), low0, inverse0, top);
    const int odd = level_of(widen(in[c + 1]), low1, inverse1, top);
    q[c / 2] = static_cast<std::uint8_t>(even | odd << 4);
  }
}

struct Range {
  float low;
  float inverse;
};

}  // namespace

KVBOOST_CLONES
void quantise_columns(const std::uint16_t* in, std::size_t n_rows, std::size_t row, int bits,
                      std::uint16_t* minima, std::uint16_t* steps, std::uint8_t* q) {
  for (std::size_t c = 0; c < row; ++c) {
    float low = widen(in[c]);
    float high = low;
    for (std::size_t r = 1; r < n_rows; ++r) {
      low = std::min(low, widen(in[r * row + c]));
      high = std::max(high, widen(in[r * row + c]));
    }
    minima[c] = narrow(low);
    steps[c] = step_up(low, high, levels(bits));
  }
  const auto range_of = [&](std::size_t c) { return Range{widen(minima[c]), 1.0F / widen(steps[c])}; };
  const std::size_t q_row = row * static_cast<std::size_t>(bits) / 8;
  for (std::size_t r = 0; r < n_rows; ++r) write_levels(in + r * row, row, bits, range_of, q + r * q_row);
}

KVBOOST_CLONES
void dequantise_columns(const std::uint8_t* q, std::size_t n_rows, std::size_t row, int bits,
                        const std::uint16_t* minima, const std::uint16_t* steps, std::uint16_t* out) {
  if (bits == 8) {
    for (std::size_t r = 0; r < n_rows; ++r) {
      const std::uint8_t* level = q + r * row;
      std::uint16_t* to = out + r * row;
      for (std::size_t c = 0; c < row; ++c) {
        to[c] = narrow(widen(minima[c]) + widen(steps[c]) * static_cast<float>(level[c]));
      }
    }
    return;
  }
  for (std::size_t r = 0; r < n_rows; ++r) {
    const std::uint8_t* level = q + r * row / 2;
    std::uint16_t* to = out + r * row;
    for (std::size_t i = 0; i < row / 2; ++i) {
      const std::size_t c = 2 * i;
      to[c] = narrow(widen(minima[c]) + widen(steps[c]) * static_cast<float>(level[i] & 15));
      to[c + 1] = narrow(widen(minima[c + 1]) + widen(steps[c + 1]) * static_cast<float>(level[i] >> 4));
    }
  }
}

KVBOOST_CLONES
void quantise_row(const std::uint16_t* in, std::size_t row, int bits, std::uint16_t* minima,
                  std::uint16_t* steps, std::uint8_t* q) {
  for (std::size_t first = 0; first < row; first += kGroup) {
    const std::size_t n = std::min(kGroup, row - first);
    float low = widen(in[first]);
    float high = low;
    for (std::size_t i = 1; i < n; ++i) {
      low = std::min(low, widen(in[first + i]));
      high = std::max(high, widen(in[first + i]));
    }
    minima[first / kGroup] = narrow(low);
    steps[first / kGroup] = step_up(low, high, levels(bits));
  }
  const auto range_of = [&](std::size_t c) {
    return Range{widen(minima[c / kGroup]), 1.0F / widen(steps[c / kGroup])};
  };
  write_levels(in, row, bits, range_of, q);
}

KVBOOST_CLONES
void dequantise_row(const std::uint8_t* q, std::size_t row, int bits, const std::uint16_t* minima,
                    const std::uint16_t* steps, std::uint16_t* out) {
  for (std::size_t first = 0; first < row; first += kGroup) {
    const std::size_t n = std::min(kGroup, row - first);
    const float low = widen(minima[first / kGroup]);
    const float step = widen(steps[first / kGroup]);
    if (bits == 8) {
      for (std::size_t i = 0; i < n; ++i)
        out[first + i] = narrow(low + step * static_cast<float>(q[first + i]));
    } else {
      for (std::size_t i = 0; i < n / 2; ++i) {
        const std::uint8_t pair = q[first / 2 + i];
        out[first + 2 * i] = narrow(low + step * static_cast<float>(pair & 15));
        out[first + 2 * i + 1] = narrow(low + step * static_cast<float>(pair >> 4));
      }
    }
  }
}

KVBOOST_CLONES
bool all_finite(const std::uint16_t* in, std::size_t count) {
  unsigned bad = 0;
  for (std::size_t i = 0; i < count; ++i) bad |= static_cast<unsigned>((in[i] & 0x7F80) == 0x7F80);
  return bad == 0;
}

}  // namespace kvboost::cache
