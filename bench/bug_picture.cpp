// SPDX-License-Identifier: Apache-2.0
// The picture of the task `rank`: a bar a ranker in each group of reports, with its interval.
#include <algorithm>
#include <string>

#include "base/text.h"
#include "bench/bug_figures.h"

namespace kvboost::bench {
namespace {

constexpr double kBar = 34, kGap = 26, kLeft = 60, kTop = 40, kHeight = 300;

const char* colour(const std::string& ranker) {
  if (ranker == "fused") return "#1b6ca8";
  if (ranker == "model") return "#c0561f";
  return ranker == "words" ? "#2e8b57" : "#999999";
}

double height(double share) {
  return kTop + kHeight * (1 - share);
}

std::string axis(double width) {
  std::string svg;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const double y = height(tenth / 10.0);
    svg += formatted("<path d='M%.0f %.1fH%.0f' stroke='#ddd'/>\n", kLeft, y, width - 10);
    svg +=
        formatted("<text x='%.0f' y='%.1f' text-anchor='end'>%.1f</text>\n", kLeft - 8, y + 4, tenth / 10.0);
  }
  return svg;
}

std::string bar(const RankFigures& f, double x) {
  const double middle = x + kBar / 2;
  std::string svg = formatted("<rect x='%.1f' y='%.1f' width='%.0f' height='%.1f' fill='%s'/>\n", x,
                              height(f.mrr.mean), kBar - 4, kHeight * f.mrr.mean, colour(f.ranker));
  svg += formatted("<path d='M%.1f %.1fV%.1f' stroke='#000'/>\n", middle - 2, height(f.mrr.low),
                   height(f.mrr.high));
  svg += formatted("<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", middle - 2,
                   kTop + kHeight + 16, f.ranker.c_str());
  return svg + formatted("<text x='%.1f' y='%.1f' text-anchor='middle' fill='#fff'>.%03.0f</text>\n",
                         middle - 2, kTop + kHeight - 6, std::min(999.0, f.mrr.mean * 1000));
}

}  // namespace

std::string rank_picture(std::span<const RankFigures> figures) {
  std::string bars;
  std::string group;
  double x = kLeft;
  for (const RankFigures& f : figures) {
    if (f.reports != group) {
      x += kGap;
      bars += formatted("<text x='%.1f' y='%.0f'>%s (%d)</text>\n", x, kTop + kHeight + 36, f.reports.c_str(),
                        f.cases);
      group = f.reports;
    }
    bars += bar(f, x);
    x += kBar;
  }
  const double width = x + kGap;
  return formatted(
             "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' font-family='sans-serif' "
             "font-size='11'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
             width, kTop + kHeight + 50) +
         formatted(
             "<text x='%.0f' y='20' font-size='14'>Mean reciprocal rank of the changed file, 95 %% "
             "intervals</text>\n",
             kLeft) +
         axis(width) + bars + "</svg>\n";
}

}  // namespace kvboost::bench
