// SPDX-License-Identifier: Apache-2.0
// The words of a text, one after the other, without an allocation a word. An identifier is given whole and
// then split at case, underscore and digits; letters of other scripts belong to words; scripts written
// without spaces (Han, Kana, Hangul, Thai) give pairs of neighbouring characters. One thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kvboost::cache {

/// Longer runs are data (base64, hashes, minified code), not words, and are left out.
inline constexpr std::size_t kLongestWord = 64;

class WordReader {
 public:
  /// Gets a word in lower case; the view is valid during the call.
  using Sink = std::function<void(std::string_view)>;
  void read(std::string_view text, const Sink& sink);

 private:
  void identifier(std::string_view whole, const Sink& sink);
  void unspaced(std::string_view run, const Sink& sink);

  std::string lower_;
};

}  // namespace kvboost::cache
