// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/assembler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/named_paths.h"
#include "daemon/prompt/span_choice.h"

namespace kvboost::daemon {
namespace {

// Behind the files, so that all questions share what comes before.
constexpr std::string_view kInstruction =
    "\nAnswer the question about the repository that the files above are from. Keep to what they say, name "
    "the files "
    "you rely on, and say so if they do not tell.\n\nQuestion: ";
constexpr std::string_view kInstructionWithoutFiles = "Question: ";

// After so many that do not fit, the rest of the named files is only counted.
constexpr std::size_t kMostListed = 200;

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

std::string number(std::size_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

Result<ChosenSpans> take_named(const AssembleRequest& request, Repository& repository, FileParts& files,
                               const std::stop_token& stop) {
  const auto paths = resolve_paths(repository, request.paths, request.directory);
  if (!paths) return fail(paths.error());
  ChosenSpans chosen;
  std::size_t unseen = paths->size();
  for (const std::string& path : *paths) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while reading files");
    if (chosen.left_out.size() == kMostListed) break;
    --unseen;
    const auto& chunks = files.chunks(path);
    if (!chunks) {
      chosen.left_out.push_back({path, chunks.error().message});
    } else if (const auto all = files.all_of(path); !files.take(path, all, 1)) {
      chosen.left_out.push_back(
          {path, number(files.cost(path, all)) + " tokens, of which " + number(files.left()) + " fit"});
    }
  }
  if (files.taken().empty()) {
    const LeftOut& first = chosen.left_out.front();
    return fail(ErrorCode::kInvalidArgument,
                "none of the named files can be read whole: " + first.path + ": " + first.reason,
                "name smaller files, or none, to have the fitting parts chosen");
  }
  if (unseen > 0)
    chosen.left_out.push_back({number(unseen) + " more files", "behind those that did not fit"});
  chosen.parts = files.parts(files.taken());
  return chosen;
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
    return fail(
        ErrorCode::kInvalidArgument,
        "the question needs " + number(frame.size()) + " tokens, the prompt may have " + number(budget),
        "shorten it, or take a model with a longer context");
  }
  FileParts files(repository, chat, tokenizer, budget - frame.size());
  auto chosen = request.paths.empty() ? choose_spans(repository, request.question, files, stop)
                                      : take_named(request, repository, files, stop);
  if (!chosen) return fail(chosen.error());
  if (chosen->parts.empty()) frame = make_frame(request, false, chat, tokenizer);
  return join(std::move(frame), std::move(*chosen));
}

}  // namespace kvboost::daemon
