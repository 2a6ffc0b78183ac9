// SPDX-License-Identifier: Apache-2.0
// Questions from anywhere, good and bad.
#include "cli/question.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_tree.h"

namespace kvboost::cli {
namespace {

std::string checked(std::string_view text) {
  const auto question = check_question(text, "the question", kAskExample);
  return question ? *question : "ERROR " + question.error().message;
}

TEST(Question, BlanksAndByteOrderMarkGo) {
  EXPECT_EQ(checked("  why?\n\n"), "why?");
  EXPECT_EQ(checked("\xEF\xBB\xBFwarum ü?\r\n"), "warum ü?");
  EXPECT_EQ(checked("two\n\nparagraphs"), "two\n\nparagraphs");
}

TEST(Question, EmptyIsRefused) {
  for (const char* text : {"", " ", "\n\t\r\n", "\xEF\xBB\xBF\n"}) {
    EXPECT_EQ(checked(text), "ERROR the question is empty") << text;
  }
}

TEST(Question, TheRemedyIsTheCommandThatWasMeant) {
  EXPECT_NE(check_question("", "the report", kLocateExample).error().remedy.find("kvboost locate \""),
            std::string::npos);
}

TEST(Question, WhatIsNoTextIsRefused) {
  EXPECT_EQ(checked(std::string("a\0b", 3)), "ERROR the question is not UTF-8 text");
  EXPECT_EQ(checked("\xff\xfeh\x01"), "ERROR the question is not UTF-8 text");
  EXPECT_EQ(checked("caf\xe9"), "ERROR the question is not UTF-8 text");
}

TEST(Question, LongOnesPassUpToTheLimit) {
  EXPECT_EQ(checked(std::string(100'000, 'x')).size(), 100'000U);
  EXPECT_EQ(checked(std::string(kMaxQuestionBytes + 1, 'x')), "ERROR the question is longer than 1.0 MB");
}

TEST(Question, FilesAndTheirTrouble) {
  const test::ScratchTree folder;
  const auto file = folder / "question.txt";
  std::ofstream(file) << "from a file\n";
  EXPECT_EQ(read_question_file(file, kAskExample).value(), "from a file");
  std::ofstream(file) << "";
  EXPECT_EQ(read_question_file(file, kAskExample).error().message, file.string() + " is empty");
  std::filesystem::remove(file);
  EXPECT_NE(read_question_file(file, kAskExample).error().message.find("No such file"), std::string::npos);
  EXPECT_NE(read_question_file("/", kAskExample).error().message.find("is a directory"), std::string::npos);
  EXPECT_NE(read_question_file("/dev/zero", kAskExample).error().message.find("longer than"),
            std::string::npos);
}

}  // namespace
}  // namespace kvboost::cli
