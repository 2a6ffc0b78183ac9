// SPDX-License-Identifier: Apache-2.0
#include "bench/peer.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"
#include "bench/scratch_folder.h"

namespace kvboost::bench {
namespace {

std::string joined(std::span<const std::int32_t> numbers) {
  std::string text;
  for (const std::int32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// An interpreter gets our script to run; anything else is a program of the user's, with the same flags.
std::string command_of(const PeerProgram& program) {
  const std::string& peer = program.peer;
  const std::string name = std::filesystem::path(peer).filename().string();
  std::string command = peer;
  if (name.starts_with("python") && name.find(' ') == std::string::npos) {
    const auto interpreter = peer == "python" ? std::string("python3") : shell_word(peer);
    command = interpreter + " " + shell_word(KVBOOST_SOURCE_DIR "/bench/" + program.script);
  }
  for (const std::string& argument : program.arguments) command += " " + shell_word(argument);
  return command;
}

struct CloseFile {
  void operator()(std::FILE* file) const { ::pclose(file); }
};

/// Reads the peer's lines until it closes its output; how many.
Result<std::int64_t> read_lines(std::FILE* pipe,
                                const std::function<Result<void>(std::string_view line)>& sink) {
  std::int64_t count = 0;
  char* line = nullptr;
  std::size_t capacity = 0;
  Result<void> outcome;
  for (ssize_t size; outcome && (size = ::getline(&line, &capacity, pipe)) > 0; ++count) {
    outcome = sink(std::string_view(line, static_cast<std::size_t>(size)));
  }
  std::free(line);
  if (!outcome) return fail(outcome.error());
  return count;
}

/// Writes what the peer is to read into the folder.
Result<std::filesystem::path> write_scratch(const ScratchFolder& folder, std::string_view text) {
  const std::filesystem::path file = folder.path() / "input";
  std::ofstream out(file);
  out << text;
  out.close();
  if (out) return file;
  return fail(ErrorCode::kIo, "cannot write what the peer is to read to the temporary directory");
}

}  // namespace

Result<void> run_peer_program(const PeerProgram& program,
                              const std::function<Result<void>(std::string_view line)>& sink) {
  const auto folder = ScratchFolder::make(std::filesystem::temp_directory_path());
  if (!folder) return fail(folder.error());
  const auto input = write_scratch(*folder, program.input);
  if (!input) return fail(input.error());
  const std::string command = command_of(program);
  const std::string with_input = command + " <" + shell_word(input->string());
  std::unique_ptr<std::FILE, CloseFile> pipe(::popen(with_input.c_str(), "r"));
  if (!pipe) return fail_errno("starting the peer", errno);
  const auto count = read_lines(pipe.get(), sink);
  const int status = ::pclose(pipe.release());
  if (!count) return fail(count.error());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || *count == 0) {
    return fail(ErrorCode::kNotFound, "the peer failed: " + command,
                "its own message stands above; bench/README.md tells how to build llama.cpp for this CPU");
  }
  return {};
}

Result<void> run_peer(const EngineBench& bench, std::span<const std::int32_t> tokens, std::int32_t threads,
                      const std::string& dtype, const MeasurementSink& sink) {
  const auto folder = ScratchFolder::make(std::filesystem::temp_directory_path());
  if (!folder) return fail(folder.error());
  const auto ids = write_scratch(*folder, '[' + joined(tokens) + "]\n");
  if (!ids) return fail(ids.error());
  const PeerProgram program{
      .peer = bench.peer,
      .script = "peer_llama.py",
      .arguments = {"--model", bench.model.string(), "--threads", std::to_string(threads), "--runs",
                    std::to_string(bench.runs), "--token-ids", ids->string(), "--prefill",
                    joined(bench.prefill), "--depths", joined(bench.depths), "--decode-tokens",
                    std::to_string(bench.decode_tokens)}};
  return run_peer_program(program, [&](std::string_view line) -> Result<void> {
    auto measurement = parse_json(line);
    if (!measurement) return fail(measurement.error());
    if (measurement->dtype.empty()) measurement->dtype = dtype;
    sink(*measurement);
    return {};
  });
}

}  // namespace kvboost::bench
