// SPDX-License-Identifier: Apache-2.0
// GitHandle: owns an object of libgit2, to be freed by the function that libgit2 has for it. One thread at a
// time.
#pragma once

#include <memory>

namespace kvboost::cache {

template <class T, void (*Free)(T*)>
struct GitFree {
  void operator()(T* object) const { Free(object); }
};
template <class T, void (*Free)(T*)>
using GitHandle = std::unique_ptr<T, GitFree<T, Free>>;

}  // namespace kvboost::cache
