// SPDX-License-Identifier: Apache-2.0
// Output as people read it: tables and numbers. Pure but for the Terminal that is asked for its colours.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/terminal.h"

namespace kvboost::cli {

/// Columns as wide as their widest cell, two spaces between them; the last one is not padded.
class Table {
 public:
  struct Column {
    std::string title;
    bool to_the_right = false;  // numbers
    int most = 1000;            // a longer cell pushes aside what is right of it, in its line only
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns. They are made printable; `styles`, if given, colours them.
  void add(std::vector<std::string> cells, std::vector<Style> styles = {});
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Lines, each ended by a newline: the titles, then the rows.
  [[nodiscard]] std::string text(const Terminal& terminal) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<Style> styles;
  };
  [[nodiscard]] std::string line(const Terminal& terminal, const Row& row,
                                 const std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// "label   value" lines with the values under each other; rows with an empty value are left out.
[[nodiscard]] std::string fields(const Terminal& terminal,
                                 const std::vector<std::pair<std::string, std::string>>& rows);

/// "3.1": so many digits behind the point.
[[nodiscard]] std::string decimal(double number, int digits = 1);
/// human_duration of milliseconds.
[[nodiscard]] std::string milliseconds(double ms);

/// The lines, or, if they are more than a few, the first ones and "WHAT: 12 more files (`HINT` names them)".
[[nodiscard]] std::vector<std::string> shortened(std::vector<std::string> lines, std::string_view what,
                                                 std::string_view hint);

/// One line of JSON, its fractions to three digits; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_line(nlohmann::ordered_json json);

/// `text` broken at spaces into lines of at most `width` columns, all but the first indented; the first one
/// begins at `column`.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent, int column = 0);

}  // namespace kvboost::cli
