// SPDX-License-Identifier: Apache-2.0
// RunningServer: a real server on a real socket in a private directory, on a thread of its own, with whatever
// methods a test binds before `start`.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/daemon_files.h"
#include "daemon/net/server.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::testing_net {

class RunningServer {
 public:
  RunningServer() = default;
  ~RunningServer() {
    if (server_) stop(daemon::StopMode::kCancel);
    server_.reset();
    listener_.reset();
  }

  daemon::Binder& binder() { return binder_; }
  daemon::Server& server() { return *server_; }
  const DaemonFiles& files() const { return files_; }
  const std::filesystem::path& socket() const { return files_.socket; }

  /// Makes the server, so that methods can be bound that refer to it.
  void make(daemon::ServerOptions options = {}) {
    auto listener = daemon::Listener::open(files_, "test");
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::make_unique<daemon::Listener>(std::move(*listener));
    server_ = std::make_unique<daemon::Server>(*listener_, binder_, options);
  }
  void start(daemon::ServerOptions options = {}) {
    if (!server_) make(options);
    thread_ = std::thread([this] { clean_ = server_->run(); });
  }
  /// Whether it ended with all requests answered.
  bool stop(daemon::StopMode mode) {
    server_->stop(mode);
    return join();
  }
  bool join() {
    if (thread_.joinable()) thread_.join();
    return clean_;
  }

 private:
  const test::ScratchTree folder_;
  const DaemonFiles files_ = daemon_files(folder_ / "kvboostd.sock").value();
  daemon::Binder binder_;
  std::unique_ptr<daemon::Listener> listener_;
  std::unique_ptr<daemon::Server> server_;
  std::thread thread_;
  bool clean_ = false;
};

}  // namespace kvboost::testing_net
