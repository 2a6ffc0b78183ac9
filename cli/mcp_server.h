// SPDX-License-Identifier: Apache-2.0
// McpServer: the Model Context Protocol, as a server that offers tools: what goes over the wire, and nothing
// of what the tools do. It serves clients that shake hands (up to 2025-11-25) and those that tell their
// version in each request (2026-07-28). Lines are handed to it by one thread; each call of a tool runs on a
// thread of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "daemon/protocol/message_id.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::cli {

/// What a running call has of its client.
struct McpCall {
  std::stop_token stop;                            // the client has cancelled it
  std::function<void(std::string_view)> progress;  // a line for people
};

struct McpTool {
  std::string name;
  std::string title;
  std::string description;   // for the model that decides whether to call it
  std::string input_schema;  // JSON texts
  std::string output_schema;
  /// The arguments are an object with none but the schema's properties; the result is the text of an object.
  std::function<Result<std::string>(const nlohmann::json& arguments, const McpCall& call)> run;
};

class McpServer {
 public:
  struct About {
    std::string version;       // of this program
    std::string instructions;  // what it is good for, told once
  };
  /// `write` is given lines without their end, one at a time, from any thread.
  McpServer(About about, std::vector<McpTool> tools, std::function<void(const std::string&)> write);
  /// Cancels what runs, and waits for it.
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  void on_line(std::string_view line);
  void on_too_long_line(std::size_t limit);

 private:
  struct Running {
    std::stop_source stop;
    std::jthread thread;
  };
  using Answer = std::expected<nlohmann::json, protocol::RpcError>;

  void on_request(const protocol::Request& request);
  [[nodiscard]] nlohmann::json initialize(const nlohmann::json& params) const;
  [[nodiscard]] nlohmann::json discover() const;
  [[nodiscard]] nlohmann::json list_tools() const;
  void call_tool(const protocol::Request& request, bool modern);
  void run_tool(const McpTool& tool, const protocol::Request& request, bool modern,
                const std::stop_token& stop);
  void cancel(const nlohmann::json& params);
  void forget(const protocol::Id& id);
  void join_finished();
  void answer(const protocol::Id& id, Answer answer, bool modern);
  void write(const std::string& line);

  const About about_;
  const std::vector<McpTool> tools_;
  const std::function<void(const std::string&)> write_;
  std::mutex write_mutex_;
  std::mutex calls_mutex_;
  std::map<protocol::Id, Running> running_;
  std::vector<std::jthread> finished_;  // threads that have nothing more to do
};

}  // namespace kvboost::cli
