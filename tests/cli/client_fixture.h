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
#include "tests/support/scratch_tree.h"

namespace kvboost::cli {

class ClientFixture : public testing::Test {
 protected:
  void TearDown() override {
    ClientOptions reach = options("");
    reach.start_daemon = false;
    if (auto client = Client::connect(reach)) {
      (void)client->call<protocol::Nothing>("shutdown", protocol::ShutdownParams{true});
      EXPECT_TRUE(client->wait_until_gone(std::chrono::minutes(1), {}));
    }
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

  const test::ScratchTree scratch_;
  const std::filesystem::path top_ = scratch_.root();
};

}  // namespace kvboost::cli
