// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache/track/work_tree.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

class ReadText : public ::testing::Test {
 protected:
  ReadText() { outside_.write("outside.txt", "not ours"); }

  Result<std::string> read(std::string_view path) const {
    return WorkTree::discover(tree_.root())->read_text(path);
  }

  std::string refusal(std::string_view path) const {
    const auto text = read(path);
    return text ? "(read)" : text.error().message;
  }

  test::ScratchTree tree_;
  test::ScratchTree outside_;
};

TEST_F(ReadText, GivesTheFilesBytes) {
  tree_.write("dir/a.txt", "one\r\ntwo\n");
  tree_.write("empty", "");
  EXPECT_EQ(read("dir/a.txt").value_or("?"), "one\r\ntwo\n");
  EXPECT_EQ(read("empty").value_or("?"), "");
  const std::string large(3'000'000, 'x');
  tree_.write("large", large);
  EXPECT_EQ(read("large").value_or("?"), large);
}

TEST_F(ReadText, ConvertsOrRefusesEncodings) {
  tree_.write("bom.txt", "\xEF\xBB\xBFint x;\n");
  tree_.write("utf16.txt", std::string("\xFF\xFEi\0n\0t\0\n\0", 10));
  tree_.write("windows-1252.txt", "caf\xE9\n");
  tree_.write("shift-jis.txt", "\x93\xFA\x96\x7B\n");
  tree_.write("binary", std::string("\x7F"
                                    "ELF\0\1",
                                    6));
  EXPECT_EQ(read("bom.txt").value_or("?"), "int x;\n");
  EXPECT_EQ(read("utf16.txt").value_or("?"), "int\n");
  EXPECT_EQ(refusal("windows-1252.txt"), "not UTF-8 (from offset 3 on)");
  EXPECT_EQ(refusal("shift-jis.txt"), "not UTF-8 (from offset 0 on)");
  EXPECT_EQ(refusal("binary"), "binary (a NUL byte at offset 4)");
}

TEST_F(ReadText, StaysBeneathTheRoot) {
  tree_.write("dir/a.txt", "x");
  std::filesystem::create_symlink(outside_.root(), tree_ / "out");
  std::filesystem::create_symlink(outside_ / "outside.txt", tree_ / "out.txt");
  std::filesystem::create_symlink("dir", tree_ / "alias");
  EXPECT_EQ(refusal("out/outside.txt"), "symbolic link");
  EXPECT_EQ(refusal("out.txt"), "symbolic link");
  EXPECT_EQ(refusal("alias/a.txt"), "symbolic link");
  for (const std::string path :
       {"../x", "dir/../dir/a.txt", "/etc/passwd", "./dir/a.txt", "dir//a.txt", "dir/", ""}) {
    EXPECT_FALSE(read(path).has_value()) << path;
  }
  EXPECT_FALSE(read(std::string_view("dir/a.txt\0x", 11)).has_value());
}

TEST_F(ReadText, NamesWhatItCannotRead) {
  tree_.write("dir/a.txt", "x");
  ASSERT_EQ(::mkfifo((tree_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal("fifo"), "not a regular file");
  EXPECT_EQ(refusal("dir"), "a folder");
  EXPECT_EQ(refusal("missing"), "no such file");
  EXPECT_EQ(refusal("dir/a.txt/b"), "no such file");
  EXPECT_EQ(refusal("missing/b"), "no such file");
}

TEST_F(ReadText, RefusesSecretsByNameAndByContent) {
  tree_.write(".env", "PASSWORD=x");
  tree_.write("notes.txt", "\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n");
  tree_.write("cert.txt", "-----BEGIN CERTIFICATE-----\nabc\n");
  tree_.write(".git/config", "x");
  tree_.write("sub/.git", "x");
  EXPECT_EQ(refusal(".env"), "secret");
  EXPECT_EQ(refusal(".git/config"), "git's own file");
  EXPECT_EQ(refusal("sub/.git"), "git's own file");
  EXPECT_EQ(refusal("notes.txt"), "secret: a private key");
  EXPECT_EQ(refusal("cert.txt"), "(read)");
}

}  // namespace
}  // namespace kvboost::cache
