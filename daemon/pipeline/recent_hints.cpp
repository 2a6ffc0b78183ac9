// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/recent_hints.h"

#include <utility>

namespace kvboost::daemon {
namespace {

constexpr std::size_t kMostEntries = 64;

}  // namespace

void RecentHints::keep(const Digest& key, const EditBuffer& buffer, std::vector<std::string> hints) {
  Entry entry{key, buffer.before().size(), sha256(buffer.before()), sha256(buffer.after()), std::move(hints)};
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& other) {
    return other.key == entry.key && other.before == entry.before && other.after == entry.after;
  });
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMostEntries) entries_.pop_back();
}

std::optional<std::vector<std::string>> RecentHints::find(const Digest& key, const EditBuffer& buffer) const {
  const std::string_view before = buffer.before();
  const std::lock_guard lock(mutex_);
  std::optional<Digest> after;  // hashed once something may fit
  for (const Entry& entry : entries_) {
    if (entry.key != key || entry.before_size > before.size()) continue;
    auto rest = rest_of(entry, before.substr(entry.before_size));
    if (!rest) continue;
    if (!after) after = sha256(buffer.after());
    if (*after == entry.after && sha256(before.substr(0, entry.before_size)) == entry.before) return rest;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> RecentHints::rest_of(const Entry& entry, std::string_view typed) {
  if (typed.empty()) return entry.hints;
  std::vector<std::string> rest;
  for (const std::string& hint : entry.hints) {
    if (hint.size() > typed.size() && hint.starts_with(typed)) rest.push_back(hint.substr(typed.size()));
  }
  return rest.empty() ? std::nullopt : std::optional(std::move(rest));
}

}  // namespace kvboost::daemon
