// SPDX-License-Identifier: Apache-2.0
// ModelCatalog: the model files of this machine by name. Owned by the daemon; holds no state but where to
// look, so any thread may call it. A listing opens each file and reads its header: call it on a worker.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/models/model_places.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class ModelCatalog {
 public:
  explicit ModelCatalog(ModelPlaces places) : places_(std::move(places)) {}
  /// With the usual places of this process's user.
  [[nodiscard]] static Result<ModelCatalog> for_this_user();

  /// Every file found, those that cannot be used with their `problem`. `in_use` is the path that the daemon
  /// serves (may be empty).
  [[nodiscard]] std::vector<protocol::ModelEntry> list(const std::filesystem::path& in_use = {}) const;

  /// The file that `model` means: a path ("~/" allowed), a name of the list, a file name, or the beginning of
  /// just one name; case does not matter where the exact case has no match. Empty: our own folder's model, or
  /// the only one there is. kModel otherwise, and the remedy lists what could be meant. The file is there,
  /// but not opened.
  [[nodiscard]] Result<std::filesystem::path> resolve(std::string_view model) const;

  /// Shape and size of the model that `model` means.
  [[nodiscard]] Result<protocol::ModelInfoResult> info(std::string_view model,
                                                       const std::filesystem::path& in_use = {}) const;

  /// Puts a file on the list, where it stands. kModel if it is none that can be used.
  [[nodiscard]] Result<protocol::ModelInfoResult> add(const std::filesystem::path& file) const;

  /// Writes the choice to the user's configuration `file`, and gives it back.
  [[nodiscard]] Result<protocol::ModelInfoResult> use(std::string_view model,
                                                      const std::filesystem::path& config_file) const;

 private:
  ModelPlaces places_;
};

}  // namespace kvboost::daemon
