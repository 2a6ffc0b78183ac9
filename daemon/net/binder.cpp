// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/binder.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "daemon/net/call.h"

namespace kvboost::daemon {

std::stop_token RequestContext::stop() const {
  return call_->stop();
}
std::uint64_t RequestContext::session() const {
  return call_->session();
}
RequestContext::Clock::time_point RequestContext::received() const {
  return call_->received();
}

void RequestContext::describe(std::string figures) const {
  call_->describe(std::move(figures));
}

std::optional<RequestContext::Clock::time_point> RequestContext::written_at(
    std::string_view method, std::chrono::milliseconds wait) const {
  return call_->written_at(method, wait);
}

bool RequestContext::notify_text(std::string_view method, std::string params) const {
  return call_->notify(method, params);
}

/// Shared by all copies of a reply.
class AnyReply::Guard {
 public:
  explicit Guard(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { call_->answer(fail(ErrorCode::kInternal, "the request was dropped without an answer")); }
  [[nodiscard]] Call& call() const { return *call_; }

 private:
  std::shared_ptr<Call> call_;
};

AnyReply::AnyReply(std::shared_ptr<Call> call) : guard_(std::make_shared<Guard>(std::move(call))) {}

void AnyReply::give(Result<std::string> result) const {
  guard_->call().answer(std::move(result));
}

void Binder::add_any(std::string method, RunOn run_on, AnyHandler handler) {
  table_.insert_or_assign(std::move(method), Entry{run_on, std::move(handler)});
}

std::optional<RunOn> Binder::find(std::string_view method) const {
  const auto found = table_.find(method);
  if (found == table_.end()) return std::nullopt;
  return found->second.run_on;
}

void Binder::dispatch(std::string_view method, const std::shared_ptr<Call>& call,
                      const nlohmann::json& params) const {
  const AnyReply reply(call);  // kept here, so that unwinding does not drop the last copy
  std::string what = "an unknown exception";
  try {
    table_.find(method)->second.handler(RequestContext(call), params, reply);
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  log::error("{} failed: {}", method, what);
  reply.give(
      fail(ErrorCode::kInternal, std::string(method) + " failed: " + what, "the daemon's log may tell more"));
}

}  // namespace kvboost::daemon
