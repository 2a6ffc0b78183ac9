// SPDX-License-Identifier: Apache-2.0
// ClientFixture: a private directory for one daemon, and the options to reach or start it there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/lock_file.h"
#include "cli/client.h"

namespace kvboost::cli {

class ClientFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "kvboost-client-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
  }
  void TearDown() override {
    ClientOptions reach = options("");
    reach.start_daemon = false;
    if (auto client = Client::connect(reach)) {
      (void)client->call<protocol::Nothing>("shutdown", protocol::ShutdownParams{true});
      EXPECT_TRUE(client->wait_until_gone(std::chrono::minutes(1), {}));
    }
    std::filesystem::remove_all(top_);
  }

  /// `more` are flags of tests/cli/test_daemon.
  [[nodiscard]] ClientOptions options(const std::string& build, std::vector<std::string> more = {}) const {
    ClientOptions options;
    options.socket = top_ / "d.sock";
    options.build = build;
    options.daemon = KVBOOST_TEST_DAEMON;
    options.daemon_flags = {"--socket=" + options.socket.string(), "--build=" + build,
                            "--starts=" + (top_ / "starts").string()};
    options.daemon_flags.insert(options.daemon_flags.end(), more.begin(), more.end());
    return options;
  }
  [[nodiscard]] std::vector<pid_t> starts() const {
    std::vector<pid_t> pids;
    std::ifstream file(top_ / "starts");
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }
  static protocol::AskParams ask(const std::string& question) {
    protocol::AskParams params;
    params.directory = "/";
    params.question = question;
    return params;
  }
  void wait_for_file(const std::filesystem::path& file) const {
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::filesystem::path top_;
};

}  // namespace kvboost::cli
