// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/trial_texts.h"

#include <set>
#include <span>
#include <utility>

#include "daemon/pipeline/reuse_samples.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kFiles = 12;
constexpr std::size_t kFileTokens = 450;
constexpr std::size_t kLeastFiles = 6;

constexpr const char* kQuestions[] = {
    "What does {} do, and which of the other files need it?",
    "Which function in {} can fail, and what happens then?",
    "Which of these files would have to change if {} were split in two? Name the first one.",
    "Where would a new option for {} be read? Name the file and the function.",
    "In which order are the functions of {} called, and by whom?",
    "Is there a mistake in {}? Name the line.",
    "Which types does {} use that are declared elsewhere?",
    "What would a test of {} have to prepare before it can begin?",
};

std::vector<cache::Neighbour> owned(std::span<const ReuseSample> samples) {
  std::vector<cache::Neighbour> files;
  for (const ReuseSample& sample : samples)
    files.push_back({std::string(sample.path), std::string(sample.text)});
  return files;
}

}  // namespace

std::string_view to_string(Behind behind) {
  return behind == Behind::kHeader ? "header" : "neighbours";
}

TrialTexts builtin_texts(Behind behind) {
  TrialTexts texts{.files = owned(reuse_samples())};
  for (const std::string_view question : reuse_questions()) texts.questions.emplace_back(question);
  if (behind == Behind::kNeighbours) texts.neighbours = owned(reuse_neighbours());
  return texts;
}

TrialTexts repository_texts(Repository& repository, const engine::Tokenizer& tokenizer,
                            std::vector<cache::Neighbour> neighbours) {
  std::set<std::string> without;
  for (const cache::Neighbour& neighbour : neighbours) without.insert(neighbour.path);
  auto files =
      choose_pieces(repository, tokenizer,
                    {.pieces = kFiles, .tokens = kFileTokens, .from_middle = false, .without = &without});
  if (files.size() < kLeastFiles) return {};
  return {.files = std::move(files),
          .questions = {std::begin(kQuestions), std::end(kQuestions)},
          .neighbours = std::move(neighbours)};
}

}  // namespace kvboost::daemon
