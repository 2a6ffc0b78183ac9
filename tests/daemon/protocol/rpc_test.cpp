// SPDX-License-Identifier: Apache-2.0
// JSON-RPC messages: what is read, what is refused and how.
#include "daemon/protocol/rpc.h"

#include <gtest/gtest.h>

#include <string>

#include "daemon/protocol/path_text.h"

namespace kvboost::protocol {
namespace {

using nlohmann::json;

ParseFailure refusal(std::string_view line) {
  auto message = parse_message(line);
  EXPECT_FALSE(message) << line;
  return message ? ParseFailure{} : message.error();
}

TEST(Rpc, Request) {
  const auto message = parse_message(R"({"jsonrpc":"2.0","id":7,"method":"status","params":{"a":1}})");
  ASSERT_TRUE(message);
  const auto& request = std::get<Request>(*message);
  EXPECT_EQ(request.id, Id(7));
  EXPECT_EQ(request.method, "status");
  EXPECT_EQ(request.params, json({{"a", 1}}));
}

TEST(Rpc, TextIdsAndNoParams) {
  const auto message = parse_message(R"({"jsonrpc":"2.0","id":"x-1","method":"status"})");
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<Request>(*message).id, Id("x-1"));
  EXPECT_TRUE(std::get<Request>(*message).params.is_null());
}

TEST(Rpc, NotificationAndResponses) {
  EXPECT_TRUE(std::holds_alternative<Notification>(
      *parse_message(R"({"jsonrpc":"2.0","method":"$/cancelRequest"})")));
  const auto result = parse_message(R"({"jsonrpc":"2.0","id":1,"result":null})");
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::get<Response>(*result).result.has_value());
  const auto error = parse_message(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no","data":{"code":"not_found","remedy":"add it"}}})");
  ASSERT_TRUE(error);
  const Error back = to_error(std::get<Response>(*error).result.error());
  EXPECT_EQ(back.code, ErrorCode::kNotFound);
  EXPECT_EQ(back.message, "no");
  EXPECT_EQ(back.remedy, "add it");
}

TEST(Rpc, WhatIsNoMessage) {
  EXPECT_EQ(refusal("").error.code, kParseError);
  EXPECT_EQ(refusal("{").error.code, kParseError);
  EXPECT_EQ(refusal("{\"a\":\"\xff\"}").error.code, kParseError) << "ill-formed UTF-8";
  EXPECT_EQ(refusal("{\"a\":\"\\ud800\"}").error.code, kParseError) << "a lone surrogate";
  EXPECT_EQ(refusal("{\"a\":1e999}").error.code, kParseError);
  EXPECT_EQ(refusal("3").error.code, kInvalidRequest);
  EXPECT_EQ(refusal("[]").error.code, kInvalidRequest);
  EXPECT_EQ(refusal("{}").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"1.0","id":1,"method":"x"})").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1})").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":3})").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}})").error.code, kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"error":"x"})").error.code, kInvalidRequest);
}

TEST(Rpc, IdsThatCannotBeEchoedAreRefused) {
  for (const char* id : {"1.5", "null", "true", "{}", "18446744073709551615"}) {
    const auto failure = refusal(std::string(R"({"jsonrpc":"2.0","method":"x","id":)") + id + "}");
    EXPECT_EQ(failure.error.code, kInvalidRequest) << id;
    EXPECT_FALSE(failure.id) << id;
  }
}

TEST(Rpc, AFailureKeepsTheIdThatCouldBeRead) {
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":9,"method":3})").id, Id(9));
}

TEST(Rpc, DeepNestingIsRefusedBeforeItIsParsed) {
  const auto nested = [](int depth) {
    return R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"a":)" + std::string(depth - 2, '[') +
           std::string(depth - 2, ']') + "}}";
  };
  EXPECT_TRUE(parse_message(nested(kMaxDepth)));
  EXPECT_EQ(refusal(nested(kMaxDepth + 1)).error.code, kInvalidRequest);
  EXPECT_EQ(refusal(std::string(1'000'000, '[')).error.code, kInvalidRequest);
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","id":1,"method":"\"[[[[[","params":{"a":")" +
                            std::string(500, '[') + "\"}}"))
      << "brackets in strings are text";
}

TEST(Rpc, EveryCodeGoesThereAndBack) {
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt,
                               ErrorCode::kIo, ErrorCode::kBusy, ErrorCode::kCancelled, ErrorCode::kModel,
                               ErrorCode::kProtocol, ErrorCode::kInternal}) {
    RpcError error = to_rpc_error({code, "m", "r"});
    EXPECT_EQ(to_error(error).code, code);
    error.kind.clear();
    EXPECT_EQ(to_error(error).code, code) << "by the number alone";
    EXPECT_LE(error.code, -32001);
    EXPECT_GE(error.code, -32700);
  }
  EXPECT_EQ(to_error({kMethodNotFound, "", "", ""}).code, ErrorCode::kProtocol);
  EXPECT_EQ(to_error({12345, "", "not_found", ""}).code, ErrorCode::kNotFound);
}

TEST(Rpc, SerialisedMessagesAreOneLineAndReadBack) {
  const std::string line = serialise(Request{Id("a\nb"), "ask", {{"question", "x\r\ny"}}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto message = parse_message(line);
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<Request>(*message).id, Id("a\nb"));
  EXPECT_EQ(std::get<Request>(*message).params["question"], "x\r\ny");
}

TEST(Rpc, LinesFromTextReadBackAsTheSameMessages) {
  const auto result = parse_message(result_line(Id("a\"b"), R"({"x":1})"));
  ASSERT_TRUE(result);
  EXPECT_EQ(std::get<Response>(*result).id, Id("a\"b"));
  EXPECT_EQ(std::get<Response>(*result).result.value(), json({{"x", 1}}));
  for (const char* params : {"{}", R"({"text":"}"})"}) {
    const auto message = parse_message(notification_line("ask/token", Id(5), params));
    ASSERT_TRUE(message) << params;
    const auto& notification = std::get<Notification>(*message);
    EXPECT_EQ(notification.method, "ask/token");
    json expected = json::parse(params);
    expected["id"] = 5;
    EXPECT_EQ(notification.params, expected);
  }
}

TEST(Rpc, TextThatIsNotUtf8IsSentReplaced) {
  const std::string line = serialise(
      Response{Id(1), std::unexpected(to_rpc_error({ErrorCode::kIo, "cannot open \xff.gguf", "\xc3"}))});
  EXPECT_TRUE(is_utf8(line));
  EXPECT_TRUE(parse_message(line));
}

}  // namespace
}  // namespace kvboost::protocol
