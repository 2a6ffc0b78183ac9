// SPDX-License-Identifier: Apache-2.0
// Which build this is. Only the programs link it (target kvboost_build_id), so that an edit relinks them
// alone.
#pragma once

#include <string_view>

namespace kvboost {

/// "0.1.0"
[[nodiscard]] std::string_view version();

/// 16 hexadecimal digits: a digest over all sources, compiler and flags. `kvboost` and `kvboostd` of one
/// build have the same, those of two builds differ; a client that meets another build's daemon has it leave.
[[nodiscard]] std::string_view build_id();

}  // namespace kvboost
