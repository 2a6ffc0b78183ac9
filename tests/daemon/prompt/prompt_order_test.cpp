// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/prompt_order.h"

#include <gtest/gtest.h>

#include <string>

namespace kvboost::daemon {
namespace {

// "a1 b c2": header, the runs a (one chunk with token 1), b, c, then a question. A run is its letter's
// opening and a chunk of its digit; without a digit the digit is 0.
PromptPlan plan_of(const std::string& runs, bool header = true) {
  PromptPlan plan;
  if (header) plan.parts.push_back({.kind = PartKind::kHeader, .tokens = {1, 2}});
  for (std::size_t at = 0; at < runs.size(); ++at) {
    if (runs[at] == ' ') continue;
    const bool digit = at + 1 < runs.size() && runs[at + 1] != ' ';
    plan.parts.push_back({.kind = PartKind::kFile, .path = {runs[at]}, .tokens = {runs[at]}});
    plan.parts.push_back({.kind = PartKind::kFile,
                          .path = {runs[at]},
                          .first_line = 1,
                          .last_line = 9,
                          .tokens = {runs[at], digit ? runs[at + 1] : '0'}});
    if (digit) ++at;
  }
  plan.parts.push_back({.kind = PartKind::kLiteral, .tokens = {3}});
  return plan;
}

std::string order_of(const PromptPlan& plan) {
  std::string order;
  for (const PlanPart& part : plan.parts) {
    if (part.is_opening()) order += part.path;
  }
  return order;
}

std::string ordered(const std::string& runs, const std::string& last) {
  PromptPlan plan = plan_of(runs);
  const PromptPlan before = plan_of(last);
  keep_order(plan, before.parts);
  EXPECT_EQ(plan.parts.front().kind, PartKind::kHeader);
  EXPECT_EQ(plan.parts.back().kind, PartKind::kLiteral);
  EXPECT_EQ(plan.size(), plan_of(runs).size());
  for (std::size_t i = 1; i + 1 < plan.parts.size(); i += 2) {
    EXPECT_TRUE(plan.parts[i].is_opening());
    EXPECT_EQ(plan.parts[i].path, plan.parts[i + 1].path);  // chunks stay behind their opening
  }
  return order_of(plan);
}

TEST(KeepOrder, BeginsAsTheLastPromptDid) {
  EXPECT_EQ(ordered("a b c", "a b c"), "abc");
  EXPECT_EQ(ordered("c b a", "a b c"), "abc");
  EXPECT_EQ(ordered("d b a e", "a b c"), "abde");
  EXPECT_EQ(ordered("d c a", "a b c"), "adc");
}

TEST(KeepOrder, ChangesNothingWhereTheFirstIsGone) {
  EXPECT_EQ(ordered("c b d", "a b c"), "cbd");
  EXPECT_EQ(ordered("c b d", ""), "cbd");
  EXPECT_EQ(ordered("", "a b"), "");
}

TEST(KeepOrder, OtherLinesOfAFileAreAnotherRun) {
  EXPECT_EQ(ordered("b a2", "a1 b"), "ba");
  EXPECT_EQ(ordered("b a1 a2", "a2 a1"), "aab");
}

TEST(KeepOrder, StandsOddConversations) {
  PromptPlan plan = plan_of("b a");
  keep_order(plan, {});
  keep_order(plan, std::vector<PlanPart>(3));
  EXPECT_EQ(order_of(plan), "ba");
  const PromptPlan without_header = plan_of("a b", false);
  keep_order(plan, without_header.parts);
  EXPECT_EQ(order_of(plan), "ab");
  PromptPlan empty;
  keep_order(empty, plan.parts);
  EXPECT_TRUE(empty.parts.empty());
}

}  // namespace
}  // namespace kvboost::daemon
