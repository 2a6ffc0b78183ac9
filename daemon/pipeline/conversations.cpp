// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/conversations.h"

#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "daemon/pipeline/conversation_file.h"

namespace kvboost::daemon {
namespace {

std::unexpected<Error> none(const std::filesystem::path& root) {
  return fail(ErrorCode::kNotFound, "there is no conversation to continue in " + root.string(),
              "ask without --continue first");
}

}  // namespace

Result<Conversation> Conversations::last(const std::filesystem::path& root, const std::string& model,
                                         const engine::Tokenizer& tokenizer) const {
  std::optional<Conversation> found;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = by_root_.find(root); it != by_root_.end()) found = it->second;
  }
  if (!found && directory_) {
    auto read = read_conversation(file_of(root), tokenizer);
    if (read) {
      found = std::move(*read);
    } else if (read.error().code != ErrorCode::kNotFound) {
      return fail(read.error());
    }
  }
  if (!found) return none(root);
  if (found->model != model) {
    return fail(ErrorCode::kNotFound,
                "the last conversation here was held with another model, " + found->model,
                "ask without --continue, or use that model again");
  }
  return *std::move(found);
}

void Conversations::keep(const std::filesystem::path& root, Conversation conversation,
                         const engine::Tokenizer& tokenizer) {
  if (directory_) {
    if (auto written = write_conversation(file_of(root), conversation, tokenizer); !written) {
      log::warn("the conversation is kept in memory only: {}", written.error().text());
    }
  }
  const std::lock_guard lock(mutex_);
  by_root_.insert_or_assign(root, std::move(conversation));
}

std::filesystem::path Conversations::file_of(const std::filesystem::path& root) const {
  return *directory_ / (sha256(root.native()).hex().substr(0, 32) + ".json");
}

}  // namespace kvboost::daemon
