// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "cli/local_checks.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::DoctorCheck;

constexpr int kIndent = 10;

DoctorCheck failed_check(std::string name, const Error& error) {
  return {std::move(name), kFailed, error.message, error.remedy};
}

/// The daemon is started if it is not running: whether that works is what one wants to know.
std::vector<DoctorCheck> daemon_checks(Session& session) {
  if (!session.config()) {
    return {{"daemon", kFailed, "not asked: without a readable configuration it does not start", ""}};
  }
  auto client = session.connect();
  if (!client) return {failed_check("daemon", client.error())};
  const auto& daemon = client->server();
  std::vector<DoctorCheck> checks = {
      {"daemon", kOk, daemon.server + ", process " + std::to_string(daemon.pid), ""}};
  const auto theirs = client->call<protocol::DoctorResult>("doctor", protocol::Nothing{});
  if (!theirs) {
    checks.push_back(failed_check("daemon", theirs.error()));
  } else {
    checks.insert(checks.end(), theirs->checks.begin(), theirs->checks.end());
  }
  return checks;
}

Style style_of(const std::string& verdict) {
  if (verdict == kOk) return Style::kGood;
  return verdict == kWarning ? Style::kWarning : Style::kBad;
}

bool has(const std::vector<DoctorCheck>& checks, std::string_view verdict) {
  return std::ranges::any_of(checks, [&](const DoctorCheck& check) { return check.verdict == verdict; });
}

}  // namespace

std::string checks_text(const std::vector<DoctorCheck>& checks, const Terminal& terminal) {
  const std::string indent(kIndent, ' ');
  std::string text;
  for (const DoctorCheck& check : checks) {
    const std::string verdict =
        check.verdict + std::string(kIndent - std::min<std::size_t>(check.verdict.size(), 9), ' ');
    text += terminal.paint(style_of(check.verdict), verdict) +
            terminal.paint(Style::kStrong, printable(check.name)) + ": " + printable(check.detail) + "\n";
    if (!check.remedy.empty()) text += indent + printable(check.remedy) + "\n";
  }
  return text;
}

std::string check_text(const protocol::ModelCheckResult& result, const Terminal& terminal) {
  std::string text = fields(
      terminal,
      {{"model", result.model},
       {"repair", result.policy + " (" + result.reason + "), for blocks behind neighbours"},
       {"", result.header_policy + " (" + result.header_reason + "), for blocks behind the header alone"}});
  if (result.trials.empty()) return text;
  Table table({{"behind"},
               {"policy"},
               {"KL mean", true},
               {"worst", true},
               {"same token", true},
               {"computed", true},
               {"sooner", true},
               {"within " + decimal(result.tolerance, 3)}});
  for (const protocol::PolicyTrial& trial : result.trials) {
    table.add({trial.behind, trial.policy, decimal(trial.kl_mean, 4), decimal(trial.kl_worst, 4),
               decimal(100 * trial.top1) + " %", decimal(100 * trial.computed) + " %",
               decimal(trial.ratio) + " times", trial.passed ? "yes" : "no"});
  }
  return text + "\n" + table.text(terminal);
}

namespace {

int check_model(Session& session, const DoctorArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  Interrupt interrupt;
  auto client = session.connect(interrupt.token());
  if (!client) return interrupt.requested() ? kExitCancelled : session.not_connected(client.error());
  session.err().progress("trying the model");
  const auto result = client->call<protocol::ModelCheckResult>(
      "model/check", protocol::ModelCheckParams{arguments.again},
      [&](std::string_view, const nlohmann::json& params) {
        if (const auto progress = protocol::decode<protocol::CheckProgress>(params))
          session.err().progress("trying the model " + std::to_string(progress->percent) + " %");
      },
      interrupt.token());
  session.err().end_progress();
  if (!result) return interrupt.requested() ? kExitCancelled : session.failed(result.error());
  if (arguments.json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(*result))));
  } else {
    session.out().write_painted(check_text(*result, session.out()));
  }
  return kExitDone;
}

}  // namespace

int doctor(Session& session, const DoctorArguments& arguments) {
  if (arguments.model) return check_model(session, arguments);
  std::vector<DoctorCheck> checks = local_checks(session.config());
  session.err().progress("asking the daemon");
  for (DoctorCheck& check : daemon_checks(session)) checks.push_back(std::move(check));
  session.err().end_progress();
  const bool failed = has(checks, kFailed);
  if (arguments.json) {
    nlohmann::ordered_json json(protocol::encode(protocol::DoctorResult{checks}));
    json["verdict"] = failed ? kFailed : has(checks, kWarning) ? kWarning : kOk;
    session.out().write(json_line(json));
  } else {
    session.out().write_painted(checks_text(checks, session.out()));
  }
  return failed ? kExitFailed : kExitDone;
}

}  // namespace kvboost::cli
