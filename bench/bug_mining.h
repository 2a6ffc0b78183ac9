// SPDX-License-Identifier: Apache-2.0
// A set of one's own: the fixes in a repository's history. The report is the commit's message, without what
// names people, and the tree is the parent's. One thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "bench/bug_set.h"

namespace kvboost::bench {

/// The newest commits that mend something by changing one to three source files, at most `limit` (0: all).
/// kNotFound if there are none.
[[nodiscard]] Result<BugSet> mine_bug_set(const std::filesystem::path& repository, std::size_t limit);

/// Whether a commit's message speaks of a fault that it mends, and not of documents, tests or style.
[[nodiscard]] bool is_fix(const std::string& message);

/// The message without its trailers ("Signed-off-by: …") and mail addresses.
[[nodiscard]] std::string report_of(const std::string& message);

}  // namespace kvboost::bench
