// SPDX-License-Identifier: Apache-2.0
// One row times a matrix that stays quantised: what decoding is made of. Decoding is bound by reading the
// weights, so these are read as the file has them, 4 to 8 bits each, and never as floats.
//
// PackedMatrix holds the blocks of a GGUF tensor, exactly, in an order that vectors like: 16 outputs side by
// side (a "group"), so that each lane of a vector belongs to one output. PackedRow is the row that is
// multiplied, in 16-bit fixed point with a scale for each 32 values: sums are whole numbers and exact, and
// the result differs from dequantising and multiplying in float32 by about 3e-5 of its size.
//
// Memory of both is the caller's or their own plain owners; any thread may read, one may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/gguf.h"

namespace kvboost::engine {

/// Outputs side by side.
inline constexpr std::int32_t kPackedGroup = 16;
/// Values of the row that share a scale.
inline constexpr std::int32_t kPackedUnit = 32;

class PackedRow {
 public:
  /// `x` has a multiple of kPackedUnit values. A unit with a value that isn't finite makes all products NaN.
  void set(std::span<const float> x);

  // value[i] = scales[i / 32] * (256 * high[i] + low[i])
  [[nodiscard]] const std::int8_t* high() const { return high_.data(); }
  [[nodiscard]] const std::int8_t* low() const { return low_.data(); }
  [[nodiscard]] const float* scales() const { return scales_.data(); }
  /// Of the whole numbers of each 16 values.
  [[nodiscard]] const std::int32_t* sums() const { return sums_.data(); }
  [[nodiscard]] std::int32_t n_units() const { return static_cast<std::int32_t>(scales_.size()); }

 private:
  std::vector<std::int8_t> high_, low_;
  std::vector<float> scales_;
  std::vector<std::int32_t> sums_;
};

class PackedMatrix {
 public:
  /// Whether a tensor of this type can be packed: every quantised type can, plain numbers can't.
  [[nodiscard]] static bool packs(TensorType type);
  /// Memory that `pack` needs, a multiple of 64.
  [[nodiscard]] static std::size_t bytes(const GgufTensor& tensor);

  /// Packs a tensor of two dimensions into `memory`, aligned to 64, of `bytes(tensor)`, which must outlive
  /// the result.
  [[nodiscard]] static PackedMatrix pack(const GgufTensor& tensor, std::span<std::byte> memory);

  [[nodiscard]] std::int32_t outputs() const { return outputs_; }
  [[nodiscard]] std::int32_t inputs() const { return inputs_; }
  [[nodiscard]] std::int32_t n_groups() const { return (outputs_ + kPackedGroup - 1) / kPackedGroup; }

  /// y[r] = sum over i of w(r, i) * x[i] for the outputs r of the groups [first, last); y begins with output
  /// 0. On the calling thread: give each thread its groups.
  void multiply(const PackedRow& x, std::int32_t first, std::int32_t last, float* y) const;

  /// The weights of one output, the same floats that `dequantise` gives.
  void row(std::int32_t output, std::span<float> to) const;

 private:
  void pack_group(const GgufTensor& tensor, std::int32_t group, std::byte* to) const;

  TensorType type_ = TensorType::kF32;
  std::int32_t outputs_ = 0;
  std::int32_t inputs_ = 0;
  std::size_t group_bytes_ = 0;
  const std::byte* groups_ = nullptr;
};

/// The instruction set that `multiply` uses on this CPU: "avx512-vnni", "avx2" or "portable".
[[nodiscard]] std::string_view packed_kernels();

}  // namespace kvboost::engine
