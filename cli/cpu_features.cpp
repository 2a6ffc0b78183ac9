// SPDX-License-Identifier: Apache-2.0
#include "cli/cpu_features.h"

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kvboost::cli {
#if defined(__x86_64__)
namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf leaf(unsigned number, unsigned sub = 0) {
  Leaf out;
  __get_cpuid_count(number, sub, &out.a, &out.b, &out.c, &out.d);  // zeros if the CPU has no such leaf
  return out;
}

bool bit(unsigned word, unsigned index) {
  return ((word >> index) & 1U) != 0;
}

/// XCR0: which register files the system saves, so that programs may use them.
std::uint64_t system_state() {
  if (!bit(leaf(1).c, 27)) return 0;  // OSXSAVE
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32U) | low;
}

std::string brand() {
  std::string text;
  if (leaf(0x80000000U).a < 0x80000004U) return text;
  for (unsigned part = 0x80000002U; part <= 0x80000004U; ++part) {
    const Leaf words = leaf(part);
    char bytes[sizeof words + 1] = {};
    std::memcpy(bytes, &words, sizeof words);
    text += bytes;
  }
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

CpuFeatures probe_cpu_features() {
  const Leaf basic = leaf(1);
  const Leaf extended = leaf(7);
  const Leaf more = leaf(7, 1);
  const std::uint64_t state = system_state();
  const bool ymm = (state & 0x6U) == 0x6U;
  const bool zmm = (state & 0xE6U) == 0xE6U;
  const bool tiles = (state & 0x60000U) == 0x60000U;
  CpuFeatures cpu;
  cpu.x86 = true;
  cpu.name = brand();
  cpu.sse42 = bit(basic.c, 20);
  cpu.avx = ymm && bit(basic.c, 28);
  cpu.fma = ymm && bit(basic.c, 12);
  cpu.f16c = ymm && bit(basic.c, 29);
  cpu.avx2 = ymm && bit(extended.b, 5);
  cpu.avx512 =
      zmm && bit(extended.b, 16) && bit(extended.b, 17) && bit(extended.b, 30) && bit(extended.b, 31);
  cpu.avx512_bf16 = cpu.avx512 && bit(more.a, 5);
  cpu.amx_bf16 = tiles && bit(extended.d, 22) && bit(extended.d, 24);
  return cpu;
}
#else
CpuFeatures probe_cpu_features() {
  return {};
}
#endif

std::string to_string(const CpuFeatures& features) {
  std::string text;
  for (const auto& [has, name] :
       {std::pair(features.sse42, "sse4.2"), std::pair(features.avx, "avx"), std::pair(features.avx2, "avx2"),
        std::pair(features.fma, "fma"), std::pair(features.f16c, "f16c"),
        std::pair(features.avx512, "avx512"), std::pair(features.avx512_bf16, "avx512-bf16"),
        std::pair(features.amx_bf16, "amx-bf16")}) {
    if (has) text += (text.empty() ? "" : " ") + std::string(name);
  }
  return text;
}

}  // namespace kvboost::cli
