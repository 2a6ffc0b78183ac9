// SPDX-License-Identifier: Apache-2.0
// The merge loop against the definition, written out plainly: find the lowest rank, leftmost first, merge,
// repeat.
#include "engine/tokenizer/merger.h"

#include <gtest/gtest.h>

#include <random>

namespace kvboost::engine {
namespace {

std::vector<TokenId> by_definition(const MergeTable& merges, std::vector<TokenId> ids) {
  for (;;) {
    std::size_t best = ids.size();
    const Merge* merge = nullptr;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge* here = merges.find(ids[i], ids[i + 1]);
      if (here == nullptr || (merge != nullptr && here->rank >= merge->rank)) continue;
      merge = here;
      best = i;
    }
    if (merge == nullptr) return ids;
    ids[best] = merge->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

/// Merges over `letters` first tokens, each of any two tokens that exist by then; ranks in no order.
MergeTable random_merges(std::mt19937& random, TokenId letters, TokenId merges) {
  MergeTable table(static_cast<std::size_t>(merges));
  for (TokenId made = letters; made < letters + merges; ++made) {
    std::uniform_int_distribution<TokenId> any(0, made - 1);
    const TokenId left = any(random);
    table.add(left, any(random), {static_cast<std::uint32_t>(random() % 64), made});
  }
  return table;
}

TEST(MergeWord, DoesWhatTheDefinitionSaysForEveryLength) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const MergeTable merges = random_merges(random, 3, 40);
    std::vector<TokenId> word(random() % 150);
    for (TokenId& id : word) id = static_cast<TokenId>(random() % 3);
    std::vector<TokenId> merged = {999};  // what stands before the word stays
    merged.insert(merged.end(), word.begin(), word.end());
    merge_word(merges, merged, 1);
    ASSERT_EQ(merged.front(), 999);
    merged.erase(merged.begin());
    ASSERT_EQ(merged, by_definition(merges, word)) << "round " << round;
  }
}

TEST(MergeWord, LeavesAnEmptyWordEmpty) {
  std::vector<TokenId> ids = {5};
  merge_word(MergeTable(0), ids, 1);
  EXPECT_EQ(ids, std::vector<TokenId>{5});
}

TEST(MergeTable, KeepsTheFirstMergeOfAPair) {
  MergeTable table(2);
  table.add(1, 2, {0, 3});
  table.add(1, 2, {1, 4});
  ASSERT_NE(table.find(1, 2), nullptr);
  EXPECT_EQ(table.find(1, 2)->result, 3);
  EXPECT_EQ(table.find(2, 1), nullptr);
}

}  // namespace
}  // namespace kvboost::engine
