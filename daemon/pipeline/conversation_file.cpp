// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/conversation_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/paths.h"
#include "base/replace_file.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::daemon {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::array<std::string_view, 3> kKinds = {"header", "file", "literal"};  // by PartKind

/// Runs of ordinary tokens as text, control tokens by name.
Json pieces_of(const std::vector<engine::TokenId>& tokens, const engine::Tokenizer& tokenizer) {
  Json pieces = Json::array();
  std::vector<engine::TokenId> run;
  const auto end_run = [&] {
    if (!run.empty()) pieces.push_back({{"text", tokenizer.decode(run)}});
    run.clear();
  };
  for (const engine::TokenId id : tokens) {
    if (tokenizer.is_control(id)) {
      end_run();
      pieces.push_back({{"special", tokenizer.piece(id)}});
    } else {
      run.push_back(id);
    }
  }
  end_run();
  return pieces;
}

Result<std::vector<engine::TokenId>> tokens_of(const Json& pieces, const engine::Tokenizer& tokenizer) {
  std::vector<engine::TokenId> tokens;
  for (const Json& piece : pieces) {
    if (const auto special = piece.find("special"); special != piece.end()) {
      const auto id = tokenizer.special(special->get<std::string>());
      if (!id) return fail(ErrorCode::kCorrupt, "the conversation has a token that the model does not know");
      tokens.push_back(*id);
    } else {
      const auto ids = tokenizer.encode(piece.at("text").get<std::string>());
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    }
  }
  return tokens;
}

Result<PlanPart> part_of(const Json& json, const engine::Tokenizer& tokenizer) {
  PlanPart part;
  const auto kind = std::ranges::find(kKinds, json.at("kind").get<std::string>());
  const auto path = protocol::decode_path(json.at("path"));
  if (kind == kKinds.end() || !path)
    return fail(ErrorCode::kCorrupt, "the conversation has a malformed part");
  part.kind = static_cast<PartKind>(kind - kKinds.begin());
  part.path = *path;
  part.first_line = json.at("first_line").get<std::int32_t>();
  part.last_line = json.at("last_line").get<std::int32_t>();
  auto tokens = tokens_of(json.at("pieces"), tokenizer);
  if (!tokens) return fail(tokens.error());
  part.tokens = std::move(*tokens);
  return part;
}

}  // namespace

Result<void> write_conversation(const std::filesystem::path& file, const Conversation& conversation,
                                const engine::Tokenizer& tokenizer) {
  Json parts = Json::array();
  for (const PlanPart& part : conversation.parts) {
    parts.push_back({{"kind", kKinds[static_cast<std::size_t>(part.kind)]},
                     {"path", protocol::encode_path(part.path)},
                     {"first_line", part.first_line},
                     {"last_line", part.last_line},
                     {"pieces", pieces_of(part.tokens, tokenizer)}});
  }
  const Json json = {{"version", kVersion},
                     {"model", protocol::encode_path(conversation.model)},
                     {"question", conversation.question},
                     {"parts", std::move(parts)}};
  if (auto made = ensure_private_dir(file.parent_path()); !made) return made;
  return replace_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Conversation> read_conversation(const std::filesystem::path& file,
                                       const engine::Tokenizer& tokenizer) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(ErrorCode::kNotFound, "no conversation at " + file.string());
  const std::string text(std::istreambuf_iterator<char>(in), {});
  try {
    const Json json = Json::parse(text);
    const auto model = protocol::decode_path(json.at("model"));
    if (json.at("version") != kVersion || !model) {
      return fail(ErrorCode::kNotFound, "the conversation is of another version");
    }
    Conversation conversation{*model, {}, json.value("question", std::string())};
    for (const Json& part : json.at("parts")) {
      auto read = part_of(part, tokenizer);
      if (!read) return fail(read.error());
      conversation.parts.push_back(std::move(*read));
    }
    return conversation;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kCorrupt,
                "the saved conversation " + file.string() + " is damaged: " + error.what(),
                "delete it, or ask without --continue");
  }
}

}  // namespace kvboost::daemon
