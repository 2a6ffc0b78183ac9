// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_model.h"

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

using protocol::ModelInfoResult;

/// Calls a model method and shows what comes back.
template <class Out, class In, class Show>
int request(Session& session, std::string_view method, const In& params, bool json, const Show& show) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  auto client = session.connect();
  if (!client) return session.not_connected(client.error());
  const auto result = client->template call<Out>(method, params);
  if (!result) return session.failed(result.error());
  if (json) {
    session.out().write(json_line(nlohmann::ordered_json(protocol::encode(*result))));
  } else {
    show(*result);
  }
  return kExitDone;
}

/// The daemon stands elsewhere: a file is named from the root on.
std::string from_here(const Session& session, const std::string& model) {
  const std::filesystem::path path = session.directory() / model;
  std::error_code error;
  return !model.empty() && std::filesystem::is_regular_file(path, error) ? path.lexically_normal().string()
                                                                         : model;
}

void note_override(Session& session) {
  const Config::Value& value = session.config()->value("model");
  if (value.origin == Origin::kEnvironment || value.origin == Origin::kFlag) {
    session.note(value.where + " stands above this choice, for as long as it is set");
  }
}

}  // namespace

std::string models_text(const std::vector<protocol::ModelEntry>& models, const Terminal& terminal) {
  Table table({{""}, {"name"}, {"kind"}, {"size", true}, {"from"}, {"file"}});
  std::string problems;
  for (const protocol::ModelEntry& model : models) {
    const bool usable = model.problem.empty();
    const std::string kind = usable ? model.architecture + " " + model.quantisation : "cannot be used";
    table.add({model.in_use ? "*" : "", model.name, kind, human_size(model.bytes), model.origin, model.path},
              {Style::kGood, model.in_use ? Style::kStrong : Style::kPlain,
               usable ? Style::kPlain : Style::kBad, Style::kPlain, Style::kPlain, Style::kFaint});
    if (!usable) problems += printable(model.name) + ": " + printable(model.problem) + "\n";
  }
  return table.text(terminal) + (problems.empty() ? "" : "\n" + problems);
}

std::string model_text(const ModelInfoResult& model, const Terminal& terminal) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"name", model.entry.name + (model.entry.in_use ? " (in use)" : "")},
      {"problem", model.entry.problem},
      {"file", model.entry.path},
      {"from", model.entry.origin},
      {"size", human_size(model.entry.bytes)},
      {"architecture", model.entry.architecture},
      {"quantisation", model.entry.quantisation}};
  rows.insert(rows.end(), model.details.begin(), model.details.end());
  return fields(terminal, rows);
}

int list_models(Session& session, const ModelArguments& arguments) {
  return request<protocol::ModelListResult>(
      session, "model/list", protocol::Nothing{}, arguments.json,
      [&](const protocol::ModelListResult& result) {
        if (result.models.empty()) {
          session.note("no model files were found; get a GGUF file, then: kvboost model add FILE");
        } else {
          session.out().write_painted(models_text(result.models, session.out()));
        }
      });
}

int show_model(Session& session, const ModelArguments& arguments) {
  return request<ModelInfoResult>(
      session, "model/info", protocol::ModelInfoParams{from_here(session, arguments.model)}, arguments.json,
      [&](const ModelInfoResult& result) { session.out().write_painted(model_text(result, session.out())); });
}

int add_model(Session& session, const ModelArguments& arguments) {
  const std::string path = (session.directory() / arguments.model).lexically_normal().string();
  return request<ModelInfoResult>(session, "model/add", protocol::ModelAddParams{path}, arguments.json,
                                  [&](const ModelInfoResult& result) {
                                    session.note("added " + result.entry.name +
                                                 "; to answer with it: kvboost model use " +
                                                 result.entry.name);
                                  });
}

int use_model(Session& session, const ModelArguments& arguments) {
  return request<ModelInfoResult>(session, "model/use",
                                  protocol::ModelUseParams{from_here(session, arguments.model)},
                                  arguments.json, [&](const ModelInfoResult& result) {
                                    session.note("answers now come from " + result.entry.name);
                                    note_override(session);
                                  });
}

}  // namespace kvboost::cli
