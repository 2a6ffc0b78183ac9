// SPDX-License-Identifier: Apache-2.0
// The merge loop of byte-pair encoding, in O(n log n). Pure, any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/tokenizer/merge_table.h"

namespace kvboost::engine {

/// Merges the word that stands in `ids` from `begin` on, in place: always the neighbours of the lowest rank,
/// the leftmost of equal ones, until none merge. Words of more than 4 million tokens are merged in pieces of
/// that size, which bounds the scratch memory.
void merge_word(const MergeTable& merges, std::vector<TokenId>& ids, std::size_t begin);

}  // namespace kvboost::engine
