// SPDX-License-Identifier: Apache-2.0
#include "bench/sample_text.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace kvboost::bench {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> source_files(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name.starts_with('.') || name == "build")) it.disable_recursion_pending();
    const auto extension = it->path().extension();
    if (it->is_regular_file() && (extension == ".cpp" || extension == ".h")) files.push_back(it->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::string> sample_text(const fs::path& from) {
  std::error_code error;
  std::vector<fs::path> files = {from};
  if (fs::is_directory(from, error)) files = source_files(from, error);
  std::ostringstream text;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (in && fs::file_size(file, error) > 0) text << in.rdbuf();
  }
  if (text.view().empty()) {
    return fail(ErrorCode::kNotFound, "no text to measure with in " + from.string(),
                "name a file or a folder of C++ sources with --text");
  }
  return std::move(text).str();
}

}  // namespace kvboost::bench
