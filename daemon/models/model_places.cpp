// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_places.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "daemon/models/ollama_store.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 6;              // of folders below a place
constexpr std::size_t kMaxFiles = 20000;  // looked at in a place: a link to / must not cost minutes

bool is_gguf_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".gguf";
}

std::vector<fs::path> gguf_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, fs::directory_options::skip_permission_denied, error);
  std::size_t seen = 0;
  for (const fs::recursive_directory_iterator end; !error && walk != end && seen < kMaxFiles;
       walk.increment(error)) {
    ++seen;
    if (walk.depth() >= kMaxDepth) walk.disable_recursion_pending();
    std::error_code ignored;
    if (is_gguf_name(walk->path()) && !walk->is_directory(ignored)) files.push_back(walk->path());
  }
  std::ranges::sort(files);
  return files;
}

/// "model-00002-of-00005": the parts of one model, as llama.cpp's splitter names them.
struct Part {
  std::string base;
  int index = 0;
  int count = 0;
};

std::optional<int> five_digits(std::string_view text) {
  int number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size() && number >= 0 ? std::optional(number)
                                                                                  : std::nullopt;
}

std::optional<Part> part_of(std::string_view stem) {
  constexpr std::size_t kTail = std::string_view("-00001-of-00001").size();
  if (stem.size() <= kTail) return std::nullopt;
  const std::string_view tail = stem.substr(stem.size() - kTail);
  if (tail.front() != '-' || tail.substr(6, 4) != "-of-") return std::nullopt;
  const auto index = five_digits(tail.substr(1, 5));
  const auto count = five_digits(tail.substr(10));
  if (!index || !count) return std::nullopt;
  return Part{std::string(stem.substr(0, stem.size() - kTail)), *index, *count};
}

std::string problem_of_name(const std::string& stem) {
  if (stem.find("mmproj") != std::string::npos) return "an image projector (mmproj), not a language model";
  if (const auto part = part_of(stem); part && part->count > 1) {
    return "one of " + std::to_string(part->count) +
           " parts; join them first: llama-gguf-split --merge FIRST_PART " + part->base + ".gguf";
  }
  return {};
}

/// The other parts say nothing that the first one does not.
bool is_later_part(const std::string& stem) {
  const auto part = part_of(stem);
  return part && part->index > 1;
}

class Collector {
 public:
  void add(const fs::path& path, std::string name, std::string_view origin, std::string problem = {}) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error && problem.empty()) problem = "the file is gone, or may not be read";
    if (!seen_.insert(error ? path : real).second) return;
    found_.push_back({path, std::move(name), std::string(origin), std::move(problem)});
  }

  void add_folder(const fs::path& folder, std::string_view origin) {
    for (const fs::path& file : gguf_files_below(folder)) {
      const std::string stem = file.stem().string();
      if (!is_later_part(stem)) add(file, stem, origin, problem_of_name(stem));
    }
  }

  std::vector<FoundModel> finish() && {
    make_unique([](const FoundModel& model) { return model.origin + ":" + model.name; });
    make_unique([](const FoundModel& model) { return model.path.string(); });
    std::ranges::sort(found_, {}, &FoundModel::name);
    return std::move(found_);
  }

 private:
  /// Gives the models that share a name a longer one.
  template <class Longer>
  void make_unique(Longer longer) {
    std::map<std::string, int> count;
    for (const FoundModel& model : found_) ++count[model.name];
    for (FoundModel& model : found_) {
      if (count[model.name] > 1) model.name = longer(model);
    }
  }

  std::vector<FoundModel> found_;
  std::set<fs::path> seen_;
};

}  // namespace

ModelPlaces usual_places(const Environment& environment, const fs::path& data) {
  const auto variable = [&](std::string_view name) -> std::optional<fs::path> {
    const auto text = environment(name);
    return text && !text->empty() ? std::optional<fs::path>(*text) : std::nullopt;
  };
  const fs::path home = variable("HOME").value_or("/nonexistent");
  const fs::path cache = variable("XDG_CACHE_HOME").value_or(home / ".cache");
  ModelPlaces places;
  places.own = {data / "models"};
  const fs::path hub = variable("HF_HOME").value_or(cache / "huggingface") / "hub";
  places.huggingface = {variable("HF_HUB_CACHE").value_or(hub)};
  places.llama_cpp = {variable("LLAMA_CACHE").value_or(cache / "llama.cpp")};
  places.ollama = {variable("OLLAMA_MODELS").value_or(home / ".ollama" / "models"),
                   "/usr/share/ollama/.ollama/models"};
  places.lm_studio = {home / ".lmstudio" / "models", cache / "lm-studio" / "models"};
  places.added = data / "models.list";
  return places;
}

std::vector<fs::path> read_added(const fs::path& list) {
  std::vector<fs::path> paths;
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) paths.emplace_back(line);
  }
  return paths;
}

std::vector<FoundModel> find_models(const ModelPlaces& places) {
  Collector collector;
  for (const fs::path& folder : places.own) collector.add_folder(folder, "kvboost");
  for (const fs::path& file : read_added(places.added)) {
    const std::string stem = file.stem().string();
    collector.add(file, stem, "added", problem_of_name(stem));
  }
  for (const fs::path& folder : places.huggingface) collector.add_folder(folder, "huggingface");
  for (const fs::path& folder : places.llama_cpp) collector.add_folder(folder, "llama.cpp");
  for (const fs::path& folder : places.lm_studio) collector.add_folder(folder, "lmstudio");
  for (const fs::path& folder : places.ollama) {
    for (OllamaModel& model : read_ollama_store(folder)) {
      collector.add(model.blob, std::move(model.name), "ollama", std::move(model.problem));
    }
  }
  return std::move(collector).finish();
}

}  // namespace kvboost::daemon
