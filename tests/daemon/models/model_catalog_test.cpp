// SPDX-License-Identifier: Apache-2.0
// Names to files, and what the catalogue tells of them; the files are tiny models that load.
#include "daemon/models/model_catalog.h"

#include <algorithm>
#include <sstream>

#include "tests/daemon/models/model_home.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

class ModelCatalogTest : public test::ModelHome {
 protected:
  ModelCatalog catalog() { return ModelCatalog(places()); }
  std::string resolved(std::string_view name) {
    const auto path = catalog().resolve(name);
    return path ? path->lexically_relative(home_).string() : path.error().text();
  }
};

TEST_F(ModelCatalogTest, ListTellsShapeAndProblems) {
  const fs::path good = model("data/models/good.gguf");
  text("data/models/junk.gguf", "not a model");
  text("data/models/empty.gguf", "");
  const auto list = catalog().list(good);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1].name, "good");
  EXPECT_EQ(list[1].architecture, "llama");
  EXPECT_EQ(list[1].quantisation, "F32");
  EXPECT_EQ(list[1].problem, "");
  EXPECT_EQ(list[1].bytes, fs::file_size(good));
  EXPECT_TRUE(list[1].in_use);
  for (const std::size_t broken : {0U, 2U}) {
    EXPECT_NE(list[broken].problem, "") << list[broken].name;
    EXPECT_FALSE(list[broken].in_use);
  }
}

TEST_F(ModelCatalogTest, TheModelInUseIsListedWhereverItIs) {
  const fs::path stray = model("elsewhere/stray.gguf");
  const auto list = catalog().list(stray);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].origin, "file");
  EXPECT_TRUE(list[0].in_use);
}

TEST_F(ModelCatalogTest, NamesResolveByTheStrictestReading) {
  model("data/models/Qwen2-1.5B.gguf");
  model("data/models/Qwen2-7B.gguf");
  model("data/models/Smol.gguf");
  model("data/models/Smol-Instruct.gguf");
  EXPECT_EQ(resolved("Smol"), "data/models/Smol.gguf");
  EXPECT_EQ(resolved("smol"), "data/models/Smol.gguf");
  EXPECT_EQ(resolved("Smol.gguf"), "data/models/Smol.gguf");
  EXPECT_EQ(resolved("smol-"), "data/models/Smol-Instruct.gguf");
  EXPECT_EQ(resolved("qwen2-7"), "data/models/Qwen2-7B.gguf");
  EXPECT_EQ(resolved((home_ / "data/models/Smol.gguf").string()), "data/models/Smol.gguf");
  EXPECT_EQ(resolved("qwen"), "'qwen' may mean several models (Qwen2-1.5B, Qwen2-7B)");
  EXPECT_TRUE(resolved("llama").starts_with("there is no model named 'llama' (known are: Qwen2-1.5B"));
  EXPECT_TRUE(resolved("/nowhere/x.gguf").starts_with("there is no model file '/nowhere/x.gguf'"));
  EXPECT_EQ(catalog().resolve("llama").error().code, ErrorCode::kModel);
}

TEST_F(ModelCatalogTest, NoNameIsTheOnlyOneThereIs) {
  EXPECT_TRUE(resolved("").starts_with("no model is set, and none was found on this machine (get a GGUF"));
  model(".lmstudio/models/a/b/other.gguf");
  EXPECT_EQ(resolved(""), ".lmstudio/models/a/b/other.gguf");
  model("data/models/own.gguf");
  EXPECT_EQ(resolved(""), "data/models/own.gguf");
  model("data/models/own2.gguf");
  EXPECT_EQ(resolved(""), "no model is set (choose one with `kvboost model use NAME`: other, own, own2)");
}

TEST_F(ModelCatalogTest, ANameWithAProblemIsRefusedWithIt) {
  text("data/models/big-00001-of-00002.gguf", "");
  EXPECT_NE(resolved("big").find("one of 2 parts"), std::string::npos);
}

TEST_F(ModelCatalogTest, InfoTellsTheShape) {
  model("data/models/tiny.gguf", {.n_layers = 2, .context = 512});
  const auto info = catalog().info("tiny");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->details.at("layers"), "2");
  EXPECT_EQ(info->details.at("context"), "512");
  EXPECT_EQ(info->details.at("KV bytes a token"), std::to_string(2 * 2 * 2 * 2 * 16));
}

TEST_F(ModelCatalogTest, AddRemembersAFileOnce) {
  const fs::path file = model("far/away.gguf");
  for (int i = 0; i < 2; ++i) {
    const auto added = catalog().add(file);
    ASSERT_TRUE(added) << added.error().text();
    EXPECT_EQ(added->entry.origin, "added");
  }
  EXPECT_EQ(read_added(home_ / "data/models.list").size(), 1U);
  EXPECT_EQ(resolved("away"), "far/away.gguf");
}

TEST_F(ModelCatalogTest, AddRefusesWhatIsNoModel) {
  EXPECT_EQ(catalog().add(home_ / "none.gguf").error().code, ErrorCode::kModel);
  EXPECT_EQ(catalog().add(home_).error().code, ErrorCode::kModel);
  EXPECT_EQ(catalog().add(text("junk.gguf", "junk")).error().code, ErrorCode::kModel);
  EXPECT_EQ(catalog().add(model("new\nline.gguf")).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(home_ / "data/models.list"));
}

TEST_F(ModelCatalogTest, UseWritesTheConfiguration) {
  const fs::path file = model("data/models/good.gguf");
  text("data/models/bad.gguf", "bad");
  const fs::path config = text("config/kvboost.toml", "# mine\nthreads = 2\n");
  EXPECT_FALSE(catalog().use("bad", config));
  const auto used = catalog().use("good", config);
  ASSERT_TRUE(used) << used.error().text();
  EXPECT_TRUE(used->entry.in_use);
  std::ostringstream content;
  content << std::ifstream(config).rdbuf();
  EXPECT_EQ(content.str(), "# mine\nthreads = 2\nmodel = \"" + file.string() + "\"\n");
}

}  // namespace
}  // namespace kvboost::daemon
