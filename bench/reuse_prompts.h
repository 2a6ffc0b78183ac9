// SPDX-License-Identifier: Apache-2.0
// Prompts for the reuse bench: the beginnings of files of a repository in a shuffled order, behind them a
// question of which the right answer is known, or an open one; and what an editor's next requests make of
// such a prompt. The same repository, options and seed give the same prompts. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/neighbour_run.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::bench {

/// What stands in a prompt, compared with the prompt that was answered just before it ("the base").
enum class Scenario {
  kShuffled,  // the base's files in another order, another question
  kSame,      // the base
  kQuestion,  // the base's files in the same order, another question
  kEdited,    // the base with one line of its second file changed
  kDeleted,   // the base with that line deleted
  kDropped,   // the base without its second file
  kRestart,   // the base, after a restart
  kNoise,     // the base read in full once more, in other blocks: what the engine itself makes uncertain
};
[[nodiscard]] const char* to_string(Scenario scenario);
[[nodiscard]] std::optional<Scenario> scenario_of(const std::string& name);

/// The beginning of a file, as the warmer would store it.
struct PromptFile {
  std::string path;
  std::string text;          // of the whole file
  std::size_t end = 0;       // bytes of it that the chunks cover
  daemon::BlockGroup group;  // header, opening, chunks

  [[nodiscard]] std::string_view taken() const { return std::string_view(text).substr(0, end); }
  [[nodiscard]] std::size_t tokens() const;  // of the chunks
};

struct ReusePrompt {
  daemon::PromptPlan plan;
  std::optional<std::size_t> answer;  // which of the four letters is right; none: an open question
};

struct PromptOptions {
  std::int32_t files = 8;      // in a prompt
  std::int32_t tokens = 6500;  // of a prompt, about
  std::int32_t questions = 1;  // to the files in one shuffled order
  std::size_t pool = 24;       // files to choose from
  bool neighbours = false;     // blocks are computed behind the repository's
  std::uint32_t seed = 1;
  std::int32_t context = 8192;  // the model's
};

class PromptMaker {
 public:
  /// `chat`, `tokenizer` are borrowed. kInvalidArgument when the repository has too few files of that length.
  [[nodiscard]] static Result<PromptMaker> make(daemon::Repository& repository,
                                                const daemon::ChatTemplate& chat,
                                                const engine::Tokenizer& tokenizer, const Digest& context,
                                                const PromptOptions& options);

  [[nodiscard]] const std::vector<PromptFile>& files() const { return *files_; }

  /// What is to be computed for the file's blocks: its group, behind the neighbours.
  [[nodiscard]] daemon::BlockGroup warmed(const PromptFile& file) const;
  /// NeighbourRun::end
  [[nodiscard]] const Digest& neighbours() const { return neighbours_.end; }

  /// A base and its successors. Their questions were in no prompt before; kInvalidArgument when the files
  /// give no more.
  struct Set {
    ReusePrompt base, question, edited, deleted, dropped;
    std::vector<ReusePrompt> shuffled;  // PromptOptions::questions of them, in one order
    [[nodiscard]] const ReusePrompt& of(Scenario scenario) const;
  };
  [[nodiscard]] Result<Set> next();

 private:
  struct Question {
    std::string text;
    std::optional<std::size_t> answer;
  };
  using Order = std::vector<const PromptFile*>;

  PromptMaker(const daemon::ChatTemplate& chat, const engine::Tokenizer& tokenizer, const Digest& context,
              const PromptOptions& options)
      : chat_(&chat), tokenizer_(&tokenizer), context_(context), options_(options), random_(options.seed) {}

  [[nodiscard]] PromptFile cut(const std::string& path, std::string text, std::size_t tokens,
                               std::size_t end) const;
  [[nodiscard]] Result<Question> ask(const Order& files);
  [[nodiscard]] std::optional<Question> try_ask(const Order& files);
  [[nodiscard]] ReusePrompt prompt(const Order& files, const Question& question) const;
  [[nodiscard]] PromptFile change_line(const PromptFile& file, bool erase) const;

  const daemon::ChatTemplate* chat_;
  const engine::Tokenizer* tokenizer_;
  Digest context_;
  PromptOptions options_;
  std::mt19937 random_;
  daemon::NeighbourRun neighbours_;
  std::shared_ptr<const std::vector<PromptFile>> files_;  // stays where it is when the maker moves
  std::set<std::string> asked_;
  std::size_t n_asked_ = 0;
};

}  // namespace kvboost::bench
