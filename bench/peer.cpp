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
std::string program(const std::string& peer) {
  const std::string name = std::filesystem::path(peer).filename().string();
  if (!name.starts_with("python") || name.find(' ') != std::string::npos) return peer;
  const auto interpreter = peer == "python" ? std::string("python3") : shell_word(peer);
  return interpreter + " " + shell_word(KVBOOST_SOURCE_DIR "/bench/peer_llama.py");
}

std::string command_line(const EngineBench& bench, const std::filesystem::path& ids, std::int32_t threads) {
  return program(bench.peer) + " --model " + shell_word(bench.model.string()) + " --threads " +
         std::to_string(threads) + " --runs " + std::to_string(bench.runs) + " --token-ids " +
         shell_word(ids.string()) + " --prefill " + joined(bench.prefill) + " --depths " +
         joined(bench.depths) + " --decode-tokens " + std::to_string(bench.decode_tokens);
}

struct CloseFile {
  void operator()(std::FILE* file) const { ::pclose(file); }
};

/// Reads the peer's lines until it closes its output.
Result<std::int64_t> read_measurements(std::FILE* pipe, const std::string& dtype,
                                       const MeasurementSink& sink) {
  std::int64_t count = 0;
  char* line = nullptr;
  std::size_t capacity = 0;
  Result<std::int64_t> outcome = 0;
  for (ssize_t size; outcome && (size = ::getline(&line, &capacity, pipe)) > 0;) {
    auto measurement = parse_json(std::string_view(line, static_cast<std::size_t>(size)));
    if (!measurement) {
      outcome = fail(measurement.error());
      break;
    }
    if (measurement->dtype.empty()) measurement->dtype = dtype;
    sink(*measurement);
    outcome = ++count;
  }
  std::free(line);
  return outcome;
}

}  // namespace

Result<void> run_peer(const EngineBench& bench, std::span<const std::int32_t> tokens, std::int32_t threads,
                      const std::string& dtype, const MeasurementSink& sink) {
  const ScratchFile ids;
  std::ofstream out(ids.path());
  out << '[' << joined(tokens) << "]\n";
  out.close();
  if (!out) return fail(ErrorCode::kIo, "cannot write the token ids for the peer to the temporary directory");

  const std::string command = command_line(bench, ids.path(), threads);
  std::unique_ptr<std::FILE, CloseFile> pipe(::popen(command.c_str(), "r"));
  if (!pipe) return fail_errno("starting the peer", errno);
  const auto count = read_measurements(pipe.get(), dtype, sink);
  const int status = ::pclose(pipe.release());
  if (!count) return fail(count.error());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || *count == 0) {
    return fail(ErrorCode::kNotFound, "the peer failed: " + command,
                "its own message stands above; bench/README.md tells how to build llama.cpp for this CPU");
  }
  return {};
}

}  // namespace kvboost::bench
