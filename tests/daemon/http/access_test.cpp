// SPDX-License-Identifier: Apache-2.0
// Tokens and hosts.
#include "daemon/http/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

TEST(Access, ATokenIsMadeOnceForTheUserAlone) {
  const test::ScratchTree tree;
  const auto file = tree / "http.token";
  const auto first = read_or_make_token(file);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->size(), 64U);
  EXPECT_EQ(read_or_make_token(file).value(), *first);
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_NE(read_or_make_token(tree / "other").value(), *first);
}

TEST(Access, ATokenFileThatIsNoneIsRefused) {
  test::ScratchTree tree;
  for (const std::string text :
       {"", "\n", "tooshort", "two words of some length", "tab\tin the middle of it"}) {
    tree.write("t", text);
    ::chmod((tree / "t").c_str(), 0600);
    const auto token = read_or_make_token(tree / "t");
    ASSERT_FALSE(token) << text;
    EXPECT_EQ(token.error().code, ErrorCode::kInvalidArgument);
  }
  tree.write("t", "a-token-that-is-long-enough\n");
  ::chmod((tree / "t").c_str(), 0640);
  EXPECT_FALSE(read_or_make_token(tree / "t"));
  ::chmod((tree / "t").c_str(), 0600);
  EXPECT_EQ(read_or_make_token(tree / "t").value(), "a-token-that-is-long-enough");
  EXPECT_FALSE(read_or_make_token(tree.root()));
  EXPECT_FALSE(read_or_make_token(tree / "no" / "folder"));
  ASSERT_EQ(::mkfifo((tree / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_or_make_token(tree / "pipe")) << "and does not wait for the other side";
}

TEST(Access, OnlyTheTokenIsTheToken) {
  for (const char* given : {"Bearer secret", "bearer secret", "BEARER   secret  "})
    EXPECT_TRUE(gives_token(given, "secret")) << given;
  for (const char* given : {"", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer secretsecret",
                            "secret", "Basic secret", "Bearer Secret", "Bearersecret", "Bearer secret x"})
    EXPECT_FALSE(gives_token(given, "secret")) << given;
}

TEST(Access, OnlyNamesOfTheLoopbackAreHosts) {
  for (const char* host : {"localhost", "LocalHost", "localhost:80", "127.0.0.1", "127.0.0.1:8012", "[::1]",
                           "[::1]:1", "localhost:"})
    EXPECT_TRUE(names_loopback(host)) << host;
  for (const char* host : {"", ":80", "example.org", "localhost.example.org", "127.0.0.1.example.org",
                           "127.0.0.2", "0.0.0.0", "[::]", "[::1", "::1", "localhost:80:80", "localhost:x",
                           "localhost@x", "[::1]x", "localhost.", "user@localhost"})
    EXPECT_FALSE(names_loopback(host)) << host;
}

}  // namespace
}  // namespace kvboost::daemon
