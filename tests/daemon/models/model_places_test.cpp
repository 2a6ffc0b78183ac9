// SPDX-License-Identifier: Apache-2.0
// Files of the stores as their programs lay them out, found by name.
#include "daemon/models/model_places.h"

#include <algorithm>

#include "tests/daemon/models/model_home.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;
const std::string kDigest(64, 'a');

class ModelPlacesTest : public test::ModelHome {
 protected:
  std::string found() {
    std::string text;
    for (const FoundModel& model : find_models(places())) {
      text += model.origin + " " + model.name + (model.problem.empty() ? "" : " !") + "\n";
    }
    return text;
  }
  std::string problem_of(std::string_view name) {
    const auto models = find_models(places());
    const auto at = std::ranges::find(models, name, &FoundModel::name);
    return at == models.end() ? "not found" : at->problem;
  }
  void ollama(const std::string& tag, const std::string& manifest) {
    text(".ollama/models/manifests/registry.example/" + tag, manifest);
  }
  static std::string manifest(const std::string& digest) {
    return R"({"layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00"},
      {"mediaType": "application/vnd.ollama.image.model", "digest": ")" +
           digest + "\"}]}";
  }
};

TEST_F(ModelPlacesTest, AnEmptyHomeHasNone) {
  EXPECT_EQ(found(), "");
}

TEST_F(ModelPlacesTest, EachStoreIsRead) {
  text("data/models/own.gguf", "");
  text(".cache/huggingface/hub/models--org--repo/blobs/123", "");
  fs::create_directories(home_ / ".cache/huggingface/hub/models--org--repo/snapshots/abc/sub");
  fs::create_symlink("../../../blobs/123",
                     home_ / ".cache/huggingface/hub/models--org--repo/snapshots/abc/sub/hub.Q4_K_M.gguf");
  text(".cache/llama.cpp/org_repo_llama.GGUF", "");
  text(".cache/llama.cpp/org_repo_llama.gguf.json", "");
  text(".lmstudio/models/someone/repo/studio.gguf", "");
  text(".ollama/models/blobs/sha256-" + kDigest, "");
  ollama("library/tiny/1b", manifest("sha256:" + kDigest));
  EXPECT_EQ(
      found(),
      "huggingface hub.Q4_K_M\nllama.cpp org_repo_llama\nkvboost own\nlmstudio studio\nollama tiny:1b\n");
}

TEST_F(ModelPlacesTest, VariablesOfTheProgramsCount) {
  variables_["HF_HOME"] = (home_ / "hf").string();
  variables_["LLAMA_CACHE"] = (home_ / "lc").string();
  variables_["OLLAMA_MODELS"] = (home_ / "ol").string();
  text("hf/hub/models--a--b/snapshots/c/one.gguf", "");
  text(".cache/huggingface/hub/models--a--b/snapshots/c/unseen.gguf", "");
  text("lc/two.gguf", "");
  text("ol/blobs/sha256-" + kDigest, "");
  text("ol/manifests/h/library/three/latest", manifest("sha256:" + kDigest));
  EXPECT_EQ(found(), "huggingface one\nollama three:latest\nllama.cpp two\n");
  variables_["HF_HUB_CACHE"] = (home_ / "hub2").string();
  text("hub2/models--a--b/snapshots/c/four.gguf", "");
  EXPECT_TRUE(found().starts_with("huggingface four\n"));
}

TEST_F(ModelPlacesTest, PartsAndProjectorsAreExplained) {
  for (const char* part : {"1", "2", "3"})
    text("data/models/big-0000" + std::string(part) + "-of-00003.gguf", "");
  text("data/models/mmproj-model-f16.gguf", "");
  text("data/models/x-00001-of-0000z.gguf", "");
  EXPECT_EQ(found(), "kvboost big-00001-of-00003 !\nkvboost mmproj-model-f16 !\nkvboost x-00001-of-0000z\n");
  EXPECT_NE(problem_of("big-00001-of-00003").find("one of 3 parts"), std::string::npos);
  EXPECT_NE(problem_of("mmproj-model-f16").find("projector"), std::string::npos);
}

TEST_F(ModelPlacesTest, OneFileIsListedOnceAndNamesAreUnique) {
  const auto own = text("data/models/same.gguf", "a");
  text(".cache/llama.cpp/same.gguf", "b");
  fs::create_symlink(own, home_ / "data/models/other-name.gguf");
  text("data/models.list", own.string() + "\n");
  // The link sorts before the file it points to, and is the one that stays.
  EXPECT_EQ(found(), "kvboost other-name\nllama.cpp same\n");
  text(".lmstudio/models/same.gguf", "c");
  EXPECT_EQ(found(), "llama.cpp llama.cpp:same\nlmstudio lmstudio:same\nkvboost other-name\n");
}

TEST_F(ModelPlacesTest, LostFilesSaySo) {
  fs::create_directories(home_ / "data/models");
  fs::create_symlink("nowhere", home_ / "data/models/dangling.gguf");
  text("data/models.list", (home_ / "gone.gguf").string() + "\n\n");
  EXPECT_EQ(found(), "kvboost dangling !\nadded gone !\n");
}

TEST_F(ModelPlacesTest, HostileManifestsNameNothing) {
  ollama("library/a/1", manifest("sha256:../../../../etc/passwd"));
  ollama("library/b/1", "not json");
  ollama("library/c/1", "[]");
  ollama("library/d/1", R"({"layers": [1, null, {"mediaType": 3}, {"mediaType": "x"}]})");
  ollama("library/e/1", "");
  ollama("someone/f/1", manifest("sha256:" + kDigest));  // no such blob
  EXPECT_EQ(found(),
            "ollama a:1 !\nollama b:1 !\nollama c:1 !\nollama d:1 !\nollama e:1 !\nollama someone/f:1 !\n");
  EXPECT_EQ(problem_of("a:1"), "its manifest names no model layer");
}

TEST_F(ModelPlacesTest, LoopsAndClosedFoldersDoNotStopTheSearch) {
  text("data/models/a/one.gguf", "");
  fs::create_directory_symlink(home_ / "data/models", home_ / "data/models/a/loop");
  text("data/models/closed/two.gguf", "");
  fs::permissions(home_ / "data/models/closed", fs::perms::none);
  text("data/models/z/three.gguf", "");
  const std::string list = found();
  fs::permissions(home_ / "data/models/closed", fs::perms::owner_all);
  EXPECT_NE(list.find("kvboost one\n"), std::string::npos);
  EXPECT_NE(list.find("kvboost three\n"), std::string::npos);
}

}  // namespace
}  // namespace kvboost::daemon
