// SPDX-License-Identifier: Apache-2.0
// The half of `doctor` that needs no daemon: CPU, memory, programs and their libraries, configuration,
// directories, disk space. Any thread.
#pragma once

#include <vector>

#include "base/config.h"
#include "cli/cpu_features.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

inline constexpr const char* kOk = "ok";
inline constexpr const char* kWarning = "warning";
inline constexpr const char* kFailed = "failed";

[[nodiscard]] protocol::DoctorCheck check_cpu(const CpuFeatures& cpu);

/// All of them, in the order in which they are shown.
[[nodiscard]] std::vector<protocol::DoctorCheck> local_checks(const Result<Config>& config);

}  // namespace kvboost::cli
