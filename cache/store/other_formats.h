// SPDX-License-Identifier: Apache-2.0
// OtherFormat: what builds with another record format have left in the cache directory. It is never read,
// only listed and removed. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kvboost::cache {

struct OtherFormat {
  std::string name;  // of its folder
  std::uint64_t bytes = 0;
};

[[nodiscard]] std::vector<OtherFormat> other_formats(const std::filesystem::path& cache_directory);
void remove(const std::filesystem::path& cache_directory, const OtherFormat& format);

}  // namespace kvboost::cache
