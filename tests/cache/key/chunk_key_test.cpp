// SPDX-License-Identifier: Apache-2.0
#include "cache/key/chunk_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvboost::cache {
namespace {

using Ids = std::vector<std::int32_t>;

const Digest kModel = sha256("a model");
const Digest kContext = key_context(kModel, Ids{1, 2, 3});

TEST(KeyContext, CoversModelAndHeader) {
  EXPECT_EQ(kContext, key_context(kModel, Ids{1, 2, 3}));
  EXPECT_NE(kContext, key_context(sha256("another model"), Ids{1, 2, 3}));
  EXPECT_NE(kContext, key_context(kModel, Ids{1, 2}));
}

TEST(KeyChain, SameTokensBehindTheSameTokensHaveTheSameKey) {
  KeyChain one(kContext), other(kContext);
  EXPECT_EQ(one.next(Ids{4, 5}), other.next(Ids{4, 5}));
  EXPECT_EQ(one.next(Ids{6}), other.next(Ids{6}));
}

TEST(KeyChain, ContentIsFoundBehindAnotherLeftContextAndPrefixIsNot) {
  KeyChain one(kContext), other(kContext);
  (void)one.next(Ids{4, 5});
  (void)other.next(Ids{4, 7});
  const ChunkKey a = one.next(Ids{6}), b = other.next(Ids{6});
  EXPECT_EQ(a.content, b.content);
  EXPECT_NE(a.prefix, b.prefix);
}

// The same tokens cut elsewhere are other chunks: their KV is the same, but no block holds just these.
TEST(KeyChain, CutsBelongToTheKey) {
  KeyChain one(kContext), other(kContext);
  (void)one.next(Ids{4});
  (void)other.next(Ids{4, 5});
  EXPECT_NE(one.next(Ids{5, 6}), other.next(Ids{6}));
}

TEST(KeyChain, AnotherModelSharesNothing) {
  KeyChain one(kContext), other(key_context(sha256("another model"), Ids{1, 2, 3}));
  const ChunkKey a = one.next(Ids{4}), b = other.next(Ids{4});
  EXPECT_NE(a.content, b.content);
  EXPECT_NE(a.prefix, b.prefix);
}

// Keys name what is on disk: another build must come to the same ones.
TEST(KeyChain, KeysStayWhatTheyWere) {
  KeyChain chain(key_context(Digest{}, Ids{0}));
  const ChunkKey key = chain.next(Ids{0, 1, -1, 2147483647});
  EXPECT_EQ(key.content.hex(), "8031820f58598dc483c50bd115759565ad1b0b3c2438e9aef53dda49aa8cc179");
  EXPECT_EQ(key.prefix.hex(), "7b31346e64f9336daf9f795b25f58f105d318715aece5eb99ddd1a317a322dd3");
}

}  // namespace
}  // namespace kvboost::cache
