// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/chunker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "cache/chunk/line_ends.h"
#include "tests/cache/chunk/chunk_checks.h"

namespace kvboost::cache {
namespace {

using test::expect_cover;
using test::text_of;
using test::texts_of;
using test::token_counter;

ChunkedFile semantic(std::string_view path, std::string_view text) {
  return chunk(path, text, ChunkOptions{}, token_counter());
}

std::string function_of_lines(const std::string& name, int lines) {
  std::string text = "int " + name + "(int a) {\n";
  for (int i = 0; i < lines; ++i) text += "  a = a * " + std::to_string(i) + " + lookup(table, a);\n";
  return text + "  return a;\n}\n";
}

// A C++ file of functions of random sizes, each with a comment of its own.
std::string file_of_functions(int n, std::mt19937& random) {
  std::string text = "#include <vector>\n\nnamespace sample {\n\n";
  for (int i = 0; i < n; ++i) {
    text += "// Function " + std::to_string(i) + " does its part of the work.\n";
    text += function_of_lines("work_" + std::to_string(i), 1 + static_cast<int>(random() % 20)) + "\n";
  }
  return text + "}  // namespace sample\n";
}

TEST(Chunker, CutsThisRepositorysSourcesWithinTheLimits) {
  std::size_t chunks = 0;
  std::size_t within = 0;
  const std::filesystem::path root = KVBOOST_SOURCE_DIR;
  for (const char* folder : {"base", "cache", "cli", "daemon", "engine", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".gguf") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      const ChunkedFile result = semantic(entry.path().string(), text);
      SCOPED_TRACE(entry.path());
      expect_cover(text, result.chunks);
      ASSERT_EQ(result.symbols.size(), result.chunks.size());
      for (const Chunk& chunk : result.chunks) {
        const std::size_t tokens = token_counter()(text_of(text, chunk));
        EXPECT_LE(tokens, 512U);
        // A file that is smaller than a chunk is one.
        within += tokens >= 64 || result.chunks.size() == 1 ? 1 : 0;
        ++chunks;
      }
    }
  }
  EXPECT_GT(chunks, 1000U);
  EXPECT_GE(within * 100, chunks * 99);
}

TEST(Chunker, KeepsFunctionsWholeAndCommentsWithThem) {
  std::mt19937 random(1);
  const std::string text = file_of_functions(60, random);
  const ChunkedFile file = semantic("a.cpp", text);
  expect_cover(text, file.chunks);
  EXPECT_EQ(file.language, "C++");
  EXPECT_EQ(file.reason, "");
  ASSERT_GT(file.chunks.size(), 10U);
  for (std::size_t i = 1; i < file.chunks.size(); ++i) {
    const std::string_view content = text_of(text, file.chunks[i]);
    EXPECT_TRUE(content.starts_with("// Function ")) << content.substr(0, 60);
    EXPECT_TRUE(file.symbols[i].starts_with("work_")) << file.symbols[i];
  }
}

TEST(Chunker, KeepsWhatDescribesWithWhatIsDescribed) {
  struct Case {
    const char* path;
    const char* opening;  // of each member: what describes it, as it must begin a chunk
    std::function<std::string(int)> rest;
  };
  const auto python = [](int i) {
    std::string text = "def work_" + std::to_string(i) + "(a):\n";
    for (int k = 0; k < 9; ++k) text += "    a = lookup(table, a, " + std::to_string(k) + ")\n";
    return text + "    return a\n";
  };
  const auto rust = [](int i) {
    std::string text = "fn work_" + std::to_string(i) + "(a: i32) {\n";
    for (int k = 0; k < 9; ++k) text += "    let a = lookup(table, a, " + std::to_string(k) + ");\n";
    return text + "}\n";
  };
  const auto java = [](int i) {
    std::string text = "  int work" + std::to_string(i) + "(int a) {\n";
    for (int k = 0; k < 9; ++k) text += "    a = lookup(table, a, " + std::to_string(k) + ");\n";
    return text + "    return a;\n  }\n";
  };
  const Case cases[] = {
      {"a.py", "# Why it is cached.\n@cached\n@checked(1)\n", python},
      {"a.rs", "/// Does a part.\n/// And more.\n#[inline]\n#[must_use]\n", rust},
      {"a.java", "  /**\n   * Does a part.\n   */\n  @Override\n", java},
      {"a.ts", "  /** Does a part. */\n  @Input()\n", java},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    const bool in_class = std::string_view(c.opening).starts_with(' ');
    std::string text = in_class ? "class Work {\n" : "";
    for (int i = 0; i < 40; ++i) text += c.opening + c.rest(i);  // no blank lines that would tell
    if (in_class) text += "}\n";
    const ChunkedFile file = semantic(c.path, text);
    expect_cover(text, file.chunks);
    ASSERT_GT(file.chunks.size(), 8U);
    for (std::size_t i = 1; i < file.chunks.size(); ++i) {
      EXPECT_TRUE(text_of(text, file.chunks[i]).starts_with(c.opening)) << text_of(text, file.chunks[i]);
    }
  }
}

TEST(Chunker, KeepsAFunctionWholeThatJustFits) {
  std::string large = function_of_lines("large", 1);
  for (int lines = 2; token_counter()(function_of_lines("large", lines)) <= 480; ++lines) {
    large = function_of_lines("large", lines);
  }
  const std::string text =
      function_of_lines("before", 6) + "\n" + large + "\n" + function_of_lines("behind", 6);
  const ChunkedFile file = semantic("a.c", text);
  ASSERT_EQ(file.chunks.size(), 3U);
  EXPECT_EQ(text_of(text, file.chunks[1]), large + "\n");
  EXPECT_EQ(file.symbols, (std::vector<std::string>{"before", "large", "behind"}));
}

TEST(Chunker, CutsALargeFunctionBetweenStatements) {
  std::string text = "def work(a):\n";
  for (int i = 0; i < 120; ++i) {
    text +=
        "    if a > " + std::to_string(i) + ":\n        a = lookup(\n            table,\n            a)\n";
    text += "    else:\n        a = 0\n";
  }
  const ChunkedFile file = semantic("a.py", text);
  expect_cover(text, file.chunks);
  ASSERT_GT(file.chunks.size(), 5U);
  for (std::size_t i = 1; i < file.chunks.size(); ++i) {
    EXPECT_TRUE(text_of(text, file.chunks[i]).starts_with("    if a > "));
    EXPECT_EQ(file.symbols[i], "work");
  }
}

TEST(Chunker, CutsAtHeadingsNotBehindThem) {
  std::string text = "# Title\n\nIntroduction.\n\n";
  for (int i = 0; i < 30; ++i) {
    text += "## Part " + std::to_string(i) + "\n\n";
    for (int k = 0; k < 6; ++k)
      text += "A sentence about the matter, and another one that goes on with it.\n";
    text += "\n";
  }
  const ChunkedFile file = semantic("a.md", text);
  expect_cover(text, file.chunks);
  ASSERT_GT(file.chunks.size(), 5U);
  for (std::size_t i = 1; i < file.chunks.size(); ++i) {
    EXPECT_TRUE(text_of(text, file.chunks[i]).starts_with("## Part "));
    EXPECT_TRUE(file.symbols[i].starts_with("Part ")) << file.symbols[i];
  }
}

/// A language's way to write functions one after the other.
struct Style {
  const char* path;
  const char* opening;   // of the file
  const char* function;  // its first line; @ stands for its number
  const char* statement;
  const char* end;
  const char* closing;  // of the file
};

constexpr Style kStyles[] = {
    {"a.c", "#include <stdio.h>\n\n", "int work_@(int a) {\n", "  a = lookup(a, @);\n", "  return a;\n}\n\n",
     ""},
    {"a.cpp", "namespace n {\n\n", "int work_@(int a) {\n", "  a = lookup(a, @);\n", "  return a;\n}\n\n",
     "}\n"},
    {"a.cs", "class Work {\n", "  int Work@(int a) {\n", "    a = Lookup(a, @);\n", "    return a;\n  }\n\n",
     "}\n"},
    {"a.go", "package work\n\n", "func work@(a int) int {\n", "\ta = lookup(a, @)\n", "\treturn a\n}\n\n",
     ""},
    {"a.java", "class Work {\n", "  int work@(int a) {\n", "    a = lookup(a, @);\n",
     "    return a;\n  }\n\n", "}\n"},
    {"a.js", "'use strict'\n\n", "function work@(a) {\n", "  a = lookup(a, @)\n", "  return a\n}\n\n", ""},
    {"a.lua", "local M = {}\n\n", "function M.work@(a)\n", "  a = lookup(a, @)\n", "  return a\nend\n\n",
     "return M\n"},
    {"a.php", "<?php\n\n", "function work@($a) {\n", "  $a = lookup($a, @);\n", "  return $a;\n}\n\n", ""},
    {"a.py", "class Work:\n", "    def work_@(self, a):\n", "        a = lookup(a, @)\n",
     "        return a\n\n", ""},
    {"a.rb", "class Work\n", "  def work_@(a)\n", "    a = lookup(a, @)\n", "    return a\n  end\n\n",
     "end\n"},
    {"a.rs", "impl Work {\n", "    fn work_@(a: i32) -> i32 {\n", "        let a = lookup(a, @);\n",
     "        a\n    }\n\n", "}\n"},
    {"a.sh", "set -e\n\n", "work_@() {\n", "  a=$(lookup $a @)\n", "  echo $a\n}\n\n", ""},
    {"a.ts", "export class Work {\n", "  work@(a: number) {\n", "    a = lookup(a, @)\n",
     "    return a\n  }\n\n", "}\n"},
};

std::string numbered(std::string text, int number) {
  const std::size_t at = text.find('@');
  return at == std::string::npos ? text : text.replace(at, 1, std::to_string(number));
}

/// A file of more than 1,000 lines, with `extra` more statements in one of its functions.
std::string file_in(const Style& style, int edited, int extra) {
  std::mt19937 random(2);
  std::string text = style.opening;
  for (int i = 0; i < 90; ++i) {
    text += numbered(style.function, i);
    const int statements = 2 + static_cast<int>(random() % 16);
    for (int k = 0; k < statements; ++k) text += numbered(style.statement, k);
    for (int k = 0; i == edited && k < extra; ++k) text += numbered(style.statement, 1000 + k);
    text += style.end;
  }
  return text + style.closing;
}

TEST(Chunker, RecomputesOneOrTwoChunksForAnEditedFunction) {
  std::map<std::size_t, int> edits;  // by how many chunks changed
  for (const Style& style : kStyles) {
    SCOPED_TRACE(style.path);
    const std::string before = file_in(style, -1, 0);
    ASSERT_GE(std::ranges::count(before, '\n'), 1000);
    const auto chunks = texts_of(before, semantic(style.path, before).chunks);
    const std::set<std::string> old(chunks.begin(), chunks.end());
    const auto is_new = [&](const std::string& text) { return !old.contains(text); };
    for (int i = 0; i < 90; i += 5) {
      const std::string after = file_in(style, i, 3);
      const auto now = texts_of(after, semantic(style.path, after).chunks);
      ++edits[static_cast<std::size_t>(std::ranges::count_if(now, is_new))];
    }
  }
  const int all = static_cast<int>(std::size(kStyles)) * 18;
  EXPECT_FALSE(edits.contains(0));
  EXPECT_GE(edits[1], all * 3 / 4);
  EXPECT_GE(edits[1] + edits[2], all * 19 / 20);
  EXPECT_LE(edits.rbegin()->first, 4U);
}

TEST(Chunker, GivesTheSameChunksForEitherLineEnd) {
  std::mt19937 random(3);
  for (const char* path : {"a.cpp", "a.txt"}) {
    for (const Chunking chunking : {Chunking::kSemantic, Chunking::kFixed, Chunking::kDocument}) {
      const std::string unix_text =
          file_of_functions(40, random) + "\r lone \r\r" + std::string(3000, 'x') + "\n";
      std::string dos_text;
      for (const char c : unix_text) dos_text += c == '\n' ? std::string("\r\n") : std::string(1, c);
      const ChunkOptions options{.chunking = chunking};
      const ChunkedFile unix_file = chunk(path, unix_text, options, token_counter());
      const ChunkedFile dos_file = chunk(path, dos_text, options, token_counter());
      expect_cover(dos_text, dos_file.chunks);
      ASSERT_EQ(dos_file.chunks.size(), unix_file.chunks.size());
      for (std::size_t i = 0; i < dos_file.chunks.size(); ++i) {
        EXPECT_EQ(with_unix_line_ends(text_of(dos_text, dos_file.chunks[i])),
                  text_of(unix_text, unix_file.chunks[i]));
        EXPECT_EQ(dos_file.chunks[i].first_line, unix_file.chunks[i].first_line);
      }
      EXPECT_EQ(dos_file.symbols, unix_file.symbols);
    }
  }
}

TEST(Chunker, CutsFixedChunksWithinTheWindow) {
  std::mt19937 random(4);
  const std::string text = file_of_functions(60, random);
  for (const std::size_t nominal : {96, 128, 300}) {
    const ChunkOptions options{.chunking = Chunking::kFixed, .fixed_tokens = nominal, .boundary_window = 40};
    const ChunkedFile file = chunk("a.cpp", text, options, token_counter());
    expect_cover(text, file.chunks);
    for (std::size_t i = 0; i + 1 < file.chunks.size(); ++i) {
      const std::size_t tokens = token_counter()(text_of(text, file.chunks[i]));
      EXPECT_LE(tokens, nominal + 40);
      EXPECT_GE(tokens, nominal - 40);
    }
  }
}

TEST(Chunker, LeavesADocumentWhole) {
  std::mt19937 random(5);
  const std::string text = file_of_functions(60, random);
  const ChunkedFile file = chunk("a.cpp", text, {.chunking = Chunking::kDocument}, token_counter());
  expect_cover(text, file.chunks);
  EXPECT_EQ(file.chunks.size(), 1U);
}

TEST(Chunker, DigestTellsOptionsApart) {
  std::set<Digest> digests = {digest_of({})};
  EXPECT_TRUE(digests.contains(digest_of({})));
  EXPECT_TRUE(digests.insert(digest_of({.chunking = Chunking::kFixed})).second);
  EXPECT_TRUE(digests.insert(digest_of({.chunking = Chunking::kDocument})).second);
  EXPECT_TRUE(digests.insert(digest_of({.limits = {.min_tokens = 65}})).second);
  EXPECT_TRUE(digests.insert(digest_of({.limits = {.max_tokens = 511}})).second);
  EXPECT_TRUE(digests.insert(digest_of({.fixed_tokens = 129})).second);
  EXPECT_TRUE(digests.insert(digest_of({.boundary_window = 33})).second);
  EXPECT_TRUE(digests.insert(digest_of({.parse_budget = std::chrono::milliseconds(501)})).second);
}

TEST(Chunker, CountsTheTextAboutOnce) {
  std::mt19937 random(6);
  const std::string text = file_of_functions(300, random);
  std::size_t counted = 0;
  const auto counter = [&](std::string_view piece) {
    counted += piece.size();
    return token_counter()(piece);
  };
  expect_cover(text, chunk("a.cpp", text, {}, counter).chunks);
  EXPECT_LT(counted, text.size() * 3 / 2);
}

}  // namespace
}  // namespace kvboost::cache
