// SPDX-License-Identifier: Apache-2.0
// Loops over the engine's threads: OpenMP, the same pool that torch and OpenBLAS use, so that nothing
// oversubscribes the cores. libgomp's threads spin for about a millisecond behind a loop and then sleep (its
// default without OMP_WAIT_POLICY): short enough that an idle daemon burns nothing, long enough to hold from
// one layer's loop to the next. Called on the engine thread only.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

namespace kvboost::engine {

/// Calls `body(begin, end)` over [0, n), one stretch of at least `grain` a thread.
template <class Body>
void parallel_ranges(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body) {
  const auto parts =
      std::clamp<std::ptrdiff_t>(n / std::max<std::ptrdiff_t>(grain, 1), 1, omp_get_max_threads());
  if (parts == 1) {
    if (n > 0) body(std::ptrdiff_t{0}, n);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
  for (std::ptrdiff_t part = 0; part < parts; ++part) body(n * part / parts, n * (part + 1) / parts);
}

/// Calls `body(i)` for each i of [0, n), handed out one by one to whichever thread is free.
template <class Body>
void parallel_items(std::ptrdiff_t n, const Body& body) {
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
  for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
}

}  // namespace kvboost::engine
