// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/repair_policy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace kvboost::daemon {
namespace {

/// What stands before the first `mark`; it and the mark are taken from `text`.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

template <typename Number>
bool read(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool read_seam(std::string_view value, RepairPolicy& policy) {
  return policy.seam == 0 && read(value, policy.seam) && policy.seam > 0;
}

bool read_guided(std::string_view value, RepairPolicy& policy) {
  const bool with_layers = value.find(':') != std::string_view::npos;
  const auto share = take_until(value, ':');
  if (policy.guided != 0 || !read(share, policy.guided)) return false;
  if (!(policy.guided > 0 && policy.guided <= 1)) return false;
  if (!with_layers) return true;
  const auto first = take_until(value, '-');
  if (!read(first, policy.first_layer) || !read(value, policy.end_layer)) return false;
  return policy.first_layer >= 0 && policy.first_layer < policy.end_layer && policy.end_layer <= 1;
}

bool read_blend(std::string_view value, RepairPolicy& policy) {
  const auto share = take_until(value, ':');
  policy.cosine = value == "cosine";
  const bool read_whole = value.empty() || policy.cosine;
  return policy.blend == 0 && read_whole && read(share, policy.blend) && policy.blend > 0 &&
         policy.blend <= 1;
}

bool read_part(std::string_view part, RepairPolicy& policy) {
  const auto kind = take_until(part, ':');
  if (kind == "seam") return read_seam(part, policy);
  if (kind == "guided") return read_guided(part, policy);
  if (kind == "blend") return read_blend(part, policy);
  return false;
}

std::string shortest(float number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace

Result<std::optional<RepairPolicy>> parse_repair_policy(std::string_view name) {
  if (name == "exact") return std::nullopt;
  RepairPolicy policy;
  if (name == "none") return policy;
  std::string_view rest = name;
  for (std::size_t parts = 1 + std::ranges::count(name, '+'); parts > 0; --parts) {
    if (!read_part(take_until(rest, '+'), policy)) {
      return fail(ErrorCode::kInvalidArgument, "'" + std::string(name) + "' is no repair policy",
                  "exact, none, seam:TOKENS, guided:SHARE, guided:SHARE:FIRST-END (shares of the layers), "
                  "blend:SHARE, blend:SHARE:cosine, or one of each joined by +");
    }
  }
  return policy;
}

std::string repair_policy_name(const std::optional<RepairPolicy>& policy) {
  if (!policy) return "exact";
  std::string name;
  const auto add = [&](const std::string& part) { name += (name.empty() ? "" : "+") + part; };
  const RepairPolicy all_layers;
  if (policy->guided > 0) {
    const bool some =
        policy->first_layer != all_layers.first_layer || policy->end_layer != all_layers.end_layer;
    add("guided:" + shortest(policy->guided) +
        (some ? ":" + shortest(policy->first_layer) + "-" + shortest(policy->end_layer) : ""));
  }
  if (policy->blend > 0) add("blend:" + shortest(policy->blend) + (policy->cosine ? ":cosine" : ""));
  if (policy->seam > 0) add("seam:" + std::to_string(policy->seam));
  return name.empty() ? "none" : name;
}

std::vector<std::int32_t> cells_to_repair(const RepairPolicy& policy, std::span<const ChangedRun> changed,
                                          const CellScores& scores) {
  std::vector<std::int32_t> chosen, others;
  for (const ChangedRun& run : changed) {
    for (std::int32_t i = 0; i < run.n_tokens; ++i)
      (i < policy.seam ? chosen : others).push_back(run.first + i);
  }
  const auto all = static_cast<float>(chosen.size() + others.size());
  for (const auto& [share, score] :
       {std::pair(policy.guided, scores.attention), std::pair(policy.blend, scores.deviation)}) {
    if (score.empty()) continue;
    const auto wanted = std::min(others.size(), static_cast<std::size_t>(std::ceil(share * all)));
    const auto end = others.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::ranges::nth_element(others, end, [&](auto a, auto b) { return score[a] > score[b]; });
    chosen.insert(chosen.end(), others.begin(), end);
  }
  std::ranges::sort(chosen);
  const auto twice = std::ranges::unique(chosen);
  chosen.erase(twice.begin(), twice.end());
  return chosen;
}

}  // namespace kvboost::daemon
