// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/duration.h"

namespace kvboost::cli {
namespace {

constexpr std::size_t kLinesShown = 5;

std::string padding(int columns) {
  return std::string(static_cast<std::size_t>(std::max(columns, 0)), ' ');
}

/// A thousandth is finer than anything that is measured here.
void round_fractions(nlohmann::ordered_json& json) {
  if (json.is_number_float()) json = std::round(json.get<double>() * 1000) / 1000;
  if (!json.is_structured()) return;
  for (auto& item : json) round_fractions(item);
}

}  // namespace

void Table::add(std::vector<std::string> cells, std::vector<Style> styles) {
  for (std::string& cell : cells) cell = printable(cell);
  cells.resize(columns_.size());
  styles.resize(columns_.size(), Style::kPlain);
  rows_.push_back({std::move(cells), std::move(styles)});
}

std::string Table::line(const Terminal& terminal, const Row& row, const std::vector<int>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string gap = padding(widths[i] - display_width(row.cells[i]));
    const std::string cell = terminal.paint(row.styles[i], row.cells[i]);
    if (i > 0) text += "  ";
    text += columns_[i].to_the_right ? gap + cell : cell + gap;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string Table::text(const Terminal& terminal) const {
  Row titles;
  std::vector<int> widths;
  for (const Column& column : columns_) {
    titles.cells.push_back(column.title);
    titles.styles.push_back(Style::kFaint);
    widths.push_back(display_width(column.title));
  }
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], std::min(columns_[i].most, display_width(row.cells[i])));
  }
  std::string text = line(terminal, titles, widths);
  for (const Row& row : rows_) text += line(terminal, row, widths);
  return text;
}

std::string fields(const Terminal& terminal, const std::vector<std::pair<std::string, std::string>>& rows) {
  int widest = 0;
  for (const auto& [label, value] : rows) {
    if (!value.empty()) widest = std::max(widest, display_width(label));
  }
  std::string text;
  for (const auto& [label, value] : rows) {
    if (value.empty()) continue;
    text += terminal.paint(Style::kFaint, label) + padding(widest - display_width(label) + 2) +
            printable(value) + '\n';
  }
  return text;
}

std::string decimal(double number, int digits) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string milliseconds(double ms) {
  return human_duration(ms / 1000);
}

std::vector<std::string> shortened(std::vector<std::string> lines, std::string_view what,
                                   std::string_view hint) {
  if (lines.size() <= kLinesShown + 1) return lines;
  const auto more = static_cast<std::int64_t>(lines.size() - kLinesShown);
  lines.resize(kLinesShown);
  lines.push_back(std::string(what) + ": " + plural(more, "more file") + " (`" + std::string(hint) +
                  "` names them)");
  return lines;
}

std::string json_line(nlohmann::ordered_json json) {
  round_fractions(json);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string wrapped(std::string_view text, int width, int indent, int column) {
  std::string out;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const int columns = display_width(word);
    if (!out.empty() && column + 1 + columns > width) {
      out += '\n' + padding(indent);
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
  }
  return out;
}

}  // namespace kvboost::cli
