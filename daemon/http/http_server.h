// SPDX-License-Identifier: Apache-2.0
// HttpServer: the daemon's methods over HTTP/1.1 on the loopback, in the shape of llama.cpp's server and of
// OpenAI's API (docs/http.md). Each request goes to the daemon's own Unix socket, so nothing here knows of
// engine, cache or files. Made and destroyed in main; what it does, it does on a thread of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "daemon/http/exchange.h"

namespace kvboost::daemon {

struct HttpOptions {
  std::uint16_t port = 8012;  // 0: one that is free
  std::string token;          // that every client has to know
  RequestDefaults defaults{};
};

class HttpServer {
 public:
  /// Listens on 127.0.0.1, and on ::1 where there is one; takes no client yet. kBusy if the port is taken.
  [[nodiscard]] static Result<HttpServer> open(HttpOptions options);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  /// Takes no more clients, and gives those whose answer is on its way a moment to read it.
  ~HttpServer();

  /// Begins to serve: what clients ask goes to the daemon's socket.
  void start(const std::filesystem::path& socket);
  /// "http://127.0.0.1:8012".
  [[nodiscard]] std::string address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::daemon
