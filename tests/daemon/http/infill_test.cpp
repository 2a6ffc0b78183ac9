// SPDX-License-Identifier: Apache-2.0
// POST /infill, as parameters of `complete` and back.
#include <gtest/gtest.h>

#include "tests/daemon/http/translated.h"

namespace kvboost::daemon {
namespace {

using protocol::CompleteParams;
using protocol::CompleteResult;
using test::json;

const json kBody = {{"input_prefix", "int a;\n"}, {"prompt", "int b"}, {"input_suffix", ";\n}\n"}};

json with(json body, const json& more) {
  body.update(more);
  return body;
}

TEST(Infill, ThePiecesAreABuffer) {
  const auto params = test::params_of<CompleteParams>("/infill", kBody);
  EXPECT_EQ(params.text, "int a;\nint b;\n}\n");
  EXPECT_EQ(params.offset, 12);
  EXPECT_EQ(params.path, "");
  EXPECT_FALSE(params.supersede);
  EXPECT_EQ(params.alternatives, 1);
  EXPECT_EQ(params.max_tokens, 0);
  EXPECT_TRUE(params.extra.empty());
}

TEST(Infill, ContextLengthsAndTimesAreHandedOn) {
  const json extra =
      json::array({{{"filename", "b.c"}, {"text", "int f(void);\n"}, {"time", 17}}, {{"text", "x\n"}}});
  const auto params = test::params_of<CompleteParams>(
      "/infill",
      with(kBody, {{"input_extra", extra}, {"n_predict", 128}, {"t_max_predict_ms", 500}, {"n_cmpl", 3}}));
  ASSERT_EQ(params.extra.size(), 2U);
  EXPECT_EQ(params.extra[0].name, "b.c");
  EXPECT_EQ(params.extra[0].text, "int f(void);\n");
  EXPECT_EQ(params.extra[1].name, "");
  EXPECT_EQ(params.max_tokens, 128);
  EXPECT_EQ(params.write_ms, 500);
  EXPECT_EQ(params.alternatives, 3);
}

TEST(Infill, APathBringsTheWorkTree) {
  const auto params = test::params_of<CompleteParams>("/infill", with(kBody, {{"path", "/src/app/a.c"}}));
  EXPECT_EQ(params.path, "/src/app/a.c");
  EXPECT_EQ(params.directory, "/src/app");
  EXPECT_EQ(params.shape, "auto");
  EXPECT_EQ(test::refused_field("/infill", with(kBody, {{"path", "a.c"}})), "path");
}

TEST(Infill, WhatIsNoContextIsRefused) {
  for (const json& extra : {json("text"), json::array({"text"}), json::array({json::object()}),
                            json::array({{{"text", 1}}}), json::object()})
    EXPECT_EQ(test::refused_field("/infill", with(kBody, {{"input_extra", extra}})), "input_extra") << extra;
  EXPECT_EQ(test::refused_field("/infill", with(kBody, {{"input_prefix", 1}})), "input_prefix");
  EXPECT_EQ(test::refused_field("/infill", with(kBody, {{"stream", true}, {"n_cmpl", 2}})), "n_cmpl");
}

CompleteResult result(std::vector<protocol::CompleteHint> hints) {
  CompleteResult result;
  result.hints = std::move(hints);
  result.model = "m";
  result.prompt_tokens = 100;
  result.live_tokens = 60;
  result.loaded_tokens = 20;
  result.written_tokens = 5;
  result.timings.prefill_ms = 10;
  result.timings.suffix_ms = 30;
  result.timings.decode_ms = 50;
  return result;
}

TEST(Infill, AHintIsTheContent) {
  const auto answer = test::answer_to(test::exchange_of("/infill", kBody), result({{" = 1", "line"}}));
  EXPECT_EQ(answer["content"], " = 1");
  EXPECT_EQ(answer["stop_type"], "eos");
  EXPECT_EQ(answer["tokens_cached"], 80);
  EXPECT_EQ(answer["timings"]["prompt_n"], 20);
  EXPECT_EQ(answer["timings"]["prompt_ms"], 40.0);
  EXPECT_EQ(answer["timings"]["prompt_per_second"], 500.0);
  EXPECT_EQ(answer["timings"]["predicted_per_second"], 100.0);
  EXPECT_EQ(answer["truncated"], false);
  EXPECT_EQ(test::answer_to(test::exchange_of("/infill", kBody), result({}))["content"], "");
  EXPECT_EQ(test::answer_to(test::exchange_of("/infill", kBody), result({{"x", "time"}}))["stop_type"],
            "limit");
}

TEST(Infill, AStopStringEndsTheContent) {
  const auto exchange = test::exchange_of("/infill", with(kBody, {{"stop", {"\n", "=", ""}}}));
  const auto answer = test::answer_to(exchange, result({{" = 1\nx", "block"}}));
  EXPECT_EQ(answer["content"], " ");
  EXPECT_EQ(answer["stop_type"], "word");
}

TEST(Infill, ReadingAheadWritesNothing) {
  const json body = with(kBody, {{"n_predict", 0}, {"n_cmpl", 3}, {"response_fields", {""}}});
  EXPECT_EQ(test::params_of<CompleteParams>("/infill", body).max_tokens, 1);
  EXPECT_EQ(test::answer_to(test::exchange_of("/infill", body), result({{"x", "length"}})), json::object());
}

TEST(Infill, ChosenFieldsStandAloneUnderTheirPaths) {
  const json fields = {
      "content", "timings/prompt_n", "tokens_cached", "timings/none", "none/at/all", "content/x", "/"};
  const auto exchange = test::exchange_of("/infill", with(kBody, {{"response_fields", fields}}));
  EXPECT_EQ(test::answer_to(exchange, result({{"y", "line"}})),
            (json{{"content", "y"}, {"timings/prompt_n", 20}, {"tokens_cached", 80}}));
}

TEST(Infill, AlternativesAreAList) {
  const auto exchange = test::exchange_of("/infill", with(kBody, {{"n_cmpl", 3}}));
  const auto answer = test::answer_to(exchange, result({{"a", "line"}, {"b", "length"}}));
  ASSERT_EQ(answer.size(), 2U);
  EXPECT_EQ(answer[1]["content"], "b");
  EXPECT_EQ(answer[1]["index"], 1);
  EXPECT_EQ(answer[1]["stop_type"], "limit");
  EXPECT_EQ(test::answer_to(exchange, result({})).at(0)["content"], "");
}

TEST(Infill, AStreamHasTheHintInOnePiece) {
  const auto exchange = test::exchange_of("/infill", with(kBody, {{"stream", true}}));
  EXPECT_TRUE(exchange.stream);
  const auto answer = exchange.on_result(protocol::encode(result({{" = 1", "line"}})));
  ASSERT_TRUE(answer);
  const auto events = test::events_of(answer->body);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["content"], " = 1");
  EXPECT_EQ(events[0]["stop"], true);
}

}  // namespace
}  // namespace kvboost::daemon
