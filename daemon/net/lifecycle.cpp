// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/lifecycle.h"

#include <unistd.h>

#include "base/log.h"

namespace kvboost::daemon {

void bind_lifecycle(Binder& binder, Server& server, DaemonIdentity identity) {
  using protocol::InitializeParams;
  using protocol::InitializeResult;
  using protocol::kProtocolVersion;

  binder.add<InitializeParams, InitializeResult>(
      "initialize", RunOn::kIo,
      [&server, identity = std::move(identity)](const RequestContext& context, const InitializeParams& params,
                                                const Reply<InitializeResult>& reply) {
        const bool same_build = params.build.empty() || params.build == identity.build;
        if (same_build && params.protocol_version != kProtocolVersion) {
          return reply(fail(ErrorCode::kProtocol,
                            "the client speaks protocol version " + std::to_string(params.protocol_version) +
                                ", this daemon version " + std::to_string(kProtocolVersion),
                            "update whichever is older"));
        }
        log::debug("client {}: {}, build {}", context.session(), params.client,
                   params.build.empty() ? "any" : params.build);
        if (!same_build) {
          log::info("leaving for build {}; this is {}", params.build, identity.build);
          server.stop(StopMode::kDrain);
        }
        reply(InitializeResult{.protocol_version = kProtocolVersion,
                               .server = "kvboostd " + identity.version,
                               .build = identity.build,
                               .pid = ::getpid(),
                               .leaving = !same_build || server.is_leaving(),
                               .options = identity.options});
      });

  binder.add<protocol::ShutdownParams, protocol::Nothing>(
      "shutdown", RunOn::kIo,
      [&server](const RequestContext& context, const protocol::ShutdownParams& params,
                const Reply<protocol::Nothing>& reply) {
        log::info("client {} shuts the daemon down", context.session());
        reply(protocol::Nothing{});
        server.stop(params.cancel ? StopMode::kCancel : StopMode::kDrain);
      });
}

}  // namespace kvboost::daemon
