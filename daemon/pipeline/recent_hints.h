// SPDX-License-Identifier: Apache-2.0
// RecentHints: what was lately completed, so that a key which goes on with a shown hint, or a cursor that
// comes back, is answered at once. It keeps hints and digests of buffers, never their text. Any thread.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "daemon/prompt/edit_buffer.h"

namespace kvboost::daemon {

class RecentHints {
 public:
  /// `key`: of all else that decides: model, file, what was asked for.
  void keep(const Digest& key, const EditBuffer& buffer, std::vector<std::string> hints);

  /// The rest of the hints that the buffer's cursor stands in: it was at their beginning, or a part of them
  /// has been typed. An empty list: it is known that there is none.
  [[nodiscard]] std::optional<std::vector<std::string>> find(const Digest& key,
                                                             const EditBuffer& buffer) const;

 private:
  struct Entry {
    Digest key;
    std::size_t before_size = 0;  // of the text in front of the cursor
    Digest before, after;
    std::vector<std::string> hints;
  };
  /// `typed` is what stands between the entry's cursor and the buffer's.
  [[nodiscard]] static std::optional<std::vector<std::string>> rest_of(const Entry& entry,
                                                                       std::string_view typed);

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the latest first
};

}  // namespace kvboost::daemon
