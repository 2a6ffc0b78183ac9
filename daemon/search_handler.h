// SPDX-License-Identifier: Apache-2.0
// SearchHandler: the method `search`: the spans of a repository's files that have most of a query's words,
// with their text. A worker brings the repository up to date and ranks; no model is needed. Any thread may
// call it.
#pragma once

#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class SearchHandler {
 public:
  struct Parts {
    Scheduler& workers;
    Repositories& repositories;
    Metrics& metrics;
  };
  /// Everything in `parts` must outlive the requests.
  explicit SearchHandler(const Parts& parts) : parts_(parts) {}

  void bind(Binder& binder);

 private:
  [[nodiscard]] Result<protocol::SearchResult> search(const RequestContext& context,
                                                      const protocol::SearchParams& params) const;
  void end(const Reply<protocol::SearchResult>& reply, const Result<protocol::SearchResult>& outcome) const;

  Parts parts_;
};

}  // namespace kvboost::daemon
