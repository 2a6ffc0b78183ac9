// SPDX-License-Identifier: Apache-2.0
// How the parameters of a request are written for the engine. Pure, any thread.
#pragma once

#include "engine/engine.h"

namespace kvboost::daemon {

/// Length and sampling, as AskParams and GenerateParams have them; a text that goes round in circles ends.
template <class Params>
[[nodiscard]] engine::GenerateParams generate_params(const Params& params) {
  engine::GenerateParams generate;
  generate.max_tokens = params.max_tokens;
  generate.stop_repetition = true;
  generate.sampling.temperature = static_cast<float>(params.temperature);
  generate.sampling.top_k = params.top_k;
  generate.sampling.top_p = static_cast<float>(params.top_p);
  generate.sampling.min_p = static_cast<float>(params.min_p);
  generate.sampling.seed = params.seed;
  return generate;
}

}  // namespace kvboost::daemon
