// SPDX-License-Identifier: Apache-2.0
// FileParts: turns chunks of files into parts of a plan, within a number of tokens. Made for one plan, on one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/chunk_cache.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

/// A chunk of a file as a part of a plan.
[[nodiscard]] PlanPart file_part(const std::string& path, const EncodedChunk& chunk);

/// Calls visit(first, end) for each run of neighbouring indices.
template <class Visit>
void for_each_run(const std::set<std::size_t>& indices, const Visit& visit) {
  for (auto at = indices.begin(); at != indices.end();) {
    const std::size_t first = *at;
    std::size_t end = first;
    while (at != indices.end() && *at == end) {
      ++at;
      ++end;
    }
    visit(first, end);
  }
}

class FileParts {
 public:
  FileParts(Repository& repository, const ChatTemplate& chat, const engine::Tokenizer& tokenizer,
            std::size_t budget);

  /// The file as it is now, read once. The error's message is the bare reason.
  [[nodiscard]] const Result<std::shared_ptr<const EncodedFile>>& chunks(const std::string& path);

  /// Chunks of one file, by index.
  using Selection = std::set<std::size_t>;
  [[nodiscard]] Selection all_of(const std::string& path);
  /// The chunks that hold a good part of these bytes, which were cut by other rules than they.
  [[nodiscard]] Selection holding(const std::string& path, std::size_t begin, std::size_t end);

  // Below, the file must be readable, and have the selected chunks.
  /// Tokens that they would add to the plan.
  [[nodiscard]] std::size_t cost(const std::string& path, const Selection& more);
  /// Takes them if all fit, and says whether they did. A part's score is the best one of its file.
  bool take(const std::string& path, const Selection& more, double score);

  [[nodiscard]] std::size_t left() const { return budget_ - used_; }
  /// From now on takes at most so many more.
  void limit(std::size_t tokens) { budget_ = used_ + std::min(left(), tokens); }
  /// Of one file, the chunks that were taken.
  [[nodiscard]] const Selection& taken_of(const std::string& path) { return file(path).taken; }
  /// Files of which something was taken, in the order in which that happened.
  [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }

  /// For each run of neighbouring chunks an opening and a part a chunk, in the files' given order.
  [[nodiscard]] std::vector<PlanPart> parts(const std::vector<std::string>& order);

 private:
  struct File {
    Result<std::shared_ptr<const EncodedFile>> chunks;
    std::vector<engine::TokenId> opening{};
    Selection taken{};
    bool any_taken = false;  // an empty file can be taken too
    double score = 0;
  };

  File& file(const std::string& path);
  [[nodiscard]] std::size_t size(const File& file, const Selection& selection) const;
  void append_run(std::vector<PlanPart>& parts, const std::string& path, const File& file, std::size_t first,
                  std::size_t end) const;

  Repository& repository_;
  const ChatTemplate& chat_;
  const engine::Tokenizer& tokenizer_;
  std::size_t budget_;
  std::size_t used_ = 0;
  const std::vector<engine::TokenId> line_end_;  // behind a run that ends within a line
  std::map<std::string, File> files_;
  std::vector<std::string> taken_;
};

}  // namespace kvboost::daemon
