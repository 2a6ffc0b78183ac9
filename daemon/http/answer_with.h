// SPDX-License-Identifier: Apache-2.0
// From a method's result to an answer. Pure, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "daemon/http/exchange.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// For Exchange::on_result: `tell` makes an Answer of a Told, which the result is decoded to.
template <class Told, class Tell>
[[nodiscard]] auto answer_with(Tell tell) {
  return [tell = std::move(tell)](const nlohmann::json& result) -> Result<Answer> {
    const auto told = protocol::decode<Told>(result);
    if (!told) return fail(told.error());
    return tell(*told);
  };
}

}  // namespace kvboost::daemon
