// SPDX-License-Identifier: Apache-2.0
#include "engine/model/matmul.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <omp.h>

namespace kvboost::engine {
namespace {

template <class T>
at::Tensor matrix(const T* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  constexpr auto kType = std::is_same_v<T, float> ? at::kFloat : at::kBFloat16;
  return at::from_blob(const_cast<T*>(data), {rows, columns}, {stride, 1}, kType);
}

template <class T>
void matmul_any(const T* x, const T* w, std::int64_t n, std::int64_t inputs, std::int64_t outputs, T* y,
                std::int64_t y_stride) {
  const c10::InferenceMode no_gradients;
  at::Tensor result = matrix(y, n, outputs, y_stride);
  at::mm_out(result, matrix(x, n, inputs, inputs), matrix(w, outputs, inputs, inputs).t());
}

}  // namespace

void matmul(const BFloat16* x, const BFloat16* w, std::int64_t n, std::int64_t inputs, std::int64_t outputs,
            BFloat16* y, std::int64_t y_stride) {
  matmul_any(x, w, n, inputs, outputs, y, y_stride);
}

void matmul(const float* x, const float* w, std::int64_t n, std::int64_t inputs, std::int64_t outputs,
            float* y, std::int64_t y_stride) {
  matmul_any(x, w, n, inputs, outputs, y, y_stride);
}

void set_threads(std::int32_t threads) {
  at::set_num_threads(threads);  // starts at 1 in Debian's build
  omp_set_num_threads(threads);
}

std::string blas_name() {
  using Text = char* (*)();
  const auto config = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  const auto core = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (config == nullptr || core == nullptr) return "the reference BLAS (slow: install libopenblas0-openmp)";
  const std::string text = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  const auto version_end = text.find(' ', text.find(' ') + 1);
  return text.substr(0, version_end) + ", core " + core();
}

}  // namespace kvboost::engine
