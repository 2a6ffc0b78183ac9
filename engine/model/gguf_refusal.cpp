// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gguf_refusal.h"

#include <algorithm>
#include <map>

namespace kvboost::engine {

std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kShown ? "...'" : "'");
}

std::string name_of_unknown_type(std::uint32_t type) {
  static const std::map<std::uint32_t, const char*> kNames = {
      {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
      {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},
      {28, "F64"},     {29, "IQ1_M"},  {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"}};
  const auto found = kNames.find(type);
  return found == kNames.end() ? "number " + std::to_string(type) : found->second;
}

Error not_gguf(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 64));
  if (start.starts_with("version https://git-lfs")) {
    return {ErrorCode::kCorrupt, "it is a Git LFS pointer, not the model itself", "run git lfs pull"};
  }
  if (start.starts_with("<!") || start.starts_with("<html")) {
    return {ErrorCode::kCorrupt, "it is a web page, not a model", "fetch the file again"};
  }
  return {ErrorCode::kCorrupt, "it is not a GGUF file: it starts with " + shown(start.substr(0, 4)),
          "name a .gguf file"};
}

}  // namespace kvboost::engine
