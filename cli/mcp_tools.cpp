// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/cmd_ask.h"
#include "cli/render.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Shared by the schemas: where a call looks.
#define KVBOOST_WHERE                                                            \
  R"("paths": {"type": "array", "items": {"type": "string"}, "description":)"    \
  R"( "Only these files and directories; without them, the whole repository"},)" \
  R"("directory": {"type": "string", "description":)"                            \
  R"( "A directory of the repository, if it is not the one that this server was started for"})"

#define KVBOOST_LINES R"("first_line": {"type": "integer"}, "last_line": {"type": "integer"})"
#define KVBOOST_ROOT R"("root": {"type": "string", "description": "The work tree; paths are relative to it"})"

constexpr const char* kLocateInput = R"({"type": "object", "additionalProperties": false, "properties": {
  "report": {"type": "string", "description": "The bug report: what goes wrong, error messages, stack traces"},
  "top": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "Most files to name"},
  "all_files": {"type": "boolean", "default": false, "description": "Tests, documents and generated files too"},
  "model": {"type": "boolean", "default": true, "description": "false: by words alone, in milliseconds"},
  "budget_s": {"type": "number", "minimum": 0, "description": "Take what is known after so many seconds"},
  )" KVBOOST_WHERE R"(}, "required": ["report"]})";
constexpr const char* kLocateOutput =
    R"({"type": "object", "properties": {
  )" KVBOOST_ROOT
    R"(, "note": {"type": "string"}, "incomplete": {"type": "string"}, "model": {"type": "string"},
  "files": {"type": "array", "description": "The likeliest first", "items": {"type": "object", "properties": {
    "path": {"type": "string"}, "line": {"type": "integer", "description": "Where to look first"},
    "text": {"type": "string", "description": "Of that line"}, "score": {"type": "number"},
    "functions": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"}, )" KVBOOST_LINES R"(}, "required": ["name"]}}},
    "required": ["path", "line"]}}}, "required": ["root", "files"]})";

constexpr const char* kAskInput = R"({"type": "object", "additionalProperties": false, "properties": {
  "question": {"type": "string", "description": "The question about the repository's source"},
  "max_tokens": {"type": "integer", "minimum": 1, "maximum": 100000, "description": "Most tokens of the answer"},
  )" KVBOOST_WHERE R"(}, "required": ["question"]})";
constexpr const char* kAskOutput = R"({"type": "object", "properties": {
  )" KVBOOST_ROOT R"(, "note": {"type": "string"}, "answer": {"type": "string"}, "model": {"type": "string"},
  "finish_reason": {"type": "string", "description": "end, or why the answer was cut"},
  "files": {"type": "array", "description": "What the model read", "items": {"type": "object", "properties": {
    "path": {"type": "string"}, "whole_file": {"type": "boolean"}, )" KVBOOST_LINES
                                   R"(}, "required": ["path"]}}},
  "required": ["root", "answer", "files"]})";

constexpr const char* kSearchInput = R"({"type": "object", "additionalProperties": false, "properties": {
  "query": {"type": "string", "description": "Words, as they may stand in the source; identifiers are split"},
  "top": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "Most chunks to give"},
  )" KVBOOST_WHERE R"(}, "required": ["query"]})";
constexpr const char* kSearchOutput = R"({"type": "object", "properties": {
  )" KVBOOST_ROOT R"(, "note": {"type": "string"},
  "chunks": {"type": "array", "description": "The best first", "items": {"type": "object", "properties": {
    "path": {"type": "string"}, )" KVBOOST_LINES
                                      R"(, "score": {"type": "number"}, "text": {"type": "string"}},
    "required": ["path", "first_line", "last_line", "text"]}}}, "required": ["root", "chunks"]})";

#undef KVBOOST_WHERE
#undef KVBOOST_LINES
#undef KVBOOST_ROOT

/// One line for each notification of a request; empty for those that say nothing new.
class Teller {
 public:
  std::string text(std::string_view method, const json& params) {
    if (method == "ask/token") return "answering, " + plural(++tokens_, "token");
    if (method == "locate/ranking") return "ranked by " + params.value("ranker", std::string("words"));
    const auto progress =
        protocol::decode<protocol::AskProgress>(params);  // the others' have the same fields
    return progress ? progress_text(*progress) : "";
  }

 private:
  std::int64_t tokens_ = 0;
};

json to_json(const protocol::AskResult& result) {
  json files = json::array();
  for (const protocol::AskFile& file : result.files) {
    files.push_back({{"path", file.path},
                     {"first_line", file.first_line},
                     {"last_line", file.last_line},
                     {"whole_file", file.whole_file}});
  }
  return {{"root", result.root},   {"note", result.note},
          {"answer", result.text}, {"finish_reason", result.finish_reason},
          {"model", result.model}, {"files", std::move(files)}};
}

json to_json(const protocol::LocateResult& result) {
  json files = json::array();
  for (const protocol::LocateFile& file : result.files) {
    json functions = json::array();
    for (const protocol::LocateFunction& one : file.functions)
      functions.push_back({{"name", one.name}, {"first_line", one.first_line}, {"last_line", one.last_line}});
    files.push_back({{"path", file.path},
                     {"line", file.line},
                     {"text", file.text},
                     {"score", file.score},
                     {"functions", std::move(functions)}});
  }
  return {{"root", result.root},
          {"note", result.note},
          {"incomplete", result.incomplete},
          {"model", result.model},
          {"files", std::move(files)}};
}

json to_json(const protocol::SearchResult& result) {
  json chunks = json::array();
  for (const protocol::SearchSpan& span : result.spans) {
    chunks.push_back({{"path", span.path},
                      {"first_line", span.first_line},
                      {"last_line", span.last_line},
                      {"score", span.score},
                      {"text", span.text}});
  }
  return {{"root", result.root}, {"note", result.note}, {"chunks", std::move(chunks)}};
}

/// Puts the request's options in front of what the call says; both are the daemon's parameters.
using Defaults = std::function<json()>;

/// A tool whose arguments are the daemon's parameters but for the directory.
template <class Params, class Value>
auto call_of(const McpPlaces& places, std::string method, Defaults defaults) {
  return [&places, method = std::move(method), defaults = std::move(defaults)](
             const json& arguments, const McpCall& call) -> Result<std::string> {
    json given = defaults();
    given.update(arguments);
    const json named = given.value("directory", json(""));
    if (!named.is_string()) return fail(ErrorCode::kInvalidArgument, "field 'directory': expected a string");
    const auto directory = allowed_directory(places.directories, named.get<std::string>());
    if (!directory) return fail(directory.error());
    given["directory"] = directory->string();
    const auto params = protocol::decode<Params>(given);
    if (!params) return fail(params.error());
    auto client = places.connect(call.stop);
    if (!client) return fail(client.error());
    Teller teller;
    const auto result = client->template call<Value>(
        method, *params,
        [&](std::string_view name, const json& notified) {
          const std::string text = teller.text(name, notified);
          if (!text.empty()) call.progress(text);
        },
        call.stop);
    if (!result) return fail(result.error());
    return to_json(*result).dump(-1, ' ', false, json::error_handler_t::replace);
  };
}

}  // namespace

Result<fs::path> allowed_directory(const std::vector<fs::path>& directories, const fs::path& named) {
  std::error_code error;
  const fs::path wanted = fs::weakly_canonical(directories.front() / named, error);
  for (const fs::path& directory : directories) {
    const fs::path allowed = fs::weakly_canonical(directory, error);
    const auto [end, rest] = std::ranges::mismatch(allowed, wanted);
    if (end == allowed.end()) return named.empty() ? directory : wanted;
  }
  return fail(ErrorCode::kInvalidArgument,
              "directory: " + named.string() + " is outside of what this server was started for",
              "the person who configured it can name more directories: kvboost mcp DIRECTORY...");
}

std::vector<McpTool> mcp_tools(const McpPlaces& places, const Config& config) {
  using namespace protocol;
  const auto none = [] { return json::object(); };
  const auto answer_options = [&config] {
    return json{{"prompt_tokens", config.integer("prompt_tokens")},
                {"max_tokens", config.integer("max_tokens")},
                {"temperature", config.number("temperature")},
                {"top_k", config.integer("top_k")},
                {"top_p", config.number("top_p")},
                {"min_p", config.number("min_p")},
                {"seed", config.integer("seed")}};
  };
  return {
      {"locate", "Locate a bug",
       "Ranks the files of the repository, and functions in them, by how likely a bug report is about them. "
       "Use it first when something goes wrong and it is not known where.",
       kLocateInput, kLocateOutput, call_of<LocateParams, LocateResult>(places, "locate", none)},
      {"ask", "Ask about the repository",
       "A language model on this machine reads what fits the question best, or the named paths, and answers. "
       "It may be a small one: check what it says against the files that it names.",
       kAskInput, kAskOutput, call_of<AskParams, AskResult>(places, "ask", answer_options)},
      {"search_chunks", "Search the source",
       "Gives the chunks of source that have most of the query's words, with path, lines and text, in "
       "milliseconds.",
       kSearchInput, kSearchOutput, call_of<SearchParams, SearchResult>(places, "search", none)}};
}

}  // namespace kvboost::cli
