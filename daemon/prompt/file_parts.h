// SPDX-License-Identifier: Apache-2.0
// FileParts: turns spans of files into parts of a plan, within a number of tokens. Each span is encoded
// alone, so that its ids are the same whatever stands beside it. Made for one plan, on one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

class FileParts {
 public:
  FileParts(Repository& repository, const ChatTemplate& chat, const engine::Tokenizer& tokenizer,
            std::size_t budget);

  /// The file as it is now, read once. The error's message is the bare reason.
  [[nodiscard]] const Result<SourceText>& source(const std::string& path);

  /// Tokens that the whole file, or one span more, would add to the plan. The file must be readable, and the
  /// span be one of its.
  [[nodiscard]] std::size_t cost_of_file(const std::string& path);
  [[nodiscard]] std::size_t cost_of_span(const std::string& path, std::size_t index);

  /// Takes it if it fits, and says whether it did. A part's score is the best one of its file.
  bool take_file(const std::string& path, double score);
  bool take_span(const std::string& path, std::size_t index, double score);

  [[nodiscard]] std::size_t left() const { return budget_ - used_; }
  /// Files of which something was taken, in the order in which that happened.
  [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }

  /// One part for each run of neighbouring spans, in the files' given order.
  [[nodiscard]] std::vector<PlanPart> parts(const std::vector<std::string>& order);

 private:
  using SpanSet = std::set<std::size_t>;
  struct File {
    Result<SourceText> source;
    std::vector<engine::TokenId> opening{};
    std::vector<std::vector<engine::TokenId>> spans{};  // each encoded when first asked for
    SpanSet taken{};
    bool any_taken = false;  // an empty file can be taken too
    double score = 0;
  };

  File& file(const std::string& path);
  const std::vector<engine::TokenId>& span_tokens(File& file, std::size_t index);
  [[nodiscard]] std::size_t cost(File& file, const SpanSet& spans);
  [[nodiscard]] std::size_t cost_of(const std::string& path, const SpanSet& more);
  bool take(const std::string& path, const SpanSet& more, double score);
  [[nodiscard]] PlanPart part(const std::string& path, std::size_t first, std::size_t end);

  Repository& repository_;
  const ChatTemplate& chat_;
  const engine::Tokenizer& tokenizer_;
  const std::size_t budget_;
  std::size_t used_ = 0;
  const std::vector<engine::TokenId> line_end_;  // behind a part whose text does not end with one
  std::map<std::string, File> files_;
  std::vector<std::string> taken_;
};

}  // namespace kvboost::daemon
