// SPDX-License-Identifier: Apache-2.0
// The rows of the option table, and what each kind takes for a value.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/config.h"
#include "base/duration.h"
#include "base/nearest.h"

namespace kvboost {
namespace {

using enum OptionKind;
constexpr Trust kUser = Trust::kUser;
constexpr Trust kRepo = Trust::kRepository;
constexpr Scope kDaemon = Scope::kDaemon;
constexpr Scope kRequest = Scope::kRequest;
constexpr Scope kClient = Scope::kClient;

constexpr auto kTable = std::to_array<Option>({
    {"model", kText, "", "", kUser, kDaemon,
     "Model to answer with: a GGUF file, or a name of `kvboost model list`"},
    {"compute", kChoice, "auto", "auto|bf16|f32", kUser, kDaemon,
     "Number format to compute in; auto takes bf16 where the CPU has it"},
    {"threads", kInteger, "0", "0..4096", kUser, kDaemon,
     "Threads of the engine; 0 takes one for each physical core"},
    {"context", kInteger, "0", "0..16777216", kUser, kDaemon,
     "Most tokens of a prompt and its answer; 0 takes what the model was trained for"},
    {"force_tokenizer", kFlag, "no", "", kUser, kDaemon,
     "Load a model whose pre-tokenizer is missing or unknown, with the default one; its answers may be "
     "worse"},
    {"max_tokens", kInteger, "512", "1..1000000", kRepo, kRequest, "Most tokens of an answer"},
    {"temperature", kNumber, "0", "0..10", kRepo, kRequest,
     "Randomness of the answer; 0 always takes the likeliest token"},
    {"top_k", kInteger, "0", "0..16777216", kRepo, kRequest,
     "Choose among the k likeliest tokens; 0 among all"},
    {"top_p", kNumber, "1", "0..1", kRepo, kRequest,
     "Choose among the likeliest tokens that together have this probability"},
    {"min_p", kNumber, "0", "0..1", kRepo, kRequest,
     "Leave out tokens less likely than this fraction of the likeliest one"},
    {"seed", kInteger, "0", "0..", kRepo, kRequest,
     "Seed of the randomness; the same seed and prompt give the same answer, if as much of it was in memory"},
    {"prompt_tokens", kInteger, "2560", "0..16777216", kUser, kRequest,
     "Most tokens of what is chosen by words from the repository, or from folders and large files that are "
     "named; 0 takes what fits the context"},
    {"complete_tokens", kInteger, "4096", "256..16777216", kUser, kDaemon,
     "Most tokens of a prompt for a completion: the file around the cursor, and what is related to it"},
    {"chunking", kChoice, "semantic", "semantic|fixed|document", kUser, kDaemon,
     "How files are cut into chunks: at functions, classes and the like, each chunk_tokens, or not at all"},
    {"chunk_tokens", kInteger, "128", "16..4096", kUser, kDaemon,
     "Tokens of a chunk where chunking is fixed"},
    {"boundary_window", kInteger, "32", "0..4096", kUser, kDaemon,
     "Tokens by which a cut may move to a better place in the text"},
    {"max_file_size", kSize, "1M", "1K..", kUser, kDaemon, "Leave larger files out of prompts"},
    {"live_sequences", kInteger, "4", "1..1024", kUser, kDaemon,
     "Prompts whose KV is kept live, to go on from"},
    {"max_memory", kSize, "2G", "4M..", kUser, kDaemon,
     "Most memory for KV: one half for live prompts, the other for stored chunks and those being "
     "stored"},
    {"max_disk", kSize, "5G", "0|1M..", kUser, kDaemon, "Most disk space for stored chunks; 0 stores none"},
    {"min_free_disk", kSize, "1G", "", kUser, kDaemon,
     "Disk space to leave free; stored chunks do not grow into it"},
    {"reuse", kChoice, "auto", "auto|exact|none", kUser, kDaemon,
     "Stored chunks that stand behind other text than they were computed behind: auto repairs as much as the "
     "model's check asks for, exact computes them anew, none takes them as they are"},
    {"assembly", kChoice, "chunk-reuse", "chunk-reuse|prefix-only", kUser, kDaemon,
     "Use stored chunks wherever they stand in a prompt, or only in its unbroken beginning"},
    {"reuse_tolerance", kNumber, "0.02", "0..10", kUser, kDaemon,
     "How far reuse may move the probabilities of an answer, mean divergence in nats"},
    {"codec", kChoice, "bf16", "bf16|int8|int4", kUser, kDaemon,
     "Number format of stored chunks; the shorter ones take less room and are less exact"},
    {"idle_unload", kDuration, "30m", "", kUser, kDaemon,
     "Unload the model after this long without a request; 0 never"},
    {"idle_exit", kDuration, "8h", "", kUser, kDaemon,
     "End the daemon after this long without a request; 0 never"},
    {"watch_files", kFlag, "yes", "", kUser, kDaemon,
     "Watch the files that are warm, and compute anew what an edit changes when nothing else is to be done"},
    {"save_conversations", kFlag, "no", "", kUser, kDaemon,
     "Keep the text of each repository's last conversation on disk, so that --continue survives a restart"},
    {"socket", kPath, "", "", kUser, kDaemon,
     "Socket on which daemon and commands meet; empty takes one in the user's runtime directory"},
    {"http", kFlag, "no", "", kUser, kDaemon,
     "Serve llama.cpp's and OpenAI's API over HTTP too, on this machine alone and to those who know the "
     "token"},
    {"http_port", kInteger, "8012", "0..65535", kUser, kDaemon,
     "Port of 127.0.0.1 and ::1 for HTTP; 0 takes one that is free, and `kvboost status` tells it"},
    {"http_token_file", kPath, "", "", kUser, kDaemon,
     "File with the token that HTTP clients must give; it is made if it is absent. Empty takes one in the "
     "user's state directory"},
    {"log_level", kChoice, "info", "trace|debug|info|warn|error|off", kUser, kDaemon,
     "How much the daemon's log tells"},
    {"color", kChoice, "auto", "auto|always|never", kUser, kClient,
     "Colours in the output; auto where it is a terminal and NO_COLOR is unset"},
});

std::unexpected<Error> refuse(const Option& option, std::string_view text, std::string_view why,
                              std::string remedy = {}) {
  return fail(
      ErrorCode::kInvalidArgument,
      "'" + std::string(text) + "' is no value for " + std::string(option.name) + ": " + std::string(why),
      std::move(remedy));
}

/// Numbers of a range's ends; a missing one is infinite.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Range parse_range(std::string_view allowed) {
  Range range;
  const auto dots = allowed.find("..");
  if (dots == std::string_view::npos) return range;
  std::from_chars(allowed.data(), allowed.data() + dots, range.low);
  std::from_chars(allowed.data() + dots + 2, allowed.data() + allowed.size(), range.high);
  return range;
}

/// "a whole number from 1 to 1024".
std::string numbers_of(const Option& option, std::string_view what) {
  const auto dots = option.allowed.find("..");
  if (dots == std::string_view::npos) return std::string(what);
  const std::string_view high = option.allowed.substr(dots + 2);
  return std::string(what) + " from " + std::string(option.allowed.substr(0, dots)) +
         (high.empty() ? " on" : " to " + std::string(high));
}

template <class Number>
Result<void> check_number(const Option& option, std::string_view text, std::string_view what) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto refused = [&] { return refuse(option, text, "it takes " + numbers_of(option, what)); };
  if (status != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(static_cast<double>(number))) {
    return refused();
  }
  const Range range = parse_range(option.allowed);
  const auto value = static_cast<double>(number);
  if (value < range.low || value > range.high) return refused();
  return {};
}

/// A number without its unit is a size of so many bytes: hardly ever what is meant.
Result<void> check_size(const Option& option, std::string_view text) {
  const auto size = parse_size(text);
  if (!size) return refuse(option, text, "it takes a size", size.error().remedy);
  std::string_view least = option.allowed.substr(0, option.allowed.find(".."));
  const bool or_none = least.starts_with("0|");
  if (or_none) least.remove_prefix(2);
  if ((or_none && *size == 0) || *size >= parse_size(least).value_or(0)) return {};
  return refuse(option, text,
                std::string(or_none ? "it takes 0, or a size" : "it takes a size") + " from " +
                    std::string(least) + " on",
                "a number alone means bytes; write 5G for 5 GB");
}

Result<void> check_choice(const Option& option, std::string_view text) {
  std::string_view rest = option.allowed;
  while (!rest.empty()) {
    const auto bar = rest.find('|');
    if (rest.substr(0, bar) == text) return {};
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  return refuse(option, text, "it takes one of " + std::string(option.allowed));
}

}  // namespace

std::span<const Option> option_table() {
  return kTable;
}

const Option* find_option(std::string_view name) {
  const auto* row = std::ranges::find(kTable, name, &Option::name);
  return row == kTable.end() ? nullptr : row;
}

Error unknown_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : kTable) names.push_back(option.name);
  const std::string_view near = nearest(name, names);
  return {ErrorCode::kInvalidArgument, "there is no option '" + std::string(name) + "'",
          near.empty() ? "`kvboost config` lists them" : "did you mean '" + std::string(near) + "'?"};
}

std::string stray_variable(std::string_view name) {
  if (name == "KVBOOST_JOBS" || name == "KVBOOST_PROGRAMS" || name.starts_with("KVBOOST_TEST_")) return {};
  constexpr std::size_t kPrefix = std::string_view("KVBOOST_").size();
  std::vector<std::string> words;  // the prefix would make all of them alike
  for (const Option& option : kTable) words.push_back(variable_name(option).substr(kPrefix));
  const std::string_view word = name.substr(kPrefix);
  if (std::ranges::find(words, word) != words.end()) return {};
  const std::string_view near = nearest(word, std::vector<std::string_view>(words.begin(), words.end()));
  return "there is no option behind the variable " + std::string(name) +
         (near.empty() ? "" : "; did you mean KVBOOST_" + std::string(near) + "?");
}

std::string flag_name(const Option& option) {
  std::string flag = "--" + std::string(option.name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string variable_name(const Option& option) {
  std::string variable = "KVBOOST_" + std::string(option.name);
  std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
  return variable;
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "no" || text == "0") return false;
  return std::nullopt;
}

Result<void> check_value(const Option& option, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return refuse(option, "", "it contains a NUL byte");
  switch (option.kind) {
    case kText:
    case kPath:
      return {};
    case kInteger:
      return check_number<std::int64_t>(option, text, "a whole number");
    case kNumber:
      return check_number<double>(option, text, "a number");
    case kSize:
      return check_size(option, text);
    case kDuration:
      if (auto time = parse_duration(text); !time) {
        return refuse(option, text, "it takes a duration", time.error().remedy);
      }
      return {};
    case kFlag:
      if (!parse_flag(text)) return refuse(option, text, "it takes yes or no (also true, false, 1, 0)");
      return {};
    case kChoice:
      return check_choice(option, text);
  }
  return {};
}

}  // namespace kvboost
