// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_prompts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <utility>

#include "bench/source_names.h"

namespace kvboost::bench {
namespace {

using daemon::PartKind;

constexpr std::array<std::pair<Scenario, const char*>, 8> kScenarios = {{{Scenario::kShuffled, "shuffled"},
                                                                         {Scenario::kSame, "same"},
                                                                         {Scenario::kQuestion, "question"},
                                                                         {Scenario::kEdited, "edited"},
                                                                         {Scenario::kDeleted, "deleted"},
                                                                         {Scenario::kDropped, "dropped"},
                                                                         {Scenario::kRestart, "restart"},
                                                                         {Scenario::kNoise, "noise"}}};
constexpr std::size_t kChoices = 4;
constexpr std::size_t kOpenEvery = 4;  // one question in so many is open
constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();
constexpr int kTries = 200;  // to find a question that was not asked yet

template <typename T>
const T& any_of(const std::vector<T>& all, std::mt19937& random) {
  return all[random() % all.size()];
}

}  // namespace

const char* to_string(Scenario scenario) {
  return std::ranges::find(kScenarios, scenario, [](const auto& s) { return s.first; })->second;
}

std::optional<Scenario> scenario_of(const std::string& name) {
  const auto found = std::ranges::find(kScenarios, name, [](const auto& s) { return std::string(s.second); });
  return found == kScenarios.end() ? std::nullopt : std::optional(found->first);
}

const ReusePrompt& PromptMaker::Set::of(Scenario scenario) const {
  switch (scenario) {
    case Scenario::kShuffled:
      return shuffled.front();
    case Scenario::kQuestion:
      return question;
    case Scenario::kEdited:
      return edited;
    case Scenario::kDeleted:
      return deleted;
    case Scenario::kDropped:
      return dropped;
    default:
      return base;
  }
}

Result<PromptMaker> PromptMaker::make(daemon::Repository& repository, const daemon::ChatTemplate& chat,
                                      const engine::Tokenizer& tokenizer, const Digest& context,
                                      const PromptOptions& options) {
  PromptMaker maker(chat, tokenizer, context, options);
  if (options.neighbours) {
    maker.neighbours_ = daemon::neighbour_run(daemon::choose_neighbours(repository, tokenizer), tokenizer,
                                              chat, context, options.context);
    if (maker.neighbours_.tokens.empty()) {
      return fail(ErrorCode::kInvalidArgument, "the repository has too few source files for neighbours",
                  "leave out --neighbours, or take a larger repository");
    }
  }
  std::vector<std::string> paths = repository.files();
  std::ranges::shuffle(paths, maker.random_);
  const auto tokens = static_cast<std::size_t>(options.tokens / options.files);
  std::vector<PromptFile> files;
  for (const std::string& path : paths) {
    if (files.size() == options.pool) break;
    auto text = repository.read(path);
    if (!text || text->size() > 200'000 || maker.neighbours_.paths.contains(path)) continue;
    auto file = maker.cut(path, std::move(*text), tokens, kWhole);
    if (2 * file.tokens() >= tokens && !lines_in(file.taken()).empty()) files.push_back(std::move(file));
  }
  if (files.size() < std::max<std::size_t>(static_cast<std::size_t>(options.files), kChoices)) {
    return fail(ErrorCode::kInvalidArgument,
                "only " + std::to_string(files.size()) + " files are long enough for such prompts",
                "take fewer --tokens, or another repository");
  }
  maker.files_ = std::make_shared<const std::vector<PromptFile>>(std::move(files));
  return maker;
}

daemon::BlockGroup PromptMaker::warmed(const PromptFile& file) const {
  daemon::BlockGroup group = file.group;
  auto& head = group.front().tokens;
  head.insert(head.end(), neighbours_.tokens.begin(), neighbours_.tokens.end());
  cache::KeyChain chain(context_);
  for (daemon::BlockPart& part : group) part.key = chain.next(part.tokens);
  return group;
}

/// The chunks of the file's first group whose middle is before `end`, and that have about `tokens` together.
PromptFile PromptMaker::cut(const std::string& path, std::string text, std::size_t tokens,
                            std::size_t end) const {
  const auto chunks = daemon::cut_and_encode(*tokenizer_, path, text, {});
  const auto groups = daemon::group_blocks(chunks, path, *chat_, context_, 2 * daemon::kGroupTokens);
  PromptFile file{path, std::move(text), 0, {}};
  if (groups.empty()) return file;
  std::size_t taken = 0;
  for (const daemon::BlockPart& part : groups.front()) {
    if (file.group.size() >= daemon::kFirstChunk) {
      if (taken + part.tokens.size() / 2 > tokens || (part.span.begin + part.span.end) / 2 >= end) break;
      taken += part.tokens.size();
      file.end = std::min(part.span.end, file.text.size());
    }
    file.group.push_back(part);
  }
  return file;
}

std::size_t PromptFile::tokens() const {
  std::size_t n = 0;
  for (std::size_t i = daemon::kFirstChunk; i < group.size(); ++i) n += group[i].tokens.size();
  return n;
}

Result<PromptMaker::Set> PromptMaker::next() {
  Order order;
  for (const PromptFile& file : *files_) order.push_back(&file);
  std::ranges::shuffle(order, random_);
  order.resize(static_cast<std::size_t>(options_.files));
  Order other = order;
  while (other == order && other.size() > 1) std::ranges::shuffle(other, random_);

  std::vector<Question> questions(static_cast<std::size_t>(2 + options_.questions));
  for (Question& question : questions) {
    auto asked = ask(order);
    if (!asked) return fail(asked.error());
    question = std::move(*asked);
  }
  const PromptFile edited = change_line(*order[1], false), deleted = change_line(*order[1], true);
  const auto with = [&](const PromptFile& file) {
    Order changed = order;
    changed[1] = &file;
    return prompt(changed, questions[0]);
  };
  Order dropped = order;
  dropped.erase(dropped.begin() + 1);
  Set set{.base = prompt(order, questions[0]),
          .question = prompt(order, questions[1]),
          .edited = with(edited),
          .deleted = with(deleted),
          .dropped = prompt(dropped, questions[0]),
          .shuffled = {}};
  for (std::size_t i = 2; i < questions.size(); ++i) set.shuffled.push_back(prompt(other, questions[i]));
  return set;
}

Result<PromptMaker::Question> PromptMaker::ask(const Order& files) {
  for (int i = 0; i < kTries; ++i) {
    auto question = try_ask(files);
    if (!question || !asked_.insert(question->text).second) continue;
    ++n_asked_;
    return std::move(*question);
  }
  return fail(ErrorCode::kInvalidArgument,
              "these files give no more than " + std::to_string(n_asked_) + " different questions",
              "ask for fewer --prompts, or take a larger repository");
}

std::optional<PromptMaker::Question> PromptMaker::try_ask(const Order& files) {
  Order named = files;
  std::ranges::shuffle(named, random_);
  const PromptFile& about = *named[0];
  named.resize(kChoices);
  std::string subject;  // the word or line that only this one of the four has
  std::string text = "\nAnswer the question about the files above";
  if (n_asked_ % kOpenEvery == kOpenEvery - 1) {
    const auto functions = functions_in(about.taken());
    text += ".\n\nQuestion: ";
    text += functions.empty() ? "What is in " + about.path + "?"
                              : "What does " + any_of(functions, random_) + " in " + about.path + " do?";
    return Question{std::move(text), std::nullopt};
  }
  const auto functions = functions_in(about.taken()), types = types_in(about.taken());
  text += " with one letter.\n\nQuestion: ";
  if (!functions.empty() && random_() % 2 == 0) {
    subject = any_of(functions, random_);
    text += "In which of these four files is the function " + subject + " defined?";
  } else if (!types.empty() && random_() % 2 == 0) {
    subject = any_of(types, random_);
    text += "In which of these four files is the type " + subject + " defined?";
  } else {
    subject = any_of(lines_in(about.taken()), random_);
    text += "Which of these four files has the line `" + subject + "`?";
  }
  const bool elsewhere = std::ranges::any_of(named.begin() + 1, named.end(), [&](const PromptFile* file) {
    return has_word(file->taken(), subject);
  });
  if (elsewhere) return std::nullopt;
  std::ranges::shuffle(named, random_);
  for (std::size_t i = 0; i < kChoices; ++i) {
    text += std::string("\n") + static_cast<char>('A' + i) + ". " + named[i]->path;
  }
  return Question{std::move(text), std::ranges::find(named, &about) - named.begin()};
}

ReusePrompt PromptMaker::prompt(const Order& files, const Question& question) const {
  ReusePrompt prompt{.plan = {}, .answer = question.answer};
  auto& parts = prompt.plan.parts;
  parts.push_back({.kind = PartKind::kHeader, .tokens = chat_->header()});
  for (const PromptFile* file : files) {
    for (std::size_t i = 1; i < file->group.size(); ++i) {
      const daemon::BlockPart& part = file->group[i];
      parts.push_back({.kind = PartKind::kFile,
                       .path = file->path,
                       .first_line = part.span.end > 0 ? part.span.first_line : 0,
                       .tokens = part.tokens});
    }
  }
  parts.push_back({.tokens = tokenizer_->encode(question.text)});
  auto closing = chat_->turn_to_assistant();
  const auto answer = tokenizer_->encode("Answer:");
  closing.insert(closing.end(), answer.begin(), answer.end());
  parts.push_back({.tokens = std::move(closing)});
  return prompt;
}

/// The file with the line in its middle changed, or without it.
PromptFile PromptMaker::change_line(const PromptFile& file, bool erase) const {
  std::size_t begin = file.text.rfind('\n', file.end / 2);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::size_t end = std::min(file.text.find('\n', begin), file.text.size());
  while (end == begin && end + 1 < file.end) {  // an empty line: the next one
    begin = end + 1;
    end = std::min(file.text.find('\n', begin), file.text.size());
  }
  constexpr std::string_view kChange = "  changed";
  std::string text = file.text;
  const std::size_t line_end = std::min(end + 1, text.size());
  if (erase) {
    text.erase(begin, line_end - begin);
  } else {
    text.insert(end, kChange);
  }
  const std::size_t covered = erase ? file.end - (line_end - begin) : file.end + kChange.size();
  return cut(file.path, std::move(text), kWhole, covered);
}

}  // namespace kvboost::bench
