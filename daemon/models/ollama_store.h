// SPDX-License-Identifier: Apache-2.0
// Ollama's store: manifests name blobs, and the blob of the model layer is a GGUF file without an extension.
//   manifests/HOST/NAMESPACE/MODEL/TAG = {"layers": [{"mediaType": ….image.model, "digest": "sha256:HEX"},
//   …]} blobs/sha256-HEX
// Pure reading, any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kvboost::daemon {

struct OllamaModel {
  std::string name;  // as `ollama list` says it: "llama3.2:1b", "user/model:tag"
  std::filesystem::path blob;
  std::string problem;  // of the manifest, or empty
};

/// What the manifests below `store` name; nothing if there are none.
[[nodiscard]] std::vector<OllamaModel> read_ollama_store(const std::filesystem::path& store);

}  // namespace kvboost::daemon
