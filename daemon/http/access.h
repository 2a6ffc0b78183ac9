// SPDX-License-Identifier: Apache-2.0
// Who may speak HTTP with the daemon: whoever knows the token, and came by a name of this machine's loopback,
// so that no web page gets in through a name that it has pointed here. Pure but for the token's file; any
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::daemon {

/// The token that stands in `file`, which is made (0600, a random token) if it is absent. kInvalidArgument
/// for a file that others may read, that is not ours, or whose token is short or no word.
[[nodiscard]] Result<std::string> read_or_make_token(const std::filesystem::path& file);

/// Whether an Authorization header's value gives this token. Takes as long for a wrong one as for a right
/// one.
[[nodiscard]] bool gives_token(std::string_view authorization, std::string_view token);

/// Whether a Host header's value names the loopback: localhost, 127.0.0.1 or [::1], with any port, since a
/// tunnel may have another one.
[[nodiscard]] bool names_loopback(std::string_view host);

}  // namespace kvboost::daemon
