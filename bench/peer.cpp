// SPDX-License-Identifier: Apache-2.0
#include "bench/peer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace kvboost::bench {
namespace {

/// A file of our own under the temporary directory, gone at the end.
class ScratchFile {
 public:
  ScratchFile() {
    std::string name = (std::filesystem::temp_directory_path() / "kvboost-bench-XXXXXX").string();
    if (const int fd = ::mkstemp(name.data()); fd >= 0) {
      ::close(fd);
      path_ = name;
    }
  }
  ~ScratchFile() { std::filesystem::remove(path_, ignored_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::error_code ignored_;
};

std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

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

Result<void> write_scratch(const ScratchFile& file, std::string_view text) {
  std::ofstream out(file.path());
  out << text;
  out.close();
  if (out) return {};
  return fail(ErrorCode::kIo, "cannot write what the peer is to read to the temporary directory");
}

}  // namespace

Result<void> run_peer_program(const PeerProgram& program,
                              const std::function<Result<void>(std::string_view line)>& sink) {
  const ScratchFile input;
  if (auto written = write_scratch(input, program.input); !written) return written;
  const std::string command = command_of(program);
  const std::string with_input = command + " <" + shell_word(input.path().string());
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
  const ScratchFile ids;
  if (auto written = write_scratch(ids, '[' + joined(tokens) + "]\n"); !written) return written;
  const PeerProgram program{
      .peer = bench.peer,
      .script = "peer_llama.py",
      .arguments = {"--model", bench.model.string(), "--threads", std::to_string(threads), "--runs",
                    std::to_string(bench.runs), "--token-ids", ids.path().string(), "--prefill",
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
