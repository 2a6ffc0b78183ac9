// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "engine/engine.h"
#include "engine/kernels/elementwise.h"
#include "engine/kernels/packed_matrix.h"
#include "engine/model/matmul.h"

namespace kvboost::engine {

bool has_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

std::int32_t physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;  // threads of one core name the same siblings
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = "cpu " + std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max<std::int32_t>(1, static_cast<std::int32_t>(cores.size()));
}

EngineInfo probe_cpu(ComputeType wanted, std::int32_t threads) {
  EngineInfo info;
  const bool bfloat16 = has_bfloat16();
  if (wanted == ComputeType::kFloat32) {
    info.compute_reason = "chosen by the user";
  } else {
    info.compute_reason = bfloat16 ? "the CPU has AVX512-BF16" : "the CPU has no AVX512-BF16";
  }
  info.compute = bfloat16 && wanted != ComputeType::kFloat32 ? ComputeType::kBFloat16 : ComputeType::kFloat32;
  info.blas = blas_name();
  info.kernels = info.compute == ComputeType::kBFloat16 ? "avx512bf16" : simd_target();
  info.kernels += ", one row: " + std::string(packed_kernels());
  info.threads = threads > 0 ? threads : physical_cores();
  return info;
}

}  // namespace kvboost::engine
