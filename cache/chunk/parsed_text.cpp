// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/parsed_text.h"

#include <time.h>
#include <tree_sitter/api.h>
#include <tree_sitter/parser.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kvboost::cache {
namespace {

std::chrono::nanoseconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// A grammar's scanner writes its state into a buffer of tree-sitter's. Those of Markdown, YAML and Bash do
// not mind its size when a text is nested deep: they are given a larger one, and the parse ends there.
struct ScannerGuard {
  unsigned (*serialize)(void*, char*) = nullptr;
  std::vector<char> state;
  bool overflowed = false;
};

thread_local ScannerGuard* scanner_guard = nullptr;

unsigned serialize_guarded(void* scanner, char* buffer) {
  ScannerGuard& guard = *scanner_guard;
  const unsigned size = guard.serialize(scanner, guard.state.data());
  if (size > TREE_SITTER_SERIALIZATION_BUFFER_SIZE) {
    guard.overflowed = true;
    return 0;
  }
  if (size > 0) std::memcpy(buffer, guard.state.data(), size);
  return size;
}

struct ParserDeleter {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
const char* read_text(void* payload, std::uint32_t at, TSPoint, std::uint32_t* size) {
  const auto& text = *static_cast<std::string_view*>(payload);
  *size = at < text.size() ? static_cast<std::uint32_t>(text.size() - at) : 0;
  return *size > 0 ? text.data() + at : "";
}

struct Deadline {
  std::chrono::nanoseconds at;
  const ScannerGuard* guard;
};

bool past_deadline(TSParseState* state) {
  const auto& deadline = *static_cast<Deadline*>(state->payload);
  return deadline.guard->overflowed || thread_time() > deadline.at;
}

}  // namespace

struct ParsedText::Impl {
  TSLanguage language;  // the tree's
  TSTree* tree = nullptr;

  explicit Impl(const TSLanguage& of) : language(of) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (tree != nullptr) ts_tree_delete(tree);
  }
};

ParsedText::ParsedText(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParsedText::ParsedText(ParsedText&&) noexcept = default;
ParsedText& ParsedText::operator=(ParsedText&&) noexcept = default;
ParsedText::~ParsedText() = default;

const TSTree* ParsedText::tree() const {
  return impl_->tree;
}

Result<ParsedText> ParsedText::parse(const Grammar& grammar, std::string_view text,
                                     std::chrono::milliseconds budget) {
  auto impl = std::make_unique<Impl>(*grammar.language());
  TSLanguage& language = impl->language;
  ScannerGuard guard{.serialize = language.external_scanner.serialize, .state = {}, .overflowed = false};
  if (guard.serialize != nullptr) {
    guard.state.resize(4096 + 8 * text.size());  // no scanner keeps more than 8 bytes for a byte of text
    language.external_scanner.serialize = serialize_guarded;
  }
  scanner_guard = &guard;
  const std::unique_ptr<TSParser, ParserDeleter> parser(ts_parser_new());
  if (!ts_parser_set_language(parser.get(), &language)) {
    return fail(ErrorCode::kInternal, "the grammar does not fit tree-sitter");
  }
  Deadline deadline{.at = thread_time() + budget, .guard = &guard};
  impl->tree = ts_parser_parse_with_options(
      parser.get(), nullptr, {&text, read_text, TSInputEncodingUTF8, nullptr}, {&deadline, past_deadline});
  if (guard.overflowed) return fail(ErrorCode::kInvalidArgument, "nested too deep for its grammar");
  if (impl->tree == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "not parsed within " + std::to_string(budget.count()) + " ms");
  }
  return ParsedText(std::move(impl));
}

}  // namespace kvboost::cache
