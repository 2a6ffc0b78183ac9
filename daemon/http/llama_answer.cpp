// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/llama_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kvboost::daemon {
namespace {

using nlohmann::json;

/// Zero of nothing.
double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

json timings_of(const LlamaText& text) {
  const std::int32_t read = text.prompt_tokens - text.reused_tokens;
  return {{"cache_n", text.reused_tokens},
          {"prompt_n", read},
          {"prompt_ms", text.prompt_ms},
          {"prompt_per_token_ms", ratio(text.prompt_ms, read)},
          {"prompt_per_second", ratio(1000.0 * read, text.prompt_ms)},
          {"predicted_n", text.written_tokens},
          {"predicted_ms", text.written_ms},
          {"predicted_per_token_ms", ratio(text.written_ms, text.written_tokens)},
          {"predicted_per_second", ratio(1000.0 * text.written_tokens, text.written_ms)}};
}

}  // namespace

json llama_answer(const LlamaText& text) {
  return {{"index", 0},
          {"id_slot", 0},
          {"stop", true},
          {"content", text.content},
          {"tokens", json::array()},
          {"model", text.model},
          {"tokens_predicted", text.written_tokens},
          {"tokens_evaluated", text.prompt_tokens},
          {"tokens_cached", text.reused_tokens},
          {"has_new_line", text.content.find('\n') != std::string::npos},
          {"truncated", false},
          {"stop_type", text.stop_type},
          {"stopping_word", text.stopping_word},
          {"timings", timings_of(text)}};
}

json chosen_fields(const json& answer, const std::vector<std::string>& fields) {
  if (fields.empty()) return answer;
  json chosen = json::object();
  for (const std::string& field : fields) {
    const json* value = &answer;
    for (std::size_t begin = 0; value != nullptr && begin <= field.size();) {
      const std::size_t end = std::min(field.find('/', begin), field.size());
      const std::string name = field.substr(begin, end - begin);
      value = value->is_object() && value->contains(name) ? &value->at(name) : nullptr;
      begin = end + 1;
    }
    if (value != nullptr) chosen[field] = *value;
  }
  return chosen;
}

}  // namespace kvboost::daemon
