// SPDX-License-Identifier: Apache-2.0
// A home directory for tests, with the stores of other programs in it, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "daemon/models/model_places.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::test {

class ModelHome : public testing::Test {
 protected:
  void SetUp() override { variables_["HOME"] = home_.string(); }

  std::filesystem::path text(const std::string& name, const std::string& content) {
    const auto path = home_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }
  std::filesystem::path model(const std::string& name, const TinyModel& options = {}) {
    const auto path = home_ / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_TRUE(write_tiny_model(path, options));
    return path;
  }
  daemon::ModelPlaces places() {
    auto places = daemon::usual_places(
        [this](std::string_view name) -> std::optional<std::string> {
          const auto found = variables_.find(std::string(name));
          return found == variables_.end() ? std::nullopt : std::optional(found->second);
        },
        home_ / "data");
    std::erase(places.ollama, "/usr/share/ollama/.ollama/models");  // of the machine, not of this home
    return places;
  }

  const ScratchTree folder_;
  const std::filesystem::path home_ = folder_.root();
  std::map<std::string, std::string> variables_;
};

}  // namespace kvboost::test
