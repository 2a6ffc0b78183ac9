// SPDX-License-Identifier: Apache-2.0
// EitherStop: a token that is stopped when one of two others is. Lives on one thread; the others may be
// stopped from any.
#pragma once

#include <stop_token>

namespace kvboost::daemon {

class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : on_one_(one, Request{&source_}), on_other_(other, Request{&source_}) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source* source;
    void operator()() const {
      // What stops may let go of all of this, here and now.
      std::stop_source alive = *source;
      alive.request_stop();
    }
  };

  std::stop_source source_;
  std::stop_callback<Request> on_one_, on_other_;
};

}  // namespace kvboost::daemon
