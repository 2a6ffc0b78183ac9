// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/named_choice.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "daemon/prompt/file_ranking.h"
#include "daemon/prompt/named_paths.h"
#include "daemon/prompt/question.h"

namespace kvboost::daemon {
namespace {

std::string count(std::size_t number) {
  return human_count(static_cast<std::int64_t>(number));
}

/// "lines 1 to 20, 41 to 60".
std::string lines_of(const EncodedFile& file, const FileParts::Selection& chunks) {
  std::string lines;
  for_each_run(chunks, [&](std::size_t first, std::size_t end) {
    lines += (lines.empty() ? "lines " : ", ") + std::to_string(file[first].span.first_line) + " to " +
             std::to_string(file[end - 1].span.last_line);
  });
  return lines;
}

class NamedChooser {
 public:
  NamedChooser(const NamedChoice& named, Repository& repository, FileParts& files,
               const std::stop_token& stop)
      : named_(named), repository_(repository), files_(files), stop_(stop) {}

  Result<ChosenSpans> run() {
    const auto names = resolve_names(repository_, named_.paths, named_.directory);
    if (!names) return fail(names.error());
    if (auto taken = take_whole(names->single); !taken) return fail(taken.error());
    files_.limit(named_.by_words);
    const std::size_t shares = large_.size() + (names->of_folders.empty() ? 0 : 1);
    for (const std::string& path : large_) take_best(path, files_.left() / (shares - read_in_part_++));
    chosen_.parts = files_.parts(files_.taken());
    if (!names->of_folders.empty()) {
      auto found = choose_spans_among(names->of_folders, repository_, named_.question, files_, stop_);
      if (!found) return found;
      std::ranges::move(found->parts, std::back_inserter(chosen_.parts));
      std::ranges::move(found->left_out, std::back_inserter(chosen_.left_out));
    }
    if (files_.taken().empty()) return nothing_taken();
    return std::move(chosen_);
  }

 private:
  Result<void> take_whole(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while reading files");
      if (const auto& chunks = files_.chunks(path); !chunks) {
        chosen_.left_out.push_back({path, chunks.error().message});
      } else if (!files_.take(path, files_.all_of(path), 1)) {
        large_.push_back(path);
      }
    }
    return {};
  }

  /// Chunks of a file that is too large, the most fitting ones; where no word fits, from its beginning on.
  void take_best(const std::string& path, std::size_t tokens) {
    const EncodedFile& file = **files_.chunks(path);
    const auto text = repository_.read(path);
    std::vector<std::size_t> order =
        rank_chunks(text.value_or(""), file, read_question(named_.question).query);
    if (order.empty()) {
      const auto all = files_.all_of(path);
      order.assign(all.begin(), all.end());
    }
    const std::size_t whole = files_.cost(path, files_.all_of(path));
    for (const std::size_t chunk : order) {
      const std::size_t cost = files_.cost(path, {chunk});
      if (cost <= tokens && files_.take(path, {chunk}, 1)) tokens -= cost;
    }
    const FileParts::Selection& taken = files_.taken_of(path);
    chosen_.left_out.push_back(
        {path, taken.empty() ? count(whole) + " tokens, of which " + count(tokens) + " fit"
                             : "all but " + lines_of(file, taken) + ", which fit the question best: with " +
                                   count(whole) + " tokens it is too large to be read whole"});
  }

  [[nodiscard]] std::unexpected<Error> nothing_taken() const {
    std::string why;
    if (!chosen_.left_out.empty()) why = ": " + chosen_.left_out[0].path + ": " + chosen_.left_out[0].reason;
    return fail(ErrorCode::kInvalidArgument, "nothing of what is named can be read" + why,
                "name other files, or none, to have the fitting ones chosen");
  }

  const NamedChoice& named_;
  Repository& repository_;
  FileParts& files_;
  const std::stop_token& stop_;
  ChosenSpans chosen_;
  std::vector<std::string> large_;
  std::size_t read_in_part_ = 0;
};

}  // namespace

Result<ChosenSpans> choose_named(const NamedChoice& named, Repository& repository, FileParts& files,
                                 const std::stop_token& stop) {
  return NamedChooser(named, repository, files, stop).run();
}

}  // namespace kvboost::daemon
