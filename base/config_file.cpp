// SPDX-License-Identifier: Apache-2.0
#include "base/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <expected>
#include <fstream>
#include <iterator>

#include "base/config.h"
#include "base/paths.h"
#include "base/replace_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace kvboost {
namespace {

constexpr std::uintmax_t kMaxBytes = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string at_line(std::string_view file, std::uint32_t line) {
  return std::string(file) + ":" + std::to_string(line) + ": ";
}

constexpr std::string_view kBlanks = " \t\r";

std::size_t after_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

constexpr std::string_view kEscapes = "btnfresxuU\"\\";  // what may stand behind a backslash

/// Steps over a string that begins at `at`; npos if it has no end, or if a backslash in it stands before
/// anything else. In front of blanks that is TOML, but toml++ 3.3 then looks for exotic ones
/// (without_comments).
std::size_t after_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool multiline = text.substr(at, 3) == std::string(3, quote);
  const std::string end(multiline ? 3 : 1, quote);
  for (at += end.size(); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
      if (at < text.size() && !kEscapes.contains(text[at])) return std::string_view::npos;
    } else if (text.substr(at, end.size()) == end) {
      at += end.size();
      while (multiline && at < text.size() && text[at] == quote)
        ++at;  // quotes may stand right before the end
      return at;
    } else if (!multiline && text[at] == '\n') {
      break;
    }
  }
  return std::string_view::npos;
}

/// Steps over `name = value` at `at`, to the blanks, comment or newline behind it; npos if there is no such
/// thing.
std::size_t after_assignment(std::string_view text, std::size_t at) {
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  const auto name = at;
  while (at < text.size() && is_name(text[at])) ++at;
  const auto equals = after_blanks(text, at);
  if (at == name || equals == text.size() || text[equals] != '=') return std::string_view::npos;
  at = after_blanks(text, equals + 1);
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) return after_string(text, at);
  while (at < text.size() && text[at] != '\n' && text[at] != '#') {
    if (static_cast<unsigned char>(text[at]) >= 0x80 || text[at] == '"' || text[at] == '\'')
      return std::string_view::npos;
    ++at;
  }
  return at;
}

/// The file without its comments, all else where it was; or the first line that is neither empty, nor a
/// comment, nor `name = value`. toml++ must see nothing else: on a character beyond ASCII outside quotes, the
/// tests of 3.3 for exotic blanks run into __builtin_unreachable.
std::expected<std::string, std::uint32_t> without_comments(std::string_view text) {
  std::string bare;
  std::size_t kept = 0;  // so far of `text`, comments left out
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < text.size()) {
    const auto start = at = after_blanks(text, at);
    if (at < text.size() && text[at] != '\n' && text[at] != '#') at = after_assignment(text, at);
    if (at != std::string_view::npos) at = after_blanks(text, at);
    if (at < text.size() && text[at] == '#') {
      bare += text.substr(kept, at - kept);
      kept = at = std::min(text.find('\n', at), text.size());
    }
    if (at != text.size() && (at == std::string_view::npos || text[at] != '\n')) {
      return std::unexpected(static_cast<std::uint32_t>(1 + std::ranges::count(text.substr(0, start), '\n')));
    }
    ++at;
  }
  return bare.append(text.substr(kept));
}

Result<toml::table> parse(std::string_view text, std::string_view file) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::kInvalidArgument, std::string(file) + ": larger than 1 MB");
  const auto bare = without_comments(text);
  if (!bare) {
    return fail(ErrorCode::kInvalidArgument, at_line(file, bare.error()) + "this is not name = value",
                "write one option a line: name = value, with text in quotes");
  }
  toml::parse_result result = toml::parse(*bare);
  if (!result) {
    const toml::parse_error& error = result.error();
    return fail(ErrorCode::kInvalidArgument,
                at_line(file, error.source().begin.line) + std::string(error.description()),
                "write one option a line: name = value, with text in quotes");
  }
  return std::move(result).table();
}

template <class Number>
std::string number_text(Number number) {
  std::array<char, 32> buffer;
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), status == std::errc() ? end : buffer.data()};
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number_text(number->get());
  if (const auto* number = node.as_floating_point()) return number_text(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

/// toml++ counts columns in code points, a byte order mark not among them.
std::size_t byte_offset(std::string_view text, toml::source_position position) {
  std::size_t offset = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (std::uint32_t line = 1; line < position.line; ++line) {
    const auto newline = text.find('\n', offset);
    if (newline == std::string_view::npos) return text.size();
    offset = newline + 1;
  }
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  for (std::uint32_t column = 1; column < position.column && offset < text.size(); ++column) {
    do ++offset;
    while (continues(offset));
  }
  return offset;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      std::array<char, 8> code;
      std::snprintf(code.data(), code.size(), "\\u%04X", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// A value as it is best read in the file: numbers and flags bare, all else in quotes.
std::string literal(std::string_view name, const std::string& value) {
  const Option* option = find_option(name);
  if (option == nullptr) return toml_string(value);
  if (option->kind == OptionKind::kFlag) return parse_flag(value).value_or(false) ? "true" : "false";
  if (option->kind == OptionKind::kInteger) return std::to_string(std::strtoll(value.c_str(), nullptr, 10));
  if (option->kind == OptionKind::kNumber) return number_text(std::strtod(value.c_str(), nullptr));
  return toml_string(value);
}

void remove_line(std::string& text, std::size_t first, std::size_t last) {
  const auto begin = first == 0 ? 0 : text.rfind('\n', first - 1) + 1;
  const auto end = text.find('\n', last);
  text.erase(begin, end == std::string::npos ? std::string::npos : end + 1 - begin);
}

void append_line(std::string& text, const std::string& line) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += line + '\n';
}

Result<std::string> read_text(const std::filesystem::path& file) {
  // O_NONBLOCK: a FIFO must not hang us before fstat has told that it is one.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return fail_errno("cannot read " + file.string(), errno);
  struct stat status {};
  std::string text;
  std::string problem;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = "not a regular file";
  } else if (static_cast<std::uintmax_t>(status.st_size) > kMaxBytes) {
    problem = "larger than 1 MB";
  } else {
    text.resize(static_cast<std::size_t>(status.st_size));
    const ssize_t count = ::read(descriptor, text.data(), text.size());
    if (count < 0) problem = "cannot be read";
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  ::close(descriptor);
  if (!problem.empty()) return fail(ErrorCode::kInvalidArgument, file.string() + ": " + problem);
  return text;
}

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file) {
  const auto table = parse(text, file);
  if (!table) return fail(table.error());
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : *table) {
    const auto line = node.source().begin.line;
    auto value = scalar_text(node);
    if (!value) {
      return fail(ErrorCode::kInvalidArgument,
                  at_line(file, line) + "'" + std::string(key.str()) + "' is no single value",
                  "write name = value; tables, lists and dates have no meaning here");
    }
    entries.push_back({std::string(key.str()), std::move(*value), static_cast<int>(line)});
  }
  std::ranges::sort(entries, {}, &ConfigEntry::line);
  return entries;
}

Result<std::vector<ConfigEntry>> read_config_file(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return fail(text.error());
  return parse_config(*text, file.string());
}

Result<std::string> edit_config(std::string_view text, std::string_view file, std::string_view name,
                                const std::optional<std::string>& value) {
  const auto table = parse(text, file);
  if (!table) return fail(table.error());
  std::string edited(text);
  if (const toml::node* node = table->get(name)) {
    const auto begin = byte_offset(text, node->source().begin);
    const auto end = byte_offset(text, node->source().end);
    if (value) {
      edited.replace(begin, end - begin, literal(name, *value));
    } else {
      remove_line(edited, begin, end);
    }
  } else if (value) {
    append_line(edited, std::string(name) + " = " + literal(name, *value));
  }
  // The edit was made by position: what came of it is read again before anybody relies on it.
  const auto check = parse_config(edited, file);
  if (!check) return fail(check.error());
  const auto found = std::ranges::find(*check, name, &ConfigEntry::name);
  if ((found != check->end()) != value.has_value()) {
    return fail(
        ErrorCode::kInvalidArgument,
        std::string(file) + " is laid out so that " + std::string(name) + " cannot be changed in place",
        "edit it by hand");
  }
  return edited;
}

Result<void> edit_config_file(const std::filesystem::path& file, std::string_view name,
                              const std::optional<std::string>& value) {
  std::error_code error;
  std::string text;
  std::filesystem::path target = file;
  if (std::filesystem::exists(file, error)) {
    target = std::filesystem::canonical(file, error);  // a linked file is changed where it lies
    if (error) return fail_errno("cannot read " + file.string(), error.value());
    auto old = read_text(target);
    if (!old) return fail(old.error());
    text = std::move(*old);
  } else if (!std::filesystem::is_directory(file.parent_path(), error)) {
    if (auto made = ensure_private_dir(file.parent_path()); !made) return fail(made.error());
  }
  const auto edited = edit_config(text, file.string(), name, value);
  if (!edited) return fail(edited.error());
  return replace_file(target, *edited);
}

}  // namespace kvboost
