// SPDX-License-Identifier: Apache-2.0
// What of other files a completion is given to go by: the places where the user was lately, as the editor
// tells them, then the spans that have most of the words around the cursor, those of imported files before
// others. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/prompt/edit_buffer.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

/// A place that was edited or looked at; the path is relative to the work tree.
struct VisitedPlace {
  std::string path;
  std::int32_t line = 1;
  bool operator==(const VisitedPlace&) const = default;
};

/// Takes into `files` what is related, as far as it has room, and gives it in the order of the paths, so that
/// the next choice begins alike. `path` itself is never among it. The latest place comes first.
[[nodiscard]] std::vector<PlanPart> related_parts(const Repository& repository, const EditBuffer& buffer,
                                                  const std::string& path,
                                                  std::span<const VisitedPlace> visited, FileParts& files,
                                                  const std::stop_token& stop);

/// Words on lines that import something: the last parts of names and paths ("a/b.h" gives b).
[[nodiscard]] std::vector<std::string> imported_names(std::string_view text);

}  // namespace kvboost::daemon
