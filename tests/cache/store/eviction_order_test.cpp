// SPDX-License-Identifier: Apache-2.0
#include "cache/store/eviction_order.h"

#include <gtest/gtest.h>

#include "tests/cache/store/store_fixture.h"

namespace kvboost::cache {
namespace {

EvictionOrder::Entry entry(float importance = 1, float rebuild_ms = 1) {
  EvictionOrder::Entry entry;
  entry.bytes = 100;
  entry.importance = importance;
  entry.rebuild_ms = rebuild_ms;
  return entry;
}

std::vector<int> drain(EvictionOrder& order, int count) {
  std::vector<int> gone;
  while (const auto victim = order.victim()) {
    for (int i = 0; i < count; ++i) {
      if (prefix_key(i) == *victim) gone.push_back(i);
    }
    order.evicted(*victim);
  }
  return gone;
}

TEST(EvictionOrder, IsLruAmongEquals) {
  EvictionOrder order;
  for (int i = 0; i < 4; ++i) order.insert(prefix_key(i), entry());
  order.touch(prefix_key(0));
  EXPECT_EQ(drain(order, 4), (std::vector{1, 2, 3, 0}));
  EXPECT_EQ(order.bytes(), 0U);
}

TEST(EvictionOrder, UnreferencedGoFirst) {
  EvictionOrder order;
  for (int i = 0; i < 4; ++i) order.insert(prefix_key(i), entry(i == 3 ? 100.0F : 1.0F));
  order.set_referenced(prefix_key(3), false);
  EXPECT_EQ(*order.victim(), prefix_key(3));
  order.set_referenced(prefix_key(3), true);
  EXPECT_EQ(*order.victim(), prefix_key(0));
}

TEST(EvictionOrder, PinnedOnesNeverGo) {
  EvictionOrder order;
  order.set_pinned(prefix_key(3), true);  // before it comes
  for (int i = 0; i < 4; ++i) order.insert(prefix_key(i), entry());
  order.set_pinned(prefix_key(0), true);
  order.touch(prefix_key(0));
  order.set_referenced(prefix_key(0), false);
  EXPECT_EQ(order.pinned_bytes(), 200U);
  EXPECT_EQ(order.victims(150), (std::vector{prefix_key(1), prefix_key(2)}));
  EXPECT_EQ(order.victims(1000).size(), 2U);
  order.set_pinned(prefix_key(0), false);
  EXPECT_EQ(drain(order, 4), (std::vector{0, 1, 2}));
  EXPECT_EQ(order.bytes(), 100U);
  order.erase(prefix_key(3));
  EXPECT_EQ(order.pinned_bytes(), 0U);
}

TEST(EvictionOrder, WeightyOnesStayButNotForEver) {
  EvictionOrder order;
  order.insert(prefix_key(0), entry(1));
  order.insert(prefix_key(1), entry(1));
  order.insert(prefix_key(2), entry(8));
  EXPECT_EQ(*order.victim(), prefix_key(0));
  // A stream of average ones used once each: in the end the weighty one, never used again, goes too.
  int rounds = 0;
  for (int i = 10; order.find(prefix_key(2)) != nullptr && rounds < 1000; ++i, ++rounds) {
    order.insert(prefix_key(i), entry(1));
    order.evicted(*order.victim());
  }
  EXPECT_GT(rounds, 3);
  EXPECT_LT(rounds, 1000);
}

TEST(EvictionOrder, AfterARestartNewOnesDoNotRankBelowAllOldOnes) {
  EvictionOrder old;
  for (int i = 0; i < 50; ++i) {
    old.insert(prefix_key(i), entry());
    if (i >= 10) old.evicted(*old.victim());
  }
  EvictionOrder order;
  for (int i = 40; i < 50; ++i) order.insert(prefix_key(i), *old.find(prefix_key(i)));
  order.restore_floor();
  order.insert(prefix_key(99), entry());
  EXPECT_EQ(*order.victim(), prefix_key(40));
}

TEST(EvictionOrder, SparesWhatIsInUse) {
  EvictionOrder order;
  for (int i = 0; i < 3; ++i) order.insert(prefix_key(i), entry());
  EXPECT_EQ(*order.victim([](const Digest& key) { return key == prefix_key(0); }), prefix_key(1));
  EXPECT_FALSE(order.victim([](const Digest&) { return true; }).has_value());
}

TEST(EvictionOrder, NumbersFromADamagedFileDoNoHarm) {
  EvictionOrder order;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (int i = 0; const float bad : {nan, infinity, -infinity, -1.0F, 0.0F, 1.0F}) {
    order.insert(prefix_key(i), entry(bad, bad));
    order.touch(prefix_key(i++));
  }
  EXPECT_EQ(drain(order, 6).size(), 6U);
}

}  // namespace
}  // namespace kvboost::cache
