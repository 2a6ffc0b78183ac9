// SPDX-License-Identifier: Apache-2.0
// The matrix products, and the one place where torch is called (oneDNN under it for bfloat16, OpenBLAS for
// float32). Torch-free header. Engine thread only; torch's exceptions come through, as std::exception.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/bfloat16.h"

namespace kvboost::engine {

/// y(n, outputs) = x(n, inputs) * w(outputs, inputs)ᵀ; rows of y lie `y_stride` elements apart.
void matmul(const BFloat16* x, const BFloat16* w, std::int64_t n, std::int64_t inputs, std::int64_t outputs,
            BFloat16* y, std::int64_t y_stride);
void matmul(const float* x, const float* w, std::int64_t n, std::int64_t inputs, std::int64_t outputs,
            float* y, std::int64_t y_stride);

/// Threads of torch, of OpenMP and so of our own loops.
void set_threads(std::int32_t threads);

/// The BLAS that is loaded: "OpenBLAS 0.3.21 (Zen)", or what torch says of itself.
std::string blas_name();

}  // namespace kvboost::engine
