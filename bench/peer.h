// SPDX-License-Identifier: Apache-2.0
// The peer: another engine, measured by a program of its own. bench/peer_llama.py is that program for
// llama.cpp. It is called with
//
//   --model FILE --threads N --runs N --token-ids FILE --prefill N,N --depths N,N --decode-tokens N
//
// (--token-ids: a JSON array) and writes one JSON object a line, as bench/measurement.h has it, to stdout.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct PeerProgram {
  std::string peer;    // a Python interpreter, which is given `script`; or a command of the user's
  std::string script;  // in bench/
  std::vector<std::string> arguments;
  std::string input{};  // what it reads from stdin
};

/// Runs it to its end and hands on each line that it writes; the sink's error ends the reading. An error when
/// it fails, or writes nothing.
[[nodiscard]] Result<void> run_peer_program(const PeerProgram& program,
                                            const std::function<Result<void>(std::string_view line)>& sink);

/// Runs `bench.peer` to its end with just these token ids and `threads`. `dtype` stands in the figures where
/// the peer leaves it empty.
[[nodiscard]] Result<void> run_peer(const EngineBench& bench, std::span<const std::int32_t> tokens,
                                    std::int32_t threads, const std::string& dtype,
                                    const MeasurementSink& sink);

}  // namespace kvboost::bench
