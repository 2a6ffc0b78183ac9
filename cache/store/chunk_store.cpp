// SPDX-License-Identifier: Apache-2.0
#include "cache/store/chunk_store.h"

namespace kvboost::cache {

std::optional<RecordInfo> decode(const RecordRef& record, std::vector<std::uint16_t>& block) {
  const RecordInfo& info = record.info();
  if (!codecs_of(info.shape, record.payload())) return std::nullopt;
  block.resize(info.shape.elements());
  if (!decode_block(info.shape, record.payload(), block)) return std::nullopt;
  return info;
}

Result<std::optional<RecordInfo>> ChunkStore::load(const Digest& prefix_key,
                                                   std::vector<std::uint16_t>& block) {
  auto found = get(prefix_key);
  if (!found) return fail(found.error());
  if (!*found) return std::nullopt;
  return decode(**found, block);
}

}  // namespace kvboost::cache
