// SPDX-License-Identifier: Apache-2.0
// Where model files lie on this machine: our own folder, and the caches of programs that fetched some before
// us. Looks at names and small text files only; models are opened by the catalogue. Plain values, any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::daemon {

/// Folders to look into. One that does not exist, or may not be read, has no models.
struct ModelPlaces {
  std::vector<std::filesystem::path> own;          // GGUF files below
  std::vector<std::filesystem::path> huggingface;  // hub folders: models--ORG--NAME/snapshots/COMMIT/…
  std::vector<std::filesystem::path> llama_cpp;
  std::vector<std::filesystem::path> ollama;  // manifests/HOST/NAMESPACE/MODEL/TAG and blobs/sha256-…
  std::vector<std::filesystem::path> lm_studio;
  std::filesystem::path added;  // a text file: one path a line
};

using Environment = std::function<std::optional<std::string>(std::string_view variable)>;

/// The usual places of this user, and what the programs' own variables (HF_HOME, OLLAMA_MODELS, …) say
/// instead. `data` is kvboost's data directory.
[[nodiscard]] ModelPlaces usual_places(const Environment& environment, const std::filesystem::path& data);

/// A model file by the look of its name.
struct FoundModel {
  std::filesystem::path path;
  std::string name;
  std::string origin;   // as in protocol::ModelEntry
  std::string problem;  // already known from the name: one of several parts, an image projector
};

/// All of them, each file once, names unique, sorted by name.
[[nodiscard]] std::vector<FoundModel> find_models(const ModelPlaces& places);

/// The paths in an `added` list; an absent list is empty.
[[nodiscard]] std::vector<std::filesystem::path> read_added(const std::filesystem::path& list);

}  // namespace kvboost::daemon
