// SPDX-License-Identifier: Apache-2.0
// The methods of the wire: typed parameters and results, and their JSON forms. PROTOCOL.md is the
// specification. Shared by daemon and CLI; plain values, any thread. Decoding checks types and ranges and
// names the field that is wrong; unknown fields are ignored, so that an older side talks to a newer one.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/protocol/cache_methods.h"
#include "daemon/protocol/complete_methods.h"
#include "daemon/protocol/generate_methods.h"
#include "daemon/protocol/locate_methods.h"
#include "daemon/protocol/prompt_chunk.h"
#include "daemon/protocol/search_methods.h"

namespace kvboost::protocol {

inline constexpr int kProtocolVersion = 1;

/// Parameters or result of a method that has none.
struct Nothing {};

// initialize
struct InitializeParams {
  int protocol_version = kProtocolVersion;
  std::string client;  // "kvboost 0.1.0"
  std::string build;   // build id of the client's installation; another one makes the daemon drain and leave
};
struct InitializeResult {
  int protocol_version = kProtocolVersion;
  std::string server;
  std::string build;
  std::int64_t pid = 0;
  bool leaving = false;  // the daemon is another build: it finishes its work and goes; connect anew
  std::map<std::string, std::string> options;  // what the daemon was started with: option → text
};

// ask
struct AskParams {
  std::string directory;  // absolute: where the user stands
  std::string question;
  std::vector<std::string> paths;  // files, or folders to choose from; empty: the whole work tree
  bool continue_conversation = false;
  bool reuse = true;     // false: read every token anew
  bool explain = false;  // true: the result tells of each chunk
  std::int32_t prompt_tokens =
      2560;  // most tokens of files that are chosen by words; 0: what fits the context
  std::int32_t max_tokens = 512;
  double temperature = 0.0;
  std::int32_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::uint64_t seed = 0;
};
/// Notification ask/progress.
struct AskProgress {
  std::string stage;      // "loading" "reading" "choosing" "prefill" "queued"
  std::int64_t done = 0;  // of total; tokens in prefill, files in reading, percent in loading
  std::int64_t total = 0;
};
/// Notification ask/token.
struct AskToken {
  std::string text;
};
struct AskFile {
  std::string path;
  std::int32_t first_line = 0;
  std::int32_t last_line = 0;
  bool whole_file = false;
  std::int32_t tokens = 0;
  std::int32_t reused = 0;  // tokens whose KV was live or stored
  std::int32_t loaded = 0;  // of these, the stored ones
  double score = 0;
  std::int32_t repaired = 0;  // of the loaded ones, those that were computed again
};
struct AskLeftOut {
  std::string path;
  std::string reason;
};
struct AskTimings {
  double lookup_ms = 0;  // listing, choosing, tokenising
  double queue_ms = 0;   // waiting for the engine, loading the model included
  double load_ms = 0;    // loading stored KV
  double select_ms = 0;  // finding the tokens to repair
  double prefill_ms = 0;
  double first_token_ms = 0;  // TTFT: from the request's last byte read to the first token's byte written
  double decode_ms = 0;
  double tokens_per_second = 0;
};
struct AskResult {
  std::string text;
  std::string finish_reason;  // "end" "length" "stop_string" "repetition" "context"
  std::string model;
  std::string root;       // the work tree
  std::string note;       // one line about the work tree (no repository, ...); empty when it was told before
  std::string continues;  // continue_conversation: the question that this one goes on from
  std::int32_t prompt_tokens = 0;
  std::int32_t reused_tokens = 0;
  std::int32_t repaired_tokens = 0;
  std::int32_t answer_tokens = 0;
  std::string policy;         // of repair: "exact" when only exact blocks may be used
  std::string policy_reason;  // a sentence
  ReuseCount reuse;           // chunks that were not live, by how they were found
  std::vector<AskFile> files;
  std::vector<AskChunk> chunks;  // with `explain`
  std::vector<AskLeftOut> left_out;
  AskTimings timings;
};

// model/list, model/info, model/add, model/use
struct ModelEntry {
  std::string path;
  std::string name;
  std::string origin;  // "kvboost" "huggingface" "llama.cpp" "ollama" "lmstudio" "added"
  std::string architecture;
  std::string quantisation;
  std::uint64_t bytes = 0;
  bool in_use = false;
  std::string problem;  // why it cannot be used, or empty
};
struct ModelListResult {
  std::vector<ModelEntry> models;
};
struct ModelInfoParams {
  std::string model;  // a path, a name of model/list, or empty: the one in use
};
struct ModelInfoResult {
  ModelEntry entry;
  std::map<std::string, std::string> details;  // "layers" → "30", ...
};
struct ModelAddParams {
  std::string path;  // absolute; the result is a ModelInfoResult
};
struct ModelUseParams {
  std::string model;
};

// model/check
struct ModelCheckParams {
  bool again = false;  // although the model was tried before
};
/// Notification check/progress.
struct CheckProgress {
  std::int64_t percent = 0;
};
struct PolicyTrial {
  std::string behind;  // what blocks were computed behind: "header" "neighbours"
  std::string policy;
  double kl_mean = 0;   // nats from a full read, mean over the answer's first tokens
  double kl_worst = 0;  // of a prompt
  double top1 = 0;      // share of tokens whose likeliest successor stayed the same
  double computed = 0;  // share of the prompt's tokens that went through the layers
  double ratio = 0;     // of the times to the first token, full read to this
  bool passed = false;
};
struct ModelCheckResult {
  std::string model;   // path
  std::string policy;  // for blocks computed behind neighbours; "exact" when none passed
  std::string reason;
  std::string header_policy;  // for blocks computed behind the header alone
  std::string header_reason;
  double tolerance = 0;
  std::vector<PolicyTrial> trials;
};

// doctor: the daemon's half
struct DoctorCheck {
  std::string name;
  std::string verdict;  // "ok" "warning" "failed"
  std::string detail;
  std::string remedy;
};
struct DoctorResult {
  std::vector<DoctorCheck> checks;
};

struct ShutdownParams {
  bool cancel = false;  // true: cancel what runs; false: finish it
};

/// One pair of functions a struct; decode fails with kInvalidArgument, naming the field. Fields that name a
/// file go through encode_path (path_text.h). Null and absent fields keep the struct's default.
template <class T>
nlohmann::json encode(const T& value);
/// encode(value) as JSON text on one line; text that is not UTF-8 gets U+FFFD in place of the bad bytes.
template <class T>
[[nodiscard]] std::string encode_text(const T& value);
template <class T>
[[nodiscard]] Result<T> decode(const nlohmann::json& json);
/// decode of JSON text; kProtocol if it is none.
template <class T>
[[nodiscard]] Result<T> decode_text(std::string_view text);

}  // namespace kvboost::protocol
