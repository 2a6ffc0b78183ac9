// SPDX-License-Identifier: Apache-2.0
#include "cache/track/secrets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "cache/track/work_tree.h"

namespace kvboost::cache {
namespace {

TEST(Secrets, AreKnownByName) {
  for (const char* path : {".env",
                           ".env.production",
                           "deploy/prod.env",
                           ".ENV",
                           "id_rsa",
                           "home/.ssh/known_hosts",
                           "a/b/server.pem",
                           "x.key",
                           "X.PFX",
                           "app.jks",
                           ".netrc",
                           ".npmrc",
                           ".pypirc",
                           "credentials.json",
                           "aws/credentials",
                           "config/secrets.yml",
                           "config/secrets.yaml",
                           ".aws/config",
                           "passwords.kdbx",
                           ".htpasswd",
                           "terraform.tfstate",
                           "terraform.tfstate.backup",
                           "service-account-prod.json",
                           ".docker/config.json",
                           "x/.docker/config.json",
                           "id_ed25519_sk",
                           ".bash_history",
                           ".ssh/"}) {
    EXPECT_TRUE(is_secret_path(path)) << path;
  }
}

TEST(Secrets, LeaveSourcesAlone) {
  for (const char* path : {"env.cpp",
                           ".env.example",
                           ".env.sample",
                           ".env.template",
                           "id_rsa.pub",
                           "credentials.cpp",
                           "secrets.md",
                           "src/keys/key.h",
                           "environment",
                           "docs/secrets.md",
                           "docker/config.json",
                           "my.docker/config.json",
                           "ssh/main.c",
                           ".sshx/a",
                           "keystore.cpp",
                           "pem",
                           "kubeconfig.go",
                           "history",
                           "",
                           "/"}) {
    EXPECT_FALSE(is_secret_path(path)) << path;
  }
}

TEST(Secrets, PatternsHaveOneStarAndLowerCase) {
  for (const auto& row : secret_patterns()) {
    EXPECT_LE(std::ranges::count(row.pattern, '*'), 1) << row.pattern;
    EXPECT_EQ(std::ranges::count_if(row.pattern, [](char c) { return c >= 'A' && c <= 'Z'; }), 0)
        << row.pattern;
  }
}

TEST(Secrets, AreKnownByTheirFirstLine) {
  EXPECT_TRUE(is_private_key("-----BEGIN RSA PRIVATE KEY-----\nx"));
  EXPECT_TRUE(is_private_key("-----BEGIN PRIVATE KEY-----"));
  EXPECT_TRUE(is_private_key("\n  -----BEGIN PGP PRIVATE KEY BLOCK-----\n"));
  EXPECT_TRUE(is_private_key("PuTTY-User-Key-File-3: ssh-ed25519\n"));
  EXPECT_FALSE(is_private_key("-----BEGIN PUBLIC KEY-----\nPRIVATE KEY"));
  EXPECT_FALSE(is_private_key("// -----BEGIN PRIVATE KEY----- in a test"));
  EXPECT_FALSE(is_private_key(""));
}

// The page says what the code does: each pattern and exception stands in it, and nothing else.
TEST(Secrets, StandInTheDocumentation) {
  std::ifstream file(KVBOOST_SOURCE_DIR "/docs/secrets.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::set<std::string> known;
  for (const auto& row : secret_patterns()) known.insert(std::string(row.pattern));
  for (const auto& name : secret_exceptions()) known.insert(std::string(name));
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace kvboost::cache
