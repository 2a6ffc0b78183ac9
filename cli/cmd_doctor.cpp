// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

int doctor(Session& session, const DoctorArguments& arguments) {
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
