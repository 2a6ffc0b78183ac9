// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/coverage.h"

#include <array>
#include <cstdint>

namespace kvboost::fuzz {
namespace {

constexpr std::size_t kPlaces = 1 << 18;
std::array<bool, kPlaces> reached;
std::size_t n_reached = 0;
std::uintptr_t last_block = 0;

}  // namespace

std::size_t places_reached() {
  return n_reached;
}

void start_path() {
  last_block = 0;
}

/// Called by traced code at the head of every block, with the call's place as the block's.
extern "C" void __sanitizer_cov_trace_pc() {
  const auto block = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  bool& place = reached[(block ^ (last_block << 7)) % kPlaces];
  last_block = block;
  if (place) return;
  place = true;
  ++n_reached;
}

}  // namespace kvboost::fuzz
