// SPDX-License-Identifier: Apache-2.0
#include "bench/measurement.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace kvboost::bench {
namespace {

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

const Measurement* peer_of(std::span<const Measurement> all, const Measurement& ours) {
  const auto found = std::ranges::find_if(all, [&](const Measurement& other) {
    return other.engine == "peer" && other.test == ours.test && other.tokens == ours.tokens &&
           other.depth == ours.depth;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

void print_json(std::ostream& out, const Measurement& m) {
  nlohmann::ordered_json json = {{"engine", m.engine},
                                 {"test", m.test},
                                 {"tokens", m.tokens},
                                 {"depth", m.depth},
                                 {"tokens_per_s", m.tokens_per_s},
                                 {"dtype", m.dtype}};
  if (!m.remark.empty()) json["remark"] = m.remark;
  out << json.dump() << '\n' << std::flush;
}

Result<Measurement> parse_json(std::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line);
    return Measurement{.engine = json.at("engine"),
                       .test = json.at("test"),
                       .tokens = json.at("tokens"),
                       .depth = json.at("depth"),
                       .tokens_per_s = json.at("tokens_per_s"),
                       .dtype = json.at("dtype"),
                       .remark = json.value("remark", "")};
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kProtocol, "the peer wrote a line that is no measurement: " + std::string(line),
                error.what());
  }
}

void print_table(std::ostream& out, std::span<const Measurement> measurements) {
  out << std::left << std::setw(9) << "test" << std::right << std::setw(8) << "tokens" << std::setw(8)
      << "depth" << std::setw(16) << "kvboost tok/s" << std::setw(14) << "peer tok/s" << std::setw(8)
      << "ratio"
      << "  remark\n";
  for (const Measurement& ours : measurements) {
    if (ours.engine != "kvboost") continue;
    const Measurement* peer = peer_of(measurements, ours);
    out << std::left << std::setw(9) << ours.test << std::right << std::setw(8) << ours.tokens << std::setw(8)
        << ours.depth << std::setw(16) << fixed(ours.tokens_per_s, 1) << std::setw(14)
        << (peer ? fixed(peer->tokens_per_s, 1) : "-") << std::setw(8)
        << (peer ? fixed(ours.tokens_per_s / peer->tokens_per_s, 2) : "-") << "  " << ours.dtype
        << (peer ? " : " + peer->dtype + (peer->remark.empty() ? "" : ", " + peer->remark) : "") << '\n';
  }
}

}  // namespace kvboost::bench
