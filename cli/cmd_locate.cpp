// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_locate.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/text.h"
#include "cli/cmd_ask.h"
#include "cli/interrupt.h"
#include "cli/question.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::LocateFile;
using protocol::LocateResult;

constexpr std::size_t kShownSoFar = 3;
constexpr std::size_t kAskedAbout = 3;        // files among which the model chooses
constexpr std::size_t kLongestAsked = 4'000;  // bytes of the report: more would leave no room for the files

Result<std::string> read_report(const LocateArguments& arguments) {
  if (!arguments.file.empty()) return read_question_file(arguments.file, kLocateExample);
  if (arguments.report == "-") return read_question(stdin, "the report on standard input", kLocateExample);
  return check_question(arguments.report, "the report", kLocateExample);
}

Result<protocol::LocateParams> to_params(const Session& session, std::string report,
                                         const LocateArguments& arguments) {
  protocol::LocateParams params;
  params.directory = session.directory().string();
  params.report = std::move(report);
  params.paths = arguments.paths;
  params.top = arguments.top;
  params.all_files = arguments.all;
  params.model = !arguments.no_model;
  params.reuse = !arguments.no_reuse;
  if (!arguments.budget.empty()) {
    const auto seconds = parse_duration(arguments.budget);
    if (!seconds) return fail(seconds.error());
    params.budget_s = *seconds;
  }
  return params;
}

/// One line while the daemon works: the best files so far, and what is being done.
class Watch {
 public:
  explicit Watch(Terminal& terminal) : terminal_(terminal) {}

  void on_notification(std::string_view method, const nlohmann::json& params) {
    if (method == "locate/progress") {
      if (const auto progress = protocol::decode<protocol::LocateProgress>(params)) doing_ = text(*progress);
    } else if (method == "locate/ranking") {
      const auto ranking = protocol::decode<protocol::LocateRanking>(params);
      if (ranking) so_far_ = names(ranking->files);
    }
    const std::string so_far = so_far_.empty() ? "" : "so far: " + so_far_;
    terminal_.progress(doing_ + (doing_.empty() || so_far.empty() ? "" : "; ") + so_far);
  }

 private:
  static std::string text(const protocol::LocateProgress& progress) {
    const std::string of = human_count(progress.done) + " of " + human_count(progress.total);
    if (progress.stage == "loading") return "loading the model " + std::to_string(progress.done) + " %";
    if (progress.stage == "queued") return "waiting for other requests";
    if (progress.stage == "scoring") return "the model reads " + of + " files";
    return "looking at files " + (progress.total > 0 ? of : human_count(progress.done));
  }

  static std::string names(const std::vector<LocateFile>& files) {
    std::string joined;
    for (std::size_t i = 0; i < std::min(files.size(), kShownSoFar); ++i)
      joined += (i > 0 ? ", " : "") + printable(files[i].path);
    return joined;
  }

  Terminal& terminal_;
  std::string doing_;
  std::string so_far_;
};

/// A file of the work tree as one names it from `directory`.
std::string seen_from(const std::string& directory, const std::string& root, const std::string& path) {
  const std::string seen = (std::filesystem::path(root) / path).lexically_relative(directory).string();
  return printable(seen.empty() ? path : seen);
}

std::string function_names(const LocateFile& file) {
  std::string names;
  for (const protocol::LocateFunction& function : file.functions)
    names += (names.empty() ? "" : ", ") + function.name;
  return names;
}

std::string score_of(const LocateFile& file, std::string_view ranker) {
  const auto found = std::ranges::find(file.scores, ranker, &protocol::LocateScore::ranker);
  return found == file.scores.end() ? "" : decimal(found->score, 3);
}

/// The question which of the first files it is.
protocol::AskParams choice_of(Session& session, const std::string& report, const LocateResult& result,
                              const LocateArguments& arguments) {
  std::vector<std::string> paths;
  for (const LocateFile& file : result.files) {
    if (paths.size() < kAskedAbout) paths.push_back(result.root + "/" + file.path);
  }
  const std::string_view beginning = utf8_beginning(report, kLongestAsked);
  if (beginning.size() < report.size()) session.note("the model is asked about the report's beginning");
  auto params =
      ask_params(session,
                 "Bug report:\n" + std::string(beginning) +
                     "\n\nWhich of these files has to be changed to fix it, in which function, and why?",
                 std::move(paths));
  params.reuse = !arguments.no_reuse;
  return params;
}

void write(Session& session, const LocateResult& result, const LocateArguments& arguments) {
  const std::string directory = session.directory().string();
  if (arguments.json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(result))));
  } else if (arguments.format == "quickfix") {
    session.out().write(quickfix_lines(result, directory));
  } else if (!result.files.empty()) {
    session.out().write_painted(locate_table(result, directory, arguments.explain, session.out()));
  }
}

}  // namespace

int locate(Session& session, const LocateArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  auto report = read_report(arguments);
  if (!report) return session.failed(report.error(), kExitUsage);
  auto params = to_params(session, std::move(*report), arguments);
  if (!params) return session.failed(params.error(), kExitUsage);
  if (auto there = session.need_directory(); !there) return session.failed(there.error());
  session.note_warnings();
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  Watch watch(session.err());
  const auto result = client->call<LocateResult>(
      "locate", *params,
      [&](std::string_view method, const nlohmann::json& notified) {
        watch.on_notification(method, notified);
      },
      interrupt.token());
  session.err().end_progress();
  if (!result) return interrupt.requested() ? kExitCancelled : session.failed(result.error());
  write(session, *result, arguments);
  if (!result->note.empty()) session.note(result->note);
  if (result->files.empty())
    session.note("no source file has any word of the report (--all looks at others too)");
  if (!result->incomplete.empty()) session.note(result->incomplete);
  if (arguments.explain) session.err().write_painted(locate_explanation(*result, session.err()));
  if (!arguments.ask || result->files.empty()) return kExitDone;
  session.out().write("\n");
  return write_answer(session, *client, interrupt, choice_of(session, params->report, *result, arguments),
                      {});
}

std::string locate_table(const LocateResult& result, const std::string& directory, bool explain,
                         const Terminal& terminal) {
  std::vector<Table::Column> columns = {{"", true}, {"file", false, 60}};
  if (explain) {
    for (const char* title : {"score", "words", "model"}) columns.push_back({title, true});
  }
  columns.push_back({"functions"});
  Table table(columns);
  for (std::size_t i = 0; i < result.files.size(); ++i) {
    const LocateFile& file = result.files[i];
    std::vector<std::string> cells = {std::to_string(i + 1), seen_from(directory, result.root, file.path) +
                                                                 ":" + std::to_string(file.line)};
    if (explain) {
      cells.push_back(decimal(file.score, 2));
      for (const char* ranker : {"words", "model"}) cells.push_back(score_of(file, ranker));
    }
    cells.push_back(function_names(file));
    table.add(std::move(cells));
  }
  return table.text(terminal);
}

std::string quickfix_lines(const LocateResult& result, const std::string& directory) {
  std::string lines;
  for (const LocateFile& file : result.files) {
    lines += seen_from(directory, result.root, file.path) + ":" + std::to_string(file.line) + ": " +
             printable(file.text) + "\n";
  }
  return lines;
}

std::string locate_explanation(const LocateResult& result, const Terminal& terminal) {
  const protocol::LocateTimings& times = result.timings;
  const auto time = [](double ms) { return human_duration(ms / 1000); };
  std::string reading;
  if (!result.model.empty()) {
    reading = plural(result.model_files, "file") + ", " + human_count(result.placed_tokens) +
              " tokens from stored blocks, " + human_count(result.computed_tokens) + " computed; the first " +
              human_count(result.report_read) + " of the report's " + human_count(result.report_tokens) +
              " tokens";
  }
  return fields(terminal, {{"found", plural(result.candidates, "file") + " with words of the report"},
                           {"read", reading},
                           {"files", time(times.refresh_ms)},
                           {"words", time(times.words_ms)},
                           {"queue", result.model.empty() ? "" : time(times.queue_ms)},
                           {"model", result.model.empty() ? "" : time(times.model_ms) + ", " + result.model},
                           {"whole", time(times.total_ms)},
                           {"work tree", result.root}});
}

}  // namespace kvboost::cli
