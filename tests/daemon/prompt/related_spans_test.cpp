// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/related_spans.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

class RelatedSpansTest : public testing::Test {
 protected:
  RelatedSpansTest() {
    tree_.git({"init", "-q"});
    tree_.write("net/pool.h", "struct pool { int free; };\nint take_connection(struct pool* p);\n");
    tree_.write("net/retry.c", "int count_retries(int limit) {\n  return limit;\n}\n");
    tree_.write("ui/window.c", "int open_window(int width) {\n  return width;\n}\n");
    tree_.write("main.c", kMain);
    tree_.commit();
    repository_ = *Repository::open(tree_.root(), {});
    EXPECT_TRUE(repository_->refresh({}).has_value());
  }

  std::set<std::string> related(std::size_t budget = 2000, std::vector<VisitedPlace> visited = {}) {
    FileParts files(*repository_, chat_, tokenizer_, budget);
    const EditBuffer buffer(kMain, std::ssize(std::string_view(kMain)) - 3);
    parts_ = related_parts(*repository_, buffer, "main.c", visited, files, {});
    std::set<std::string> paths;
    std::size_t tokens = 0;
    for (const PlanPart& part : parts_) {
      paths.insert(part.path);
      tokens += part.tokens.size();
    }
    EXPECT_LE(tokens, budget);
    return paths;
  }

  static constexpr const char* kMain =
      "#include \"net/pool.h\"\n\nint main(void) {\n  struct pool p = {3};\n  return take_connection(\n}\n";
  test::ScratchTree tree_;
  engine::Tokenizer tokenizer_ = test::tiny_tokenizer();
  ChatTemplate chat_ = ChatTemplate::detect(tokenizer_);
  std::shared_ptr<Repository> repository_;
  std::vector<PlanPart> parts_;
};

TEST_F(RelatedSpansTest, TakesWhatHasTheWordsAroundTheCursor) {
  const auto paths = related();
  EXPECT_TRUE(paths.contains("net/pool.h"));
  EXPECT_FALSE(paths.contains("main.c")) << "the file itself";
  EXPECT_TRUE(parts_.front().is_opening());
}

TEST_F(RelatedSpansTest, TakesWhereTheUserWasFirst) {
  EXPECT_FALSE(related().contains("ui/window.c"));
  const auto paths = related(2000, {{"ui/window.c", 2}, {"main.c", 1}, {"gone.c", 1}});
  EXPECT_TRUE(paths.contains("ui/window.c") && paths.contains("net/pool.h"));
}

TEST_F(RelatedSpansTest, WithoutRoomThereIsNothing) {
  EXPECT_TRUE(related(0).empty());
  EXPECT_TRUE(related(10).empty());
}

TEST(ImportedNames, AreTheLastPartsOfNamesAndPaths) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(imported_names("#include \"a/b/pool.h\"\n"), (Names{"include", "pool"}));
  EXPECT_EQ(imported_names("import x from '../lib/retry'\n"), (Names{"import", "x", "from", "retry"}));
  EXPECT_EQ(imported_names("from net.pool import take\n"), (Names{"from", "net", "pool", "import", "take"}));
  EXPECT_EQ(imported_names("const p = require('./pool.js')\n"), (Names{"const", "p", "require", "pool"}));
  EXPECT_EQ(imported_names("const x = 1;\nint important;\nreturn from_x;\n"), Names{});
  EXPECT_EQ(imported_names(""), Names{});
}

}  // namespace
}  // namespace kvboost::daemon
