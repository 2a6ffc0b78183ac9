// SPDX-License-Identifier: Apache-2.0
// RequestFields: reads the JSON object that a client has sent. Fields of another type or out of range are
// refused by name, null counts as absent, and what nobody asks for is ignored. The first error stays; what is
// read after it is empty. Lives for one request, one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/api_error.h"
#include "daemon/http/exchange.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class RequestFields {
 public:
  /// `body` is borrowed.
  explicit RequestFields(const nlohmann::json& body) : body_(body) {}

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  [[nodiscard]] std::optional<double> number(std::string_view name);
  /// 1.0 is one, too.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name);
  /// One string or a list of them.
  [[nodiscard]] std::vector<std::string> texts(std::string_view name);
  /// Whole numbers that fit a token id.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> tokens(std::string_view name);
  /// The field, or null where it is absent.
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;

  /// Something that the daemon cannot do and whose absence would mislead: refused unless it is absent, false,
  /// zero, or empty.
  void refuse_set(std::string_view name, std::string_view why);
  void refuse_above_one(std::string_view name, std::string_view why);
  /// What no path serves.
  void refuse_unserved();

  /// Keeps the first one.
  void fail_with(std::string_view name, std::string message);
  [[nodiscard]] const std::optional<ApiError>& error() const { return error_; }

 private:
  const nlohmann::json& body_;
  std::optional<ApiError> error_;
};

/// The field of any object, where it is a string; else an empty one.
[[nodiscard]] std::string text_field(const nlohmann::json& object, std::string_view name);

/// What all that write text understand alike: lengths, sampling, stop strings; and what they refuse.
void read_generation(RequestFields& fields, const RequestDefaults& defaults,
                     protocol::GenerateParams& params);

}  // namespace kvboost::daemon
