// SPDX-License-Identifier: Apache-2.0
// Text of a client that knows the model's control tokens by name and means them: "<|im_start|>user". All
// other text of this daemon goes through Tokenizer::encode, for which they are words like any. Pure
// functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::daemon {

/// Ids of `text`, in which the names of control tokens become these; of two names the longer one counts.
/// `position` is that of its first piece.
[[nodiscard]] std::vector<engine::TokenId> encode_marked(const engine::Tokenizer& tokenizer,
                                                         std::string_view text,
                                                         engine::TextPosition position);

/// The way back for one token: its bytes, or a control token's name.
[[nodiscard]] std::string_view bytes_or_mark(const engine::Tokenizer& tokenizer, engine::TokenId token);

}  // namespace kvboost::daemon
