// SPDX-License-Identifier: Apache-2.0
#include "cli/question.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/read_stream.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::cli {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::string_view kTooLongRemedy = "ask about files by naming them as paths instead of pasting them";

}  // namespace

Result<std::string> check_question(std::string_view text, std::string_view origin, std::string_view example) {
  if (text.size() > kMaxQuestionBytes) {
    return fail(ErrorCode::kInvalidArgument,
                std::string(origin) + " is longer than " + human_size(kMaxQuestionBytes),
                std::string(kTooLongRemedy));
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
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
  const auto text = read_stream(stream, origin, kMaxQuestionBytes, kTooLongRemedy);
  if (!text) return fail(text.error());
  return check_question(*text, origin, example);
}

Result<std::string> read_question_file(const std::string& file, std::string_view example) {
  const Stream stream = open_stream(file);
  if (!stream) return fail_errno("cannot read the question from " + file, errno);
  struct stat status {};
  if (::fstat(::fileno(stream.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, file + " is a directory",
                "--file takes a file that holds the question");
  }
  return read_question(stream.get(), file, example);
}

}  // namespace kvboost::cli
