// SPDX-License-Identifier: Apache-2.0
// Chooses spans by the question's words. Pure function of the repository's state, any thread.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

struct ChosenSpans {
  std::vector<PlanPart> parts;    // by path, the README before all others
  std::vector<LeftOut> left_out;  // named in the question or as much to the point, but too large
};

/// From all files of the repository.
[[nodiscard]] Result<ChosenSpans> choose_spans(const Repository& repository, std::string_view question,
                                               FileParts& files, const std::stop_token& stop);
/// From `paths`, sorted, alone. Some of them are taken even if no word fits.
[[nodiscard]] Result<ChosenSpans> choose_spans_among(const std::vector<std::string>& paths,
                                                     const Repository& repository, std::string_view question,
                                                     FileParts& files, const std::stop_token& stop);

}  // namespace kvboost::daemon
