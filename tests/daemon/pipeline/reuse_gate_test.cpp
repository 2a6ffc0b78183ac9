// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/reuse_gate.h"

#include <gtest/gtest.h>

#include <fstream>

#include "daemon/pipeline/engine_step.h"
#include "daemon/pipeline/reuse_samples.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::daemon {
namespace {

class ReuseGateTest : public testing::Test {
 protected:
  // Room for two of the samples: enough to be moved, and quick.
  ReuseGateTest() { write_model({.context = 2048}); }
  ~ReuseGateTest() override { engine_thread_.close(); }

  void write_model(const test::TinyModel& model) const {
    EXPECT_TRUE(test::write_tiny_model(tree_.root() / "m.gguf", model).has_value());
  }

  ReuseGate::Parts parts(double tolerance, ReuseChoice choice = ReuseChoice::kAuto) {
    return {engine_thread_, host_, tree_.root() / "reuse", choice, tolerance};
  }

  Result<ReuseVerdict> check(ReuseGate& gate, bool again = false) {
    return gate.check(again, [this](double) { ++steps_; }, {});
  }

  test::ScratchTree tree_;
  Scheduler engine_thread_{"engine", 1};
  ModelHost host_{engine_thread_,
                  [this] { return Result<std::filesystem::path>(tree_.root() / "m.gguf"); },
                  {.model = {}, .compute = engine::ComputeType::kFloat32},
                  {},
                  [](const auto& path, auto, const auto&) { return Result<Digest>(sha256(path.string())); }};
  int steps_ = 0;
};

TEST_F(ReuseGateTest, NothingIsRepairedForAModelThatWasNotTried) {
  ReuseGate gate(parts(10));
  const auto verdict = gate.verdict({}, sha256("a model"));
  EXPECT_TRUE(verdict.trials.empty());
  for (const ReusePermit& permit : {verdict.behind_header, verdict.behind_neighbours}) {
    EXPECT_FALSE(permit.policy);
    EXPECT_NE(permit.reason.find("doctor --model"), std::string::npos);
  }
}

TEST_F(ReuseGateTest, TakesTheCheapestPolicyWithinTheTolerance) {
  ReuseGate lenient(parts(10));
  const auto verdict = check(lenient);
  ASSERT_TRUE(verdict) << verdict.error().text();
  ASSERT_EQ(verdict->trials.size(), 2U);
  EXPECT_EQ(verdict->behind_header.policy, RepairPolicy{});
  EXPECT_EQ(verdict->behind_neighbours.policy, RepairPolicy{});
  for (const auto& [behind, trials] : verdict->trials) {
    ASSERT_EQ(trials.size(), policies_to_try().size());
    for (const PolicyTrial& trial : trials) {
      EXPECT_GT(trial.kl_mean, 0) << repair_policy_name(
          trial.policy);  // reuse of moved blocks is never exact
      EXPECT_GE(trial.kl_worst, trial.kl_mean);
      EXPECT_LT(trial.computed, 0.6);
    }
    // More is repaired from policy to policy, and less is left to diverge.
    EXPECT_LT(trials.front().computed, trials.back().computed);
    EXPECT_LT(trials.back().kl_mean, trials.front().kl_mean);
  }
  const auto& header = verdict->trials.at(Behind::kHeader);
  const auto& neighbours = verdict->trials.at(Behind::kNeighbours);
  EXPECT_NE(header.front().kl_mean, neighbours.front().kl_mean);  // other blocks

  const double between = header.back().kl_mean;
  const auto stricter = ReuseGate(parts(between)).verdict({}, sha256("another model"));
  EXPECT_FALSE(stricter.behind_header.policy);
  const auto context = host_.snapshot().names->context;
  EXPECT_TRUE(ReuseGate(parts(between)).verdict({}, context).behind_header.policy);
  const auto none = ReuseGate(parts(0)).verdict({}, context);
  EXPECT_FALSE(none.behind_header.policy);
  EXPECT_FALSE(none.behind_neighbours.policy);
  EXPECT_NE(none.behind_header.reason.find("no policy"), std::string::npos);
}

class RepairOfEverything : public ReuseGateTest, public testing::WithParamInterface<Behind> {};

TEST_P(RepairOfEverything, IsAFullRead) {
  ReuseTrial trial(GetParam(), std::vector<RepairPolicy>{{.guided = 1}});
  auto model = host_.acquire({}, {});
  ASSERT_TRUE(model);
  while (!trial.done()) {
    const auto step = engine_step(engine_thread_, Priority::kWarm, {},
                                  [&](const auto& token) { return trial.step(**model, token); });
    ASSERT_TRUE(step && *step);
  }
  EXPECT_LT(trial.results().front().kl_mean, 1e-5);
  EXPECT_EQ(trial.results().front().top1, 1);
}

INSTANTIATE_TEST_SUITE_P(Behind, RepairOfEverything, testing::Values(Behind::kHeader, Behind::kNeighbours),
                         [](const auto& of) { return std::string(to_string(of.param)); });

TEST_F(ReuseGateTest, KeepsTheTrialAndDoesNotRepeatIt) {
  {
    ReuseGate gate(parts(10));
    ASSERT_TRUE(check(gate));
  }
  const int once = std::exchange(steps_, 0);
  EXPECT_GT(once, 20);
  ReuseGate next(parts(10));
  const auto verdict = check(next);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(steps_, 0);
  EXPECT_EQ(verdict->trials.at(Behind::kHeader).size(), policies_to_try().size());
  EXPECT_EQ(verdict->trials.at(Behind::kNeighbours).size(), policies_to_try().size());
  EXPECT_TRUE(verdict->behind_header.policy);
  ASSERT_TRUE(check(next, true));
  EXPECT_EQ(steps_, once);
}

TEST_F(ReuseGateTest, ADamagedRecordIsNone) {
  {
    ReuseGate gate(parts(10));
    ASSERT_TRUE(check(gate));
  }
  const auto context = host_.snapshot().names->context;
  const auto file = tree_.root() / "reuse" / context.hex();
  std::ifstream in(file);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  ASSERT_FALSE(good.empty());
  const std::string first = good.substr(0, good.find('\n') + 1);
  for (const std::string& bad :
       {std::string(), std::string("\0\xff", 2), "kvboost reuse 999\n" + good,
        first + "header sideways 0.1 0.1 1 0.1 2\n", first + "none 0 0 1 0 1\n",
        good + "header none nan 0 1 0 1\n", good + "header none -1 0 1 0 1\n", good + "header none 0.1\n",
        good + "elsewhere none 0 0 1 0 1\n", good + "header exact 0 0 1 1 1\n",
        good.substr(0, good.find("neighbours"))}) {
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_FALSE(ReuseGate(parts(10)).verdict({}, context).behind_header.policy) << bad;
  }
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_TRUE(ReuseGate(parts(10)).verdict({}, context).behind_header.policy);
}

TEST_F(ReuseGateTest, BlocksBehindNeighboursAreNotUsedWhereTheyNeedMoreRepair) {
  const Digest context = sha256("a model");
  const auto judged = [&](const char* header, const char* neighbours) {
    std::filesystem::create_directories(tree_.root() / "reuse");
    std::ofstream(tree_.root() / "reuse" / context.hex())
        << "kvboost reuse " << kReuseSamplesVersion << "\nheader none " << header
        << " 1 1 0 9\nheader seam:8 0.01 1 1 0 8\nneighbours none " << neighbours
        << " 1 1 0 9\nneighbours seam:8 0.01 1 1 0 8\n";
    return ReuseGate(parts(0.02)).verdict({}, context);
  };
  const RepairPolicy seam{.seam = 8};
  EXPECT_EQ(judged("0.05", "0.01").behind_neighbours.policy, RepairPolicy{});
  EXPECT_EQ(judged("0.05", "0.01").behind_header.policy, seam);
  EXPECT_EQ(judged("0.05", "0.05").behind_neighbours.policy, seam);
  EXPECT_EQ(judged("0.01", "0.05").behind_neighbours.policy, std::nullopt);
  EXPECT_EQ(judged("0.01", "0.05").behind_header.policy, RepairPolicy{});
}

TEST_F(ReuseGateTest, TheUsersChoiceComesFirst) {
  const Digest context = sha256("a model");
  EXPECT_EQ(ReuseGate(parts(0, ReuseChoice::kUnrepaired)).verdict({}, context).behind_header.policy,
            RepairPolicy{});
  {
    ReuseGate gate(parts(10));
    ASSERT_TRUE(check(gate));
  }
  EXPECT_FALSE(ReuseGate(parts(10, ReuseChoice::kExact))
                   .verdict({}, host_.snapshot().names->context)
                   .behind_header.policy);
}

TEST_F(ReuseGateTest, ModelsThatCannotBeMovedAreServedExactly) {
  engine::ModelSpec spec;
  EXPECT_EQ(unfit_for_reuse(spec), "");
  spec.sliding_window = 512;
  EXPECT_NE(unfit_for_reuse(spec).find("512"), std::string::npos);
  ReuseGate gate(parts(10, ReuseChoice::kUnrepaired));
  EXPECT_FALSE(gate.verdict(spec, sha256("a model")).behind_header.policy);
  spec = {};
  spec.rope.scaling = "longrope";
  EXPECT_NE(unfit_for_reuse(spec).find("longrope"), std::string::npos);
  for (const char* known : {"none", "linear", "yarn"}) {
    spec.rope.scaling = known;
    EXPECT_EQ(unfit_for_reuse(spec), "") << known;
  }
  write_model({.context = 2048, .sliding_window = 64});
  const auto verdict = check(gate);
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_FALSE(verdict->behind_header.policy);
  EXPECT_EQ(steps_, 0);
}

TEST_F(ReuseGateTest, RequestsOvertakeATrialAndItCanBeCancelled) {
  ReuseGate gate(parts(10));
  std::stop_source stop;
  int requests = 0;
  const auto cancelled = gate.check(
      false,
      [&](double share) {
        engine_thread_.submit(Priority::kAsk,
                              {.run = [&] { ++requests; }, .drop = [](const Error&) {}, .stop = {}});
        if (share > 0.3) stop.request_stop();
      },
      stop.get_token());
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(gate.verdict({}, host_.snapshot().names->context).behind_header.policy);
  const auto after = check(gate);
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->behind_header.policy);
  EXPECT_GT(requests, 5);
}

}  // namespace
}  // namespace kvboost::daemon
