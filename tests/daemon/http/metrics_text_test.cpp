// SPDX-License-Identifier: Apache-2.0
// The text format of Prometheus: what its own checker asks for.
#include "daemon/http/metrics_text.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace kvboost::daemon {
namespace {

protocol::StatusResult status() {
  protocol::StatusResult status;
  status.version = "0.1.0";
  status.build = "a \"quoted\\ build\nof two lines";
  status.uptime_s = 0.1;
  status.requests = 12;
  status.tiers = {{.name = "memory", .records = 3, .hits = 5},
                  {.name = "disk", .limit = 18446744073709551615ULL}};
  return status;
}

TEST(Metrics, EachFamilyHasItsHelpAndTypeAndNothingBetweenItsSamples) {
  static const std::regex kHelp(R"(# HELP ([a-z][a-z0-9_]*) [A-Z].*\.)");
  static const std::regex kType(R"(# TYPE ([a-z][a-z0-9_]*) (counter|gauge))");
  static const std::regex kSample(
      R"re(([a-z][a-z0-9_]*)(\{[a-z]+="([^"\\]|\\[\\"n])*"(,[a-z]+="([^"\\]|\\[\\"n])*")*\})? -?[0-9.e+-]+)re");
  const std::string text = metrics_text(status());
  EXPECT_TRUE(text.ends_with('\n'));
  std::istringstream lines(text);
  std::set<std::string> families, samples;
  std::string family, type;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      family = match[1];
      EXPECT_TRUE(families.insert(family).second) << family << " stands twice";
      EXPECT_TRUE(family.starts_with("kvboost_"));
      ASSERT_TRUE(std::getline(lines, line));
      ASSERT_TRUE(std::regex_match(line, match, kType)) << line;
      EXPECT_EQ(match[1], family);
      EXPECT_EQ(match[2] == "counter", family.ends_with("_total")) << family;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
      EXPECT_EQ(match[1], family);
      EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 20U);
}

TEST(Metrics, ValuesAndLabelsAreWholeAndEscaped) {
  const std::string text = metrics_text(status());
  for (const char* line :
       {"\nkvboost_requests_total 12\n", "\nkvboost_tier_hits_total{tier=\"memory\"} 5\n",
        "\nkvboost_tier_limit_bytes{tier=\"disk\"} 18446744073709551615\n",
        "\nkvboost_uptime_seconds 0.1000000000000000",
        "\nkvboost_build_info{version=\"0.1.0\",build=\"a \\\"quoted\\\\ build\\nof two lines\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace kvboost::daemon
