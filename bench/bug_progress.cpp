// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_progress.h"

#include <cstdio>
#include <fstream>
#include <utility>

namespace kvboost::bench {

// file := settings LF { name TAB json LF }; a last line that was cut short is done again.
Result<BugProgress> BugProgress::open(const std::filesystem::path& file, const std::string& settings) {
  BugProgress progress;
  progress.file_ = file;
  if (file.empty()) return progress;
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t end = whole.rfind('\n');
  whole.resize(end == std::string::npos ? 0 : end + 1);
  std::size_t begin = 0;
  bool first = true;
  for (std::size_t at = 0; (at = whole.find('\n', begin)) != std::string::npos;
       begin = at + 1, first = false) {
    const std::string line = whole.substr(begin, at - begin);
    if (first && line != settings) {
      return fail(ErrorCode::kInvalidArgument, file.string() + " was begun with other settings: " + line,
                  "name another file with --progress, or remove that one");
    }
    if (const std::size_t tab = line.find('\t'); !first && tab != std::string::npos)
      progress.kept_[line.substr(0, tab)] = line.substr(tab + 1);
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << (whole.empty() ? settings + "\n" : whole);
  if (!out.flush()) return fail(ErrorCode::kIo, "cannot write " + file.string());
  return progress;
}

const std::string* BugProgress::find(const std::string& name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? nullptr : &found->second;
}

Result<void> BugProgress::keep(const std::string& name, const std::string& line) {
  if (file_.empty()) return {};
  std::ofstream out(file_, std::ios::binary | std::ios::app);
  out << name << '\t' << line << '\n';
  if (!out.flush()) return fail(ErrorCode::kIo, "cannot write " + file_.string());
  return {};
}

void ProgressLine::step(const std::string& what) {
  ++done_;
  ++steps_;
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double left = passed / static_cast<double>(steps_) * static_cast<double>(total_ - done_);
  std::fprintf(stderr, "\r%zu of %zu, %.0f s left (%s)\x1b[K", done_, total_, left, what.c_str());
}

ProgressLine::~ProgressLine() {
  if (steps_ > 0) std::fputc('\n', stderr);
}

}  // namespace kvboost::bench
