// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tests/daemon/prompt/tiny_tokenizer.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

using Paths = std::vector<std::string>;

class Assembler : public ::testing::Test {
 protected:
  Assembler() : tokenizer_(test::tiny_tokenizer()), chat_(ChatFamily::kChatMl, tokenizer_) {
    tree_.git({"init", "-q"});
  }

  Result<PromptPlan> plan(const std::string& question, std::int32_t budget = 20'000, const Paths& paths = {},
                          std::int32_t by_words = 0) {
    if (!repository_) repository_ = *Repository::open(tree_.root(), {});
    if (const auto fresh = repository_->refresh({}); !fresh) return fail(fresh.error());
    return assemble(*repository_, {question, paths, tree_.root(), budget, by_words}, chat_, tokenizer_, {});
  }

  static Paths files(const PromptPlan& plan) {
    Paths all;
    for (const auto& part : plan.parts) {
      if (part.is_opening()) all.push_back(part.path);
    }
    return all;
  }

  // The first run of chunks of a file, with its opening, as if it were one part.
  static PlanPart run(const PromptPlan& plan, const std::string& path) {
    auto at = std::ranges::find(plan.parts, path, &PlanPart::path);
    if (at == plan.parts.end() || !at->is_opening()) throw std::runtime_error(path + " is not in the plan");
    PlanPart joined = *at;
    while (++at != plan.parts.end() && at->path == path && !at->is_opening()) {
      if (joined.first_line == 0) joined.first_line = at->first_line;
      joined.last_line = at->last_line;
      joined.tokens.insert(joined.tokens.end(), at->tokens.begin(), at->tokens.end());
    }
    return joined;
  }

  std::string text(const PlanPart& part) const { return tokenizer_.decode(part.tokens); }

  // A file of `n` functions, each a few lines long.
  static std::string functions(const std::string& name, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) {
      text += "int " + name + std::to_string(i) + "(int value) {\n  return value + " + std::to_string(i) +
              ";\n}\n\n";
    }
    return text;
  }

  test::ScratchTree tree_;
  engine::Tokenizer tokenizer_;
  ChatTemplate chat_;
  std::shared_ptr<Repository> repository_;
};

TEST_F(Assembler, PutsHeaderFilesAndQuestionInOrder) {
  tree_.write("a.c", "int alpha;\n");
  const auto made = plan("What is alpha?");
  ASSERT_TRUE(made.has_value()) << made.error().text();
  ASSERT_EQ(made->parts.size(), 5U);
  EXPECT_EQ(made->parts[0].kind, PartKind::kHeader);
  EXPECT_EQ(made->parts[0].tokens, chat_.header());
  EXPECT_TRUE(made->parts[1].is_opening());
  EXPECT_TRUE(made->parts[1].whole_file);
  EXPECT_EQ(made->parts[1].tokens, chat_.file_opening("a.c"));
  EXPECT_EQ(made->parts[2].kind, PartKind::kFile);
  EXPECT_EQ(made->parts[2].first_line, 1);
  EXPECT_EQ(made->parts[2].last_line, 1);
  EXPECT_EQ(text(made->parts[2]), "int alpha;\n");
  EXPECT_EQ(made->parts[3].kind, PartKind::kLiteral);
  EXPECT_TRUE(text(made->parts[3]).ends_with("Question: What is alpha?"));
  EXPECT_EQ(made->parts[4].tokens, chat_.turn_to_assistant());
  EXPECT_TRUE(made->left_out.empty());
}

TEST_F(Assembler, EncodesEachPartAlone) {
  tree_.write("a.py", "x = 1");  // no line end
  tree_.write("b.py", "    y = 2\n");
  const auto both = plan("?", 20'000, {"a.py", "b.py"});
  const auto other_way = plan("?", 20'000, {"b.py", "a.py"});
  const auto alone = plan("?", 20'000, {"b.py"});
  ASSERT_TRUE(both && other_way && alone);
  EXPECT_EQ(files(*both), (Paths{"a.py", "b.py"}));
  EXPECT_EQ(files(*other_way), (Paths{"b.py", "a.py"}));
  for (const char* path : {"a.py", "b.py"}) EXPECT_EQ(run(*both, path).tokens, run(*other_way, path).tokens);
  EXPECT_EQ(run(*both, "b.py").tokens, run(*alone, "b.py").tokens);
  EXPECT_TRUE(text(run(*both, "a.py")).ends_with("x = 1\n"));
}

TEST_F(Assembler, IsTheSameForTheSameInput) {
  for (int i = 0; i < 30; ++i) tree_.write("f" + std::to_string(i) + ".c", functions("same", 20));
  const auto first = plan("Where is same7?", 6000);
  const auto second = plan("Where is same7?", 6000);
  repository_.reset();
  const auto anew = plan("Where is same7?", 6000);
  ASSERT_TRUE(first && second && anew);
  EXPECT_EQ(first->tokens(), second->tokens());
  EXPECT_EQ(first->tokens(), anew->tokens());
  EXPECT_GT(files(*first).size(), 1U);
}

TEST_F(Assembler, ChoosesByWordsAndOrdersByPath) {
  tree_.write("zebra.c", "void open_socket() { socket_of_the_daemon(); }\n");
  tree_.write("alpha.c", "void close_socket() { socket_of_the_daemon(); }\n");
  for (int i = 0; i < 20; ++i) tree_.write("other" + std::to_string(i) + ".c", functions("unrelated", 3));
  const auto made = plan("Where is the socket_of_the_daemon closed?");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(files(*made), (Paths{"alpha.c", "zebra.c"}));
  EXPECT_GT(run(*made, "alpha.c").score, 0.4);
}

TEST_F(Assembler, TakesTheFittingSpansOfALargeFile) {
  std::string large =
      functions("before", 60) + "int needle_in_the_middle() {\n  return 42;\n}\n\n" + functions("behind", 60);
  tree_.write("large.c", large);
  for (int i = 0; i < 5; ++i) tree_.write("other" + std::to_string(i) + ".c", functions("unrelated", 30));
  const auto made = plan("What does needle_in_the_middle return?", 4000);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(files(*made), Paths{"large.c"});
  const PlanPart chosen = run(*made, "large.c");
  EXPECT_FALSE(chosen.whole_file);
  EXPECT_NE(text(chosen).find("needle_in_the_middle"), std::string::npos);
  const std::string_view up_to_needle = std::string_view(large).substr(0, large.find("int needle"));
  const auto line = static_cast<std::int32_t>(std::ranges::count(up_to_needle, '\n')) + 1;
  EXPECT_LE(chosen.first_line, line);
  EXPECT_GE(chosen.last_line, line);
  EXPECT_LE(made->size(), 4000U);
}

TEST_F(Assembler, FollowsAPathInTheQuestion) {
  tree_.write("cli/main.cpp", "int main() { return 0; }\n");
  tree_.write("daemon/main.cpp", "int main() { return 1; }\n");
  for (int i = 0; i < 20; ++i)
    tree_.write("docs/" + std::to_string(i) + ".txt", "cli main cpp do cli main cpp\n");
  const auto made = plan("what does cli/main.cpp do", 3000);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(run(*made, "cli/main.cpp").score, 1.0);
  EXPECT_TRUE(run(*made, "cli/main.cpp").whole_file);
}

TEST_F(Assembler, NamesEachLineThatDidNotFitOnceAndNoneThatIsThere) {
  for (const char* name : {"a.c", "b.c"}) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += functions("wanted" + std::to_string(i) + "_", 4 + i % 5);
    tree_.write(name, text);
  }
  std::size_t told = 0;
  for (const std::int32_t budget : {1000, 1250, 1500, 1750, 2000}) {
    const auto made = plan("Which functions are wanted3_1, wanted4_0 and wanted7_2?", budget);
    ASSERT_TRUE(made.has_value());
    std::map<std::string, std::set<int>> lines;  // in the plan, or told already
    for (const PlanPart& part : made->parts) {
      for (int line = part.first_line; part.kind == PartKind::kFile && line <= part.last_line; ++line) {
        if (line > 0) lines[part.path].insert(line);
      }
    }
    told += made->left_out.size();
    for (const LeftOut& left : made->left_out) {
      int first = 0, last = 0;
      ASSERT_EQ(std::sscanf(left.reason.c_str(), "lines %d to %d did not fit", &first, &last), 2);
      for (int line = first; line <= last; ++line) {
        EXPECT_TRUE(lines[left.path].insert(line).second) << left.path << ":" << line << " again";
      }
    }
  }
  EXPECT_GT(told, 0U);
}

TEST_F(Assembler, SaysWhenOnlyTheBeginningOfANamedFileFits) {
  tree_.write("large.c", "// the beginning\n" + functions("any", 200));
  const auto made = plan("what is in large.c?", 5000);
  ASSERT_TRUE(made.has_value());
  ASSERT_FALSE(made->left_out.empty());
  EXPECT_EQ(made->left_out[0].path, "large.c");
  EXPECT_NE(made->left_out[0].reason.find("only its beginning fits"), std::string::npos);
  EXPECT_EQ(run(*made, "large.c").first_line, 1);
}

TEST_F(Assembler, BeginsWithTheReadmeForTheWhole) {
  tree_.write("README.md", "# Frobnicator\n\nIt frobnicates.\n");
  tree_.write("CMakeLists.txt", "project(frobnicator)\n");
  tree_.write("A.c", functions("project", 40));
  const auto made = plan("What is this project?");
  ASSERT_TRUE(made.has_value());
  ASSERT_GE(files(*made).size(), 2U);
  EXPECT_EQ(files(*made)[0], "README.md");
  EXPECT_EQ(run(*made, "CMakeLists.txt").kind, PartKind::kFile);
  for (int i = 0; i < 20; ++i) tree_.write("cmake/" + std::to_string(i) + ".txt", "project project\n");
  const auto larger = plan("What is this project?");
  ASSERT_TRUE(larger.has_value());
  EXPECT_EQ(files(*larger), (Paths{"README.md", "CMakeLists.txt"}));
  const auto by_name = plan("What is " + tree_.root().filename().string() + "?");
  ASSERT_TRUE(by_name.has_value());
  EXPECT_EQ(files(*by_name), files(*larger));
}

TEST_F(Assembler, SharesTheBeginningBetweenQuestions) {
  tree_.write("README.md", "# Frobnicator\n\nIt frobnicates.\n");
  tree_.write("b.c", functions("beta", 3));
  tree_.write("c.c", functions("gamma", 3));
  const auto one = plan("Where is beta1?");
  const auto other = plan("Where is gamma1?");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(files(*one)[0], "README.md");
  EXPECT_EQ(one->parts[0].tokens, other->parts[0].tokens);
  EXPECT_EQ(one->parts[1].tokens, other->parts[1].tokens);
}

TEST_F(Assembler, AnswersWithoutFiles) {
  const auto made = plan("What is here?");
  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(files(*made).empty());
  EXPECT_EQ(text(made->parts[1]), "Question: What is here?");
}

TEST_F(Assembler, NeverOutgrowsTheBudget) {
  for (int i = 0; i < 20; ++i) tree_.write("f" + std::to_string(i) + ".c", functions("word", 5 * i));
  tree_.write("README.md", functions("readme", 50));
  const auto smallest = plan("word", 0);
  ASSERT_FALSE(smallest.has_value());
  for (std::int32_t budget = 400; budget < 20'000; budget += 397) {
    const auto made = plan("word3 f7.c", budget);
    ASSERT_TRUE(made.has_value()) << budget << " " << made.error().text();
    EXPECT_LE(made->size(), static_cast<std::size_t>(budget));
  }
}

TEST_F(Assembler, RefusesAQuestionThatDoesNotFitWithBothNumbers) {
  tree_.write("a.c", "x\n");
  const auto made = plan(std::string(5000, '?'), 1000);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message.find("1,000"), std::string::npos) << made.error().message;
  EXPECT_NE(made.error().message.find(" 5,"), std::string::npos) << made.error().message;
}

TEST_F(Assembler, TakesTheQuestionOnTopOfWhatIsChosenByWords) {
  tree_.write("a.c", functions("word", 100));
  const std::string question = "word3 " + std::string(2000, '?');
  const auto made = plan(question, 6000, {}, 1000);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  std::size_t of_files = 0;
  for (const PlanPart& part : made->parts) of_files += part.kind == PartKind::kFile ? part.tokens.size() : 0;
  EXPECT_GT(of_files, 300U);
  EXPECT_LE(of_files, 1000U);
  const auto short_of_room = plan(question, 2800, {}, 1000);
  ASSERT_TRUE(short_of_room.has_value());
  EXPECT_LE(short_of_room->size(), 2800U);
  EXPECT_TRUE(text(short_of_room->parts[short_of_room->parts.size() - 2]).ends_with(question));
}

TEST_F(Assembler, TakesNamedFilesWholeBeforeTheFittingPartsOfLargeOnes) {
  tree_.write("small.c", functions("small", 3));
  tree_.write("large.c",
              functions("before", 60) + "int needle() {\n  return 42;\n}\n\n" + functions("behind", 60));
  tree_.write("last.c", functions("last", 3));
  const auto made = plan("What is the needle?", 3000, {"last.c", "large.c", "small.c"});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(files(*made), (Paths{"last.c", "small.c", "large.c"}));
  for (const char* path : {"last.c", "small.c"}) EXPECT_TRUE(run(*made, path).whole_file) << path;
  EXPECT_FALSE(run(*made, "large.c").whole_file);
  EXPECT_NE(text(run(*made, "large.c")).find("int needle"), std::string::npos);
  ASSERT_EQ(made->left_out.size(), 1U);
  EXPECT_EQ(made->left_out[0].path, "large.c");
  const std::string lines = "lines " + std::to_string(run(*made, "large.c").first_line) + " to " +
                            std::to_string(run(*made, "large.c").last_line);
  EXPECT_NE(made->left_out[0].reason.find("all but " + lines), std::string::npos) << made->left_out[0].reason;
  EXPECT_LE(made->size(), 3000U);
}

TEST_F(Assembler, ReadsSomeOfEachLargeFileThatIsNamed) {
  tree_.write("a.c", functions("alpha", 200));
  tree_.write("b.c", functions("beta", 200));
  tree_.write(".gitignore", "*.log\n");
  tree_.write("ignored.log", functions("alpha", 200));
  const Paths names = {"a.c", "b.c", "ignored.log"};
  const auto made = plan("What does alpha do?", 60'000, names, 4500);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (const std::string& path : names) EXPECT_TRUE(run(*made, path).whole_file) << "all fit";
  const auto less = plan("What does alpha do?", 6500, names, 4500);
  ASSERT_TRUE(less.has_value()) << less.error().text();
  for (const std::string& path : names) EXPECT_GT(run(*less, path).tokens.size(), 200U) << path;
  EXPECT_EQ(run(*less, "b.c").first_line, 1) << "no word fits: its beginning";
  EXPECT_LE(less->size(), 6500U);
}

TEST_F(Assembler, RefusesWhenNothingOfWhatIsNamedFits) {
  tree_.write("large.c", functions("large", 100));
  const auto made = plan("Why?" + std::string(700, '?'), 1000, {"large.c"});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message.find("large.c"), std::string::npos);
}

TEST_F(Assembler, ChoosesByWordsWithinANamedFolder) {
  for (int i = 0; i < 100; ++i) tree_.write("many/" + std::to_string(i) + ".c", functions("f", 10));
  tree_.write("many/needle.c", "int needle() {\n  return 42;\n}\n");
  tree_.write("elsewhere.c", "int needle() {\n  return 43;\n}\n");
  tree_.write("whole.c", functions("whole", 3));
  const auto made = plan("What does needle return?", 20'000, {"many", "whole.c"}, 2000);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(files(*made), (Paths{"whole.c", "many/needle.c"}));
  const auto without_words = plan("Why?", 20'000, {"many"}, 2000);
  ASSERT_TRUE(without_words.has_value()) << without_words.error().text();
  EXPECT_GE(files(*without_words).size(), 1U) << "a folder that is named is read, whatever the question";
  EXPECT_LE(without_words->size(), 2600U);
}

TEST_F(Assembler, TakesEmptyFilesToo) {
  tree_.write("empty.c", "");
  const auto made = plan("Why?", 2000, {"empty.c"});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_TRUE(run(*made, "empty.c").whole_file);
  EXPECT_EQ(run(*made, "empty.c").tokens, chat_.file_opening("empty.c"));
}

TEST_F(Assembler, StopsWhenTold) {
  for (int i = 0; i < 20; ++i) tree_.write("f" + std::to_string(i) + ".c", functions("word", 20));
  ASSERT_TRUE(plan("word7", 20'000).has_value());
  std::stop_source stop;
  stop.request_stop();
  for (const Paths& paths : {Paths{}, Paths{"."}}) {
    const auto made = assemble(*repository_, {"word7", paths, tree_.root(), 20'000, 0}, chat_, tokenizer_,
                               stop.get_token());
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace kvboost::daemon
