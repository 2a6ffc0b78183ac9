// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_peer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "bench/peer.h"

namespace kvboost::bench {
namespace {

using Json = nlohmann::json;

Json prompt_json(const ReusePrompt& prompt) {
  std::size_t closing = 0;
  for (const daemon::PlanPart& part : prompt.plan.parts) {
    if (part.kind == daemon::PartKind::kLiteral) closing += part.tokens.size();
  }
  return {{"tokens", prompt.plan.tokens()},
          {"closing", closing},
          {"answer", prompt.answer ? Json(*prompt.answer) : Json()}};
}

/// Scenarios that are a prompt behind the base.
std::vector<Scenario> behind_base(const std::vector<Scenario>& all) {
  std::vector<Scenario> some;
  for (const Scenario scenario : all) {
    if (scenario != Scenario::kRestart && scenario != Scenario::kNoise) some.push_back(scenario);
  }
  return some;
}

std::string request_text(const PeerRequest& request) {
  Json sets = Json::array();
  Json scenarios = Json::array();
  for (const Scenario scenario : behind_base(request.scenarios)) scenarios.push_back(to_string(scenario));
  for (const PromptMaker::Set& set : request.sets) {
    Json json{{"base", prompt_json(set.base)}};
    for (const Scenario scenario : behind_base(request.scenarios)) {
      if (scenario != Scenario::kSame) json[to_string(scenario)] = prompt_json(set.of(scenario));
    }
    sets.push_back(std::move(json));
  }
  return Json{
      {"letters", request.letters}, {"greedy", request.greedy}, {"scenarios", scenarios}, {"sets", sets}}
      .dump();
}

std::optional<bool> maybe(const Json& json, const char* field) {
  return json.contains(field) ? std::optional(json.at(field).get<bool>()) : std::nullopt;
}

Result<std::pair<ReuseRow, ReuseOutcome>> parse(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    ReuseOutcome outcome;
    outcome.prompt = json.at("prompt");
    outcome.tokens = json.at("tokens");
    outcome.tokens_reused = json.at("tokens_reused");
    outcome.tokens_repaired = json.at("tokens_repaired");
    outcome.ttft_ms = json.at("ttft_ms");
    outcome.full_ttft_ms = json.at("full_ttft_ms");
    outcome.kl = json.at("kl");
    outcome.top1 = json.at("top1");
    outcome.doubtful = json.at("doubtful");
    outcome.choice = maybe(json, "choice");
    outcome.right = maybe(json, "right");
    outcome.greedy_equal = maybe(json, "greedy_equal");
    return std::pair(ReuseRow{json.at("scenario"), "peer", "f16", "peer"}, outcome);
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kProtocol, "the peer wrote '" + std::string(line) + "': " + error.what(),
                "bench/peer_reuse.py tells what it should write");
  }
}

}  // namespace

Result<void> run_reuse_peer(
    const PeerRequest& request,
    const std::function<void(const ReuseRow& row, const ReuseOutcome& outcome)>& sink) {
  const PeerProgram program{
      .peer = request.peer,
      .script = "peer_reuse.py",
      .arguments = {"--model", request.model.string(), "--threads", std::to_string(request.threads)},
      .input = request_text(request)};
  return run_peer_program(program, [&](std::string_view line) -> Result<void> {
    const auto parsed = parse(line);
    if (!parsed) return fail(parsed.error());
    sink(parsed->first, parsed->second);
    return {};
  });
}

}  // namespace kvboost::bench
