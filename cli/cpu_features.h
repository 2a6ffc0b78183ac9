// SPDX-License-Identifier: Apache-2.0
// What this CPU offers to the engine, asked of the CPU itself: an emulator answers for what it emulates,
// where /proc/cpuinfo tells of the host. Pure, any thread.
#pragma once

#include <string>

namespace kvboost::cli {

struct CpuFeatures {
  std::string name;  // "AMD EPYC 9R14", may be empty
  bool x86 = false;
  bool sse42 = false;
  bool avx = false;
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  // the system lets programs use the tiles, too
};

[[nodiscard]] CpuFeatures probe_cpu_features();

/// "avx2 fma f16c avx512 avx512-bf16".
[[nodiscard]] std::string to_string(const CpuFeatures& features);

}  // namespace kvboost::cli
