// SPDX-License-Identifier: Apache-2.0
// Deadline: does something when time is up, unless it was cleared or set anew before. Lives on the HTTP
// thread, as a part of the object that it is handed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace kvboost::daemon {

class Deadline {
 public:
  explicit Deadline(boost::asio::io_context& io) : timer_(io) { clear(); }

  /// Calls `owner->close()`.
  template <class Owner>
  void set(std::chrono::seconds time, const std::shared_ptr<Owner>& owner) {
    timer_.expires_after(time);
    timer_.async_wait([this, owner](const boost::system::error_code& error) {
      // A wait that had ended already cannot be cancelled: the time tells.
      if (!error && timer_.expiry() <= Clock::now()) owner->close();
    });
  }
  void clear() { timer_.expires_at(Clock::time_point::max()); }

 private:
  using Clock = std::chrono::steady_clock;
  boost::asio::steady_timer timer_;
};

}  // namespace kvboost::daemon
