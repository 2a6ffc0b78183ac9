// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/response_text.h"

#include "base/text.h"

namespace kvboost::daemon {
namespace {

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

/// No Access-Control-… header, ever: pages of other origins are not to read an answer.
std::string head_text(const ResponseHead& head) {
  std::string text =
      "HTTP/1.1 " + std::to_string(head.status) + ' ' + std::string(reason_of(head.status)) + "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  add("Content-Type", head.content_type);
  if (head.length) add("Content-Length", std::to_string(*head.length));
  if (head.chunked) add("Transfer-Encoding", "chunked");
  if (head.status == 401) add("WWW-Authenticate", "Bearer");
  if (!head.allow.empty()) add("Allow", head.allow);
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  add("Connection", head.keep_alive ? "keep-alive" : "close");
  return text + "\r\n";
}

std::string chunk_text(std::string_view data) {
  return formatted("%zx\r\n", data.size()).append(data).append("\r\n");
}

}  // namespace kvboost::daemon
