// SPDX-License-Identifier: Apache-2.0
// Paths, and what requests for text become: parameters of `generate`, and its result in each API's shape.
#include "daemon/http/routes.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "tests/daemon/http/translated.h"

namespace kvboost::daemon {
namespace {

using protocol::GenerateParams;
using protocol::GenerateResult;
using protocol::GenerateStart;
using protocol::GenerateToken;
using protocol::TokenizeParams;
using protocol::TokenizeResult;
using test::json;

const json kChat = {{"messages", json::array({{{"role", "user"}, {"content", "Hi"}}})}};

json with(json body, const json& more) {
  body.update(more);
  return body;
}

GenerateResult result(const std::string& reason) {
  GenerateResult result;
  result.text = "ü\n";
  result.finish_reason = reason;
  result.model = "m";
  result.tokens = {5, 6};
  result.prompt_tokens = 10;
  result.reused_tokens = 4;
  return result;
}

TEST(Routes, APathIsFoundWithItsVerb) {
  EXPECT_TRUE(find_route("GET", "/health?verbose=1"));
  EXPECT_EQ(find_route("GET", "/infill").error().status, 405U);
  EXPECT_EQ(find_route("GET", "/infill").error().allow, "POST");
  EXPECT_EQ(find_route("POST", "/slots").error().status, 501U);
  for (const char* path : {"/", "", "/infill/", "//infill", "/v1", "/v1/models/x"})
    EXPECT_EQ(find_route("POST", path).error().status, 404U) << path;
  for (const char* path : {"/health", "/v1/health"}) EXPECT_TRUE((*find_route("GET", path))->is_open);
  EXPECT_FALSE((*find_route("GET", "/metrics"))->is_open);
}

TEST(Routes, WhatIsNotGivenIsAsConfigured) {
  const auto params = test::params_of<GenerateParams>("/completion", {{"prompt", "a"}});
  EXPECT_EQ(params.text, "a");
  EXPECT_TRUE(params.marks);
  EXPECT_EQ(params.max_tokens, 77);
  EXPECT_EQ(params.temperature, 0.5);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_TRUE(params.reuse);
}

TEST(Routes, LengthsAndSamplingAreUnderstoodAsTheirApisMeanThem) {
  const auto of = [](const json& more) {
    return test::params_of<GenerateParams>("/completion", with({{"prompt", "a"}}, more));
  };
  EXPECT_EQ(of({{"n_predict", -1}}).max_tokens, 1000000);
  EXPECT_EQ(of({{"n_predict", 0}}).max_tokens, 0);
  EXPECT_EQ(of({{"n_predict", 5.0}}).max_tokens, 5);
  EXPECT_EQ(of({{"n_predict", 9}, {"max_tokens", 8}, {"max_completion_tokens", nullptr}}).max_tokens, 8);
  EXPECT_EQ(of({{"n_predict", 18446744073709551615ULL}}).max_tokens, 1000000);
  EXPECT_EQ(of({{"temperature", -1}}).temperature, 0);
  EXPECT_EQ(of({{"top_k", -1}}).top_k, 0);
  EXPECT_EQ(of({{"top_p", 0}}).top_p, 1e-9);
  EXPECT_EQ(of({{"stop", "x"}}).stop, std::vector<std::string>{"x"});
  EXPECT_EQ(of({{"stop", {"x", "y"}}}).stop.size(), 2U);
  EXPECT_FALSE(of({{"cache_prompt", false}}).reuse);
  EXPECT_EQ(of({{"seed", 7}}).seed, 7U);
  EXPECT_EQ(of({{"temperature", 0}, {"seed", -1}}).seed, 0U);
  EXPECT_EQ(of({{"prompt", {1, 2}}}).tokens, (std::vector<std::int32_t>{1, 2}));
}

TEST(Routes, WithoutASeedEachTextIsAnother) {
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 8; ++i)
    seeds.insert(test::params_of<GenerateParams>("/completion", {{"prompt", "a"}}).seed);
  EXPECT_GT(seeds.size(), 1U);
}

TEST(Routes, WhatWouldMisleadIsRefusedAndNothingElse) {
  const std::vector<std::pair<const char*, json>> refused = {{"n", 2},
                                                             {"best_of", 3},
                                                             {"n_probs", 1},
                                                             {"logprobs", true},
                                                             {"grammar", "x"},
                                                             {"json_schema", {{"type", "object"}}},
                                                             {"logit_bias", {{"1", 2}}},
                                                             {"lora", json::array({{{"id", 0}}})},
                                                             {"ignore_eos", true},
                                                             {"response_format", {{"type", "json_object"}}},
                                                             {"tools", json::array({1})},
                                                             {"functions", json::array({1})},
                                                             {"audio", {{"voice", "x"}}}};
  for (const auto& [field, value] : refused)
    EXPECT_EQ(test::refused_field("/v1/chat/completions", with(kChat, {{field, value}})), field);
  const json harmless = {{"n", 1},
                         {"best_of", 1},
                         {"n_probs", 0},
                         {"logprobs", nullptr},
                         {"grammar", ""},
                         {"tools", json::array()},
                         {"logit_bias", json::object()},
                         {"mirostat", 2},
                         {"presence_penalty", 1},
                         {"user", "me"},
                         {"response_format", {{"type", "text"}}},
                         {"unheard_of", {1}}};
  EXPECT_EQ(test::refused_field("/v1/chat/completions", with(kChat, harmless)), "");
  const json unused = {{"tools", json::array({1})}, {"tool_choice", "none"}};
  EXPECT_EQ(test::refused_field("/v1/chat/completions", with(kChat, unused)), "");
  EXPECT_EQ(test::refused_field("/v1/completions", {{"prompt", "a"}, {"suffix", "b"}}), "suffix");
  EXPECT_EQ(test::refused_field("/v1/completions", {{"prompt", "a"}, {"echo", true}}), "echo");
  EXPECT_EQ(test::refused_field("/v1/completions", {{"prompt", {"a", "b"}}}), "prompt");
}

TEST(Routes, MessagesAreTextOfKnownRoles) {
  const json parts = json::array({{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}});
  const json messages = json::array({{{"role", "developer"}, {"content", "s"}},
                                     {{"role", "user"}, {"content", parts}},
                                     {{"role", "assistant"}, {"content", ""}}});
  const auto params = test::params_of<GenerateParams>("/v1/chat/completions", {{"messages", messages}});
  ASSERT_EQ(params.messages.size(), 3U);
  EXPECT_EQ(params.messages[0].role, "system");
  EXPECT_EQ(params.messages[1].content, "ab");
  EXPECT_FALSE(params.marks);
  const json image = json::array({{{"type", "image_url"}, {"image_url", {{"url", "x"}}}}});
  for (const json& wrong :
       {json(), json::array(), json("x"), json::array({1}),
        json::array({{{"role", "tool"}, {"content", "x"}}}), json::array({{{"role", "user"}}}),
        json::array({{{"role", "user"}, {"content", image}}}),
        json::array({{{"role", "user"}, {"content", nullptr}}})})
    EXPECT_TRUE(test::refused_field("/v1/chat/completions", {{"messages", wrong}}).starts_with("messages"))
        << wrong;
}

TEST(Routes, AWholeAnswerInEachShape) {
  const auto llama = test::answer_to(test::exchange_of("/completion", {{"prompt", "a"}, {"stop", "x"}}),
                                     result("stop_string"));
  EXPECT_EQ(llama["content"], "ü\n");
  EXPECT_EQ(llama["stop_type"], "word");
  EXPECT_EQ(llama["stopping_word"], "x");
  EXPECT_EQ(llama["tokens_predicted"], 2);
  EXPECT_EQ(llama["tokens_evaluated"], 10);
  EXPECT_EQ(llama["tokens_cached"], 4);
  EXPECT_EQ(llama["tokens"], json::array());
  const auto text =
      test::answer_to(test::exchange_of("/v1/completions", {{"prompt", {"a"}}}), result("length"));
  EXPECT_EQ(text["object"], "text_completion");
  EXPECT_EQ(text["choices"][0]["text"], "ü\n");
  EXPECT_EQ(text["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(text["usage"]["total_tokens"], 12);
  EXPECT_EQ(text["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
  const auto chat = test::answer_to(test::exchange_of("/v1/chat/completions", kChat), result("end"));
  EXPECT_EQ(chat["object"], "chat.completion");
  EXPECT_EQ(chat["choices"][0]["message"], (json{{"role", "assistant"}, {"content", "ü\n"}}));
  EXPECT_EQ(chat["choices"][0]["finish_reason"], "stop");
  EXPECT_NE(chat["id"],
            test::answer_to(test::exchange_of("/v1/chat/completions", kChat), result("end"))["id"]);
}

TEST(Routes, AChatsStream) {
  const json wants = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};
  const auto exchange = test::exchange_of("/v1/chat/completions", with(kChat, wants));
  EXPECT_TRUE(exchange.stream);
  EXPECT_EQ(exchange.on_notification("generate/start", protocol::encode(GenerateStart{"m", 10})), "")
      << "the head is not sent before it is known that the prompt fits";
  const auto first =
      test::events_of(exchange.on_notification("generate/token", protocol::encode(GenerateToken{"ü"})));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(first[1]["choices"][0]["delta"], (json{{"content", "ü"}}));
  EXPECT_EQ(first[1]["choices"][0]["finish_reason"], nullptr);
  EXPECT_EQ(first[1]["object"], "chat.completion.chunk");
  EXPECT_EQ(first[1]["model"], "m");
  const auto last = test::events_of(exchange.on_result(protocol::encode(result("end")))->body);
  ASSERT_EQ(last.size(), 3U);
  EXPECT_EQ(last[0]["choices"][0]["delta"], json::object());
  EXPECT_EQ(last[0]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(last[0]["id"], first[0]["id"]);
  EXPECT_EQ(last[1]["choices"], json::array());
  EXPECT_EQ(last[1]["usage"]["completion_tokens"], 2);
  EXPECT_EQ(last[2], "[DONE]");
}

TEST(Routes, ATextsStreams) {
  const auto openai = test::exchange_of("/v1/completions", {{"prompt", "a"}, {"stream", true}});
  const auto piece =
      test::events_of(openai.on_notification("generate/token", protocol::encode(GenerateToken{"x"})));
  ASSERT_EQ(piece.size(), 1U);
  EXPECT_EQ(piece[0]["choices"][0]["text"], "x");
  EXPECT_EQ(test::events_of(openai.on_result(protocol::encode(result("end")))->body).back(), "[DONE]");
  const auto llama = test::exchange_of("/completions", {{"prompt", "a"}, {"stream", true}});
  const auto told =
      test::events_of(llama.on_notification("generate/token", protocol::encode(GenerateToken{"x"})));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["content"], "x");
  EXPECT_EQ(told[0]["stop"], false);
  const auto end = test::events_of(llama.on_result(protocol::encode(result("end")))->body);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0]["content"], "");
  EXPECT_EQ(end[0]["stop"], true);
}

TEST(Routes, Tokens) {
  const auto params = test::params_of<TokenizeParams>("/tokenize", {{"content", "a"}, {"add_special", true}});
  EXPECT_EQ(params.text, "a");
  EXPECT_TRUE(params.start && params.marks && !params.pieces);
  const TokenizeResult tokens{.tokens = {1, 2}, .pieces = {"a", "\xC3"}};
  EXPECT_EQ(test::answer_to(test::exchange_of("/tokenize", {{"content", "a"}}), tokens),
            (json{{"tokens", {1, 2}}}));
  const auto pieces =
      test::answer_to(test::exchange_of("/tokenize", {{"content", "a"}, {"with_pieces", true}}), tokens);
  EXPECT_EQ(pieces["tokens"][0], (json{{"id", 1}, {"piece", "a"}}));
  EXPECT_EQ(pieces["tokens"][1], (json{{"id", 2}, {"piece", {0xC3}}}));
  EXPECT_EQ(test::refused_field("/detokenize", {{"tokens", "x"}}), "tokens");
  EXPECT_EQ(test::answer_to(test::exchange_of("/apply-template", kChat),
                            TokenizeResult{.pieces = {"<|im_start|>", "user"}}),
            (json{{"prompt", "<|im_start|>user"}}));
}

TEST(Routes, ErrorsInEachShape) {
  const ApiError error{400, "no", "n"};
  EXPECT_EQ(json::parse(error_body(ApiStyle::kLlama, error)),
            (json{{"error", {{"code", 400}, {"message", "no"}, {"type", "invalid_request_error"}}}}));
  EXPECT_EQ(
      json::parse(error_body(ApiStyle::kOpenAi, error)),
      (json{{"error",
             {{"message", "no"}, {"type", "invalid_request_error"}, {"param", "n"}, {"code", nullptr}}}}));
  EXPECT_EQ(style_of("/v1/nowhere"), ApiStyle::kOpenAi);
  EXPECT_EQ(style_of("/infill"), ApiStyle::kLlama);
  EXPECT_EQ(to_api_error({ErrorCode::kInvalidArgument, "a", "b"}).status, 400U);
  EXPECT_EQ(to_api_error({ErrorCode::kNotFound, "a", ""}).status, 503U);
  EXPECT_EQ(to_api_error({ErrorCode::kInternal, "a", ""}).status, 500U);
}

}  // namespace
}  // namespace kvboost::daemon
