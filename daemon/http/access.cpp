// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file_descriptor.h"
#include "base/replace_file.h"
#include "base/text.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kLeastLength = 16;
constexpr std::size_t kMostLength = 1024;

Result<std::string> make_token(const std::filesystem::path& file) {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno("getting random bytes for a token", errno);
  std::string token;
  for (const unsigned char byte : bytes) token += formatted("%02x", byte);
  if (auto written = replace_file(file, token + "\n"); !written) return fail(written.error());
  return token;
}

std::unexpected<Error> refuse(const std::filesystem::path& file, const std::string& why,
                              std::string remedy = {}) {
  return fail(ErrorCode::kInvalidArgument, "the token file " + file.string() + " " + why, std::move(remedy));
}

Result<std::string> read_token(const std::filesystem::path& file, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail_errno(file.string(), errno);
  if (!S_ISREG(info.st_mode)) return refuse(file, "is no plain file");
  if (info.st_uid != ::geteuid()) return refuse(file, "belongs to another user");
  if ((info.st_mode & 077) != 0)
    return refuse(file, "can be read by others", "chmod 600 " + shell_word(file.string()));
  std::string text(kMostLength + 2, '\0');
  const ssize_t count = ::read(fd, text.data(), text.size());
  if (count < 0) return fail_errno("reading " + file.string(), errno);
  text.resize(static_cast<std::size_t>(count));
  std::string token(trimmed(text));
  const bool is_word = std::ranges::all_of(token, [](unsigned char c) { return c > ' ' && c < 0x7F; });
  if (token.size() < kLeastLength || token.size() > kMostLength || !is_word) {
    return refuse(file, "does not hold a token: one word of 16 to 1024 plain characters",
                  "remove it, and one will be made");
  }
  return token;
}

}  // namespace

Result<std::string> read_or_make_token(const std::filesystem::path& file) {
  // Not waiting for the other side of a pipe that somebody has put there.
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.is_open()) return read_token(file, opened.get());
  if (errno != ENOENT) return fail_errno("reading the token file " + file.string(), errno);
  return make_token(file);
}

bool gives_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  if (ascii_lower(authorization.substr(0, kScheme.size())) != kScheme) return false;
  const std::string_view given = trimmed(authorization.substr(kScheme.size()));
  unsigned int difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
  return difference == 0;
}

bool names_loopback(std::string_view host) {
  std::string name = ascii_lower(host);
  const std::size_t name_end = name.starts_with('[') ? name.find(']') : 0;
  if (name_end == std::string::npos) return false;
  if (const auto colon = name.find(':', name_end); colon != std::string::npos) {
    const bool is_port =
        std::ranges::all_of(name.substr(colon + 1), [](unsigned char c) { return c >= '0' && c <= '9'; });
    if (!is_port) return false;
    name.resize(colon);
  }
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

}  // namespace kvboost::daemon
