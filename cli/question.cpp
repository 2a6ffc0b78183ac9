// SPDX-License-Identifier: Apache-2.0
#include "cli/question.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/bytes.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::unexpected<Error> too_long(std::string_view origin) {
  return fail(ErrorCode::kInvalidArgument,
              std::string(origin) + " is longer than " + human_size(kMaxQuestionBytes),
              "ask about files by naming them as paths instead of pasting them");
}

}  // namespace

Result<std::string> check_question(std::string_view text, std::string_view origin, std::string_view example) {
  if (text.size() > kMaxQuestionBytes) return too_long(origin);
  const std::string_view question = trimmed(text);
  if (question.empty()) {
    return fail(ErrorCode::kInvalidArgument, std::string(origin) + " is empty",
                "write it in quotes: " + std::string(example));
  }
  if (question.find('\0') != std::string_view::npos || !protocol::is_utf8(question)) {
    return fail(ErrorCode::kInvalidArgument, std::string(origin) + " is not UTF-8 text",
                "convert it, for instance with iconv -t UTF-8, or name the file as a path to ask about it");
  }
  return std::string(question);
}

Result<std::string> read_question(std::FILE* stream, std::string_view origin, std::string_view example) {
  std::string text;
  std::array<char, 16384> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    text.append(buffer.data(), count);
    if (text.size() > kMaxQuestionBytes) return too_long(origin);
  }
  if (std::ferror(stream) != 0) return fail_errno("cannot read " + std::string(origin), errno);
  return check_question(text, origin, example);
}

Result<std::string> read_question_file(const std::string& file, std::string_view example) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> stream(std::fopen(file.c_str(), "rbe"),
                                                                  &std::fclose);
  if (!stream) return fail_errno("cannot read the question from " + file, errno);
  struct stat status {};
  if (::fstat(::fileno(stream.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, file + " is a directory",
                "--file takes a file that holds the question");
  }
  return read_question(stream.get(), file, example);
}

}  // namespace kvboost::cli
