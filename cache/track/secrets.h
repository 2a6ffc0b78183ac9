// SPDX-License-Identifier: Apache-2.0
// Which files hold secrets: by name (the table below, docs/secrets.md) or by how they begin. Such files are
// never read into a prompt or an index, tracked or not. Pure functions, any thread.
#pragma once

#include <span>
#include <string_view>

namespace kvboost::cache {

/// One row of the table. `pattern` is compared with the file's name in lower case and has at most one '*';
/// with a '/' at its end it names a folder, everything in which is secret; with a '/' inside, a file in a
/// folder.
struct SecretPattern {
  std::string_view pattern;
  std::string_view what;
};
[[nodiscard]] std::span<const SecretPattern> secret_patterns();

/// Names that stay readable although a pattern fits: examples and public halves.
[[nodiscard]] std::span<const std::string_view> secret_exceptions();

/// Whether a text is a private key by its first line.
[[nodiscard]] bool is_private_key(std::string_view text);

}  // namespace kvboost::cache
