// SPDX-License-Identifier: Apache-2.0
// The method complete. Part of methods.h, which is what to include: the JSON forms are declared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/protocol/prompt_chunk.h"

namespace kvboost::protocol {

/// A place that was edited or looked at.
struct CompletePlace {
  std::string path;  // relative to `directory`, or absolute
  std::int32_t line = 1;
};
/// A text that the client has chosen itself to be told of.
struct CompleteExtra {
  std::string name;  // of its file, as the model is told of it
  std::string text;
};
struct CompleteParams {
  std::string directory;             // absolute: where the user stands
  std::string path;                  // of the buffer's file, which need not exist; relative or absolute
  std::string text;                  // the buffer's, as it is in the editor
  std::int64_t offset = 0;           // bytes of it in front of the cursor
  std::string client;                // whose buffer it is; empty: the connection's
  std::string shape = "auto";        // "auto" "line" "block"
  std::vector<CompletePlace> ring;   // the latest first
  std::int32_t alternatives = 1;     // most hints
  std::int32_t max_tokens = 0;       // of each; 0: as the shape asks for
  double budget_ms = 0;              // after which what is there is taken; 0: no limit
  bool ahead = false;                // then compute what would follow the first hint
  bool reuse = true;                 // false: every token is read anew, and nothing is remembered
  bool explain = false;              // true: the result tells of each chunk
  std::vector<CompleteExtra> extra;  // in place of what would be looked for; the last ones matter most
  double write_ms = 0;  // from the first text on, after which a hint ends behind its first line; 0: no limit
  bool supersede = true;  // false: what this client asked for before goes on
};
/// Notification complete/token: the first hint as it is written, untrimmed.
struct CompleteToken {
  std::string text;
};
struct CompleteHint {
  std::string text;           // to be inserted at `offset`
  std::string finish_reason;  // "line" "block" "end" "length" "time" "repetition" "context"; "" when recent
};
struct CompleteTimings {
  double lookup_ms = 0;  // finding what belongs into the prompt
  double queue_ms = 0;   // waiting for the engine, loading the model included
  double load_ms = 0;    // loading stored KV
  double select_ms = 0;  // finding the tokens to repair
  double prefill_ms = 0;
  double suffix_ms = 0;  // placing or reading what follows the cursor
  double first_token_ms =
      0;  // from the request's last byte read to the first text written; 0: there was none
  double decode_ms = 0;
  double total_ms = 0;
};
struct CompleteResult {
  std::vector<CompleteHint> hints;  // the likeliest first; none: nothing worth showing
  std::int64_t offset = 0;          // as it was taken
  std::string shape;                // "line" "block"
  std::string method;               // "fill-in-the-middle" "prefix"
  std::string family;               // whose marks fill the middle, or empty
  std::string origin;               // "model" "recent"
  std::string note;                 // what the method leaves out, or empty
  std::string incomplete;           // why other files were not looked at as they should be, or empty
  std::string model;
  std::string root;  // the work tree; empty when recent
  std::int32_t prompt_tokens = 0;
  std::int32_t live_tokens = 0;  // of these, those that the last request had read
  std::int32_t loaded_tokens = 0;
  std::int32_t computed_tokens = 0;
  std::int32_t repaired_tokens = 0;
  std::int32_t written_tokens = 0;  // of all hints
  std::string policy;
  std::string policy_reason;
  std::vector<AskChunk> chunks;  // with `explain`
  CompleteTimings timings;
};

}  // namespace kvboost::protocol
