// SPDX-License-Identifier: Apache-2.0
// Session: what every command has at hand: the options, the two streams, and how it ends. Made once in main;
// one thread.
#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/error.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace kvboost::cli {

class Session {
 public:
  /// Reads the configuration, with `flags` (option → text) on top. A broken one is no failure yet: `doctor`
  /// and `config set` are there to mend it.
  /// `build` is the build of this program: a daemon of another one is replaced.
  Session(std::map<std::string, std::string> flags, std::string build);

  [[nodiscard]] const Result<Config>& config() const { return config_; }
  [[nodiscard]] Terminal& out() { return out_; }
  [[nodiscard]] Terminal& err() { return err_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  /// kNotFound where `directory` is empty.
  [[nodiscard]] Result<void> need_directory() const;

  /// A daemon, started if there is none. If it was started with other options than a flag says, that is an
  /// error (compare_options); than a variable or file says, a note on stderr. The configuration must be
  /// readable.
  [[nodiscard]] Result<Client> connect(std::stop_token stop = {});
  /// kNotFound if none runs. Options are not looked at.
  [[nodiscard]] Result<Client> connect_if_running();

  /// kModel if this command's --model cannot be used.
  [[nodiscard]] Result<void> check_model_flag(Client& client) const;

  /// Says on stderr why `connect` failed, and gives the exit code for it.
  ExitCode not_connected(const Error& error);
  /// Says on stderr what went wrong and what to do about it; gives `code` back.
  ExitCode failed(const Error& error, ExitCode code);
  ExitCode failed(const Error& error) { return failed(error, exit_code(error.code)); }
  /// One line on stderr.
  void note(std::string_view text);
  /// What the configuration had to complain about, once.
  void note_warnings();

 private:
  [[nodiscard]] ClientOptions client_options() const;

  std::string build_;
  bool flags_refused_ = false;  // by `connect`
  std::filesystem::path directory_;
  Result<Config> config_;
  Terminal out_;
  Terminal err_;
};

}  // namespace kvboost::cli
