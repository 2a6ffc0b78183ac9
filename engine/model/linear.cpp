// SPDX-License-Identifier: Apache-2.0
#include "engine/model/linear.h"

#include <algorithm>

#include "engine/kernels/elementwise.h"
#include "engine/kernels/gemv.h"
#include "engine/kernels/parallel.h"
#include "engine/model/dequantise.h"
#include "engine/model/matmul.h"

namespace kvboost::engine {
namespace {

/// All finite? A sum of x * 0 is 0 only then.
bool finite(std::span<const float> values) {
  float sum = 0.0F;
  for (const float value : values) sum += value * 0.0F;
  return sum == 0.0F;
}

/// Rows [first, first + count) of a matrix in the file.
GgufTensor rows_of(const GgufTensor& tensor, std::int64_t first, std::int64_t count) {
  const auto block = block_format(tensor.type);
  const auto row_bytes = static_cast<std::size_t>(tensor.shape[0] / block.elements * block.bytes);
  return {tensor.name,
          tensor.type,
          {tensor.shape[0], count},
          tensor.data.subspan(static_cast<std::size_t>(first) * row_bytes,
                              static_cast<std::size_t>(count) * row_bytes)};
}

}  // namespace

template <class T>
Linear<T>::Linear(const std::vector<const GgufTensor*>& tensors, Use use)
    : inputs_(static_cast<std::int32_t>(tensors.front()->shape[0])) {
  const bool packs = std::ranges::all_of(tensors, [](const auto* t) { return PackedMatrix::packs(t->type); });
  std::size_t packed_bytes = 0;
  for (const GgufTensor* tensor : tensors) {
    for (std::int64_t row = 0; row < tensor->shape[1]; row += kSlabRows) {
      const auto count = std::min<std::int64_t>(kSlabRows, tensor->shape[1] - row);
      slabs_.push_back({rows_of(*tensor, row, count), outputs_, {}, {}});
      outputs_ += static_cast<std::int32_t>(count);
      if (packs) packed_bytes += PackedMatrix::bytes(slabs_.back().rows);
    }
  }
  if (use == Use::kManyRows || !packs)
    dense_ = AlignedBuffer<T>(static_cast<std::size_t>(outputs_) * inputs_);
  if (!packs) return;
  packed_ = AlignedBuffer<std::byte>(packed_bytes);
  std::byte* at = packed_.data();
  for (Slab& slab : slabs_) {
    slab.memory = {at, PackedMatrix::bytes(slab.rows)};
    at += slab.memory.size();
  }
}

template <class T>
bool Linear<T>::fill(std::int32_t index) {
  Slab& slab = slabs_[index];
  std::vector<float> values(static_cast<std::size_t>(slab.rows.elements()));
  dequantise(slab.rows.type, slab.rows.data, values);
  if (dense_.size() > 0) {
    T* to = dense_.data() + static_cast<std::ptrdiff_t>(slab.first_output) * inputs_;
    round_to(values.data(), static_cast<std::int32_t>(values.size()), to);
  }
  if (!slab.memory.empty()) slab.packed = PackedMatrix::pack(slab.rows, slab.memory);
  return finite(values);
}

template <class T>
void Linear<T>::finish() {
  for (Slab& slab : slabs_) slab.rows = {};
}

template <class T>
void Linear<T>::multiply(const T* x, std::int32_t n, T* y) const {
  if (n > 1) {
    matmul(x, dense_.data(), n, inputs_, outputs_, y, outputs_);
    return;
  }
  std::vector<float> wide(inputs_), product(outputs_);
  widen(x, inputs_, wide.data());
  multiply_row(wide, product.data());
  round_to(product.data(), outputs_, y);
}

template <class T>
void Linear<T>::multiply_row(std::span<const float> x, float* y) const {
  if (packed_.size() > 0) {
    PackedRow row;
    row.set(x);
    parallel_ranges(n_slabs(), 1, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        slabs_[i].packed.multiply(row, 0, slabs_[i].packed.n_groups(), y + slabs_[i].first_output);
      }
    });
    return;
  }
  std::vector<T> row(x.size());
  round_to(x.data(), inputs_, row.data());
  parallel_ranges(outputs_, kSlabRows, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    gemv(dense_.data() + begin * inputs_, row.data(), static_cast<std::int32_t>(end - begin), inputs_,
         y + begin);
  });
}

template <class T>
void Linear<T>::row(std::int32_t output, std::span<float> to) const {
  if (packed_.size() == 0) {
    widen(dense_.data() + static_cast<std::ptrdiff_t>(output) * inputs_, inputs_, to.data());
    return;
  }
  const auto after = std::ranges::upper_bound(slabs_, output, {}, &Slab::first_output);
  const Slab& slab = *(after - 1);
  slab.packed.row(output - slab.first_output, to);
}

template class Linear<BFloat16>;
template class Linear<float>;

}  // namespace kvboost::engine
