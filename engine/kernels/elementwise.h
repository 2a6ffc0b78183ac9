// SPDX-License-Identifier: Apache-2.0
// The small steps between matrix products, one row of one token at a time; the caller spreads rows over
// threads. T is the compute type, BFloat16 or float. Vectorised for the CPU at hand (Highway); every count is
// a multiple of 16. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "engine/kernels/bfloat16.h"
#include "engine/model_spec.h"

namespace kvboost::engine {

/// out = x / sqrt(mean(x²) + eps) * weight
void rms_norm(const float* x, const float* weight, std::int32_t n, float eps, BFloat16* out);
void rms_norm(const float* x, const float* weight, std::int32_t n, float eps, float* out);

void widen(const BFloat16* in, std::int32_t n, float* out);
void widen(const float* in, std::int32_t n, float* out);

void round_to(const float* in, std::int32_t n, BFloat16* out);
void round_to(const float* in, std::int32_t n, float* out);

/// x += y
void add(float* x, const BFloat16* y, std::int32_t n);
void add(float* x, const float* y, std::int32_t n);

/// out = activation(gate) * up
void gate(const BFloat16* gate, const BFloat16* up, std::int32_t n, Activation activation, BFloat16* out);
void gate(const float* gate, const float* up, std::int32_t n, Activation activation, float* out);

/// Rotates the first `n_rotated` dimensions of a head and scales all: `cosine` and `sine` hold n_rotated / 2.
void rotate(const BFloat16* in, const float* cosine, const float* sine, RopeLayout layout,
            std::int32_t n_rotated, std::int32_t head_dim, float scale, BFloat16* out);
void rotate(const float* in, const float* cosine, const float* sine, RopeLayout layout,
            std::int32_t n_rotated, std::int32_t head_dim, float scale, float* out);

/// The instruction set that these kernels run with here: "AVX3", "AVX2", "SSE2", ...
const char* simd_target();

}  // namespace kvboost::engine
