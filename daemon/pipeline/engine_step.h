// SPDX-License-Identifier: Apache-2.0
// engine_step: a piece of work on the engine thread that makes way for more urgent ones. The caller waits for
// it, so never on the engine thread; `step` runs there.
#pragma once

#include <future>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "daemon/pipeline/either_stop.h"
#include "daemon/pipeline/scheduler.h"

namespace kvboost::daemon {

/// `step` gets a token that is stopped when `stop` is, or a more urgent job comes, and gives a Result that
/// says so when it was stopped and can be done again. An error when the scheduler closes.
template <class Step>
std::invoke_result_t<Step, std::stop_token> engine_step(Scheduler& engine_thread, Priority priority,
                                                        const std::stop_token& stop, Step step) {
  std::promise<std::invoke_result_t<Step, std::stop_token>> outcome;
  engine_thread.submit(priority, {.run =
                                      [&] {
                                        outcome.set_value([&] {
                                          const auto preempted = engine_thread.watch(priority);
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
