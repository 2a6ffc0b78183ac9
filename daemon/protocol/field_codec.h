// SPDX-License-Identifier: Apache-2.0
// FieldWriter and FieldReader: a struct to a JSON object and back, over the struct's own list of fields,
// which is `visit_fields(struct, writer or reader)`, found by argument. For methods.cpp alone; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::protocol {

using nlohmann::json;

/// What a field asks for beyond its type.
struct Rule {
  bool required = false;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool absolute = false;  // a path that begins with /
};

inline constexpr Rule kRequired{.required = true};
inline constexpr Rule kCount{.low = 0};
constexpr Rule between(double low, double high) {
  return {.low = low, .high = high};
}

/// What a field may say.
using Words = std::initializer_list<std::string_view>;

class FieldWriter {
 public:
  template <class T>
  static json write(const T& value) {
    FieldWriter writer;
    visit_fields(value, writer);
    return std::move(writer.object_);
  }

  void value(const char* name, const auto& value, Rule = {}) { object_[name] = value; }
  void values(const char* name, const auto& values) { object_[name] = values; }
  void choice(const char* name, const std::string& value, Words, Rule = {}) { object_[name] = value; }
  void path(const char* name, const std::string& value, Rule = {}) { object_[name] = encode_path(value); }
  void paths(const char* name, const std::vector<std::string>& values) {
    json& list = object_[name] = json::array();
    for (const std::string& value : values) list.push_back(encode_path(value));
  }
  /// Any bytes, written as paths are.
  void byte_strings(const char* name, const std::vector<std::string>& values) { paths(name, values); }
  void object(const char* name, const auto& value) { object_[name] = write(value); }
  void list(const char* name, const auto& values) {
    json& list = object_[name] = json::array();
    for (const auto& value : values) list.push_back(write(value));
  }
  /// Values may name files, as options do.
  void map(const char* name, const std::map<std::string, std::string>& values) {
    json& object = object_[name] = json::object();
    for (const auto& [key, value] : values) object[key] = encode_path(value);
  }

 private:
  json object_ = json::object();
};

inline std::string number_text(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.12g", value);
  return text.data();
}

/// "an integer from 1 to 1000000"
inline std::string expected_number(std::string_view kind, const Rule& rule) {
  std::string text(kind);
  if (rule.low != -std::numeric_limits<double>::infinity()) {
    text += (rule.low_excluded ? " above " : " from ") + number_text(rule.low);
  }
  if (rule.high != std::numeric_limits<double>::infinity()) text += " to " + number_text(rule.high);
  return text;
}

/// Reads the first wrong field into `error_`; what follows it is not looked at.
class FieldReader {
 public:
  template <class T>
  static Result<T> read(const json& object, const std::string& where) {
    if (!object.is_object()) {
      return fail(ErrorCode::kInvalidArgument, (where.empty() ? "params" : "field '" + where + "'") +
                                                   ": expected an object, got " + object.type_name());
    }
    T value{};
    FieldReader reader(object, where);
    visit_fields(value, reader);
    if (reader.error_) return fail(std::move(*reader.error_));
    return value;
  }

  void value(const char* name, std::string& out, const Rule& rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    if (!node->is_string()) return wrong(name, "a string", *node);
    out = node->get<std::string>();
  }

  /// A list of strings or of integers.
  template <class T>
  void values(const char* name, std::vector<T>& out) {
    const json* node = find_array(name);
    if (node == nullptr) return;
    for (std::size_t i = 0; i < node->size(); ++i) {
      const json& one = (*node)[i];
      if constexpr (std::integral<T>) {
        const bool fits = one.is_number_unsigned()
                              ? std::in_range<T>(one.get<std::uint64_t>())
                              : one.is_number_integer() && std::in_range<T>(one.get<std::int64_t>());
        if (!fits) return wrong(item(name, i), "an integer", one);
      } else if (!one.is_string()) {
        return wrong(item(name, i), "a string", one);
      }
      out.push_back(one.get<T>());
    }
  }

  void choice(const char* name, std::string& out, Words words, const Rule& rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    if (!node->is_string() || std::ranges::find(words, node->get<std::string>()) == words.end()) {
      std::string expected = "one of";
      for (const std::string_view word : words) expected += ' ' + std::string(word);
      return wrong(name, expected, *node);
    }
    out = node->get<std::string>();
  }

  void value(const char* name, bool& out, const Rule& rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    if (!node->is_boolean()) return wrong(name, "true or false", *node);
    out = node->get<bool>();
  }

  void value(const char* name, double& out, const Rule& rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    if (!node->is_number() || !in_range(node->get<double>(), rule)) {
      return wrong(name, expected_number("a number", rule), *node);
    }
    out = node->get<double>();
  }

  template <std::integral T>
  void value(const char* name, T& out, Rule rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    using Limits = std::numeric_limits<T>;
    const bool fits = node->is_number_unsigned()
                          ? std::in_range<T>(node->get<std::uint64_t>())
                          : node->is_number_integer() && std::in_range<T>(node->get<std::int64_t>());
    if (!fits || !in_range(node->get<double>(), rule)) {
      rule.low = std::max(rule.low, static_cast<double>(Limits::min()));
      rule.high = std::min(rule.high, static_cast<double>(Limits::max()));
      return wrong(name, expected_number("an integer", rule), *node);
    }
    out = node->get<T>();
  }

  void path(const char* name, std::string& out, const Rule& rule = {}) {
    const json* node = find(name, rule);
    if (node == nullptr) return;
    read_path(name, *node, rule, out);
  }

  void paths(const char* name, std::vector<std::string>& out) {
    const json* node = find_array(name);
    if (node == nullptr) return;
    out.resize(node->size());
    for (std::size_t i = 0; i < node->size() && !error_; ++i) {
      read_path(item(name, i), (*node)[i], {}, out[i]);
    }
  }

  void byte_strings(const char* name, std::vector<std::string>& out) {
    const json* node = find_array(name);
    if (node == nullptr) return;
    for (std::size_t i = 0; i < node->size(); ++i) {
      auto bytes = decode_path((*node)[i]);
      if (!bytes) return wrong(item(name, i), "a string, or {\"base64\": …}", (*node)[i]);
      out.push_back(std::move(*bytes));
    }
  }

  template <class T>
  void object(const char* name, T& out) {
    const json* node = find(name, {});
    if (node == nullptr) return;
    take(read<T>(*node, where_ + name), out);
  }

  template <class T>
  void list(const char* name, std::vector<T>& out) {
    const json* node = find_array(name);
    if (node == nullptr) return;
    out.resize(node->size());
    for (std::size_t i = 0; i < node->size() && !error_; ++i) {
      take(read<T>((*node)[i], where_ + item(name, i)), out[i]);
    }
  }

  void map(const char* name, std::map<std::string, std::string>& out) {
    const json* node = find(name, {});
    if (node == nullptr) return;
    if (!node->is_object()) return wrong(name, "an object of strings", *node);
    for (const auto& [key, value] : node->items()) {
      auto text = decode_path(value);
      if (!text) return wrong(std::string(name) + "." + key, "a string", value);
      out[key] = std::move(*text);
    }
  }

 private:
  FieldReader(const json& object, const std::string& where)
      : object_(object), where_(where.empty() ? "" : where + ".") {}

  static std::string item(const char* name, std::size_t i) {
    return std::string(name) + "[" + std::to_string(i) + "]";
  }
  static bool in_range(double value, const Rule& rule) {
    return (rule.low_excluded ? value > rule.low : value >= rule.low) && value <= rule.high;
  }

  /// The field, or null if it is absent (null counts as absent), after an error that concerns it if required.
  const json* find(const char* name, const Rule& rule) {
    if (error_) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end() && !found->is_null()) return &*found;
    if (rule.required) {
      error_ = Error{ErrorCode::kInvalidArgument, "field '" + where_ + name + "' is missing", ""};
    }
    return nullptr;
  }

  const json* find_array(const char* name) {
    const json* node = find(name, {});
    if (node == nullptr || node->is_array()) return node;
    wrong(name, "an array", *node);
    return nullptr;
  }

  void read_path(const std::string& name, const json& node, const Rule& rule, std::string& out) {
    auto path = decode_path(node);
    if (!path) return wrong(name, "a path (a string, or {\"base64\": …} when it is not UTF-8)", node);
    if (path->find('\0') != std::string::npos) return wrong(name, "a path without NUL bytes", node);
    if (rule.absolute && !path->starts_with('/')) return wrong(name, "an absolute path", node);
    out = std::move(*path);
  }

  void wrong(const std::string& name, const std::string& expected, const json& got) {
    std::string shown = got.is_structured() ? got.type_name() : got.dump(-1, ' ', false, kReplace);
    if (shown.size() > kShownBytes) shown = std::string("a ") + got.type_name();
    error_ = Error{ErrorCode::kInvalidArgument,
                   "field '" + where_ + name + "': expected " + expected + ", got " + shown, ""};
  }

  template <class T>
  void take(Result<T> result, T& out) {
    if (result) {
      out = std::move(*result);
    } else {
      error_ = std::move(result.error());
    }
  }

  static constexpr auto kReplace = json::error_handler_t::replace;
  static constexpr std::size_t kShownBytes = 60;

  const json& object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace kvboost::protocol
