// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/question.h"

#include <gtest/gtest.h>

namespace kvboost::daemon {
namespace {

using Names = std::vector<std::string>;

TEST(Question, LeavesOutTheWordsOfAsking) {
  EXPECT_EQ(read_question("Where is the lock file opened, and why?").query, "lock opened");
  EXPECT_EQ(read_question("How does `Bm25Index::query` work?").query, "Bm25Index::query");
  EXPECT_EQ(read_question("").query, "");
}

TEST(Question, KnowsAQuestionAboutTheWhole) {
  for (const char* text :
       {"What is this project?", "what does this repository do", "How do I build and run it?",
        "Summarize the codebase.", "Explain the architecture", "What is the purpose of this tool?",
        "In one sentence, what is this program for?", "", "?"}) {
    EXPECT_TRUE(read_question(text).overview) << text;
  }
  for (const char* text : {"What is a chunk in this project?", "How is the index built from spans?",
                           "what does cli/main.cpp do", "Where is SIGTERM handled?"}) {
    EXPECT_FALSE(read_question(text).overview) << text;
  }
}

TEST(Question, FindsTheNamesOfFiles) {
  EXPECT_EQ(read_question("what does cli/main.cpp do?").names, Names{"cli/main.cpp"});
  EXPECT_EQ(read_question("Compare main.cpp:42, `./src/a.h` and (Makefile).").names,
            (Names{"main.cpp", "src/a.h", "Makefile"}));
  EXPECT_EQ(read_question("Why \"daemon/net/server.cpp:10:3: error\"?").names,
            Names{"daemon/net/server.cpp"});
  EXPECT_EQ(read_question("See https://example.org/a.html. Is version 1.2 out, e.g. 3.4.5?").names,
            Names{"e.g"});
  EXPECT_EQ(read_question("What. Is? This: nothing").names, Names{});
}

TEST(Question, TakesAnyBytes) {
  std::string all;
  for (int c = 255; c >= 0; --c) all += static_cast<char>(c);
  EXPECT_FALSE(read_question(all + all).query.empty());
}

}  // namespace
}  // namespace kvboost::daemon
