// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/metrics_text.h"

#include <array>
#include <concepts>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace kvboost::daemon {
namespace {

using Label = std::pair<std::string_view, std::string>;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\n') {
      result += "\\n";
    } else {
      if (letter == '\\' || letter == '"') result += '\\';
      result += letter;
    }
  }
  return result;
}

/// Families one after the other, each with all of its samples.
class Exposition {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "kvboost_" + std::string(name);
    text_ +=
        "# HELP " + name_ + ' ' + std::string(help) + "\n# TYPE " + name_ + ' ' + std::string(type) + '\n';
  }
  template <class Number>
  void sample(Number value, const std::vector<Label>& labels = {}) {
    text_ += name_;
    char separator = '{';
    for (const auto& [name, label] : labels) {
      text_ += std::exchange(separator, ',');
      text_ += std::string(name) + "=\"" + escaped(label) + '"';
    }
    if (!labels.empty()) text_ += '}';
    text_ += ' ' + written(value) + '\n';
  }
  template <class Number>
  void counter(std::string_view name, std::string_view help, Number value) {
    family(name, "counter", help);
    sample(value);
  }
  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    family(name, "gauge", help);
    sample(value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static std::string written(std::integral auto value) { return std::to_string(value); }
  static std::string written(double value) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
  }

  std::string name_;
  std::string text_;
};

void add_tiers(Exposition& out, const std::vector<protocol::CacheTier>& tiers) {
  using Tier = protocol::CacheTier;
  struct Row {
    std::string_view name, type, help;
    std::uint64_t Tier::*value;
  };
  static constexpr auto kRows = std::to_array<Row>({
      {"tier_records", "gauge", "Stored blocks.", &Tier::records},
      {"tier_used_bytes", "gauge", "Bytes that the tier takes.", &Tier::used},
      {"tier_limit_bytes", "gauge", "Bytes that the tier may take.", &Tier::limit},
      {"tier_hits_total", "counter", "Look-ups that found a block.", &Tier::hits},
      {"tier_misses_total", "counter", "Look-ups that found none.", &Tier::misses},
      {"tier_evictions_total", "counter", "Blocks that had to make room.", &Tier::evictions},
      {"tier_corrupt_total", "counter", "Broken blocks that were removed.", &Tier::corrupt},
      {"tier_failures_total", "counter", "Reads and writes that failed.", &Tier::failures},
  });
  for (const Row& row : kRows) {
    out.family(row.name, row.type, row.help);
    for (const Tier& tier : tiers) out.sample(tier.*row.value, {{"tier", tier.name}});
  }
}

}  // namespace

std::string metrics_text(const protocol::StatusResult& status) {
  Exposition out;
  out.family("build_info", "gauge", "Always 1; the labels tell the daemon's version and build.");
  out.sample(1, {{"version", status.version}, {"build", status.build}});
  out.gauge("uptime_seconds", "Time since the daemon started.", status.uptime_s);
  out.gauge("model_loaded", "Whether a model is in memory.",
            status.state == "ready" || status.state == "busy" ? 1 : 0);
  out.counter("requests_total", "Requests for answers, completions, warming and the like.", status.requests);
  out.counter("requests_cancelled_total", "Requests that were cancelled.", status.cancelled);
  out.counter("requests_failed_total", "Requests that failed.", status.failed);
  out.gauge("requests_running", "Requests that are being worked on.", status.running);
  out.gauge("requests_queued", "Requests that wait for a thread.", status.queued);
  out.gauge("connections", "Clients, each HTTP request that runs among them.", status.connections);
  out.counter("prompt_tokens_total", "Tokens of prompts.", status.prompt_tokens);
  out.counter("prompt_tokens_reused_total", "Tokens of prompts whose KV was there already.",
              status.reused_tokens);
  out.family("chunks_total", "counter", "Chunks of prompts by how their KV was found.");
  out.sample(status.reuse.exact, {{"match", "exact"}});
  out.sample(status.reuse.approximate, {{"match", "approximate"}});
  out.sample(status.reuse.missed, {{"match", "missed"}});
  out.gauge("live_sequences", "Prompts whose KV is kept live.", status.live_sequences);
  out.gauge("weights_bytes", "Memory for the model's weights.", status.weight_bytes);
  out.gauge("live_kv_bytes", "Memory for KV of live prompts.", status.live_kv_bytes);
  out.gauge("cached_kv_bytes", "Memory for stored blocks.", status.cached_kv_bytes);
  out.gauge("resident_bytes", "Memory of the whole process.", status.resident_bytes);
  out.gauge("write_queue_bytes", "Blocks on their way to disk.", status.queue_bytes);
  add_tiers(out, status.tiers);
  return out.take();
}

}  // namespace kvboost::daemon
