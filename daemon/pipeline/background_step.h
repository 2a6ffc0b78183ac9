// SPDX-License-Identifier: Apache-2.0
// background_step: a piece of work on the engine thread that waits for requests and makes way for them. The
// caller waits for it, so never on the engine thread; `step` runs there.
#pragma once

#include <future>
#include <stop_token>
#include <utility>

#include "base/error.h"
#include "daemon/pipeline/either_stop.h"
#include "daemon/pipeline/scheduler.h"

namespace kvboost::daemon {

/// `step` gets a token that is stopped when `stop` is, or a more urgent job comes, and gives a
/// Result<bool>: false when it was stopped, and can be done again. An error when the scheduler closes.
template <class Step>
Result<bool> background_step(Scheduler& engine_thread, const std::stop_token& stop, Step step) {
  std::promise<Result<bool>> outcome;
  engine_thread.submit(Priority::kWarm,
                       {.run =
                            [&] {
                              outcome.set_value([&] {
                                const auto preempted = engine_thread.watch(Priority::kWarm);
                                const EitherStop either(stop, preempted.token());
                                return step(either.token());
                              }());
                            },
                        .drop = [&](Error error) { outcome.set_value(fail(std::move(error))); },
                        .stop = stop,
                        .is_request = false});
  return outcome.get_future().get();
}

}  // namespace kvboost::daemon
