// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/syntax.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cache/chunk/parsed_text.h"

namespace kvboost::cache {
namespace {

// What a node does to the one behind it.
enum class Binding {
  kNone,
  kAdjacent,  // a comment: it describes what follows without a blank line
  kAlways,    // an attribute, a heading, an opening tag
};

Binding binding_of(std::string_view type, bool begins_row) {
  if (type.contains("comment")) return begins_row ? Binding::kAdjacent : Binding::kNone;
  const bool binds = contains_any(type, {"decorator", "attribute", "annotation", "modifiers", "heading",
                                         "start_tag", "opening_element", "access_specifier"});
  return binds ? Binding::kAlways : Binding::kNone;
}

// Whether a node that begins a row only goes on with, or ends, what its parent began.
bool closes_or_continues(std::string_view type, char first) {
  if (first == '}' || first == ']' || first == ')') return true;
  if (first == '{') return contains_any(type, {"block", "body", "compound", "_list"});
  return type.ends_with("_end") || contains_any(type, {"end_tag", "closing_element", "code_block_delimiter"});
}

TSNode child_by_field(TSNode node, std::string_view field) {
  return ts_node_child_by_field_name(node, field.data(), static_cast<std::uint32_t>(field.size()));
}

// The name of a declaration, found behind what wraps it (export, decorators, C's declarators); empty for
// anything else.
std::string symbol_name(TSNode node, std::string_view text) {
  const std::string_view outer = ts_node_type(node);
  if (!contains_any(outer, {"declaration", "definition", "specifier", "_item", "section", "export", "class",
                            "module", "method"}) ||
      contains_any(outer, {"import", "access", "namespace"})) {
    return {};
  }
  for (int step = 0; step < 8; ++step) {
    TSNode inner{};
    for (const std::string_view field :
         {"name", "declarator", "declaration", "definition", "heading_content", "type"}) {
      inner = child_by_field(node, field);
      if (!ts_node_is_null(inner)) break;
    }
    const std::uint32_t children = ts_node_named_child_count(node);
    if (ts_node_is_null(inner)) {
      if (children == 0) break;
      const bool wraps_last = std::string_view(ts_node_type(node)) == "template_declaration";
      inner = ts_node_named_child(node, wraps_last ? children - 1 : 0);
    }
    node = inner;
  }
  if (!contains_any(ts_node_type(node), {"identifier", "name", "constant", "word", "inline", "operator"}))
    return {};
  const std::size_t begin = ts_node_start_byte(node);
  const std::string_view name = text.substr(begin, ts_node_end_byte(node) - begin);
  constexpr std::size_t kLongest = 80;
  return name.size() > kLongest || name.contains('\n') ? std::string() : std::string(name);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::size_t first = text.find_first_not_of(" \t\r\f\v", begin);
      first_visible_.push_back(first < end ? first : std::string_view::npos);
      begin = end + 1;
    }
    syntax_.rows.resize(first_visible_.size());
  }

  Syntax read(const TSTree* tree) {
    const TSNode root = ts_tree_root_node(tree);
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      levels_.push_back({.is_open = true, .is_root = true});
      walk(cursor);
    }
    ts_tree_cursor_delete(&cursor);
    return std::move(syntax_);
  }

 private:
  // The children of one node, as far as they have been seen.
  struct Level {
    bool is_open = false;
    bool is_root = false;
    bool is_case = false;  // of a switch
    bool in_function = false;
    std::int32_t member = -1;  // the innermost member around them
    bool has_members = false;
    Binding binding = Binding::kNone;  // of the last child
    std::int32_t last_row = 0;         // of the last child
  };

  // In order, without recursion: a tree can be as deep as its text is long.
  void walk(TSTreeCursor& cursor) {
    while (true) {
      const Level inner = visit(cursor);
      if (inner.is_open && ts_tree_cursor_goto_first_child(&cursor)) {
        levels_.push_back(inner);
        continue;
      }
      while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
        levels_.pop_back();
        if (levels_.empty()) return;
        ts_tree_cursor_goto_parent(&cursor);
      }
    }
  }

  // Takes in the cursor's node. The level of its children is open if they are of interest.
  Level visit(const TSTreeCursor& cursor) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const std::size_t begin = ts_node_start_byte(node);
    if (begin >= ts_node_end_byte(node)) return {};
    Level& level = levels_.back();
    const std::string_view type = ts_node_type(node);
    const auto first_row = static_cast<std::int32_t>(ts_node_start_point(node).row);
    const TSPoint end = ts_node_end_point(node);
    const auto last_row = std::max(first_row, static_cast<std::int32_t>(end.row) - (end.column == 0 ? 1 : 0));
    const bool begins_row = first_visible_[static_cast<std::size_t>(first_row)] == begin;
    const bool is_member = ts_node_is_named(node) && belongs_to_list(level, cursor);
    if (begins_row) start_row(level, first_row, type, text_[begin], is_member);
    level.has_members |= is_member;
    level.binding = binding_of(type, begins_row);
    level.last_row = last_row;
    if (is_member && begins_row && !level.in_function) add_symbol(node);
    if (first_row == last_row) return {};
    Level inner{.is_open = true, .member = level.member};
    inner.is_case = type.starts_with("switch_");
    inner.in_function = level.in_function || contains_any(type, {"function", "method", "constructor"});
    if (is_member) {
      inner.member = static_cast<std::int32_t>(syntax_.members.size());
      syntax_.members.push_back({first_row, last_row, level.member});
    }
    return inner;
  }

  // A node's parts have fields ("condition", "body"), a list's members have none, with a few exceptions.
  static bool belongs_to_list(const Level& level, const TSTreeCursor& cursor) {
    const char* name = ts_tree_cursor_current_field_name(&cursor);
    if (name == nullptr || level.is_root) return true;
    const std::string_view field = name;
    return field == "member" || field == "local_declaration" || (level.is_case && field == "body");
  }

  // The outermost node that begins at a row decides about it: it comes first.
  void start_row(const Level& level, std::int32_t row, std::string_view type, char first, bool is_member) {
    SyntaxRow& start = syntax_.rows[static_cast<std::size_t>(row)];
    if (start.start != RowStart::kInside) return;
    const bool bound = level.binding == Binding::kAlways ||
                       (level.binding == Binding::kAdjacent && row == level.last_row + 1);
    const bool cuttable = is_member && level.has_members && !bound && !closes_or_continues(type, first);
    start = {cuttable ? RowStart::kMember : RowStart::kPart, level.member};
  }

  void add_symbol(TSNode node) {
    std::string name = symbol_name(node, text_);
    if (name.empty()) return;
    syntax_.symbols.push_back({ts_node_start_byte(node), ts_node_end_byte(node), std::move(name)});
  }

  std::string_view text_;
  std::vector<std::size_t> first_visible_;  // of each row: its first character that shows, or npos
  std::vector<Level> levels_;
  Syntax syntax_;
};

}  // namespace

Result<Syntax> read_syntax(const Grammar& grammar, std::string_view text, std::chrono::milliseconds budget) {
  const auto parsed = ParsedText::parse(grammar, text, budget);
  if (!parsed) return fail(parsed.error());
  return Reader(text).read(parsed->tree());
}

}  // namespace kvboost::cache
