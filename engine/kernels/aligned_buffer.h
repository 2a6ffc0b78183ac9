// SPDX-License-Identifier: Apache-2.0
// AlignedBuffer: uninitialised memory for numbers, aligned to a cache line. A plain owner, any thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace kvboost::engine {

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// std::bad_alloc if there is no memory.
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
    if (!data_ && size > 0) throw std::bad_alloc();
  }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace kvboost::engine
