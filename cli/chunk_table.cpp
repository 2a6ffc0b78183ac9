// SPDX-License-Identifier: Apache-2.0
#include "cli/chunk_table.h"

#include "base/bytes.h"
#include "cli/render.h"

namespace kvboost::cli {

std::string chunk_table(std::span<const protocol::AskChunk> chunks, const Terminal& terminal) {
  if (chunks.empty()) return {};
  Table table({{"chunk"},
               {"lines", true},
               {"tokens", true},
               {"computed", true},
               {"repaired", true},
               {"bytes", true},
               {"time", true},
               {"found"},
               {"because"}});
  for (const protocol::AskChunk& chunk : chunks) {
    const bool lines = chunk.first_line > 0;
    table.add({chunk.path.empty() ? "(prompt)" : chunk.path,
               lines ? std::to_string(chunk.first_line) + "-" + std::to_string(chunk.last_line) : "",
               human_count(chunk.tokens), human_count(chunk.computed), human_count(chunk.repaired),
               human_size(chunk.bytes), milliseconds(chunk.ms), chunk.match, chunk.reason});
  }
  return table.text(terminal) + "\n";
}

}  // namespace kvboost::cli
