// SPDX-License-Identifier: Apache-2.0
// What the tests of WorkTree share: a folder's listing, and its paths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/track/work_tree.h"

namespace kvboost::cache {

using Paths = std::vector<std::string>;

inline FileListing list(const std::filesystem::path& start, std::uint64_t max_file_bytes = 1'000'000) {
  const auto tree = WorkTree::discover(start);
  if (!tree) throw std::runtime_error(tree.error().text());
  auto listing = tree->list(max_file_bytes);
  if (!listing) throw std::runtime_error(listing.error().text());
  return std::move(*listing);
}

inline Paths paths(const FileListing& listing) {
  Paths all;
  for (const auto& file : listing.files) all.push_back(file.path);
  return all;
}

}  // namespace kvboost::cache
