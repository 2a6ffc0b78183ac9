// SPDX-License-Identifier: Apache-2.0
#include "bench/logits_dump.h"

#include <fstream>
#include <span>

#include "bench/sample_text.h"
#include "engine/engine.h"

namespace kvboost::bench {
namespace {

Result<std::vector<float>> read_one_by_one(engine::Engine& engine, engine::Sequence& sequence,
                                           std::span<const engine::TokenId> ids) {
  std::vector<float> all;
  all.reserve(ids.size() * static_cast<std::size_t>(engine.spec().vocabulary));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (auto done = engine.prefill(sequence, ids.subspan(i, 1)); !done) return fail(done.error());
    const auto logits = engine.logits(sequence);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace

Result<void> dump_logits(const EngineBench& bench, std::int32_t tokens, Reading reading,
                         const std::filesystem::path& out) {
  auto engine = engine::Engine::load(
      {.model = bench.model, .compute = bench.compute, .threads = bench.threads, .context = tokens});
  if (!engine) return fail(engine.error());
  auto ids = sample_tokens(bench, **engine, tokens);
  if (!ids) return fail(ids.error());
  auto sequence = (*engine)->new_sequence();
  if (!sequence) return fail(sequence.error());
  const auto logits = reading == Reading::kOneByOne ? read_one_by_one(**engine, *sequence, *ids)
                                                    : (*engine)->all_logits(*sequence, *ids);
  if (!logits) return fail(logits.error());
  std::ofstream file(out, std::ios::binary);
  const auto put = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  put(std::vector<std::int32_t>{tokens, (*engine)->spec().vocabulary});
  put(*ids);
  put(*logits);
  file.close();
  if (!file) return fail(ErrorCode::kIo, "cannot write " + out.string());
  return {};
}

}  // namespace kvboost::bench
