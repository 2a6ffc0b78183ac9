// SPDX-License-Identifier: Apache-2.0
// Which files a bug's fix changes: source code of the project itself, and not its tests, documents, examples,
// generated or borrowed files. By path alone; a pure function, any thread.
#pragma once

#include <string_view>

namespace kvboost::cache {

[[nodiscard]] bool is_fixable(std::string_view path);

}  // namespace kvboost::cache
