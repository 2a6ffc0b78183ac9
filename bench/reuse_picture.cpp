// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"

namespace kvboost::bench {
namespace {

constexpr double kWidth = 860, kHeight = 520;
constexpr double kLeft = 80, kRight = 30, kTop = 50, kBottom = 100;
constexpr double kLeastKl = 1e-5;  // what is below stands at the edge

std::string escaped(const std::string& plain) {
  std::string safe;
  for (const char c : plain)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

/// A logarithmic axis from one power of ten to another, drawn between two pixels.
class Axis {
 public:
  Axis(double least, double most, double begin, double end)
      : first_(static_cast<int>(std::floor(std::log10(least)))),
        last_(std::max(first_ + 1, static_cast<int>(std::ceil(std::log10(most))))),
        begin_(begin),
        end_(end) {}
  [[nodiscard]] double at(double value) const {
    return begin_ + (end_ - begin_) * (std::log10(value) - first_) / (last_ - first_);
  }
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] int last() const { return last_; }

 private:
  int first_, last_;
  double begin_, end_;
};

constexpr std::array<std::pair<const char*, const char*>, 4> kColours = {
    {{"bf16", "#1b6ca8"}, {"int8", "#2e8b57"}, {"int4", "#c0561f"}, {"f16", "#666666"}}};

const char* colour(const std::string& codec) {
  const auto found = std::ranges::find(kColours, codec, [](const auto& c) { return std::string(c.first); });
  return found == kColours.end() ? "#000000" : found->second;
}

/// Memory is a disc, disk a square, a cold page cache a diamond, the peer a triangle.
std::string mark(const ReuseRow& row, double x, double y) {
  const char* fill = colour(row.codec);
  if (row.tier == "ram") return formatted("<circle cx='%.1f' cy='%.1f' r='5' fill='%s'/>\n", x, y, fill);
  if (row.tier == "disk")
    return formatted("<rect x='%.1f' y='%.1f' width='8' height='8' fill='none' stroke='%s'/>\n", x - 4, y - 4,
                     fill);
  if (row.tier == "cold") {
    return formatted("<path d='M%.1f %.1fl5 5l-5 5l-5 -5z' fill='none' stroke='%s'/>\n", x, y - 5, fill);
  }
  return formatted("<path d='M%.1f %.1fl6 10h-12z' fill='%s'/>\n", x, y - 6, fill);
}

std::string axes(const Axis& time, const Axis& kl) {
  std::string svg;
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (int power = time.first(); power <= time.last(); ++power) {
    const double x = time.at(std::pow(10, power));
    svg += formatted("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>\n", x, kTop, x, bottom);
    svg += formatted("<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n", x, bottom + 18,
                     std::pow(10, power));
  }
  for (int power = kl.first(); power <= kl.last(); ++power) {
    const double y = kl.at(std::pow(10, power));
    svg += formatted("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>\n", kLeft, y, right, y);
    svg += formatted("<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", kLeft - 8, y + 4,
                     std::pow(10, power));
  }
  svg +=
      formatted("<text x='%.1f' y='%.1f' text-anchor='middle'>time to the first token, ms (median)</text>\n",
                (kLeft + right) / 2, bottom + 40);
  svg += formatted(
      "<text transform='translate(20 %.1f) rotate(-90)' text-anchor='middle'>KL divergence from a full "
      "read, nats (mean)</text>\n",
      (kTop + bottom) / 2);
  return svg;
}

std::string legend() {
  std::string svg;
  double x = kLeft;
  const double y = kHeight - 24;
  for (const auto& [codec, fill] : kColours) {
    if (std::string(codec) == "f16") continue;
    svg += formatted("<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>", x, y - 9, fill);
    svg += formatted("<text x='%.1f' y='%.1f'>%s</text>\n", x + 15, y, codec);
    x += 70;
  }
  for (const auto& [tier, name] : {std::pair{"ram", "memory"},
                                   {"disk", "disk after a restart"},
                                   {"cold", "disk, page cache cold"},
                                   {"peer", "the peer"}}) {
    svg += mark({"", "", "none", tier}, x, y - 4) +
           formatted("<text x='%.1f' y='%.1f'>%s</text>\n", x + 12, y, name);
    x += 150;
  }
  return svg;
}

}  // namespace

std::string reuse_picture(std::span<const ReuseFigures> figures) {
  std::vector<ReuseFigures> shown;
  const ReuseFigures* full = nullptr;
  double least = 1e9, most = 0, worst = kLeastKl;
  for (const ReuseFigures& f : figures) {
    if (f.row.scenario != "shuffled") continue;
    least = std::min(least, f.ttft_ms_p50);
    most = std::max(most, f.ttft_ms_p50);
    worst = std::max(worst, f.kl_mean);
    if (f.row.tier == "full") {
      full = &f;
    } else {
      shown.push_back(f);
    }
  }
  if (shown.empty()) return {};
  const Axis time(std::max(least, 0.01), most, kLeft, kWidth - kRight);
  const Axis kl(kLeastKl, worst, kHeight - kBottom, kTop);
  std::string svg = formatted(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' font-family='sans-serif' "
      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
      kWidth, kHeight);
  svg += formatted(
      "<text x='%.1f' y='24' font-size='15'>Prompts of %.0f tokens, files in a new order, a new question "
      "(%d prompts)</text>\n",
      kLeft, shown.front().tokens, shown.front().prompts);
  svg += axes(time, kl);
  if (full != nullptr) {
    const double x = time.at(full->ttft_ms_p50);
    svg += formatted("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#a00' stroke-dasharray='4'/>\n",
                     x, kTop, x, kHeight - kBottom);
    svg += formatted("<text x='%.1f' y='%.1f' text-anchor='end' fill='#a00'>full read</text>\n", x - 4,
                     kTop + 12);
  }
  for (const ReuseFigures& f : shown) {
    const double x = time.at(f.ttft_ms_p50), y = kl.at(std::max(f.kl_mean, kLeastKl));
    svg += mark(f.row, x, y);
    const bool named = f.row.tier == "peer" ||
                       (f.row.codec == shown.front().row.codec && f.row.tier == shown.front().row.tier);
    if (named)
      svg += formatted("<text x='%.1f' y='%.1f'>%s</text>\n", x + 8, y - 6, escaped(f.row.policy).c_str());
  }
  return svg + legend() + "</svg>\n";
}

}  // namespace kvboost::bench
