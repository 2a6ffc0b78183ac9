// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace kvboost::cli {
namespace {

using nlohmann::json;
using protocol::Request;
using protocol::RpcError;

// Of those that shake hands, the newest last; then the one that does not.
constexpr std::array<const char*, 4> kHandshakeVersions = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                           "2025-11-25"};
constexpr const char* kModernVersion = "2026-07-28";

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";

constexpr int kInvalidParams = -32602;
constexpr int kUnsupportedVersion = -32022;
constexpr std::size_t kMostCalls = 16;
constexpr int kListKeeps_ms = 3'600'000;  // the tools are always the same

json supported_versions() {
  json versions = kHandshakeVersions;
  versions.push_back(kModernVersion);
  return versions;
}

/// The member of an object, or null.
json member(const json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found == object.end() ? json() : *found;
}

/// The version that the request names itself, or null.
json own_version(const Request& request) {
  return member(member(request.params, "_meta"), kVersionKey);
}

RpcError rpc_error(int code, std::string message) {
  return {code, std::move(message), "", ""};
}

std::string version_error(const protocol::Id& id, const json& requested) {
  const json data = {{"supported", supported_versions()}, {"requested", requested}};
  const json error = {
      {"code", kUnsupportedVersion}, {"message", "this protocol version is not supported"}, {"data", data}};
  return json{{"jsonrpc", "2.0"}, {"id", protocol::encode_id(id)}, {"error", error}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

json text_block(std::string text) {
  return json::array({{{"type", "text"}, {"text", std::move(text)}}});
}

/// What went wrong, for the model that called: it may know better the next time.
json failed_call(const Error& error) {
  return {{"content", text_block(error.remedy.empty() ? error.message : error.message + "\n" + error.remedy)},
          {"isError", true}};
}

json done_call(const std::string& result) {
  return {{"content", text_block(result)}, {"structuredContent", json::parse(result)}, {"isError", false}};
}

json capabilities() {
  return {{"tools", {{"listChanged", false}}}};
}

json server_info(const std::string& version) {
  return {{"name", "kvboost"}, {"title", "kvboost"}, {"version", version}};
}

/// An argument that the tool does not have is a mistake that a model should hear of.
Result<void> check_arguments(const McpTool& tool, const json& arguments) {
  if (!arguments.is_object()) return fail(ErrorCode::kInvalidArgument, "arguments: expected an object");
  const json schema = json::parse(tool.input_schema);
  const json& properties = schema.at("properties");
  std::string names;
  for (const auto& [name, property] : properties.items()) names += (names.empty() ? "" : ", ") + name;
  for (const auto& [name, value] : arguments.items()) {
    if (!properties.contains(name)) {
      return fail(ErrorCode::kInvalidArgument, "there is no argument '" + name + "'", "there are: " + names);
    }
  }
  return {};
}

}  // namespace

McpServer::McpServer(About about, std::vector<McpTool> tools, std::function<void(const std::string&)> write)
    : about_(std::move(about)), tools_(std::move(tools)), write_(std::move(write)) {}

McpServer::~McpServer() {
  std::map<protocol::Id, Running> running;
  {
    const std::lock_guard lock(calls_mutex_);
    running.swap(running_);
  }
  for (auto& [id, call] : running) call.stop.request_stop();
  running.clear();  // joins
  join_finished();
}

void McpServer::on_line(std::string_view line) {
  join_finished();
  const auto message = protocol::parse_message(line);
  if (!message) return write(protocol::error_line(message.error().id, message.error().error));
  if (const auto* request = std::get_if<Request>(&*message)) return on_request(*request);
  const auto* notification = std::get_if<protocol::Notification>(&*message);
  if (notification != nullptr && notification->method == "notifications/cancelled")
    cancel(notification->params);
}

void McpServer::on_too_long_line(std::size_t limit) {
  const std::string message = "the message is longer than " + std::to_string(limit) + " bytes";
  write(protocol::error_line(std::nullopt, rpc_error(protocol::kInvalidRequest, message)));
}

void McpServer::on_request(const Request& request) {
  const json version = own_version(request);
  if (!version.is_null() && version != kModernVersion) return write(version_error(request.id, version));
  const bool modern = !version.is_null();
  if (request.method == "tools/call") return call_tool(request, modern);
  if (request.method == "initialize") return answer(request.id, initialize(request.params), false);
  if (request.method == "server/discover") return answer(request.id, discover(), true);
  if (request.method == "ping") return answer(request.id, json::object(), modern);
  if (request.method == "tools/list") return answer(request.id, list_tools(), modern);
  answer(request.id,
         std::unexpected(rpc_error(protocol::kMethodNotFound, "there is no method " + request.method)),
         modern);
}

json McpServer::initialize(const json& params) const {
  const json wanted = member(params, "protocolVersion");
  const bool known = std::ranges::any_of(kHandshakeVersions, [&](const char* one) { return wanted == one; });
  return {{"protocolVersion", known ? wanted : json(kHandshakeVersions.back())},
          {"capabilities", capabilities()},
          {"serverInfo", server_info(about_.version)},
          {"instructions", about_.instructions}};
}

json McpServer::discover() const {
  return {{"supportedVersions", supported_versions()},
          {"capabilities", capabilities()},
          {"instructions", about_.instructions},
          {"ttlMs", kListKeeps_ms},
          {"cacheScope", "public"}};
}

json McpServer::list_tools() const {
  json tools = json::array();
  for (const McpTool& tool : tools_) {
    tools.push_back(
        {{"name", tool.name},
         {"title", tool.title},
         {"description", tool.description},
         {"inputSchema", json::parse(tool.input_schema)},
         {"outputSchema", json::parse(tool.output_schema)},
         {"annotations", {{"title", tool.title}, {"readOnlyHint", true}, {"openWorldHint", false}}}});
  }
  return {{"tools", std::move(tools)}, {"ttlMs", kListKeeps_ms}, {"cacheScope", "public"}};
}

void McpServer::call_tool(const Request& request, bool modern) {
  const json name = member(request.params, "name");
  const auto tool = std::ranges::find_if(tools_, [&](const McpTool& one) { return name == one.name; });
  if (tool == tools_.end()) {
    const std::string shown = name.is_string() ? name.get<std::string>() : "without a name";
    return answer(request.id, std::unexpected(rpc_error(kInvalidParams, "there is no tool " + shown)),
                  modern);
  }
  const std::lock_guard lock(calls_mutex_);
  if (running_.contains(request.id)) {
    return answer(
        request.id,
        std::unexpected(rpc_error(protocol::kInvalidRequest, "id: that of a request that still runs")),
        modern);
  }
  if (running_.size() >= kMostCalls) {
    const std::string message = std::to_string(kMostCalls) + " calls are running already";
    return answer(request.id, failed_call({ErrorCode::kBusy, message, "wait for one of them"}), modern);
  }
  Running& call = running_[request.id];
  call.thread = std::jthread([this, &tool = *tool, request, modern, stop = call.stop.get_token()] {
    run_tool(tool, request, modern, stop);
    forget(request.id);
  });
}

/// On a thread of its own.
void McpServer::run_tool(const McpTool& tool, const Request& request, bool modern,
                         const std::stop_token& stop) {
  const json token = member(member(request.params, "_meta"), "progressToken");
  McpCall call{.stop = stop, .progress = [](std::string_view) {}};
  if (token.is_string() || token.is_number_integer()) {
    call.progress = [this, token, count = 0](std::string_view message) mutable {
      const json params = {{"progressToken", token}, {"progress", ++count}, {"message", message}};
      write(protocol::serialise(protocol::Notification{"notifications/progress", params}));
    };
  }
  json arguments = member(request.params, "arguments");
  if (arguments.is_null()) arguments = json::object();
  const auto fit = check_arguments(tool, arguments);
  const auto result = fit ? tool.run(arguments, call) : Result<std::string>(fail(fit.error()));
  if (stop.stop_requested()) return;  // who cancels wants no answer
  answer(request.id, result ? done_call(*result) : failed_call(result.error()), modern);
}

void McpServer::cancel(const json& params) {
  const auto id = protocol::decode_id(member(params, "requestId"));
  if (!id) return;
  const std::lock_guard lock(calls_mutex_);
  const auto found = running_.find(*id);
  if (found != running_.end()) found->second.stop.request_stop();
}

/// The last thing that a call's thread does.
void McpServer::forget(const protocol::Id& id) {
  const std::lock_guard lock(calls_mutex_);
  const auto found = running_.find(id);
  if (found == running_.end()) return;  // the server ends, and waits for this thread
  finished_.push_back(std::move(found->second.thread));
  running_.erase(found);
}

void McpServer::join_finished() {
  std::vector<std::jthread> finished;
  const std::lock_guard lock(calls_mutex_);
  finished.swap(finished_);
}

void McpServer::answer(const protocol::Id& id, Answer answer, bool modern) {
  if (modern && answer) {
    (*answer)["resultType"] = "complete";
    (*answer)["_meta"][kServerKey] = server_info(about_.version);
  }
  write(protocol::serialise(protocol::Response{id, std::move(answer)}));
}

void McpServer::write(const std::string& line) {
  const std::lock_guard lock(write_mutex_);
  write_(line);
}

}  // namespace kvboost::cli
