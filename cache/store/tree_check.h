// SPDX-License-Identifier: Apache-2.0
// Tree check: whether LMDB may be let near a file. LMDB believes every page that it reads and follows what it
// finds there with plain memory copies, so one damaged page header is a crash, or worse. This reads each page
// of each tree by itself, with bounds, and compares what the trees say of each other. Records are not read
// (they have checksums). lmdb_page.h has the grammar. Milliseconds for thousands of pages. Pure but for the
// file, any thread; nobody may be writing to it.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace kvboost::cache {

/// kCorrupt with what is wrong; kIo when it cannot be read. One that is absent or empty is fine.
[[nodiscard]] Result<void> check_trees(const std::filesystem::path& file);

}  // namespace kvboost::cache
