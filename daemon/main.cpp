// SPDX-License-Identifier: Apache-2.0
// kvboostd: reads its options, goes into the background, and serves until it is told to leave. The order of
// the steps is that of daemon/net/daemonise.h: nothing of torch and no thread before the fork.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/build_id.h"
#include "base/config.h"
#include "base/daemon_files.h"
#include "base/log.h"
#include "base/paths.h"
#include "daemon/http/access.h"
#include "daemon/http/http_server.h"
#include "daemon/models/model_catalog.h"
#include "daemon/net/binder.h"
#include "daemon/net/daemonise.h"
#include "daemon/net/handed_socket.h"
#include "daemon/net/lifecycle.h"
#include "daemon/net/listener.h"
#include "daemon/net/server.h"
#include "daemon/protocol/usable_model.h"
#include "daemon/service.h"

namespace kvboost::daemon {
namespace {

struct Arguments {
  bool foreground = false;
  std::map<std::string, std::string> flags;
};

/// The options of the table that concern the daemon, as flags.
void add_options(CLI::App& app, Arguments& arguments) {
  for (const Option& option : option_table()) {
    if (option.scope != Scope::kDaemon) continue;
    const std::string name(option.name);
    const bool is_flag = option.kind == OptionKind::kFlag;
    CLI::Option* flag = app.add_option_function<std::string>(
        flag_name(option),
        [&arguments, name, is_flag](const std::string& text) {
          arguments.flags[name] = text.empty() && is_flag ? "yes" : text;
        },
        std::string(option.help));
    if (is_flag) flag->expected(0, 1);  // alone it means yes
  }
}

/// --http=8080 means both options.
void split_http_flag(std::map<std::string, std::string>& flags) {
  const auto http = flags.find("http");
  if (http == flags.end()) return;
  const bool is_port =
      http->second.size() > 1 && http->second.find_first_not_of("0123456789") == std::string::npos;
  if (is_port) flags["http_port"] = std::exchange(http->second, "yes");
}

/// What a client compares with its own wishes: the options that were set, from wherever.
std::map<std::string, std::string> options_in_force(const Config& config) {
  std::map<std::string, std::string> options;
  for (const Option& option : option_table()) {
    if (option.scope == Scope::kDaemon) options.emplace(option.name, config.text(option.name));
  }
  return options;
}

/// Where things are: every directory exists and is private.
Result<Service::Places> places(const DaemonFiles& files) {
  auto state = state_dir();
  if (!state) return fail(state.error());
  if (auto made = ensure_private_dir(*state); !made) return fail(made.error());
  auto config = config_dir();
  if (!config) return fail(config.error());
  auto cache = cache_dir();
  if (!cache) return fail(cache.error());
  return Service::Places{.socket = files.socket,
                         .log_file = *state / "kvboostd.log",
                         .state = *state,
                         .cache = *cache,
                         .config_file = *config / "kvboost.toml",
                         .version = std::string(version()),
                         .build = std::string(build_id())};
}

/// A model that was named on the command line must be one that can be used: nobody would look for the cause
/// of later failures there. What variables and files name may be mended while the daemon runs.
Result<void> check_model_flag(const Config& config) {
  if (config.value("model").origin != Origin::kFlag || config.text("model").empty()) return {};
  const auto catalog = ModelCatalog::for_this_user();
  if (!catalog) return fail(catalog.error());
  const auto model = catalog->info(config.text("model"));
  if (!model) return fail(model.error());
  return protocol::check_usable(model->entry);
}

/// Listens for HTTP if that is wanted, and notes where in `where`.
Result<std::optional<HttpServer>> open_http(const Config& config, Service::Places& where) {
  if (!config.flag("http")) return std::nullopt;
  const std::string& file = config.text("http_token_file");
  where.http_token_file = file.empty() ? where.state / "http.token" : std::filesystem::path(file);
  auto token = read_or_make_token(where.http_token_file);
  if (!token) return fail(token.error());
  HttpOptions options{.port = static_cast<std::uint16_t>(config.integer("http_port")),
                      .token = std::move(*token)};
  options.defaults = {.max_tokens = static_cast<std::int32_t>(config.integer("max_tokens")),
                      .temperature = config.number("temperature"),
                      .top_k = static_cast<std::int32_t>(config.integer("top_k")),
                      .top_p = config.number("top_p"),
                      .min_p = config.number("min_p")};
  auto http = HttpServer::open(std::move(options));
  if (!http) return fail(http.error());
  where.http = http->address();
  return std::move(*http);
}

int refused(const Error& error, int status = EXIT_FAILURE) {
  std::cerr << "kvboostd: " << error.message << '\n';
  if (!error.remedy.empty()) std::cerr << "  " << error.remedy << '\n';
  return status;
}

int serve(const Config& config, StartReport report) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (ulimit -f) is an error of the write
  auto files = daemon_files(config.text("socket"));
  if (!files) return report.failed(files.error(), {});
  auto where = places(*files);
  if (!where) return report.failed(where.error(), {});
  if (auto log = log::to_file(where->log_file, config.text("log_level")); !log)
    return report.failed(log.error(), where->log_file);
  auto listener = Listener::open(*files, build_id());
  if (!listener && listener.error().code == ErrorCode::kBusy && !is_socket_handed()) {
    report.ready();  // another daemon serves already
    return EXIT_SUCCESS;
  }
  if (!listener) return report.failed(listener.error(), where->log_file);
  auto catalog = ModelCatalog::for_this_user();
  if (!catalog) return report.failed(catalog.error(), where->log_file);
  auto http = open_http(config, *where);
  if (!http) return report.failed(http.error(), where->log_file);

  Binder binder;
  Server server(*listener, binder, {.handle_signals = true});
  Service service(config, *where, std::move(*catalog), server);
  service.bind(binder);
  bind_lifecycle(binder, server, {where->version, where->build, options_in_force(config)});
  service.start();
  if (*http) (*http)->start(files->socket);
  report.ready();
  log::info("kvboostd {} serves on {}{}", where->version, files->socket.string(),
            where->http.empty() ? "" : " and " + where->http);
  const bool clean = server.run();
  http->reset();
  log::info("left");
  if (!clean) std::_Exit(EXIT_FAILURE);  // a handler hangs: joining its thread would too
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  CLI::App app("The daemon behind kvboost. `kvboost` starts it by itself; it serves one user over a socket.",
               "kvboostd");
  Arguments arguments;
  app.add_flag("--foreground", arguments.foreground, "Stay in the terminal; errors go to stderr");
  app.set_version_flag("--version",
                       "kvboostd " + std::string(version()) + " (build " + std::string(build_id()) + ")");
  add_options(app, arguments);
  CLI11_PARSE(app, argc, argv);

  ConfigSources sources = Config::process_sources();
  split_http_flag(arguments.flags);
  sources.flags = std::move(arguments.flags);
  auto config = Config::load(sources);
  if (!config) return refused(config.error());
  if (auto good = check_model_flag(*config); !good) return refused(good.error(), kModelRefused);
  if (arguments.foreground) return serve(*config, StartReport::foreground());
  auto report = daemonise();
  if (!report) return refused(report.error());
  return serve(*config, std::move(*report));
}

}  // namespace
}  // namespace kvboost::daemon

int main(int argc, char** argv) {
  return kvboost::daemon::run(argc, argv);
}
