// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/grammars.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <string>

#include "base/text.h"

extern "C" {
const TSLanguage* tree_sitter_bash();
const TSLanguage* tree_sitter_c();
const TSLanguage* tree_sitter_c_sharp();
const TSLanguage* tree_sitter_cpp();
const TSLanguage* tree_sitter_css();
const TSLanguage* tree_sitter_go();
const TSLanguage* tree_sitter_html();
const TSLanguage* tree_sitter_java();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_json();
const TSLanguage* tree_sitter_lua();
const TSLanguage* tree_sitter_markdown();
const TSLanguage* tree_sitter_php();
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_ruby();
const TSLanguage* tree_sitter_rust();
const TSLanguage* tree_sitter_toml();
const TSLanguage* tree_sitter_tsx();
const TSLanguage* tree_sitter_typescript();
const TSLanguage* tree_sitter_yaml();
}

namespace kvboost::cache {
namespace {

// Extensions in lower case and without the dot, whole file names, interpreters without their version. A .h
// file is read as C++, which reads C too.
constexpr Grammar kGrammars[] = {
    {"Bash", tree_sitter_bash, "sh bash", ".bashrc .profile PKGBUILD", "sh bash dash"},
    {"C", tree_sitter_c, "c", "", ""},
    {"C#", tree_sitter_c_sharp, "cs", "", ""},
    {"C++", tree_sitter_cpp, "cc cpp cxx c++ h hh hpp hxx h++ inl ipp tpp", "", ""},
    {"CSS", tree_sitter_css, "css", "", ""},
    {"Go", tree_sitter_go, "go", "", ""},
    {"HTML", tree_sitter_html, "html htm xhtml", "", ""},
    {"Java", tree_sitter_java, "java", "", ""},
    {"JavaScript", tree_sitter_javascript, "js cjs mjs jsx", "", "node"},
    {"JSON", tree_sitter_json, "json jsonc", "", ""},
    {"Lua", tree_sitter_lua, "lua", "", "lua luajit"},
    {"Markdown", tree_sitter_markdown, "md markdown", "", ""},
    {"PHP", tree_sitter_php, "php phtml", "", "php"},
    {"Python", tree_sitter_python, "py pyi pyw", "SConstruct SConscript", "python"},
    {"Ruby", tree_sitter_ruby, "rb rake gemspec", "Gemfile Rakefile Vagrantfile", "ruby"},
    {"Rust", tree_sitter_rust, "rs", "", ""},
    {"TOML", tree_sitter_toml, "toml", "Cargo.lock poetry.lock Pipfile", ""},
    {"TSX", tree_sitter_tsx, "tsx", "", ""},
    {"TypeScript", tree_sitter_typescript, "ts cts mts", "", "deno"},
    {"YAML", tree_sitter_yaml, "yaml yml", ".clang-format .clang-tidy", ""},
};

bool has_word(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (const auto part : std::views::split(list, ' ')) {
    if (std::string_view(part) == word) return true;
  }
  return false;
}

const Grammar* by_word(std::string_view Grammar::*list, std::string_view word) {
  const auto grammar =
      std::ranges::find_if(kGrammars, [&](const Grammar& g) { return has_word(g.*list, word); });
  return grammar == std::end(kGrammars) ? nullptr : grammar;
}

// "#!/usr/bin/env -S python3.11 -u" → "python"
std::string_view interpreter(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  std::string_view line = text.substr(2, std::min<std::size_t>(text.find('\n'), 200) - 2);
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    if (word.starts_with('-') || word.contains('=')) continue;  // an option or assignment behind env
    word.remove_prefix(word.rfind('/') + 1);
    if (word == "env") continue;
    return word.substr(0, word.find_first_of("0123456789.-"));
  }
}

}  // namespace

std::span<const Grammar> all_grammars() {
  return kGrammars;
}

const Grammar* find_grammar(std::string_view path, std::string_view text) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (const Grammar* grammar = by_word(&Grammar::names, name)) return grammar;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && dot > 0)
    return by_word(&Grammar::extensions, ascii_lower(name.substr(dot + 1)));
  return by_word(&Grammar::interpreters, interpreter(text));
}

}  // namespace kvboost::cache
