// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/ollama_store.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t kMaxManifestBytes = 1 << 20;
constexpr std::size_t kMaxManifests = 10000;
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
constexpr std::string_view kDefaultNamespace = "library";

/// manifests/HOST/NAMESPACE/MODEL/TAG → "MODEL:TAG", with what is not the default in front.
std::string name_of(const fs::path& relative) {
  std::vector<std::string> parts;
  for (const fs::path& part : relative) parts.push_back(part.string());
  if (parts.size() != 4) return relative.string();
  const std::string tagged = parts[2] + ":" + parts[3];
  return parts[1] == kDefaultNamespace ? tagged : parts[1] + "/" + tagged;
}

/// "sha256:" and 64 hexadecimal digits: it becomes a file name, so nothing else will do.
bool is_digest(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  return digest.size() == kPrefix.size() + 64 && digest.starts_with(kPrefix) &&
         digest.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

/// The digest of the model layer, or empty.
std::string model_digest(const fs::path& manifest) {
  std::error_code error;
  if (!fs::is_regular_file(manifest, error) || fs::file_size(manifest, error) > kMaxManifestBytes) return {};
  std::ostringstream text;
  text << std::ifstream(manifest).rdbuf();
  const json parsed = json::parse(text.str(), nullptr, false);
  if (!parsed.is_object() || !parsed.contains("layers") || !parsed["layers"].is_array()) return {};
  for (const json& layer : parsed["layers"]) {
    if (!layer.is_object() || !layer.contains("mediaType") || layer["mediaType"] != kModelLayer) continue;
    const auto digest = layer.find("digest");
    if (digest != layer.end() && digest->is_string() && is_digest(digest->get_ref<const std::string&>())) {
      return digest->get<std::string>();
    }
  }
  return {};
}

}  // namespace

std::vector<OllamaModel> read_ollama_store(const fs::path& store) {
  std::vector<OllamaModel> models;
  const fs::path manifests = store / "manifests";
  std::error_code error;
  fs::recursive_directory_iterator walk(manifests, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && walk != end && models.size() < kMaxManifests;
       walk.increment(error)) {
    std::error_code ignored;
    if (!walk->is_regular_file(ignored) || walk.depth() != 3) continue;
    OllamaModel model;
    model.name = name_of(walk->path().lexically_relative(manifests));
    std::string digest = model_digest(walk->path());
    if (digest.empty()) {
      model.blob = walk->path();
      model.problem = "its manifest names no model layer";
    } else {
      std::ranges::replace(digest, ':', '-');
      model.blob = store / "blobs" / digest;
    }
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace kvboost::daemon
