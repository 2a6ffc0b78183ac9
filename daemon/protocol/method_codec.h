// SPDX-License-Identifier: Apache-2.0
// How encode and decode come out of a struct's list of fields, visit_fields: FieldWriter and FieldReader walk
// it, and find it by argument, so it is static and not in an unnamed namespace. For the .cpp files that hold
// such lists; any thread.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "daemon/protocol/field_codec.h"
#include "daemon/protocol/methods.h"

namespace kvboost::protocol {

/// T or const T: one list of fields serves writing and reading.
template <class V, class T>
concept Of = std::same_as<std::remove_const_t<V>, T>;

// Part of results in both files.
static void visit_fields(Of<ReuseCount> auto& v, auto& field) {
  field.value("exact", v.exact, kCount);
  field.value("approximate", v.approximate, kCount);
  field.value("missed", v.missed, kCount);
}

static void visit_fields(Of<AskChunk> auto& v, auto& field) {
  field.path("path", v.path);
  field.value("first_line", v.first_line, kCount);
  field.value("last_line", v.last_line, kCount);
  field.value("match", v.match);
  field.value("reason", v.reason);
  field.value("tokens", v.tokens, kCount);
  field.value("computed", v.computed, kCount);
  field.value("repaired", v.repaired, kCount);
  field.value("bytes", v.bytes);
  field.value("ms", v.ms);
}

template <class T>
json encode(const T& value) {
  return FieldWriter::write(value);
}

template <class T>
std::string encode_text(const T& value) {
  return encode(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
Result<T> decode(const json& object) {
  if (object.is_null()) return FieldReader::read<T>(json::object(), "");  // params may be left out
  return FieldReader::read<T>(object, "");
}

template <class T>
Result<T> decode_text(std::string_view text) {
  const json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return fail(ErrorCode::kProtocol, "not JSON");
  return decode<T>(value);
}

#define KVBOOST_METHOD_STRUCT(Type)              \
  template json encode(const Type&);             \
  template std::string encode_text(const Type&); \
  template Result<Type> decode(const json&);     \
  template Result<Type> decode_text(std::string_view)

}  // namespace kvboost::protocol
