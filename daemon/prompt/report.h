// SPDX-License-Identifier: Apache-2.0
// What a bug report gives to look for: its words, the telling ones with more weight, the files and lines that
// it names (stack traces, compilers' messages), and its text without what only the form was made of. Plain
// values and a pure function, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/rank/bm25.h"

namespace kvboost::daemon {

/// A file as a report names it, which need not be one of the repository.
struct NamedPlace {
  std::string path;       // with '/' between its parts
  std::int32_t line = 0;  // 0: none was named
};

struct Report {
  std::string text;  // what the reporter wrote: without headings of the form, boxes to tick, comments
  std::vector<cache::QueryPart> query;
  std::vector<NamedPlace> places;  // each once, in their order
};

[[nodiscard]] Report read_report(std::string_view text);

}  // namespace kvboost::daemon
