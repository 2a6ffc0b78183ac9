// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/assembler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/named_choice.h"
#include "daemon/prompt/span_choice.h"

namespace kvboost::daemon {
namespace {

// Behind the files, so that all questions share what comes before.
constexpr std::string_view kInstruction =
    "\nAnswer the question about the repository that the files above are from. Keep to what they say, name "
    "the files "
    "you rely on, and say so if they do not tell.\n\nQuestion: ";
constexpr std::string_view kInstructionWithoutFiles = "Question: ";

struct Frame {
  std::vector<engine::TokenId> header;
  std::vector<engine::TokenId> question;  // with the instruction before it
  std::vector<engine::TokenId> closing;

  [[nodiscard]] std::size_t size() const { return header.size() + question.size() + closing.size(); }
};

Frame make_frame(const AssembleRequest& request, bool with_files, const ChatTemplate& chat,
                 const engine::Tokenizer& tokenizer) {
  Frame frame{chat.header(), tokenizer.encode(with_files ? kInstruction : kInstructionWithoutFiles),
              chat.turn_to_assistant()};
  const auto question = tokenizer.encode(request.question);
  frame.question.insert(frame.question.end(), question.begin(), question.end());
  return frame;
}

Result<ChosenSpans> choose(const AssembleRequest& request, std::size_t by_words, Repository& repository,
                           FileParts& files, const std::stop_token& stop) {
  if (!request.paths.empty()) {
    return choose_named({request.question, request.paths, request.directory, by_words}, repository, files,
                        stop);
  }
  files.limit(by_words);
  return choose_spans(repository, request.question, files, stop);
}

PromptPlan join(Frame frame, ChosenSpans chosen) {
  PromptPlan plan;
  plan.parts.push_back({.kind = PartKind::kHeader, .tokens = std::move(frame.header)});
  std::ranges::move(chosen.parts, std::back_inserter(plan.parts));
  plan.parts.push_back({.kind = PartKind::kLiteral, .tokens = std::move(frame.question)});
  plan.parts.push_back({.kind = PartKind::kLiteral, .tokens = std::move(frame.closing)});
  plan.left_out = std::move(chosen.left_out);
  return plan;
}

}  // namespace

Result<PromptPlan> assemble(Repository& repository, const AssembleRequest& request, const ChatTemplate& chat,
                            const engine::Tokenizer& tokenizer, const std::stop_token& stop) {
  Frame frame = make_frame(request, true, chat, tokenizer);
  const auto budget = static_cast<std::size_t>(std::max(0, request.budget));
  if (frame.size() > budget) {
    const auto count = [](std::size_t tokens) { return human_count(static_cast<std::int64_t>(tokens)); };
    return fail(ErrorCode::kInvalidArgument,
                "the question needs " + count(frame.size()) + " tokens, the model's context has room for " +
                    count(budget),
                "shorten it, name a file instead of pasting it, or take a model with a longer context");
  }
  FileParts files(repository, chat, tokenizer, budget - frame.size());
  const std::size_t by_words = request.by_words > 0 ? static_cast<std::size_t>(request.by_words) : budget;
  auto chosen = choose(request, by_words, repository, files, stop);
  if (!chosen) return fail(chosen.error());
  if (chosen->parts.empty()) frame = make_frame(request, false, chat, tokenizer);
  return join(std::move(frame), std::move(*chosen));
}

}  // namespace kvboost::daemon
