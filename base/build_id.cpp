// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include "build_id_values.h"

namespace kvboost {

std::string_view version() {
  return KVBOOST_VERSION;
}
std::string_view build_id() {
  return KVBOOST_BUILD_ID;
}

}  // namespace kvboost
