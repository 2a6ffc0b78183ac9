// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/completer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "cache/track/work_tree.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;
using cache::CursorPlace;
using cache::WantedText;
using engine::TokenId;

constexpr std::size_t kMostSessions = 16;
constexpr std::chrono::milliseconds kParseBudget(20);
constexpr std::int32_t kLineTokens = 48;
constexpr std::int32_t kBlockTokens = 192;
// Shares of what a prompt has room for behind its header.
constexpr double kSuffixShare = 0.125;
constexpr double kWindowShare = 0.55;
// The text in front of the cursor grows by so many tokens before other files have to make room for it.
constexpr std::size_t kWindowGrowth = 700;
constexpr std::size_t kLeastRoom = 64;
// The cursor can go so many lines before other places are looked for.
constexpr std::int32_t kRelatedLines = 48;

fs::path whole_path(const CompletionRequest& request) {
  return (request.directory / request.path).lexically_normal();
}

fs::path existing_folder(const fs::path& file) {
  std::error_code error;
  fs::path folder = file.parent_path();
  while (!fs::is_directory(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

/// Tells models apart, and the headers that they have.
std::string id_of(const LoadedModel& model) {
  return model.path.string() + (model.names ? model.names->context.hex() : std::string());
}

/// For recent hints.
Digest key_of(const CompletionRequest& request, const LoadedModel& model) {
  Hasher hasher;
  for (const std::string& text : {id_of(model), whole_path(request).string()})
    hasher.update_u64(text.size()).update(text);
  for (const auto number :
       {static_cast<std::int32_t>(request.shape), request.alternatives, request.max_tokens})
    hasher.update_u64(static_cast<std::uint64_t>(number));
  for (const ExtraText& extra : request.extra) {
    for (const std::string& text : {extra.name, extra.text}) hasher.update_u64(text.size()).update(text);
  }
  return hasher.finish();
}

CursorPlace place_of(const CompletionRequest& request) {
  if (request.shape == HintShape::kLine) return {};
  const EditBuffer& buffer = request.buffer;
  const CursorPlace place =
      cache::cursor_place(request.path.string(), buffer.text(), buffer.offset(), kParseBudget);
  if (request.shape == HintShape::kAuto || place.wanted != WantedText::kLine) return place;
  // A block where the syntax asks for none: as deep as the cursor's line.
  const bool blank = buffer.line_before().find_first_not_of(" \t") == std::string_view::npos;
  const std::string_view like =
      blank && buffer.line_before().empty() ? buffer.line_above() : buffer.line_before();
  return {WantedText::kMember, cache::indent_of(like)};
}

/// As much of the text behind the cursor as `most` tokens tell.
std::vector<TokenId> suffix_of(const EditBuffer& buffer, const engine::Tokenizer& tokenizer,
                               std::size_t most) {
  constexpr std::size_t kBytesPerToken = 8;
  std::vector<TokenId> tokens = tokenizer.encode(buffer.after().substr(0, most * kBytesPerToken));
  tokens.resize(std::min(tokens.size(), most));
  return tokens;
}

}  // namespace

struct Completer::Session {
  const std::string name;  // of client and file

  std::mutex mutex{};   // guards all below but `kv`
  std::string model{};  // that the rest is for
  std::shared_ptr<Repository> repository{};
  std::string path{};
  BufferWindow window{};
  std::vector<PlanPart> related{};
  std::size_t related_tokens = 0;
  std::optional<std::int32_t> related_line{};  // where the cursor was when they were chosen
  std::vector<ExtraText> extra{};              // that they were made of
  std::vector<VisitedPlace> visited{};
  std::string incomplete{};

  BufferKv kv{};  // the engine thread's
};

std::shared_ptr<Completer::Session> Completer::session_of(const std::string& client, const fs::path& file) {
  const std::string name = client + '\n' + file.string();
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(sessions_, name, [](const auto& session) { return session->name; });
  if (known != sessions_.end()) {
    sessions_.splice(sessions_.begin(), sessions_, known);
  } else {
    sessions_.push_front(std::make_shared<Session>(name));
    if (sessions_.size() > kMostSessions) sessions_.pop_back();
  }
  return sessions_.front();
}

void Completer::choose_related(Session& session, const CompletionRequest& request, const LoadedModel& model,
                               const Room& room, const std::stop_token& late) {
  if (session.repository == nullptr || !request.extra.empty()) {
    if (request.extra == session.extra && session.related_tokens <= room.now) return;
    session.related =
        extra_parts(request.extra, model.chat, model.engine->tokenizer(), loose_chunks_, room.lasting);
    session.related_tokens = 0;
    for (const PlanPart& part : session.related) session.related_tokens += part.tokens.size();
    session.extra = request.extra;
    session.related_line.reset();
    return;
  }
  session.extra.clear();
  Repository& repository = *session.repository;
  std::vector<VisitedPlace> visited;
  for (const RingPlace& place : request.ring) {
    auto path = path_in_root(repository.root(), place.path, request.directory);
    if (path && *path != session.path) visited.push_back({std::move(*path), place.line});
  }
  const std::int32_t line = request.buffer.line();
  if (session.related_line && std::abs(line - *session.related_line) <= kRelatedLines &&
      visited == session.visited && session.related_tokens <= room.now) {
    return;
  }
  const auto fresh = repository.refresh(late);
  session.incomplete = fresh ? std::string()
                       : fresh.error().code == ErrorCode::kCancelled
                           ? "the work tree was not read within the time given"
                           : fresh.error().message;
  FileParts files(repository, model.chat, model.engine->tokenizer(), room.lasting);
  session.related = related_parts(repository, request.buffer, session.path, visited, files, late);
  session.related_tokens = room.lasting - files.left();
  session.visited = std::move(visited);
  session.related_line = fresh ? std::optional(line) : std::nullopt;
}

/// The file's place in a work tree, once.
Result<void> Completer::open_file(Session& session, const fs::path& file) {
  if (session.repository != nullptr) return {};
  auto opened = repositories_.open(existing_folder(file));
  if (!opened) return fail(opened.error());
  auto path = path_in_root((*opened)->root(), file.string(), "/");
  if (!path) return fail(path.error());
  session.repository = std::move(*opened);
  session.path = std::move(*path);
  return {};
}

Result<CompletionPlan> Completer::plan_for(Session& session, const CompletionRequest& request,
                                           const LoadedModel& model, std::size_t most,
                                           const std::stop_token& late) {
  const std::size_t header = model.chat.header().size();
  if (most < header + kLeastRoom) {
    return fail(ErrorCode::kInvalidArgument,
                "a prompt of " + std::to_string(most) + " tokens has no room to complete in",
                "raise complete_tokens, or context");
  }
  const std::size_t room = most - header;
  const auto share = [&](double part) { return static_cast<std::size_t>(part * static_cast<double>(room)); };
  const engine::Tokenizer& tokenizer = model.engine->tokenizer();
  const FillInMiddle fill = FillInMiddle::detect(tokenizer, model.chat);
  std::vector<TokenId> suffix;  // costs no room where it has no place
  if (fill.available()) suffix = suffix_of(request.buffer, tokenizer, share(kSuffixShare));
  const Repository* repository = session.repository.get();
  BufferWindow& window = session.window;
  window.update(request.buffer, tokenizer, {session.path, options_.chunking, share(kWindowShare)});
  // What was chosen stays while it fits; what is chosen leaves room for what is going to be typed.
  const std::size_t now = suffix.size() + window.size();
  const std::size_t later =
      std::max(now, suffix.size() + std::min(window.size() + kWindowGrowth, share(kWindowShare)));
  choose_related(session, request, model, {room - std::min(room, now), room - std::min(room, later)}, late);
  return make_completion_plan(
      {.chat = model.chat,
       .fill = fill,
       .repository = repository != nullptr ? repository->root().filename().native() : "",
       .path = session.path,
       .is_stored = repository != nullptr && repository->has(session.path),
       .related = session.related,
       .window = window,
       .suffix = std::move(suffix)});
}

Result<Completer::Prepared> Completer::prepare(const CompletionRequest& request, const LoadedModel& model,
                                               const std::stop_token& stop, const std::stop_token& late) {
  const fs::path file = whole_path(request);
  if (cache::is_secret_path(file.string())) {
    return fail(ErrorCode::kInvalidArgument, file.string() + " is not read: secret",
                "docs/secrets.md tells which names are");
  }
  const auto session = session_of(request.client, file);
  const std::lock_guard lock(session->mutex);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  if (const std::string id = id_of(model); session->model != id) {
    session->model = id;
    session->window = {};
    session->related.clear();
    session->related_tokens = 0;
    session->related_line.reset();
    session->extra.clear();
  }
  if (!request.path.empty()) {
    if (auto opened = open_file(*session, file); !opened) return fail(opened.error());
  }
  const cache::CursorPlace place = place_of(request);
  const std::int32_t wanted = request.max_tokens > 0              ? request.max_tokens
                              : place.wanted == WantedText::kLine ? kLineTokens
                                                                  : kBlockTokens;
  const std::int32_t context = model.engine->info().context;
  const std::int32_t max_tokens = std::min(wanted, context / 8);
  auto plan =
      plan_for(*session, request, model,
               std::min(options_.prompt_tokens, static_cast<std::size_t>(context - max_tokens)), late);
  if (!plan) return fail(plan.error());
  return Prepared{.session = session,
                  .buffer = request.buffer,
                  .place = place,
                  .plan = std::move(*plan),
                  .alternatives = request.alternatives,
                  .max_tokens = max_tokens,
                  .root = session->repository != nullptr ? session->repository->root().string() : "",
                  .path = session->path,
                  .incomplete = session->incomplete,
                  .key = key_of(request, model)};
}

Result<WrittenHints> Completer::write(const Prepared& prepared, LoadedModel& model, const Writing& writing) {
  HintRequest request;
  request.plan = &prepared.plan;
  request.buffer = &prepared.buffer;
  request.place = prepared.place;
  request.reuse = writing.reuse;
  request.kept = writing.fresh ? nullptr : &prepared.session->kv;
  request.fresh = writing.fresh;
  request.alternatives = prepared.alternatives;
  request.max_tokens = prepared.max_tokens;
  request.sink = writing.sink;
  request.stop = writing.stop;
  request.is_late = writing.is_late;
  request.is_enough = writing.is_enough;
  auto written = write_hints(*model.engine, model.live, request);
  if (!written) return written;
  std::erase_if(written->hints,
                [](const Hint& hint) { return hint.text.empty() && hint.finish_reason != "time"; });
  const bool whole =
      std::ranges::none_of(written->hints, [](const Hint& hint) { return hint.finish_reason == "time"; });
  if (whole && !writing.fresh) {
    std::vector<std::string> texts;
    for (const Hint& hint : written->hints) texts.push_back(hint.text);
    recent_.keep(prepared.key, prepared.buffer, std::move(texts));
  }
  return written;
}

std::optional<std::vector<std::string>> Completer::recent(const CompletionRequest& request,
                                                          const LoadedModel& model) const {
  return recent_.find(key_of(request, model), request.buffer);
}

}  // namespace kvboost::daemon
