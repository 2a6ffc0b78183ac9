// SPDX-License-Identifier: Apache-2.0
// Linear: one matrix of a model in the forms in which it is multiplied. Many rows go through a dense copy in
// the compute type; one row goes through the blocks of the file, which are a quarter to a half of its size:
// decoding is bound by reading weights. Filled once at load, immutable afterwards; engine thread, which
// spreads the work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/aligned_buffer.h"
#include "engine/kernels/bfloat16.h"
#include "engine/kernels/packed_matrix.h"
#include "engine/model/gguf.h"

namespace kvboost::engine {

template <class T>
class Linear {
 public:
  enum class Use { kManyRows, kOneRow };

  Linear() = default;
  /// Of tensors with the same inputs, one below the other. Allocates; `fill` does the work. kOneRow saves the
  /// dense copy (unless the file's numbers are plain): only multiply_row and row work then.
  Linear(const std::vector<const GgufTensor*>& tensors, Use use);

  /// Reads slab `slab` of n_slabs() from the file; several threads may, each its own. False if a number isn't
  /// finite.
  [[nodiscard]] bool fill(std::int32_t slab);
  [[nodiscard]] std::int32_t n_slabs() const { return static_cast<std::int32_t>(slabs_.size()); }
  /// The name of the tensor that a slab is of, until `finish`.
  [[nodiscard]] const std::string& name(std::int32_t slab) const { return slabs_[slab].rows.name; }
  /// All slabs are filled: the file is needed no more.
  void finish();

  [[nodiscard]] std::int32_t outputs() const { return outputs_; }
  [[nodiscard]] std::int32_t inputs() const { return inputs_; }
  [[nodiscard]] std::uint64_t bytes() const { return dense_.bytes() + packed_.bytes(); }

  /// y(n, outputs) = x(n, inputs) * matrixᵀ.
  void multiply(const T* x, std::int32_t n, T* y) const;
  /// The same for one row, in float32 outside.
  void multiply_row(std::span<const float> x, float* y) const;
  /// Row `output` of the matrix.
  void row(std::int32_t output, std::span<float> to) const;

 private:
  /// Some neighbouring rows of one tensor.
  struct Slab {
    GgufTensor rows;  // in the file
    std::int32_t first_output = 0;
    std::span<std::byte> memory;  // of `packed`; empty: it isn't
    PackedMatrix packed;
  };
  static constexpr std::int32_t kSlabRows = 2 * kPackedGroup;

  std::int32_t outputs_ = 0;
  std::int32_t inputs_ = 0;
  AlignedBuffer<T> dense_;           // (outputs, inputs), or empty
  AlignedBuffer<std::byte> packed_;  // slab after slab, or empty
  std::vector<Slab> slabs_;
};

}  // namespace kvboost::engine
