// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader and the editor of the configuration file. Whatever a file says: reading ends, and an edit
// that succeeds leaves a file that reads back with just that option changed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/config_file.h"

namespace {

using kvboost::ConfigEntry;

std::vector<ConfigEntry> without(std::vector<ConfigEntry> entries, std::string_view name) {
  std::erase_if(entries, [&](const ConfigEntry& entry) { return entry.name == name; });
  return entries;
}

bool same_but_lines(const std::vector<ConfigEntry>& a, const std::vector<ConfigEntry>& b) {
  return std::ranges::equal(
      a, b, [](const ConfigEntry& x, const ConfigEntry& y) { return x.name == y.name && x.text == y.text; });
}

void check_edit(std::string_view text, const std::vector<ConfigEntry>& before, std::string_view name,
                const std::string& value) {
  const auto edited = kvboost::edit_config(text, "fuzz", name, value);
  if (!edited) return;
  const auto after = kvboost::parse_config(*edited, "fuzz");
  if (!after) std::abort();
  const auto entry = std::ranges::find(*after, name, &ConfigEntry::name);
  if (entry == after->end() || entry->text != value) std::abort();
  if (!same_but_lines(without(before, name), without(*after, name))) std::abort();
  const auto removed = kvboost::edit_config(*edited, "fuzz", name, std::nullopt);
  if (removed && kvboost::parse_config(*removed, "fuzz")->size() >= after->size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = kvboost::parse_config(text, "fuzz");
  if (!entries) return 0;
  for (const ConfigEntry& entry : *entries) {
    if (const auto* option = kvboost::find_option(entry.name))
      (void)kvboost::check_value(*option, entry.text);
  }
  check_edit(text, *entries, "threads", "3");
  check_edit(text, *entries, "model", "a \"b\\ ü\n");
  return 0;
}
