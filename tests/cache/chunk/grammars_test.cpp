// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/grammars.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <ranges>
#include <string>

#include "cache/chunk/syntax.h"

namespace kvboost::cache {
namespace {

struct Sample {
  std::string text;
  std::string symbol;  // that its syntax must name; empty where the language has no declarations
};

// Two members each, the second on a row of its own.
const std::map<std::string_view, Sample> kSamples = {
    {"Bash", {"#!/bin/sh\nset -e\ngreet() {\n  echo \"hi $1\"\n  exit\n}\n", "greet"}},
    {"C", {"#include <stdio.h>\nint *twice(int a) {\n  a *= 2;\n  return 0;\n}\n", "twice"}},
    {"C#", {"using System;\nclass Point {\n  int X;\n  int Twice(int a) { return 2 * a; }\n}\n", "Twice"}},
    {"C++", {"namespace a {\ntemplate <class T>\nT f(T t) {\n  return t;\n}\nint g();\n}\n", "f"}},
    {"CSS", {"a { color: red; }\n@media print {\n  b { margin: 0; }\n  c { margin: 1px; }\n}\n", ""}},
    {"Go", {"package a\n\nfunc (p *Point) Twice() int {\n\tx := 1\n\treturn x\n}\n", "Twice"}},
    {"HTML", {"<!DOCTYPE html>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n", ""}},
    {"Java",
     {"import a.b;\nclass Point {\n  int x;\n  @Override\n  int twice() { return 2 * x; }\n}\n", "twice"}},
    {"JavaScript",
     {"'use strict'\nexport class Point {\n  constructor() {}\n  twice() { return 2 }\n}\n", "twice"}},
    {"JSON", {"{\n  \"a\": [1, 2],\n  \"b\": null\n}\n", ""}},
    {"Lua", {"local a = 1\nlocal function twice(x)\n  local y = x\n  return 2 * y\nend\n", "twice"}},
    {"Markdown", {"# Title\n\nText.\n\n## Part\n\nMore\n\n- a\n- b\n", "Part"}},
    {"PHP", {"<?php\nuse A\\B;\nfunction twice($a) {\n  $a *= 2;\n  return $a;\n}\n", "twice"}},
    {"Python", {"import os\n@cached\ndef twice(a):\n    a *= 2\n    return a\n", "twice"}},
    {"Ruby", {"require 'a'\nclass Point\n  attr_reader :x\n  def twice\n    2 * @x\n  end\nend\n", "twice"}},
    {"Rust",
     {"use a::b;\n#[derive(Debug)]\nimpl Point {\n    fn twice(&self) -> i32 {\n        2\n    }\n}\n",
      "Point"}},
    {"TOML", {"title = \"a\"\n[package]\nname = \"b\"\nversion = \"1\"\n", ""}},
    {"TSX",
     {"import a from 'a'\nexport const View = () => {\n  const a = 1\n  return <b>{a}</b>\n}\n", "View"}},
    {"TypeScript", {"import a from 'a'\ninterface Point {\n  x: number\n  y: number\n}\n", "Point"}},
    {"YAML", {"a: 1\nb:\n  - 2\n  - 3\n", ""}},
};

TEST(Grammars, EachReadsASampleOfItsLanguage) {
  ASSERT_EQ(all_grammars().size(), kSamples.size());
  for (const Grammar& grammar : all_grammars()) {
    ASSERT_TRUE(kSamples.contains(grammar.name)) << grammar.name;
    const Sample& sample = kSamples.at(grammar.name);
    const auto syntax = read_syntax(grammar, sample.text, std::chrono::seconds(10));
    ASSERT_TRUE(syntax) << grammar.name << ": " << syntax.error().message;
    EXPECT_EQ(syntax->rows.size(), std::ranges::count(sample.text, '\n') + 1U) << grammar.name;
    EXPECT_TRUE(std::ranges::count(syntax->rows, RowStart::kMember, &SyntaxRow::start) > 0) << grammar.name;
    EXPECT_FALSE(syntax->members.empty()) << grammar.name;
    const auto named = [&](const Symbol& symbol) { return symbol.name == sample.symbol; };
    EXPECT_TRUE(sample.symbol.empty() ? syntax->symbols.empty() : std::ranges::any_of(syntax->symbols, named))
        << grammar.name;
  }
}

std::string_view language(std::string_view path, std::string_view text = {}) {
  const Grammar* grammar = find_grammar(path, text);
  return grammar == nullptr ? "" : grammar->name;
}

TEST(Grammars, AreFoundByExtensionAndName) {
  EXPECT_EQ(language("a/b/c.py"), "Python");
  EXPECT_EQ(language("C.CPP"), "C++");
  EXPECT_EQ(language("x.test.tsx"), "TSX");
  EXPECT_EQ(language("include/x.h"), "C++");
  EXPECT_EQ(language("sub.dir/Rakefile"), "Ruby");
  EXPECT_EQ(language(".clang-format"), "YAML");
  EXPECT_EQ(language("notes.txt"), "");
  EXPECT_EQ(language("Makefile"), "");
  EXPECT_EQ(language("py"), "");
  EXPECT_EQ(language("trailing."), "");
  EXPECT_EQ(language(""), "");
  EXPECT_EQ(language("a."), "");
}

TEST(Grammars, AreFoundByInterpreterWhereTheNameSaysNothing) {
  EXPECT_EQ(language("tool", "#!/bin/sh\n"), "Bash");
  EXPECT_EQ(language("tool", "#!/usr/bin/env python3.11\nprint()\n"), "Python");
  EXPECT_EQ(language("tool", "#! /usr/bin/env -S A=1 node --x\n"), "JavaScript");
  EXPECT_EQ(language("tool", "#!/usr/bin/perl\n"), "");
  EXPECT_EQ(language("tool", "#!"), "");
  EXPECT_EQ(language("tool", "#!/usr/bin/env"), "");
  EXPECT_EQ(language("tool", "# /bin/sh\n"), "");
  EXPECT_EQ(language("tool.txt", "#!/bin/sh\n"), "");
  EXPECT_EQ(language(".hidden", "#!/bin/bash\n"), "Bash");
}

}  // namespace
}  // namespace kvboost::cache
