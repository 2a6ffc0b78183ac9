// SPDX-License-Identifier: Apache-2.0
// PROTOCOL.md says what the code does: each of its examples is read by the real parser and the real structs,
// and written again it is the same; no field, method or error code is missing.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/protocol/methods.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::protocol {
namespace {

using nlohmann::json;

struct Example {
  bool to_daemon;
  std::string line;
};

std::string document() {
  std::ifstream file(KVBOOST_PROTOCOL_MD);
  EXPECT_TRUE(file) << KVBOOST_PROTOCOL_MD;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Example> examples() {
  constexpr std::string_view kTo = "→ ";
  constexpr std::string_view kFrom = "← ";
  std::vector<Example> found;
  std::ifstream file(KVBOOST_PROTOCOL_MD);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kTo)) found.push_back({true, line.substr(kTo.size())});
    if (line.starts_with(kFrom)) found.push_back({false, line.substr(kFrom.size())});
  }
  return found;
}

/// Reads `value` as a T and writes it again; with all fields that T has.
template <class T>
json again(const json& value) {
  const auto read = decode<T>(value);
  EXPECT_TRUE(read) << value << ": " << (read ? "" : read.error().message);
  return read ? encode(*read) : json();
}

using Rewrite = std::function<json(const json&)>;
struct Method {
  Rewrite params;
  Rewrite result;
};

const std::map<std::string, Method>& methods() {
  static const std::map<std::string, Method> kMethods = {
      {"initialize", {again<InitializeParams>, again<InitializeResult>}},
      {"ask", {again<AskParams>, again<AskResult>}},
      {"locate", {again<LocateParams>, again<LocateResult>}},
      {"search", {again<SearchParams>, again<SearchResult>}},
      {"complete", {again<CompleteParams>, again<CompleteResult>}},
      {"generate", {again<GenerateParams>, again<GenerateResult>}},
      {"tokenize", {again<TokenizeParams>, again<TokenizeResult>}},
      {"detokenize", {again<DetokenizeParams>, again<DetokenizeResult>}},
      {"status", {again<Nothing>, again<StatusResult>}},
      {"model/list", {again<Nothing>, again<ModelListResult>}},
      {"model/info", {again<ModelInfoParams>, again<ModelInfoResult>}},
      {"model/add", {again<ModelAddParams>, again<ModelInfoResult>}},
      {"model/use", {again<ModelUseParams>, again<ModelInfoResult>}},
      {"model/check", {again<ModelCheckParams>, again<ModelCheckResult>}},
      {"warm", {again<WarmParams>, again<WarmResult>}},
      {"skipped", {again<SkippedParams>, again<SkippedResult>}},
      {"cache/stats", {again<Nothing>, again<CacheStatsResult>}},
      {"cache/inspect", {again<CacheInspectParams>, again<CacheInspectResult>}},
      {"cache/evict", {again<CacheEvictParams>, again<CacheEvictResult>}},
      {"cache/clear", {again<CacheClearParams>, again<CacheEvictResult>}},
      {"cache/verify", {again<Nothing>, again<CacheVerifyResult>}},
      {"cache/pin", {again<CachePinParams>, again<CachePinResult>}},
      {"doctor", {again<Nothing>, again<DoctorResult>}},
      {"shutdown", {again<ShutdownParams>, again<Nothing>}},
  };
  return kMethods;
}

const std::map<std::string, Rewrite>& notifications() {
  static const std::map<std::string, Rewrite> kNotifications = {
      {"ask/progress", again<AskProgress>},       {"ask/token", again<AskToken>},
      {"check/progress", again<CheckProgress>},   {"warm/progress", again<WarmProgress>},
      {"cache/progress", again<CacheProgress>},   {"locate/progress", again<LocateProgress>},
      {"locate/ranking", again<LocateRanking>},   {"complete/token", again<CompleteToken>},
      {"search/progress", again<SearchProgress>}, {"generate/start", again<GenerateStart>},
      {"generate/token", again<GenerateToken>},
  };
  return kNotifications;
}

TEST(Document, EveryExampleIsWhatTheCodeReadsAndWrites) {
  std::map<Id, std::string> asked;
  std::set<std::string> shown;
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.line);
    const auto message = parse_message(example.line);
    ASSERT_TRUE(message) << message.error().error.message;
    EXPECT_EQ(json::parse(serialise(*message)), json::parse(example.line));
    if (const auto* request = std::get_if<Request>(&*message)) {
      EXPECT_TRUE(example.to_daemon);
      ASSERT_TRUE(methods().contains(request->method));
      const json params = request->params.is_null() ? json::object() : request->params;
      EXPECT_EQ(methods().at(request->method).params(params), params);
      asked[request->id] = request->method;
    } else if (const auto* response = std::get_if<Response>(&*message)) {
      EXPECT_FALSE(example.to_daemon);
      ASSERT_TRUE(response->id && asked.contains(*response->id)) << "answers nothing that was asked";
      const std::string& method = asked.at(*response->id);
      if (!response->result) continue;
      EXPECT_EQ(methods().at(method).result(*response->result), *response->result);
      shown.insert(method);
    } else {
      const auto& notification = std::get<Notification>(*message);
      if (notification.method == "$/cancelRequest") continue;
      ASSERT_TRUE(notifications().contains(notification.method));
      json params = notification.params;
      EXPECT_EQ(params.erase("id"), 1U);
      EXPECT_EQ(notifications().at(notification.method)(params), params);
      shown.insert(notification.method);
    }
  }
  for (const auto& [name, method] : methods()) {
    EXPECT_TRUE(shown.contains(name) || name == "model/use") << name << " has no example with a result";
  }
  for (const auto& [name, notification] : notifications()) EXPECT_TRUE(shown.contains(name)) << name;
}

TEST(Document, EveryErrorCodeIsListed) {
  const std::string text = document();
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const RpcError error = to_rpc_error({static_cast<ErrorCode>(code), "", ""});
    const std::string row = "| " + std::to_string(error.code) + " | `" + error.kind + "` |";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
  for (const int code : {kParseError, kInvalidRequest, kMethodNotFound}) {
    EXPECT_NE(text.find("| " + std::to_string(code) + " | `protocol` |"), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace kvboost::protocol
