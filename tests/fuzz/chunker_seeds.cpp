// SPDX-License-Identifier: Apache-2.0
// Writes a small source file of every language into a folder: what chunker_fuzz starts from.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "cache/chunk/grammars.h"

namespace {

// One file with the syntax that makes scanners remember something, per language.
constexpr std::pair<std::string_view, std::string_view> kSeeds[] = {
    {"Bash",
     "#!/bin/sh\nif [ \"$1\" ]; then\n  cat <<EOF | sed 's/a/b/' <<-'B'\n$(x \"${a:-b}\") `y`\nEOF\n\tB\nfi\n"
     "f() { case $1 in a|b) ;; *) echo $((1 + 2)) ;; esac; }\n"},
    {"C",
     "#ifdef A\n#define B(x) \\\n  (x)\nint f(int *a, ...) {\n  /* c */ return a ? *a : 'c';\n}\n#endif\n"},
    {"C#",
     "using A;\n[Flag]\nclass B : C {\n  string D => $\"{e,3:x} {{ {$@\"f\"\"\"}\";\n  int G() { return 1; "
     "}\n}\n"},
    {"C++",
     "template <class T>\nstruct A : B {\n  auto f() -> decltype(g) { return R\"x(a)x\"; }\n};\nint a<b>::c "
     "= [&]{}();\n"},
    {"CSS", "@media print { a:hover > b::before, #c[d=\"e\"] { color: rgb(1, 2, 3); } }\n/* c */\n"},
    {"Go", "package a\n\nfunc (b *C) d() (e int) {\n\tfor range f {\n\t\tg <- `h`\n\t}\n\treturn\n}\n"},
    {"HTML",
     "<!DOCTYPE html>\n<a b='c'>\n<p>d<p>e<br/>\n<script>f()</script><style>g{}</style></a><!-- h -->\n"},
    {"Java",
     "@A(b = 1)\nclass C<D extends E> {\n  /** f */\n  int g() throws H {\n    return switch (i) { case 1 -> "
     "2; };\n  }\n}\n"},
    {"JavaScript",
     "export default async (a) => {\n  const b = `c${d}`\n  return <E f={g}>h</E> /i/.j\n}\nclass K { static "
     "l() {} }\n"},
    {"JSON", "{\n  \"a\": [1.5e3, true, null],\n  \"b\": {\"c\": \"\\u0064\"}\n}\n"},
    {"Lua", "local function a(b)\n  --[[ c ]]\n  return { d = [==[e]==], 'f' }\nend\n"},
    {"Markdown",
     "# A\n\n> - b\n>   1. c\n>      ```d\n>      e\n>      ```\n\nF\n===\n\n| g | h |\n|---|---|\n| i | j "
     "|\n\n<k>\n"},
    {"PHP", "a <?php\nnamespace B;\nclass C { function d() { return <<<E\n{$f['g']}\nE; } }\n?> h\n"},
    {"Python",
     "@a\ndef b(c: int = 1, *d) -> e:\n    '''f'''\n    if g:\n        return f\"{h!r:>{i}}\"\n    with (j "
     "as k):\n        pass\n"},
    {"Ruby",
     "class A < B\n  def c(d)\n    e = <<~F + %w(g h) + \"i#{j}\"\n      k\n    F\n    :\"l\" if /m/ =~ n\n  "
     "end\nend\n"},
    {"Rust",
     "#[a]\nimpl<'b> C for D<'b> {\n    /// e\n    fn f(&self) -> G { h!{i => r#\"j\"#} /* k /* l */ */ "
     "}\n}\n"},
    {"TOML", "a = 1979-05-27\n[b.c]\nd = '''e\nf'''\ng = [1, {h = \"i\"}]\n"},
    {"TSX", "export const A: B<C> = ({d}: E) => {\n  return <F g={h as I}>j{k}</F>\n}\n"},
    {"TypeScript",
     "@a()\nexport abstract class B<C> implements D {\n  private e?: F | null\n  g(h: I): asserts h is J { "
     "return <K>l }\n}\n"},
    {"YAML", "a: &b\n  - c: |\n      d\n    e: {f: [g, h]}\n  - !i \"j\"\n---\nk: *b\n"},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: chunker_seeds FOLDER\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  char index = 0;
  for (const kvboost::cache::Grammar& grammar : kvboost::cache::all_grammars()) {
    for (const auto& [name, text] : kSeeds) {
      if (name != grammar.name) continue;
      std::ofstream file(std::filesystem::path(argv[1]) / std::string(name), std::ios::binary);
      file << index << '\0' << text;
      if (!file.flush()) return 1;
    }
    ++index;
  }
  return 0;
}
