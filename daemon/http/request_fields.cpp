// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/request_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace kvboost::daemon {
namespace {

using nlohmann::json;

constexpr std::int32_t kNoLimit = 1'000'000;  // tokens: more than any context
constexpr std::size_t kMostStops = 64;
// Above it a double is not every whole number.
constexpr double kWhole = 9007199254740992.0;

bool is_whole(const json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>() &&
         std::abs(value.get<double>()) <= kWhole;
}

std::int64_t whole_of(const json& value) {
  if (value.is_number_float()) return static_cast<std::int64_t>(value.get<double>());
  if (!value.is_number_unsigned()) return value.get<std::int64_t>();
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value.get<std::uint64_t>(), kMost));
}

std::int32_t as_count(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, kNoLimit));
}

/// The first of these that is given.
std::optional<std::int64_t> first_integer(RequestFields& fields,
                                          std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto value = fields.integer(name)) return value;
  }
  return std::nullopt;
}

/// Who asks for randomness and names no seed wants another text each time.
std::uint64_t seed_of(RequestFields& fields, double temperature) {
  const auto given = fields.integer("seed");
  if (given && *given >= 0) return static_cast<std::uint64_t>(*given);
  return temperature > 0 ? std::random_device()() : 0;
}

}  // namespace

const json* RequestFields::find(std::string_view name) const {
  const auto found = body_.find(std::string(name));
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

void RequestFields::fail_with(std::string_view name, std::string message) {
  if (!error_) error_ = ApiError{400, "'" + std::string(name) + "' " + std::move(message), std::string(name)};
}

std::optional<std::string> RequestFields::text(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail_with(name, "must be a string");
  return std::nullopt;
}

std::optional<bool> RequestFields::flag(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail_with(name, "must be true or false");
  return std::nullopt;
}

std::optional<double> RequestFields::number(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  fail_with(name, "must be a number");
  return std::nullopt;
}

std::optional<std::int64_t> RequestFields::integer(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (is_whole(*value)) return whole_of(*value);
  fail_with(name, "must be a whole number");
  return std::nullopt;
}

std::vector<std::string> RequestFields::texts(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (value->is_array() && std::ranges::all_of(*value, [](const json& one) { return one.is_string(); }))
    return value->get<std::vector<std::string>>();
  fail_with(name, "must be a string or a list of strings");
  return {};
}

std::optional<std::vector<std::int32_t>> RequestFields::tokens(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto is_token = [](const json& one) {
    return one.is_number_integer() && whole_of(one) >= 0 &&
           whole_of(one) <= std::numeric_limits<std::int32_t>::max();
  };
  if (value->is_array() && std::ranges::all_of(*value, is_token))
    return value->get<std::vector<std::int32_t>>();
  fail_with(name, "must be a list of token ids");
  return std::nullopt;
}

void RequestFields::refuse_set(std::string_view name, std::string_view why) {
  const json* value = find(name);
  if (value == nullptr) return;
  const bool unset = (value->is_boolean() && !value->get<bool>()) ||
                     (value->is_number() && value->get<double>() == 0) ||
                     (value->is_string() && value->get_ref<const std::string&>().empty()) ||
                     (value->is_structured() && value->empty());
  if (!unset) fail_with(name, "is not supported: " + std::string(why));
}

void RequestFields::refuse_above_one(std::string_view name, std::string_view why) {
  if (const auto value = integer(name); value && *value > 1)
    fail_with(name, "is not supported above 1: " + std::string(why));
}

void RequestFields::refuse_unserved() {
  refuse_set("n_probs", "probabilities are not told");
  refuse_set("grammar", "the text is not held to a grammar");
  refuse_set("json_schema", "the text is not held to a schema");
  refuse_set("lora", "the daemon loads no adapters");
}

void read_generation(RequestFields& fields, const RequestDefaults& defaults,
                     protocol::GenerateParams& params) {
  const auto length = first_integer(fields, {"max_completion_tokens", "max_tokens", "n_predict"});
  params.max_tokens = !length ? defaults.max_tokens : *length < 0 ? kNoLimit : as_count(*length);
  params.temperature = std::clamp(fields.number("temperature").value_or(defaults.temperature), 0.0, 10.0);
  params.top_k = as_count(fields.integer("top_k").value_or(defaults.top_k));
  params.top_p = std::clamp(fields.number("top_p").value_or(defaults.top_p), 1e-9, 1.0);
  params.min_p = std::clamp(fields.number("min_p").value_or(defaults.min_p), 0.0, 1.0);
  params.seed = seed_of(fields, params.temperature);
  params.stop = fields.texts("stop");
  if (params.stop.size() > kMostStops) fields.fail_with("stop", "may have 64 strings at most");
  params.reuse = fields.flag("cache_prompt").value_or(true);
  fields.refuse_above_one("n", "one text is written for a request");
  fields.refuse_above_one("best_of", "one text is written for a request");
  fields.refuse_unserved();
  fields.refuse_set("logprobs", "probabilities are not told");
  fields.refuse_set("top_logprobs", "probabilities are not told");
  fields.refuse_set("logit_bias", "the model's choice is not steered");
  fields.refuse_set("ignore_eos", "a text ends where the model ends it");
}

std::string text_field(const json& object, std::string_view name) {
  const auto found = object.find(std::string(name));
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace kvboost::daemon
