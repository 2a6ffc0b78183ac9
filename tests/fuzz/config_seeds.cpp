// SPDX-License-Identifier: Apache-2.0
// config_fuzz_seeds FOLDER: configuration files to start from, good and nearly good.
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr std::array<std::string_view, 8> kFiles = {
      "# mine\nmodel = \"~/models/x.gguf\" # this one\nthreads = 4\ntemperature = 0.7\nforce_tokenizer = "
      "true\n",
      "\xEF\xBB\xBFthreads=0x10\r\nmodel='''\r\nlong ü \\n'''\r\n",
      "model = \"\"\"a\n\\u00fc \\\n  b\"\"\"\n\"quoted key\" = 1\n",
      "a.b = 1\nc = {d = [1, 2, {e = 1979-05-27T07:32:00Z}]}\n",
      "[table]\nthreads = 1\n[[list]]\n",
      "threads = 1_000\nx = inf\ny = -nan\nz = 1e999\n",
      "threads = 1\nthreads = 2\n",
      "threads = 1 model = 2\n"};
  int number = 0;
  for (const std::string_view text : kFiles) {
    std::ofstream(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)), std::ios::binary)
        << text;
  }
  return 0;
}
