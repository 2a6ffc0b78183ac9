// SPDX-License-Identifier: Apache-2.0
// The inner loops of the codec: groups of bfloat16 numbers to integers of 8 or 4 bits and back. Pure
// functions; written so that the compiler vectorises them, in a version for each instruction set that
// matters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvboost::cache {

inline constexpr std::size_t kGroup = 32;

/// Shape (n_rows, row) with one range a column over all rows given (at most kGroup): keys.
/// `minima`, `steps`: row entries. `q`: n_rows · row · bits / 8 bytes.
void quantise_columns(const std::uint16_t* in, std::size_t n_rows, std::size_t row, int bits,
                      std::uint16_t* minima, std::uint16_t* steps, std::uint8_t* q);
void dequantise_columns(const std::uint8_t* q, std::size_t n_rows, std::size_t row, int bits,
                        const std::uint16_t* minima, const std::uint16_t* steps, std::uint16_t* out);

/// One row of `row` numbers with a range for each kGroup of them: values.
void quantise_row(const std::uint16_t* in, std::size_t row, int bits, std::uint16_t* minima,
                  std::uint16_t* steps, std::uint8_t* q);
void dequantise_row(const std::uint8_t* q, std::size_t row, int bits, const std::uint16_t* minima,
                    const std::uint16_t* steps, std::uint16_t* out);

/// Whether no element is NaN or infinite.
[[nodiscard]] bool all_finite(const std::uint16_t* in, std::size_t count);

}  // namespace kvboost::cache
