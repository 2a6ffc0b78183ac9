// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_ask.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/chunk_table.h"
#include "cli/question.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::AskResult;

constexpr std::size_t kLeftOutExplained = 2;  // so many are told with their reasons
constexpr std::size_t kLeftOutNamed = 8;

/// The question and the paths, from what stands on the command line.
struct Request {
  std::string question;
  std::vector<std::string> paths;
};

Result<Request> read_request(const AskArguments& arguments) {
  Request request;
  request.paths = arguments.words;
  Result<std::string> question = std::string();
  if (!arguments.file.empty()) {
    question = read_question_file(arguments.file, kAskExample);
  } else if (arguments.words.empty()) {
    question = check_question("", "the question", kAskExample);
  } else {
    const std::string& first = arguments.words.front();
    question = first == "-" ? read_question(stdin, "the question on standard input", kAskExample)
                            : check_question(first, "the question", kAskExample);
    request.paths.erase(request.paths.begin());
  }
  if (!question) return fail(question.error());
  request.question = std::move(*question);
  return request;
}

/// Writes what arrives while the daemon works. A reader that has left (`| head -1`) is as good as Ctrl-C.
class Stream {
 public:
  Stream(Session& session, Interrupt& interrupt, bool text)
      : session_(session), interrupt_(interrupt), text_(text) {}

  void on_notification(std::string_view method, const nlohmann::json& params) {
    if (method == "ask/progress") {
      const auto progress = protocol::decode<protocol::AskProgress>(params);
      if (progress && !started_) session_.err().progress(progress_text(*progress));
    } else if (method == "ask/token") {
      session_.err().end_progress();
      started_ = true;
      const auto token = protocol::decode<protocol::AskToken>(params);
      if (token && text_) write(token->text);
    }
  }

  /// Ends the answer's last line.
  void finish() {
    session_.err().end_progress();
    if (text_ && started_ && !reader_gone_ && !at_line_start_) session_.out().write("\n");
  }

  [[nodiscard]] bool reader_gone() const { return reader_gone_; }

 private:
  void write(const std::string& text) {
    if (text.empty() || reader_gone_) return;
    at_line_start_ = text.back() == '\n';
    if (session_.out().write(text)) return;
    reader_gone_ = true;
    interrupt_.request();
  }

  Session& session_;
  Interrupt& interrupt_;
  const bool text_;
  bool started_ = false;
  bool at_line_start_ = true;
  bool reader_gone_ = false;
};

/// As much of a question as one line has room for.
std::string beginning(const std::string& question) {
  constexpr std::size_t kMost = 60;
  const std::string line = question.substr(0, question.find('\n'));
  const std::string shown(utf8_beginning(line, kMost));
  return shown.size() == line.size() ? shown : shown + "…";
}

/// A question beside --file is taken for a path.
Error explained(Error error, const AskArguments& arguments) {
  const bool from_file = !arguments.file.empty() && !arguments.words.empty();
  if (from_file && error.code == ErrorCode::kNotFound && error.remedy.empty()) {
    error.remedy =
        "the question comes from " + arguments.file + " (--file), so all words are taken for paths";
  }
  return error;
}

/// An answer that looks as any other, although nothing stands behind it.
bool read_nothing(const AskResult& result) {
  return std::ranges::none_of(result.files, [](const protocol::AskFile& file) { return file.last_line > 0; });
}

void report(Session& session, const AskResult& result, const AskArguments& arguments) {
  if (!result.note.empty()) session.note(result.note);
  if (read_nothing(result) && !arguments.continue_conversation) {
    session.note(result.files.empty() ? "no file was read: there is none in " + result.root + " that fits"
                                      : "nothing was read: what was named is empty");
  }
  if (!result.continues.empty()) session.note("this goes on from: " + beginning(result.continues));
  if (arguments.explain) session.err().write_painted(explain(result, session.err()));
  for (const std::string& line : left_out_lines(result.left_out, arguments.explain)) session.note(line);
  if (result.finish_reason == "length")
    session.note("the answer was cut at " + plural(result.answer_tokens, "token") + " (--max-tokens)");
  if (result.finish_reason == "repetition") {
    session.note(
        "the answer was cut: the model repeats itself; a larger one does so less (`kvboost model add`)");
  }
  if (result.finish_reason == "context") session.note("the answer was cut: the model's context is full");
}

std::string lines_text(const protocol::AskFile& file) {
  if (file.whole_file) return "all";
  return std::to_string(file.first_line) + "-" + std::to_string(file.last_line);
}

}  // namespace

protocol::AskParams ask_params(const Session& session, std::string question, std::vector<std::string> paths) {
  const Config& config = *session.config();
  protocol::AskParams params;
  params.directory = session.directory().string();
  params.question = std::move(question);
  params.paths = std::move(paths);
  params.prompt_tokens = static_cast<std::int32_t>(config.integer("prompt_tokens"));
  params.max_tokens = static_cast<std::int32_t>(config.integer("max_tokens"));
  params.temperature = config.number("temperature");
  params.top_k = static_cast<std::int32_t>(config.integer("top_k"));
  params.top_p = config.number("top_p");
  params.min_p = config.number("min_p");
  params.seed = static_cast<std::uint64_t>(config.integer("seed"));
  return params;
}

int write_answer(Session& session, Client& client, Interrupt& interrupt, const protocol::AskParams& params,
                 const AskArguments& arguments) {
  Stream stream(session, interrupt, !arguments.json);
  const auto result = client.call<AskResult>(
      "ask", params,
      [&](std::string_view method, const nlohmann::json& notified) {
        stream.on_notification(method, notified);
      },
      interrupt.token());
  stream.finish();
  if (stream.reader_gone()) return kExitDone;
  if (!result)
    return interrupt.requested() ? kExitCancelled : session.failed(explained(result.error(), arguments));
  if (arguments.json) session.out().write(json_line(nlohmann::ordered_json(protocol::encode(*result))));
  report(session, *result, arguments);
  return kExitDone;
}

int ask(Session& session, const AskArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  auto request = read_request(arguments);
  if (!request) return session.failed(request.error(), kExitUsage);
  if (auto there = session.need_directory(); !there) return session.failed(there.error());
  session.note_warnings();
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  auto params = ask_params(session, std::move(request->question), std::move(request->paths));
  params.continue_conversation = arguments.continue_conversation;
  params.reuse = !arguments.no_reuse;
  params.explain = arguments.explain;
  return write_answer(session, *client, interrupt, params, arguments);
}

std::string progress_text(const protocol::AskProgress& progress) {
  const std::string of = human_count(progress.done) + " of " + human_count(progress.total);
  if (progress.stage == "loading") return "loading the model " + std::to_string(progress.done) + " %";
  if (progress.stage == "reading")
    return "looking at files " + (progress.total > 0 ? of : human_count(progress.done));
  if (progress.stage == "choosing") return "choosing files";
  if (progress.stage == "queued") return "waiting for other requests";
  if (progress.stage == "prefill") return "reading the prompt " + of + " tokens";
  return progress.total > 0 ? progress.stage + " " + of : progress.stage;
}

std::vector<std::string> left_out_lines(const std::vector<protocol::AskLeftOut>& left_out, bool all) {
  std::vector<std::string> lines;
  if (all || left_out.size() <= kLeftOutExplained) {
    for (const protocol::AskLeftOut& item : left_out) {
      lines.push_back("left out: " + item.path + " (" + item.reason + ")");
    }
    return lines;
  }
  std::vector<std::string> files;  // several parts of one file may not have fitted
  for (const protocol::AskLeftOut& item : left_out) {
    if (std::ranges::find(files, item.path) == files.end()) files.push_back(item.path);
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), kLeftOutNamed); ++i)
    names += (i > 0 ? ", " : "") + files[i];
  if (files.size() > kLeftOutNamed) {
    names += " and " + plural(static_cast<std::int64_t>(files.size() - kLeftOutNamed), "more file");
  }
  lines.push_back("left out: " + names + " (`--explain` tells why)");
  return lines;
}

std::string explain(const AskResult& result, const Terminal& terminal) {
  Table files({{"file"},
               {"lines", true},
               {"tokens", true},
               {"reused", true},
               {"loaded", true},
               {"repaired", true},
               {"score", true}});
  for (const protocol::AskFile& file : result.files) {
    files.add({file.path, lines_text(file), human_count(file.tokens), human_count(file.reused),
               human_count(file.loaded), human_count(file.repaired), decimal(file.score, 2)});
  }
  files.add({"whole prompt", "", human_count(result.prompt_tokens), human_count(result.reused_tokens), "",
             human_count(result.repaired_tokens), ""},
            std::vector<Style>(7, Style::kStrong));
  const protocol::AskTimings& times = result.timings;
  // Under the policy "exact" the approximate ones are computed.
  const std::int64_t loaded = result.reuse.exact + (result.policy == "exact" ? 0 : result.reuse.approximate);
  const double rest = std::max(0.0, times.first_token_ms - times.lookup_ms - times.queue_ms - times.load_ms -
                                        times.select_ms - times.prefill_ms);
  return files.text(terminal) + "\n" + chunk_table(result.chunks, terminal) +
         fields(terminal,
                {{"repair", result.policy + " (" + result.policy_reason + ")"},
                 {"look-up", milliseconds(times.lookup_ms)},
                 {"queue", milliseconds(times.queue_ms)},
                 {"load", milliseconds(times.load_ms) + ", " + plural(loaded, "chunk")},
                 {"select", milliseconds(times.select_ms)},
                 {"prefill", milliseconds(times.prefill_ms)},
                 {"first token", milliseconds(times.first_token_ms) + ", of which other than the above " +
                                     milliseconds(rest)},
                 {"answer", plural(result.answer_tokens, "token") + " in " + milliseconds(times.decode_ms) +
                                ", " + decimal(times.tokens_per_second) + " tokens/s, ended by " +
                                result.finish_reason},
                 {"model", result.model},
                 {"work tree", result.root}});
}

}  // namespace kvboost::cli
