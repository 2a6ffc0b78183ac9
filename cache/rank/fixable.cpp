// SPDX-License-Identifier: Apache-2.0
#include "cache/rank/fixable.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/text.h"

namespace kvboost::cache {
namespace {

constexpr std::string_view kSourceExtensions[] = {
    "asm", "bash", "c",  "c++",  "cc",  "cjs", "clj",   "cmake", "cpp", "cs",     "css",    "cu",  "cuh",
    "cxx", "dart", "el", "erl",  "ex",  "exs", "f90",   "fs",    "go",  "gradle", "groovy", "h",   "h++",
    "hh",  "hpp",  "hs", "hxx",  "inl", "ipp", "java",  "jl",    "js",  "jsx",    "kt",     "kts", "lua",
    "m",   "mjs",  "ml", "mli",  "mm",  "mts", "nim",   "php",   "pl",  "pm",     "proto",  "ps1", "py",
    "pyi", "pyx",  "r",  "rb",   "rs",  "s",   "scala", "sh",    "sql", "svelte", "swift",  "tcl", "tpp",
    "ts",  "tsx",  "v",  "vala", "vb",  "vim", "vue",   "y",     "zig"};

// Folders of what is not the project's own code, in lower case.
constexpr std::string_view kOtherFolders[] = {
    "__tests__",   "bench",       "benches",    "benchmark", "benchmarks", "deps",      "doc",
    "docs",        "example",     "examples",   "external",  "fixtures",   "generated", "node_modules",
    "sample",      "samples",     "spec",       "test",      "testdata",   "testing",   "tests",
    "third_party", "third-party", "thirdparty", "vendor",    "vendored"};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

bool is_other_name(std::string_view stem) {
  for (const std::string_view end :
       {"_test", ".test", "_spec", ".spec", "-test", "_pb", "_pb2", ".min", ".pb"}) {
    if (stem.ends_with(end)) return true;
  }
  return stem.starts_with("test_") || stem == "conftest" || stem.ends_with(".generated");
}

}  // namespace

bool is_fixable(std::string_view path) {
  const std::string all = ascii_lower(path);
  std::size_t begin = 0;
  for (std::size_t slash = 0; (slash = all.find('/', begin)) != std::string::npos; begin = slash + 1) {
    if (is_one_of(kOtherFolders, std::string_view(all).substr(begin, slash - begin))) return false;
  }
  const std::string_view name = std::string_view(all).substr(begin);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  return is_one_of(kSourceExtensions, name.substr(dot + 1)) && !is_other_name(name.substr(0, dot));
}

}  // namespace kvboost::cache
