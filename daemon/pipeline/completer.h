// SPDX-License-Identifier: Apache-2.0
// Completer: what lies between a request to complete and the engine. It remembers of each editor's buffer
// what its last prompt was made of, so that the next key's is the same but for its end; finds related places
// in other files; and knows recent hints. `prepare` is for workers, `write` for the engine thread, the others
// for any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "daemon/pipeline/hint_writer.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/recent_hints.h"
#include "daemon/prompt/completion_plan.h"
#include "daemon/prompt/extra_parts.h"
#include "daemon/prompt/related_spans.h"
#include "daemon/prompt/repositories.h"

namespace kvboost::daemon {

enum class HintShape { kAuto, kLine, kBlock };

/// A place in a file on disk, as an editor names it: the path relative to the request's directory, or
/// absolute.
struct RingPlace {
  std::string path;
  std::int32_t line = 1;
};

struct CompletionRequest {
  std::string client;               // whose buffer it is
  std::filesystem::path directory;  // absolute
  std::filesystem::path path;  // of the buffer's file, which need not exist; relative or absolute; empty:
                               // it is of no file, and no work tree is looked at
  EditBuffer buffer;
  HintShape shape = HintShape::kAuto;
  std::vector<RingPlace> ring{};   // the latest first
  std::vector<ExtraText> extra{};  // instead of what would be looked for in other files
  std::int32_t alternatives = 1;
  std::int32_t max_tokens = 0;  // of each; 0: as the shape asks for
};

class Completer {
 public:
  struct Options {
    std::size_t prompt_tokens = 4096;
    cache::ChunkOptions chunking{};  // of text that belongs to no work tree
  };
  Completer(Repositories& repositories, const Options& options)
      : repositories_(repositories), options_(options), loose_chunks_(kLooseBytes, options.chunking) {}

  /// What is known of one buffer.
  struct Session;

  struct Prepared {
    std::shared_ptr<Session> session;
    EditBuffer buffer;
    cache::CursorPlace place;
    CompletionPlan plan;
    std::int32_t alternatives = 1;
    std::int32_t max_tokens = 0;
    std::string root;        // of the work tree
    std::string path;        // relative to it
    std::string incomplete;  // why other files were not looked at as they should be, or empty
    Digest key;              // for recent hints
  };

  /// `late` ends the look for related places, not the request: what is known then has to do. kInvalidArgument
  /// for a file that is a secret.
  [[nodiscard]] Result<Prepared> prepare(const CompletionRequest& request, const LoadedModel& model,
                                         const std::stop_token& stop, const std::stop_token& late);

  struct Writing {
    const Reuse* reuse = nullptr;
    bool fresh = false;  // nothing live is gone on from, and nothing is remembered
    std::function<bool(std::string_view)> sink{};
    std::stop_token stop{};
    std::function<bool()> is_late{};
    std::function<bool()> is_enough{};  // whether no further alternative is to be begun
  };
  /// Engine thread.
  [[nodiscard]] Result<WrittenHints> write(const Prepared& prepared, LoadedModel& model,
                                           const Writing& writing);

  /// The rest of hints that were written here; empty ones are none.
  [[nodiscard]] std::optional<std::vector<std::string>> recent(const CompletionRequest& request,
                                                               const LoadedModel& model) const;

 private:
  static constexpr std::uint64_t kLooseBytes = 16U << 20U;

  [[nodiscard]] std::shared_ptr<Session> session_of(const std::string& client,
                                                    const std::filesystem::path& file);
  Result<void> open_file(Session& session, const std::filesystem::path& file);
  [[nodiscard]] Result<CompletionPlan> plan_for(Session& session, const CompletionRequest& request,
                                                const LoadedModel& model, std::size_t most,
                                                const std::stop_token& late);
  /// Tokens for related places.
  struct Room {
    std::size_t now = 0;
    std::size_t lasting = 0;  // when the file's own text has grown
  };
  void choose_related(Session& session, const CompletionRequest& request, const LoadedModel& model,
                      const Room& room, const std::stop_token& late);

  Repositories& repositories_;
  const Options options_;
  ChunkCache loose_chunks_;
  RecentHints recent_;
  std::mutex mutex_;                              // guards sessions_
  std::list<std::shared_ptr<Session>> sessions_;  // the latest first
};

}  // namespace kvboost::daemon
