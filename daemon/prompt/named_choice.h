// SPDX-License-Identifier: Apache-2.0
// Takes what the user names: a file whole where it fits, else the chunks of it that fit the question best; of
// a folder, what fits the question best. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/repository.h"
#include "daemon/prompt/span_choice.h"

namespace kvboost::daemon {

struct NamedChoice {
  std::string_view question;
  const std::vector<std::string>& paths;  // files and folders, relative to `directory` or absolute
  const std::filesystem::path& directory;
  std::size_t by_words = 0;  // most tokens of all that is not taken whole
};

/// Whole files come first, in the given order. kInvalidArgument: nothing can be taken; and as resolve_names.
[[nodiscard]] Result<ChosenSpans> choose_named(const NamedChoice& named, Repository& repository,
                                               FileParts& files, const std::stop_token& stop);

}  // namespace kvboost::daemon
