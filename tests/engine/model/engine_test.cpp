// SPDX-License-Identifier: Apache-2.0
// What the engine promises of sequences: the same tokens give the same logits however they got there, blocks
// move without loss, and a call that fails leaves no trace.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "engine/cpu.h"
#include "engine/kernels/bfloat16.h"
#include "tests/engine/model/loaded_engine.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::engine {
namespace {

using test::distance;
using test::LoadedEngine;
using test::random_tokens;
using test::TinyModel;

class EngineBothTypes : public ::testing::TestWithParam<ComputeType> {
 protected:
  void SetUp() override {
    if (GetParam() == ComputeType::kBFloat16 && !has_bfloat16())
      GTEST_SKIP() << "this CPU has no AVX512-BF16";
  }
  /// Between two orders of summing the same.
  [[nodiscard]] double tolerance() const { return GetParam() == ComputeType::kBFloat16 ? 0.15 : 1e-4; }
};
INSTANTIATE_TEST_SUITE_P(Types, EngineBothTypes,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16),
                         [](const auto& of) {
                           return of.param == ComputeType::kFloat32 ? "Float32" : "BFloat16";
                         });

TEST_P(EngineBothTypes, APieceAtATimeEqualsAllAtOnce) {
  LoadedEngine engine({}, GetParam());
  const auto tokens = random_tokens(1100);  // three blocks
  const auto whole = engine.read(tokens);
  auto pieces = engine->new_sequence();
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t n = std::min<std::size_t>(at % 7 == 0 ? 1 : 61, tokens.size() - at);
    ASSERT_TRUE(engine->prefill(*pieces, std::span(tokens).subspan(at, n)).has_value());
    at += n;
  }
  EXPECT_EQ(pieces->size(), 1100);
  EXPECT_TRUE(std::ranges::equal(pieces->tokens(), tokens));
  EXPECT_TRUE(std::ranges::equal(pieces->positions(), whole.positions()));
  EXPECT_LT(distance(engine.logits(whole), engine.logits(*pieces)), tolerance());
}

TEST_P(EngineBothTypes, WhoeverIsToldOfProgressMayUseTheEngine) {
  LoadedEngine engine({}, GetParam());
  const auto tokens = random_tokens(700);
  const auto expected = engine.logits(engine.read(tokens));
  auto other = engine.read(random_tokens(30, 2));
  PrefillOptions options;
  std::int32_t last = 0;
  options.progress = [&](std::int32_t done) {
    EXPECT_GT(done, last);
    last = done;
    EXPECT_TRUE(engine->prefill(other, random_tokens(40, 3)).has_value());
  };
  EXPECT_EQ(distance(engine.logits(engine.read(tokens, options)), expected), 0);
  EXPECT_EQ(last, 700);
}

TEST_P(EngineBothTypes, TruncatedAndReadAnewEqualsFresh) {
  LoadedEngine engine({}, GetParam());
  const auto tokens = random_tokens(700);
  const auto other = random_tokens(90, 2);
  for (const std::int32_t keep : {0, 1, 63, 64, 100, 511, 513, 699}) {
    auto sequence = engine.read(tokens);
    sequence.truncate(keep);
    EXPECT_EQ(sequence.size(), keep);
    EXPECT_TRUE(engine->logits(sequence).empty());
    ASSERT_TRUE(engine->prefill(sequence, other).has_value());
    std::vector<TokenId> same(tokens.begin(), tokens.begin() + keep);
    auto fresh = engine->new_sequence();
    if (keep > 0) {
      ASSERT_TRUE(engine->prefill(*fresh, same).has_value());
    }
    ASSERT_TRUE(engine->prefill(*fresh, other).has_value());
    EXPECT_LT(distance(engine.logits(sequence), engine.logits(*fresh)), tolerance()) << keep;
  }
}

TEST_P(EngineBothTypes, AForkEqualsItsOriginAndGoesItsOwnWay) {
  LoadedEngine engine({}, GetParam());
  const auto tokens = random_tokens(700, 1), one = random_tokens(30, 2), two = random_tokens(30, 3);
  for (const std::int32_t shared : {0, 1, 63, 64, 65, 512, 700}) {
    auto origin = engine.read(tokens);
    auto fork = origin.fork(shared);
    EXPECT_EQ(fork.size(), shared);
    EXPECT_TRUE(engine->logits(fork).empty());
    ASSERT_TRUE(engine->prefill(fork, one).has_value());
    ASSERT_TRUE(engine->prefill(origin, two).has_value());
    auto cut = engine.read(tokens);
    cut.truncate(shared);
    ASSERT_TRUE(engine->prefill(cut, one).has_value());
    EXPECT_EQ(engine.logits(fork), engine.logits(cut)) << shared;
    auto alone = engine.read(tokens);
    ASSERT_TRUE(engine->prefill(alone, two).has_value());
    EXPECT_EQ(engine.logits(origin), engine.logits(alone)) << "the fork left its origin alone: " << shared;
  }
}

TEST_P(EngineBothTypes, MemoryFollowsTheTokens) {
  LoadedEngine engine({}, GetParam());
  auto sequence = engine.read(random_tokens(10));
  const auto small = sequence.bytes();
  ASSERT_TRUE(engine->prefill(sequence, random_tokens(1500)).has_value());
  EXPECT_GT(sequence.bytes(), 2 * small);
  sequence.truncate(10);
  EXPECT_LE(sequence.bytes(), small);
}

TEST_P(EngineBothTypes, APlacedBlockEqualsTheSameTokensRead) {
  for (const char* architecture : {"llama", "qwen3"}) {
    TinyModel model;
    model.architecture = architecture;
    LoadedEngine engine(model, GetParam());
    const auto head = random_tokens(40, 1), chunk = random_tokens(100, 2), tail = random_tokens(20, 3);
    for (const std::int32_t position : {40, 41, 700}) {
      std::vector<std::int32_t> positions(chunk.size());
      std::iota(positions.begin(), positions.end(), position);
      KvBlock block;
      PrefillOptions options;
      options.positions = positions;
      options.capture = &block;
      auto read = engine.read(head);
      ASSERT_TRUE(engine->prefill(read, chunk, options).has_value());
      EXPECT_EQ(block.n_tokens, 100);
      EXPECT_EQ(block.shape, engine->spec().kv_shape());

      auto placed = engine.read(head);
      ASSERT_TRUE(engine->place(placed, block, chunk, position).has_value());
      EXPECT_TRUE(std::ranges::equal(placed.tokens(), read.tokens()));
      EXPECT_TRUE(std::ranges::equal(placed.positions(), read.positions()));
      EXPECT_TRUE(engine->logits(placed).empty());
      ASSERT_TRUE(engine->prefill(read, tail).has_value());
      ASSERT_TRUE(engine->prefill(placed, tail).has_value());
      const double off = distance(engine.logits(read), engine.logits(placed));
      if (GetParam() == ComputeType::kBFloat16) {
        EXPECT_EQ(off, 0.0) << architecture;
      } else {
        EXPECT_LT(off, 0.1) << architecture;  // the block is bfloat16
      }
    }
  }
}

TEST_P(EngineBothTypes, ABlockMovedIsTheSameBlock) {
  LoadedEngine engine({}, GetParam());
  const auto chunk = random_tokens(30);
  KvBlock here, there;
  PrefillOptions options;
  options.capture = &here;
  const auto first = engine.read(chunk, options);
  std::vector<std::int32_t> positions(chunk.size());
  std::iota(positions.begin(), positions.end(), 500);
  options.capture = &there;
  options.positions = positions;
  const auto moved = engine.read(chunk, options);
  // Keys before RoPE know nothing of positions in the first layer, and next to nothing of the offset later.
  EXPECT_TRUE(std::equal(here.keys(0), here.keys(1), there.keys(0)));
  double worst = 0.0;
  for (std::size_t i = 0; i < here.data.size(); ++i) {
    worst = std::max<double>(worst,
                             std::abs(to_float(BFloat16{here.data[i]}) - to_float(BFloat16{there.data[i]})));
  }
  EXPECT_LT(worst, 0.1);
}

TEST_P(EngineBothTypes, CancellingLeavesTheSequenceAsItWas) {
  LoadedEngine engine({}, GetParam());
  auto sequence = engine.read(random_tokens(70));
  const auto before = engine.logits(sequence);
  std::stop_source stop;
  PrefillOptions options;
  options.stop = stop.get_token();
  std::int32_t seen = 0;
  options.progress = [&](std::int32_t done) {
    seen = done;
    stop.request_stop();
  };
  const auto more = random_tokens(1200, 2);
  const auto cancelled = engine->prefill(sequence, more, options);
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, 1200);
  EXPECT_EQ(sequence.size(), 70);
  EXPECT_EQ(engine.logits(sequence), before);
  // And it goes on as if nothing had been.
  const auto tail = random_tokens(5, 3);
  auto fresh = engine.read(random_tokens(70));
  ASSERT_TRUE(engine->prefill(sequence, tail).has_value());
  ASSERT_TRUE(engine->prefill(fresh, tail).has_value());
  EXPECT_EQ(engine.logits(sequence), engine.logits(fresh));
}

TEST_P(EngineBothTypes, AllLogitsEndInTheLastOnes) {
  LoadedEngine engine({}, GetParam());
  const auto tokens = random_tokens(600);
  auto sequence = engine->new_sequence();
  const auto all = engine->all_logits(*sequence, tokens);
  ASSERT_TRUE(all.has_value());
  const auto width = static_cast<std::size_t>(engine->spec().vocabulary);
  ASSERT_EQ(all->size(), 600 * width);
  EXPECT_LT(distance(std::span(*all).last(width), engine.logits(sequence.value())), tolerance());
  const auto first = engine.read(std::span(tokens).first(520));
  EXPECT_LT(distance(std::span(*all).subspan(519 * width, width), engine.logits(first)), tolerance());
}

/// ln of what softmax gives `token`, in double.
double log_probability(std::span<const float> logits, TokenId token) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return logits[token] - largest - std::log(sum);
}

// Candidates of several lengths, behind sequences of several, more than one block in all: each as if it were
// read alone, and its logits taken one by one.
TEST_P(EngineBothTypes, ScoresAreLogProbabilities) {
  constexpr std::size_t kFirst = 3;
  LoadedEngine engine({}, GetParam());
  const auto width = static_cast<std::size_t>(engine->spec().vocabulary);
  std::vector<Sequence> sequences;
  std::vector<std::vector<TokenId>> tokens;
  for (const std::size_t n : {400, 90, 4, 130}) {
    sequences.push_back(engine.read(random_tokens(n / 2 + 1, 5)));
    tokens.push_back(random_tokens(n, static_cast<unsigned>(n)));
  }
  std::vector<Engine::Candidate> candidates;
  for (std::size_t i = 0; i < tokens.size(); ++i) candidates.push_back({&sequences[i], tokens[i]});
  const auto before = engine.logits(sequences[1]);
  const auto scores = engine->score(candidates, kFirst);
  ASSERT_TRUE(scores.has_value()) << scores.error().text();
  ASSERT_EQ(scores->size(), tokens.size());
  EXPECT_EQ(engine.logits(sequences[1]), before);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(sequences[i].size(), static_cast<std::int32_t>(tokens[i].size() / 2 + 1));
    ASSERT_EQ((*scores)[i].size(), tokens[i].size() - kFirst);
    const auto all = engine->all_logits(sequences[i], tokens[i]);
    double error = 0;
    for (std::size_t t = kFirst; t < tokens[i].size(); ++t) {
      const double expected = log_probability(std::span(*all).subspan((t - 1) * width, width), tokens[i][t]);
      EXPECT_NEAR((*scores)[i][t - kFirst], expected, tolerance());
      error += (*scores)[i][t - kFirst] - expected;
    }
    EXPECT_LT(std::abs(error), 0.2 * tolerance() * static_cast<double>(tokens[i].size()));
  }
}

TEST(Engine, RefusesToScoreWhatItCannot) {
  LoadedEngine engine({}, ComputeType::kFloat32, 100);
  auto sequence = engine.read(random_tokens(90));
  const auto refused = [&](std::vector<TokenId> tokens, std::size_t first) {
    const Engine::Candidate candidate{&sequence, tokens};
    const auto scores = engine->score(std::span(&candidate, 1), first);
    ASSERT_FALSE(scores.has_value());
    EXPECT_EQ(scores.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(sequence.size(), 90);
  };
  refused({}, 1);
  refused(random_tokens(5), 0);
  refused(random_tokens(5), 5);
  refused(random_tokens(11), 1);
  refused({5, engine->spec().vocabulary}, 1);
  std::stop_source stop;
  stop.request_stop();
  const auto tokens = random_tokens(5);
  const Engine::Candidate candidate{&sequence, tokens};
  const auto stopped = engine->score(std::span(&candidate, 1), 1, stop.get_token());
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sequence.size(), 90);
}

TEST(Engine, RefusesWhatItCannotRead) {
  LoadedEngine engine({}, ComputeType::kFloat32, 100);
  auto sequence = engine.read(random_tokens(90));
  const auto before = engine.logits(sequence);
  const auto refused = [&](std::span<const TokenId> tokens, std::span<const std::int32_t> positions = {}) {
    PrefillOptions options;
    options.positions = positions;
    const auto done = engine->prefill(sequence, tokens, options);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(sequence.size(), 90);
    EXPECT_EQ(engine.logits(sequence), before);
  };
  refused({});
  refused(std::vector<TokenId>{5, engine->spec().vocabulary});
  refused(std::vector<TokenId>{-1});
  refused(random_tokens(11));
  refused(random_tokens(3), std::vector<std::int32_t>{1, 2});
  refused(random_tokens(2), std::vector<std::int32_t>{90, -1});
  EXPECT_TRUE(engine->prefill(sequence, random_tokens(10)).has_value());
}

TEST(Engine, RefusesABlockOfAnotherShape) {
  LoadedEngine engine;
  const auto chunk = random_tokens(10);
  KvBlock block;
  PrefillOptions options;
  options.capture = &block;
  auto sequence = engine.read(chunk, options);
  const auto refused = [&](const KvBlock& bad, std::span<const TokenId> tokens, std::int32_t position = 10) {
    const auto done = engine->place(sequence, bad, tokens, position);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(sequence.size(), 10);
  };
  refused(block, std::span(chunk).first(9));
  refused(block, chunk, -1);
  KvBlock bad = block;
  bad.shape.head_dim = 32;
  refused(bad, chunk);
  bad = block;
  bad.data.pop_back();
  refused(bad, chunk);
  EXPECT_TRUE(engine->place(sequence, block, chunk, 10).has_value());
}

TEST(Engine, BadWeightsAreNamed) {
  const test::ScratchTree folder;
  const auto file = folder / "bad.gguf";
  auto writer = test::make_tiny_model();
  std::vector<float> values(64 * 64, 0.01F);
  values[77] = NAN;
  ASSERT_TRUE(writer.add_tensor("blk.1.attn_output.weight", {64, 64}, TensorType::kF32, values).has_value());
  ASSERT_TRUE(writer.write(file).has_value());
  EngineOptions options;
  options.model = file;
  const auto nan = Engine::load(options);
  ASSERT_FALSE(nan.has_value());
  EXPECT_EQ(nan.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(nan.error().message.find("blk.1.attn_output.weight"), std::string::npos);

  writer.remove_tensor("blk.1.attn_output.weight");
  ASSERT_TRUE(writer.write(file).has_value());
  const auto missing = Engine::load(options);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("blk.1.attn_output.weight"), std::string::npos);

  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_FALSE(Engine::load(options).has_value());
  options.model = folder / "absent.gguf";
  EXPECT_EQ(Engine::load(options).error().code, ErrorCode::kNotFound);
}

TEST(Engine, LoadingTellsHowFarAndCanBeCancelled) {
  LoadedEngine engine;
  EngineOptions options;
  options.model = engine.file();
  std::vector<double> steps;
  std::stop_source stop;
  ASSERT_TRUE(Engine::load(options, [&](double done) { steps.push_back(done); }).has_value());
  ASSERT_GT(steps.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(steps));
  EXPECT_LE(steps.back(), 1.0);
  const auto cancelled = Engine::load(
      options, [&](double) { stop.request_stop(); }, stop.get_token());
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

TEST(Engine, InfoSaysWhatWasChosen) {
  LoadedEngine engine({}, ComputeType::kAuto, 64);
  const EngineInfo& info = engine->info();
  EXPECT_EQ(info.compute == ComputeType::kBFloat16, has_bfloat16());
  EXPECT_FALSE(info.compute_reason.empty());
  EXPECT_FALSE(info.blas.empty());
  EXPECT_FALSE(info.kernels.empty());
  EXPECT_EQ(info.threads, 2);
  EXPECT_EQ(info.context, 64);
  EXPECT_GT(info.weight_bytes, 100000U);
  if (!has_bfloat16()) {
    EngineOptions options;
    options.model = engine.file();
    options.compute = ComputeType::kBFloat16;
    EXPECT_EQ(Engine::load(options).error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kvboost::engine
