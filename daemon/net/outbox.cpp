// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/outbox.h"

#include <iterator>
#include <utility>

namespace kvboost::daemon {

bool Outbox::offer(Frame frame) {
  const std::lock_guard lock(mutex_);
  // One that is larger than the whole bound is taken when nothing waits.
  const bool fits = queued_bytes_ == 0 || queued_bytes_ + frame.line.size() <= kMaxQueuedBytes;
  if (closed_ || !fits) return false;
  add_locked(std::move(frame));
  return true;
}

void Outbox::push(Frame frame) {
  const std::lock_guard lock(mutex_);
  if (!closed_) add_locked(std::move(frame));
}

void Outbox::add_locked(Frame frame) {
  queued_bytes_ += frame.line.size();
  frames_.push_back(std::move(frame));
  if (!std::exchange(woken_, true)) wake_();
}

std::vector<Outbox::Frame> Outbox::take() {
  const std::lock_guard lock(mutex_);
  woken_ = false;
  std::vector<Frame> taken(std::make_move_iterator(frames_.begin()), std::make_move_iterator(frames_.end()));
  frames_.clear();
  return taken;
}

void Outbox::written(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  queued_bytes_ -= bytes;
}

bool Outbox::is_full() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > kMaxQueuedBytes;
}

bool Outbox::is_empty() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ == 0;
}

void Outbox::close() {
  std::deque<Frame> dropped;  // freed outside the lock: a frame may hold the last reference to a call
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  dropped.swap(frames_);
}

}  // namespace kvboost::daemon
