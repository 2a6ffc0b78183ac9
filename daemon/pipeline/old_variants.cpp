// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/old_variants.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"

namespace kvboost::daemon {

void drop_old_variants(cache::TieredStore& store, const ContentKeys& contents) {
  std::unordered_map<Digest, Digest, DigestHash> content_of;  // by prefix key
  for (const Digest& content : contents) {
    const auto prefixes = store.prefixes_of(content).value_or(std::vector<Digest>());
    if (prefixes.size() < 3) continue;  // one that is wanted, and the latest of the others
    for (const Digest& prefix : prefixes) content_of.emplace(prefix, content);
  }
  if (content_of.empty()) return;
  struct Latest {
    Digest prefix;
    std::int64_t last_use = 0;
  };
  std::unordered_map<Digest, Latest, DigestHash> latest;  // by content key
  const auto is_old = [&](const Digest& prefix, const cache::EvictionOrder::Entry& entry) {
    return content_of.contains(prefix) && !entry.referenced && !entry.pinned;
  };
  store.for_each([&](const Digest& prefix, const cache::TieredStore::Item& item) {
    if (!is_old(prefix, item.entry)) return;
    Latest& one = latest[content_of[prefix]];
    if (item.entry.last_use >= one.last_use) one = {prefix, item.entry.last_use};
  });
  const auto removed = store.remove_if(
      [&](const Digest& prefix, const cache::TieredStore::Item& item) {
        return is_old(prefix, item.entry) && latest[content_of[prefix]].prefix != prefix;
      },
      false);
  if (!removed) log::debug("old variants of blocks are kept: {}", removed.error().text());
}

}  // namespace kvboost::daemon
