// SPDX-License-Identifier: Apache-2.0
// kvboost-bench: what `kvboost bench` starts. A program of its own, since it loads libtorch and `kvboost`
// must not. Exit codes: 0 done, 1 failed, 2 wrong use.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "bench/bugs_command.h"
#include "bench/chunk_survey.h"
#include "bench/codec_bench.h"
#include "bench/engine_bench.h"
#include "bench/hit_bench.h"
#include "bench/logits_dump.h"
#include "bench/measurement.h"
#include "bench/reuse_command.h"
#include "bench/store_bench.h"
#include "bench/typing_bench.h"
#include "bench/warm_bench.h"
#include "cli/help.h"
#include "cli/mistake.h"

namespace {

using namespace kvboost;
using engine::ComputeType;

/// The model that ./bootstrap fetches.
std::string default_model() {
  const auto data = data_dir();
  return data ? (*data / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").string() : std::string();
}

void add_model_options(CLI::App& command, bench::EngineBench& bench) {
  static const std::map<std::string, ComputeType> kComputeTypes = {
      {"auto", ComputeType::kAuto}, {"bf16", ComputeType::kBFloat16}, {"f32", ComputeType::kFloat32}};
  command.add_option("--model", bench.model, "GGUF file")
      ->type_name("FILE")
      ->envname("KVBOOST_MODEL")
      ->capture_default_str();
  command.add_option("--threads", bench.threads, "Threads of each engine (0: one a physical core)")
      ->envname("KVBOOST_THREADS")
      ->check(CLI::Range(0, 4096));
  command.add_option("--compute", bench.compute, "Number format to compute in")
      ->transform(CLI::CheckedTransformer(kComputeTypes))
      ->type_name("auto|bf16|f32");
}

void add_common_options(CLI::App& command, bench::EngineBench& bench) {
  add_model_options(command, bench);
  command.add_option("--text", bench.text, "Text to read: a file, or a folder of C++ sources")
      ->capture_default_str();
}

void add_engine_options(CLI::App& command, bench::EngineBench& bench, bool& json) {
  add_common_options(command, bench);
  const auto positive = CLI::Range(1, 1'000'000);
  command.add_option("--runs", bench.runs, "Runs of each test; the median counts")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--prefill", bench.prefill, "Lengths to read")->delimiter(',')->check(positive);
  command.add_option("--depths", bench.depths, "Depths to write behind")
      ->delimiter(',')
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--decode-tokens", bench.decode_tokens, "Tokens to write in a run")
      ->check(positive)
      ->capture_default_str();
  command.add_option(
      "--peer", bench.peer,
      "Set llama.cpp beside it: 'python', the path of a Python interpreter that has llama_cpp, or "
      "a command of your own (bench/peer.h)");
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

void add_chunk_options(CLI::App& command, bench::ChunkSurvey& survey, bool& json) {
  static const std::map<std::string, cache::Chunking> kWays = {{"semantic", cache::Chunking::kSemantic},
                                                               {"fixed", cache::Chunking::kFixed},
                                                               {"document", cache::Chunking::kDocument}};
  command.add_option("paths", survey.paths, "Folders or files of repositories")->required();
  command.add_option("--model", survey.model, "GGUF file whose tokens are counted")
      ->type_name("FILE")
      ->envname("KVBOOST_MODEL")
      ->capture_default_str();
  command.add_option("--chunking", survey.options.chunking, "How files are cut")
      ->envname("KVBOOST_CHUNKING")
      ->transform(CLI::CheckedTransformer(kWays))
      ->type_name("semantic|fixed|document");
  command.add_option("--chunk-tokens", survey.options.fixed_tokens, "Tokens of a chunk of fixed size")
      ->envname("KVBOOST_CHUNK_TOKENS")
      ->check(CLI::Range(16, 4096));
  command.add_option("--boundary-window", survey.options.boundary_window, "Tokens by which a cut may move")
      ->envname("KVBOOST_BOUNDARY_WINDOW")
      ->check(CLI::Range(0, 4096));
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

void add_hit_options(CLI::App& command, bench::HitBench& hit, bool& json) {
  add_common_options(command, hit.common);
  command.add_option("--dir", hit.directory, "Where to store blocks: on the disk that is to be measured")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_option("--runs", hit.common.runs, "Runs of each test; the median counts")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--lengths", hit.lengths, "Tokens of the prompts")
      ->delimiter(',')
      ->check(CLI::Range(64, 1'000'000));
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

struct StoreOptions {
  bench::StoreBench bench;
  std::int32_t chunk_tokens = 256;
};

void add_store_options(CLI::App& command, StoreOptions& options, std::string& model, bool& json) {
  command.add_option("--model", model, "GGUF file whose shape the blocks have")
      ->type_name("FILE")
      ->envname("KVBOOST_MODEL")
      ->capture_default_str();
  command.add_option("--chunk-tokens", options.chunk_tokens, "Tokens of a block")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--blocks", options.bench.blocks, "Blocks to load in a run")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--runs", options.bench.runs, "Runs of each test; the median counts")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--dir", options.bench.directory, "Where to write: on the disk that is to be measured")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

void add_warm_options(CLI::App& command, bench::WarmBench& warm, bool& json) {
  add_model_options(command, warm.common);
  command.add_option("--repository", warm.repository, "Whose files are read")
      ->type_name("FOLDER")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command.add_option("--dir", warm.directory, "Where to store blocks: on the disk that is to be measured")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_option("--tokens", warm.tokens, "Tokens to read, at least")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  command.add_flag("--json", json, "A JSON object instead of a sentence");
}

void add_typing_options(CLI::App& command, bench::TypingBench& typing, bool& json) {
  add_model_options(command, typing.common);
  command.add_option("--repository", typing.repository, "Whose file is typed again")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command.add_option("--file", typing.file, "The file, relative to it; else one of middling length");
  command.add_option("--keys", typing.keys, "Keys to type")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--prompt-tokens", typing.prompt_tokens, "Most tokens of a prompt")
      ->envname("KVBOOST_COMPLETE_TOKENS")
      ->check(CLI::Range(256, 1'000'000))
      ->capture_default_str();
  command.add_flag("--json", json, "A JSON object instead of sentences");
}

void add_codec_options(CLI::App& command, bench::CodecBench& bench, bool& json) {
  add_common_options(command, bench.engine);
  const auto positive = CLI::Range(1, 100'000);
  command.add_option("--samples", bench.samples, "Stretches of the text")->check(positive);
  command.add_option("--chunks", bench.chunks, "Blocks of each stretch")->check(positive);
  command.add_option("--chunk-tokens", bench.chunk_tokens, "Tokens of a block")->check(positive);
  command.add_option("--answer", bench.answer, "Tokens behind them that are compared")->check(positive);
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

int report(const Error& error) {
  std::cerr << "kvboost-bench: " << error.text() << '\n';
  return error.code == ErrorCode::kInvalidArgument ? 2 : 1;
}

int engine_command(const bench::EngineBench& bench, bool json) {
  std::vector<bench::Measurement> all;
  const auto done = bench::run_engine_bench(bench, [&](const bench::Measurement& m) {
    if (json) bench::print_json(std::cout, m);
    all.push_back(m);
  });
  if (!json && !all.empty()) bench::print_table(std::cout, all);
  return done ? 0 : report(done.error());
}

int memory_command(const bench::EngineBench& bench) {
  const auto lines = bench::run_memory_bench(bench);
  if (!lines) return report(lines.error());
  std::cout << *lines;
  return 0;
}

int chunks_command(const bench::ChunkSurvey& survey, bool json) {
  const auto languages = bench::survey_chunks(survey);
  if (!languages) return report(languages.error());
  json ? bench::print_survey_json(std::cout, *languages) : bench::print_survey(std::cout, *languages);
  return 0;
}

int reuse_command(const bench::ReuseCommand& command) {
  const auto done = command.run();
  return done ? 0 : report(done.error());
}

int hit_command(const bench::HitBench& bench, bool json) {
  const auto times = bench::run_hit_bench(bench);
  if (!times) return report(times.error());
  json ? bench::print_hit_json(std::cout, *times) : bench::print_hit_table(std::cout, *times);
  return 0;
}

int store_command(StoreOptions options, const std::string& model, bool json) {
  const auto spec = engine::read_spec(model);
  if (!spec) return report(spec.error());
  options.bench.shape = {spec->n_layers, spec->n_kv_heads, spec->head_dim, options.chunk_tokens};
  std::vector<bench::LoadSpeed> all;
  const auto done = bench::run_store_bench(options.bench, [&](const bench::LoadSpeed& speed) {
    if (json) bench::print_load_json(std::cout, speed);
    all.push_back(speed);
  });
  if (!json && !all.empty()) bench::print_load_table(std::cout, all);
  return done ? 0 : report(done.error());
}

int warm_command(const bench::WarmBench& bench, bool json) {
  const auto speed = bench::run_warm_bench(bench);
  if (!speed) return report(speed.error());
  bench::print_warm_speed(std::cout, *speed, json);
  return 0;
}

int typing_command(const bench::TypingBench& bench, bool json) {
  const auto figures = bench::run_typing_bench(bench);
  if (!figures) return report(figures.error());
  bench::print_typing(std::cout, *figures, json);
  return 0;
}

int bugs_command(bench::BugsCommand command) {
  const auto done = command.run();
  return done ? 0 : report(done.error());
}

int codec_command(const bench::CodecBench& bench, bool json) {
  const auto errors = bench::run_codec_bench(bench);
  if (!errors) return report(errors.error());
  json ? bench::print_codec_json(std::cout, *errors) : bench::print_codec_table(std::cout, *errors);
  return 0;
}

int logits_command(const bench::EngineBench& bench, std::int32_t tokens, bench::Reading reading,
                   const std::string& out) {
  const auto done = bench::dump_logits(bench, tokens, reading, out);
  return done ? 0 : report(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measure; figures go to standard output, progress to standard error", "kvboost bench");
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "Show this help");
  bench::EngineBench bench;
  bench.model = default_model();
  bench.text = KVBOOST_SOURCE_DIR;
  bool json = false;
  auto* engine = app.add_subcommand("engine", "Speed of reading and writing tokens, with a peer beside it");
  add_engine_options(*engine, bench, json);
  auto* memory = app.add_subcommand("memory", "Peak memory while the whole context is read");
  add_common_options(*memory, bench);
  auto* logits = app.add_subcommand("logits", "The logits of each token of a text, for bench/engine_kl.py");
  add_common_options(*logits, bench);
  bench::ChunkSurvey survey{.model = bench.model, .paths = {}, .options = {}};
  auto* chunks = app.add_subcommand("chunks", "How the files of repositories are cut into chunks");
  add_chunk_options(*chunks, survey, json);
  bench::ReuseCommand reuse;
  reuse.bench.common = bench;
  reuse.bench.repository = bench.text;
  reuse.bench.policies = {"none", "seam:16", "guided:0.08", "guided:0.15", "exact"};
  if (const auto cache = cache_dir()) reuse.bench.directory = *cache;
  auto* reuses = app.add_subcommand("reuse", "Time to first token with stored blocks, and what that costs");
  add_model_options(*reuses, reuse.bench.common);
  reuse.add_options(*reuses);
  bench::HitBench hit{.common = bench, .directory = reuse.bench.directory};
  auto* hits = app.add_subcommand("hit", "Whether looking for stored blocks ever costs time");
  add_hit_options(*hits, hit, json);
  bench::WarmBench warm{.common = bench, .repository = bench.text, .directory = reuse.bench.directory};
  auto* warms = app.add_subcommand("warm", "Speed of reading a repository ahead, beside the engine alone");
  add_warm_options(*warms, warm, json);
  bench::TypingBench typing{.common = bench, .repository = bench.text, .file = {}};
  auto* completes = app.add_subcommand("complete", "hints while a file is typed: how soon, and how right");
  add_typing_options(*completes, typing, json);
  StoreOptions store_options;
  if (const auto cache = cache_dir()) store_options.bench.directory = *cache;
  std::string store_model = bench.model.string();
  auto* store = app.add_subcommand("store", "Speed of loading blocks from memory and from disk");
  add_store_options(*store, store_options, store_model, json);
  bench::CodecBench codec_bench{.engine = bench};
  auto* codec = app.add_subcommand("codec", "What each codec costs in exactness");
  add_codec_options(*codec, codec_bench, json);
  bench::BugsCommand bugs_options;
  bugs_options.bench.common = bench;
  if (const auto cache = cache_dir()) bugs_options.bench.scratch = *cache;
  auto* bugs = app.add_subcommand("bugs", "Which files a bug report is about: how right, and how fast");
  add_model_options(*bugs, bugs_options.bench.common);
  bugs_options.add_options(*bugs);
  std::int32_t tokens = 1500;
  std::string out;
  logits->add_option("--tokens", tokens, "Tokens to read")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  bool one_by_one = false;
  logits->add_flag("--one-by-one", one_by_one, "Read each token alone, as an answer is written");
  logits->add_option("--out", out, "File to write")->type_name("FILE")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << cli::help_of(cli::innermost(app), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return cli::say_mistake(app, error);
  }
  if (chunks->parsed()) return chunks_command(survey, json);
  if (reuses->parsed()) return reuse_command(reuse);
  if (bugs->parsed()) return bugs_command(std::move(bugs_options));
  if (hits->parsed()) return hit_command(hit, json);
  if (warms->parsed()) return warm_command(warm, json);
  if (completes->parsed()) return typing_command(typing, json);
  if (store->parsed()) return store_command(store_options, store_model, json);
  if (codec->parsed()) return codec_command(codec_bench, json);
  if (logits->parsed()) {
    return logits_command(bench, tokens, one_by_one ? bench::Reading::kOneByOne : bench::Reading::kInBlocks,
                          out);
  }
  return engine->parsed() ? engine_command(bench, json) : memory_command(bench);
}
