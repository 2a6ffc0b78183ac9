// SPDX-License-Identifier: Apache-2.0
// Structs to JSON and back, and what is said about a wrong field.
#include "daemon/protocol/methods.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace kvboost::protocol {
namespace {

using nlohmann::json;

json ask(const json& changes) {
  json params = {{"directory", "/home/me/work"}, {"question", "why?"}};
  params.update(changes);
  return params;
}

std::string refusal(const json& changes) {
  const auto params = decode<AskParams>(ask(changes));
  if (params) return "accepted";
  EXPECT_EQ(params.error().code, ErrorCode::kInvalidArgument);
  return params.error().message;
}

TEST(Methods, AskParamsRoundTrip) {
  AskParams params;
  params.directory = "/home/me/wörk";
  params.question = "what does `main` do?\n\u2028\"quoted\"";
  params.paths = {"src/a b.cpp", std::string("odd\xff\n"), "-x"};
  params.continue_conversation = true;
  params.max_tokens = 77;
  params.temperature = 0.7;
  params.top_k = 40;
  params.top_p = 0.95;
  params.min_p = 0.05;
  params.seed = std::numeric_limits<std::uint64_t>::max();
  const auto again = decode<AskParams>(json::parse(encode(params).dump()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->directory, params.directory);
  EXPECT_EQ(again->question, params.question);
  EXPECT_EQ(again->paths, params.paths);
  EXPECT_TRUE(again->continue_conversation);
  EXPECT_EQ(again->max_tokens, 77);
  EXPECT_EQ(again->temperature, 0.7);
  EXPECT_EQ(again->top_k, 40);
  EXPECT_EQ(again->top_p, 0.95);
  EXPECT_EQ(again->min_p, 0.05);
  EXPECT_EQ(again->seed, params.seed);
}

TEST(Methods, AbsentAndNullFieldsKeepTheirDefaults) {
  const auto params = decode<AskParams>(ask({{"max_tokens", nullptr}}));
  ASSERT_TRUE(params);
  EXPECT_EQ(params->max_tokens, AskParams().max_tokens);
  EXPECT_EQ(params->top_p, 1.0);
  EXPECT_TRUE(params->paths.empty());
}

TEST(Methods, UnknownFieldsAreIgnored) {
  EXPECT_EQ(refusal({{"from_the_future", {1, 2}}}), "accepted");
}

TEST(Methods, ParamsMayBeLeftOutWhereNothingIsRequired) {
  EXPECT_TRUE(decode<Nothing>(json()));
  EXPECT_TRUE(decode<ShutdownParams>(json()));
  EXPECT_FALSE(decode<AskParams>(json()));
  EXPECT_FALSE(decode<Nothing>(json::array()));
}

TEST(Methods, WrongFieldsAreNamed) {
  EXPECT_EQ(refusal({{"max_tokens", "many"}}),
            "field 'max_tokens': expected an integer from 1 to 1000000, got \"many\"");
  EXPECT_EQ(refusal({{"max_tokens", 0}}), "field 'max_tokens': expected an integer from 1 to 1000000, got 0");
  EXPECT_EQ(refusal({{"max_tokens", 1000001}}),
            "field 'max_tokens': expected an integer from 1 to 1000000, got 1000001");
  EXPECT_EQ(refusal({{"max_tokens", 1.5}}),
            "field 'max_tokens': expected an integer from 1 to 1000000, got 1.5");
  EXPECT_EQ(refusal({{"top_p", 0}}), "field 'top_p': expected a number above 0 to 1, got 0");
  EXPECT_EQ(refusal({{"min_p", 1.1}}), "field 'min_p': expected a number from 0 to 1, got 1.1");
  EXPECT_EQ(refusal({{"temperature", -1}}), "field 'temperature': expected a number from 0 to 10, got -1");
  EXPECT_EQ(refusal({{"top_k", -1}}), "field 'top_k': expected an integer from 0 to 2147483647, got -1");
  EXPECT_EQ(refusal({{"top_k", 4294967297}}),
            "field 'top_k': expected an integer from 0 to 2147483647, got 4294967297");
  EXPECT_NE(refusal({{"seed", -1}}).find("'seed': expected an integer from 0"), std::string::npos);
  EXPECT_EQ(refusal({{"question", 3}}), "field 'question': expected a string, got 3");
  EXPECT_EQ(refusal({{"question", nullptr}}), "field 'question' is missing");
  EXPECT_EQ(refusal({{"continue_conversation", 1}}),
            "field 'continue_conversation': expected true or false, got 1");
  EXPECT_EQ(refusal({{"directory", "work"}}), "field 'directory': expected an absolute path, got \"work\"");
  EXPECT_EQ(refusal({{"paths", "a"}}), "field 'paths': expected an array, got \"a\"");
  EXPECT_NE(refusal({{"paths", {"a", 1}}}).find("field 'paths[1]': expected a path"), std::string::npos);
  EXPECT_NE(refusal({{"paths", {json(std::string("a\0b", 3))}}}).find("without NUL"), std::string::npos);
  EXPECT_EQ(refusal({{"paths", std::string(5000, 'x')}}), "field 'paths': expected an array, got a string");
}

TEST(Methods, NestedFieldsAreNamedByTheirWholeWay) {
  json result = encode(AskResult());
  result["files"] = {{{"path", "a"}}, {{"path", "b"}, {"tokens", "x"}}};
  const auto bad = decode<AskResult>(result);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "field 'files[1].tokens': expected an integer from 0 to 2147483647, got \"x\"");
}

TEST(Methods, AskResultRoundTrip) {
  AskResult result;
  result.text = "because";
  result.finish_reason = "end";
  result.root = std::string("/r\xfe");
  result.files = {{.path = "a.cpp",
                   .first_line = 1,
                   .last_line = 9,
                   .whole_file = true,
                   .tokens = 80,
                   .reused = 7,
                   .score = 1.25}};
  result.left_out = {{"b.cpp", "does not fit"}};
  result.timings.first_token_ms = 12.5;
  const auto again = decode<AskResult>(encode(result));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->text, "because");
  EXPECT_EQ(again->root, result.root);
  ASSERT_EQ(again->files.size(), 1U);
  EXPECT_EQ(again->files[0].last_line, 9);
  EXPECT_TRUE(again->files[0].whole_file);
  EXPECT_EQ(again->files[0].score, 1.25);
  EXPECT_EQ(again->left_out[0].reason, "does not fit");
  EXPECT_EQ(again->timings.first_token_ms, 12.5);
}

TEST(Methods, NumbersThatJsonCannotSayBecomeTheDefault) {
  AskTimings timings;
  timings.tokens_per_second = std::numeric_limits<double>::quiet_NaN();
  const auto again = decode<AskTimings>(json::parse(encode(timings).dump()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->tokens_per_second, 0);
}

TEST(Methods, WarmAndEvictRefuseWhatMeansNothing) {
  const auto refused = [](const auto& params) { return params ? std::string() : params.error().message; };
  EXPECT_EQ(refused(decode<WarmParams>({{"directory", "/w"}, {"since", "HEAD~3"}})), "");
  EXPECT_EQ(refused(decode<WarmParams>({{"directory", "w"}})),
            "field 'directory': expected an absolute path, got \"w\"");
  EXPECT_EQ(refused(decode<CacheEvictParams>(json::object())), "");
  EXPECT_EQ(refused(decode<CacheEvictParams>({{"older_than_s", -1}})),
            "field 'older_than_s': expected a number from 0, got -1");
  EXPECT_EQ(refused(decode<CacheEvictParams>({{"directory", "w"}})),
            "field 'directory': expected an absolute path, got \"w\"");
  EXPECT_EQ(refused(decode<CachePinParams>({{"directory", "/w"}})), "field 'path' is missing");
}

TEST(Methods, StatusCarriesTheTiersAndWhatIsWarmed) {
  StatusResult status;
  status.tiers.emplace_back().name = "disk";
  status.tiers.front().limit = std::numeric_limits<std::uint64_t>::max();
  status.reuse = {1, 2, 3};
  status.warming.root = "/r\xfe";
  const auto again = decode<StatusResult>(json::parse(encode(status).dump()));
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->tiers.size(), 1U);
  EXPECT_EQ(again->tiers[0].limit, status.tiers[0].limit);
  EXPECT_EQ(again->reuse.approximate, 2);
  EXPECT_EQ(again->warming.root, status.warming.root);
}

TEST(Methods, MapsAndListsOfModels) {
  ModelInfoResult info;
  info.entry.path = "/m/x.gguf";
  info.entry.bytes = 98'362'432;
  info.details = {{"layers", "30"}, {"width", "576"}};
  const auto again = decode<ModelInfoResult>(encode(info));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->entry.bytes, info.entry.bytes);
  EXPECT_EQ(again->details, info.details);
  const auto bad = decode<ModelInfoResult>({{"details", {{"layers", 30}}}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "field 'details.layers': expected a string, got 30");
}

}  // namespace
}  // namespace kvboost::protocol
