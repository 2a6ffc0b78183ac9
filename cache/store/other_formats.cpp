// SPDX-License-Identifier: Apache-2.0
#include "cache/store/other_formats.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

#include "cache/store/record.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "kv-v";

bool is_other(const fs::directory_entry& entry) {
  std::error_code error;
  const std::string name = entry.path().filename().string();
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         std::ranges::all_of(name.substr(kPrefix.size()),
                             [](unsigned char c) { return std::isdigit(c) != 0; }) &&
         name != std::string(kPrefix) + std::to_string(kRecordVersion) &&
         fs::is_directory(entry.symlink_status(error));
}

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    std::error_code none;
    if (fs::is_regular_file(entry->symlink_status(none))) bytes += entry->file_size(none);
  }
  return bytes;
}

}  // namespace

std::vector<OtherFormat> other_formats(const fs::path& cache_directory) {
  std::vector<OtherFormat> found;
  std::error_code error;
  fs::directory_iterator entry(cache_directory, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    if (is_other(*entry)) found.push_back({entry->path().filename().string(), bytes_below(entry->path())});
  }
  std::ranges::sort(found, {}, &OtherFormat::name);
  return found;
}

void remove(const fs::path& cache_directory, const OtherFormat& format) {
  std::error_code error;
  fs::remove_all(cache_directory / format.name, error);
}

}  // namespace kvboost::cache
