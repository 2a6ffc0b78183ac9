// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_catalog.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/config_file.h"
#include "base/paths.h"
#include "base/text.h"
#include "daemon/protocol/usable_model.h"
#include "engine/engine.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;
using protocol::ModelEntry;
using protocol::ModelInfoResult;

constexpr std::size_t kNamesInARemedy = 8;
constexpr std::uint64_t kBytesOfBf16 = 2;

fs::path expand_home(std::string_view text) {
  const char* home = std::getenv("HOME");
  if (home != nullptr && text.starts_with("~/")) return fs::path(home) / text.substr(2);
  return text;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool looks_like_a_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with('.') || text.starts_with('~') || text.ends_with(".gguf");
}

std::string names_of(const std::vector<FoundModel>& models) {
  std::string text;
  for (std::size_t i = 0; i < models.size() && i < kNamesInARemedy; ++i) {
    text += (i == 0 ? "" : ", ") + models[i].name;
  }
  if (models.size() > kNamesInARemedy) text += ", … (`kvboost model list` shows all)";
  return text;
}

std::vector<FoundModel> usable(std::vector<FoundModel> models) {
  std::erase_if(models, [](const FoundModel& model) { return !model.problem.empty(); });
  return models;
}

template <class Predicate>
std::vector<FoundModel> those_that(const std::vector<FoundModel>& models, Predicate fits) {
  std::vector<FoundModel> some;
  std::ranges::copy_if(models, std::back_inserter(some), fits);
  return some;
}

/// The models that `wanted` may mean, by the strictest reading that fits any.
std::vector<FoundModel> matches(const std::vector<FoundModel>& models, std::string_view wanted) {
  const std::string folded = ascii_lower(wanted);
  const auto exact = [&](const FoundModel& m) { return m.name == wanted; };
  const auto file = [&](const FoundModel& m) {
    return m.path.filename() == wanted || m.path.stem() == wanted;
  };
  const auto any_case = [&](const FoundModel& m) {
    return ascii_lower(m.name) == folded || ascii_lower(m.path.filename().string()) == folded ||
           ascii_lower(m.name) == folded + ":latest";
  };
  const auto beginning = [&](const FoundModel& m) { return ascii_lower(m.name).starts_with(folded); };
  if (auto some = those_that(models, exact); !some.empty()) return some;
  if (auto some = those_that(models, file); !some.empty()) return some;
  if (auto some = those_that(models, any_case); !some.empty()) return some;
  return those_that(models, beginning);
}

Result<fs::path> resolve_default(const std::vector<FoundModel>& found) {
  const std::vector<FoundModel> models = usable(found);
  const auto own = those_that(models, [](const FoundModel& model) { return model.origin == "kvboost"; });
  if (own.size() == 1) return own.front().path;
  if (models.size() == 1) return models.front().path;
  if (models.empty()) {
    return fail(ErrorCode::kModel, "no model is set, and none was found on this machine",
                "get a GGUF file, then: kvboost model add FILE && kvboost model use NAME");
  }
  return fail(ErrorCode::kModel, "no model is set",
              "choose one with `kvboost model use NAME`: " + names_of(models));
}

std::string rope_text(const engine::RopeSpec& rope) {
  std::string text = "base " + std::to_string(static_cast<std::int64_t>(rope.base));
  const std::string scaling = rope.frequency_factors.empty() ? rope.scaling : "frequency factors";
  return scaling == "none" ? text : text + ", " + scaling;
}

std::map<std::string, std::string> details_of(const engine::ModelSpec& spec) {
  const auto kv_bytes = std::uint64_t{2} * kBytesOfBf16 * static_cast<std::uint64_t>(spec.n_layers) *
                        static_cast<std::uint64_t>(spec.n_kv_heads) *
                        static_cast<std::uint64_t>(spec.head_dim);
  std::map<std::string, std::string> details = {
      {"title", spec.name},
      {"layers", std::to_string(spec.n_layers)},
      {"width", std::to_string(spec.width)},
      {"query heads", std::to_string(spec.n_heads)},
      {"KV heads", std::to_string(spec.n_kv_heads)},
      {"head size", std::to_string(spec.head_dim)},
      {"feed-forward", std::to_string(spec.feed_forward)},
      {"vocabulary", std::to_string(spec.vocabulary)},
      {"context", std::to_string(spec.context)},
      {"RoPE", rope_text(spec.rope)},
      {"output", spec.tied_output ? "tied to the embedding" : "own matrix"},
      {"KV bytes a token", std::to_string(kv_bytes)},
  };
  if (spec.sliding_window > 0) details["sliding window"] = std::to_string(spec.sliding_window);
  return details;
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, error);
}

/// What the catalogue tells of a file, and what its header does.
ModelInfoResult describe(const FoundModel& model, const fs::path& in_use) {
  ModelInfoResult result;
  ModelEntry& entry = result.entry;
  entry.path = model.path.string();
  entry.name = model.name;
  entry.origin = model.origin;
  entry.problem = model.problem;
  entry.in_use = same_file(model.path, in_use);
  std::error_code error;
  if (const auto size = fs::file_size(model.path, error); !error) entry.bytes = size;
  if (!entry.problem.empty()) return result;
  const auto spec = engine::read_spec(model.path);
  if (!spec) {
    entry.problem = spec.error().message;
    return result;
  }
  entry.architecture = spec->architecture;
  entry.quantisation = spec->file_type;
  result.details = details_of(*spec);
  return result;
}

Result<ModelInfoResult> usable_info(const FoundModel& model) {
  ModelInfoResult result = describe(model, {});
  if (auto usable = protocol::check_usable(result.entry); !usable) return fail(usable.error());
  return result;
}

/// The catalogue's word for a path: its entry, or one made up for a file that is on no list.
FoundModel entry_for(const std::vector<FoundModel>& models, const fs::path& path) {
  const auto found =
      std::ranges::find_if(models, [&](const FoundModel& m) { return same_file(m.path, path); });
  if (found != models.end()) return *found;
  return {path, path.stem().string(), "file", {}};
}

}  // namespace

Result<ModelCatalog> ModelCatalog::for_this_user() {
  const auto data = data_dir();
  if (!data) return fail(data.error());
  const auto environment = [](std::string_view variable) -> std::optional<std::string> {
    const char* text = std::getenv(std::string(variable).c_str());
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  return ModelCatalog(usual_places(environment, *data));
}

std::vector<ModelEntry> ModelCatalog::list(const fs::path& in_use) const {
  std::vector<FoundModel> models = find_models(places_);
  const bool known =
      std::ranges::any_of(models, [&](const FoundModel& m) { return same_file(m.path, in_use); });
  if (!known && is_file(in_use)) models.push_back(entry_for(models, in_use));
  std::vector<ModelEntry> entries;
  entries.reserve(models.size());
  for (const FoundModel& model : models) entries.push_back(describe(model, in_use).entry);
  return entries;
}

Result<fs::path> ModelCatalog::resolve(std::string_view model) const {
  if (const fs::path path = expand_home(model); looks_like_a_path(model) || path.is_absolute()) {
    if (is_file(path)) return fs::absolute(path);
    std::error_code absent;
    if (fs::is_directory(path, absent)) {
      return fail(ErrorCode::kModel, path.string() + " is a directory, not a model file",
                  "name a GGUF file in it");
    }
  }
  const std::vector<FoundModel> models = find_models(places_);
  if (model.empty()) return resolve_default(models);
  const std::vector<FoundModel> meant = matches(models, model);
  if (meant.size() > 1) {
    return fail(ErrorCode::kModel, "'" + std::string(model) + "' may mean several models", names_of(meant));
  }
  if (meant.size() == 1 && !meant.front().problem.empty()) {
    return fail(ErrorCode::kModel, meant.front().path.string() + ": " + meant.front().problem);
  }
  if (meant.size() == 1) return meant.front().path;
  const std::string what = looks_like_a_path(model) ? "there is no model file " : "there is no model named ";
  const std::vector<FoundModel> known = usable(models);
  return fail(
      ErrorCode::kModel, what + "'" + std::string(model) + "'",
      known.empty() ? "get a GGUF file, then: kvboost model add FILE" : "known are: " + names_of(known));
}

Result<ModelInfoResult> ModelCatalog::info(std::string_view model, const fs::path& in_use) const {
  const auto path = model.empty() && !in_use.empty() ? Result<fs::path>(in_use) : resolve(model);
  if (!path) return fail(path.error());
  return describe(entry_for(find_models(places_), *path), in_use);
}

Result<ModelInfoResult> ModelCatalog::add(const fs::path& file) const {
  std::error_code error;
  const fs::path path = fs::absolute(file, error).lexically_normal();
  if (!is_file(path)) {
    return fail(ErrorCode::kModel, "there is no model file " + path.string(), "name a GGUF file");
  }
  if (path.string().find('\n') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "a newline in the file's name cannot be put on the list");
  }
  const auto result = usable_info(entry_for(find_models(places_), path));
  if (!result || result->entry.origin != "file") return result;
  if (auto made = ensure_private_dir(places_.added.parent_path()); !made) return fail(made.error());
  std::ofstream list(places_.added, std::ios::app);
  list << path.string() << '\n';
  if (!list.flush()) return fail(ErrorCode::kIo, "cannot write to " + places_.added.string());
  return info(path.string());
}

Result<ModelInfoResult> ModelCatalog::use(std::string_view model, const fs::path& config_file) const {
  const auto path = resolve(model);
  if (!path) return fail(path.error());
  auto result = usable_info(entry_for(find_models(places_), *path));
  if (!result) return result;
  if (auto done = edit_config_file(config_file, "model", path->string()); !done) return fail(done.error());
  result->entry.in_use = true;
  return result;
}

}  // namespace kvboost::daemon
