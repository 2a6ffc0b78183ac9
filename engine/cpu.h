// SPDX-License-Identifier: Apache-2.0
// What this CPU can do, as far as the engine cares. Any thread.
#pragma once

#include <cstdint>

namespace kvboost::engine {

/// AVX512-BF16 and the parts of AVX-512 that its kernels use.
[[nodiscard]] bool has_bfloat16();

/// Physical cores that this process may run on, at least 1.
[[nodiscard]] std::int32_t physical_cores();

}  // namespace kvboost::engine
