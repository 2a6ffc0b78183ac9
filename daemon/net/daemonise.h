// SPDX-License-Identifier: Apache-2.0
// How the daemon gets into the background: like any well-behaved one, the command `kvboostd` returns when the
// daemon serves (exit 0) or could not start (exit 1, the reason on stderr). Before the first torch call and
// before any thread: fork copies only the calling one. What main looks like:
//
//   Config config = …;                                        // options first: their errors go to the
//   terminal StartReport report = foreground ? StartReport::foreground() : daemonise().value(); auto files =
//   daemon_files(config.text("socket"));         // each failure: return report.failed(error, log_file);
//   log::to_file(…);
//   auto listener = Listener::open(*files, build_id());       // kBusy: another daemon serves:
//   report.ready(), return 0 Binder binder; Server server(*listener, binder, {.handle_signals = true});  //
//   blocks signals: before the service's threads Service service(config, …); service.bind(binder);
//   bind_lifecycle(binder, server, {version, build, options});
//   report.ready();
//   const bool clean = server.run();                          // until SIGTERM, shutdown or a client of
//   another build if (!clean) std::_Exit(1);                                // after
//   listener->remove_socket(), which stop() has done
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace kvboost::daemon {

/// Tells the one who started the daemon how that went, once. One that is destroyed silently counts as failed.
class StartReport {
 public:
  /// For a daemon that stays in the foreground: failures go to stderr.
  [[nodiscard]] static StartReport foreground() { return StartReport(FileDescriptor()); }

  /// The daemon serves (or another one does: that is as good).
  void ready();
  /// Gives 1 back, for main to return. `log_file` (may be empty) is named in the message.
  int failed(const Error& error, const std::filesystem::path& log_file);

 private:
  friend Result<StartReport> daemonise();
  explicit StartReport(FileDescriptor pipe) : pipe_(std::move(pipe)) {}

  FileDescriptor pipe_;  // to the waiting parent; not open in the foreground
};

/// Forks. The parent waits for the child's report, prints a failure and exits; only the child returns: in a
/// session of its own, in /, umask 077, without the terminal and without any file that the parent had open.
[[nodiscard]] Result<StartReport> daemonise();

}  // namespace kvboost::daemon
