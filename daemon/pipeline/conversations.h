// SPDX-License-Identifier: Apache-2.0
// Conversations: the last one of each work tree, so that `ask --continue` goes on with it. What is kept are
// the parts of its prompt, answer included; while they are also a live sequence, nothing of them is read
// again. On disk they go as text, and only when the user chose so (save_conversations). Any thread.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/prompt_plan.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

struct Conversation {
  std::string model;            // the file it was held with: token ids mean nothing to another
  std::vector<PlanPart> parts;  // from the header to the last answer, whose turn is still open
  std::string question{};       // the last one
};

class Conversations {
 public:
  /// `directory`: where to keep their text; nothing is written or read without one.
  explicit Conversations(std::optional<std::filesystem::path> directory) : directory_(std::move(directory)) {}

  /// The last conversation held in `root` with this model. kNotFound when there is none, or it was another
  /// model's.
  [[nodiscard]] Result<Conversation> last(const std::filesystem::path& root, const std::string& model,
                                          const engine::Tokenizer& tokenizer) const;

  /// Replaces it. A failed write is logged, once a cause: the conversation goes on in memory.
  void keep(const std::filesystem::path& root, Conversation conversation, const engine::Tokenizer& tokenizer);

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::filesystem::path& root) const;

  std::optional<std::filesystem::path> directory_;
  mutable std::mutex mutex_;
  std::map<std::filesystem::path, Conversation> by_root_;
};

}  // namespace kvboost::daemon
