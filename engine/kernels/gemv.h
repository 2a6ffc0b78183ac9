// SPDX-License-Identifier: Apache-2.0
// One row times a matrix: what decoding is made of. Bound by reading the weights, so these stream them once.
// Each call works on the calling thread; the caller gives each thread its rows of the matrix.
#pragma once

#include <cstdint>

#include "engine/kernels/bfloat16.h"

namespace kvboost::engine {

/// y[r] = sum over i of w(r, i) * x[i]; `w` is (n_rows, n), dense; n is a multiple of 16. The bfloat16 one
/// needs a CPU with AVX512-BF16.
void gemv(const BFloat16* w, const BFloat16* x, std::int32_t n_rows, std::int32_t n, float* y);
void gemv(const float* w, const float* x, std::int32_t n_rows, std::int32_t n, float* y);

}  // namespace kvboost::engine
