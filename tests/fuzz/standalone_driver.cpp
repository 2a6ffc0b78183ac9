// SPDX-License-Identifier: Apache-2.0
// A small fuzzer's main() for compilers without libFuzzer, with libFuzzer's flags (see cmake/Fuzz.cmake):
//   NAME_fuzz [-runs=N] [-max_total_time=SECONDS] [-seed=N] [-artifact_prefix=PATH] [FILE | FOLDER]...
// Files are replayed. The inputs of folders are replayed and then mutated, for N runs or so many seconds.
// Where the code under test is built with -fsanitize-coverage=trace-pc, an input that reaches new code joins
// the inputs, and is kept in the first folder.
//
// Nothing is caught: the input of the run under way lies in a file that is mapped, so it is there whatever
// ends the process, and is removed when the run has gone well. One thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/fuzz/coverage.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using kvboost::fuzz::places_reached;
using kvboost::fuzz::start_path;
using Input = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

constexpr std::size_t kMaxInput = 1 << 20;
constexpr unsigned kHangSeconds = 20;
constexpr long kMaxResidentKiB = 2L << 20;

// --- inputs --------------------------------------------------------------------------------------------

Input read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Input input((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  input.resize(std::min(input.size(), kMaxInput));
  return input;
}

void write_file(const fs::path& file, const Input& input) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
}

/// From memory of just this size, so that AddressSanitizer sees one byte too many.
void run_exactly(const Input& input) {
  const auto exact = std::make_unique<std::uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

/// The input of the run under way, in a file that outlives the process if that run ends it.
class Flight {
 public:
  explicit Flight(std::string file) : file_(std::move(file)) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0 || ::ftruncate(descriptor_, kMaxInput) != 0) fail();
    map_ = ::mmap(nullptr, kMaxInput, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (map_ == MAP_FAILED) fail();
  }
  ~Flight() {
    ::munmap(map_, kMaxInput);
    ::close(descriptor_);
    fs::remove(file_);
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  void run(const Input& input) {
    // First to full length, then to the input's: no byte of an earlier input is left behind.
    if (::ftruncate(descriptor_, kMaxInput) != 0) fail();
    if (!input.empty()) std::memcpy(map_, input.data(), input.size());
    if (::ftruncate(descriptor_, static_cast<off_t>(input.size())) != 0) fail();
    start_path();
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    end_after(kHangSeconds);
    run_exactly(input);
    end_after(0);
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    // By how much, not how far: a sanitizer's records of stacks and of freed memory grow with every run.
    if (after.ru_maxrss - before.ru_maxrss > kMaxResidentKiB) {
      std::fprintf(stderr, "this input took %ld MiB of memory\n", (after.ru_maxrss - before.ru_maxrss) >> 10);
      std::abort();
    }
  }

 private:
  /// Of its own time, so that a stopped or starved process is not taken for one that hangs.
  static void end_after(unsigned seconds) {
    const itimerval timer{{}, {static_cast<time_t>(seconds), 0}};
    ::setitimer(ITIMER_PROF, &timer, nullptr);
  }

  [[noreturn]] void fail() const {
    std::perror(file_.c_str());
    std::exit(2);
  }

  std::string file_;
  int descriptor_ = -1;
  void* map_ = nullptr;
};

// --- mutation ------------------------------------------------------------------------------------------

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  Input mutate(const Input& from, const Input& other) {
    Input input = from;
    for (std::size_t left = 1 + below(5); left > 0; --left) change(input, other);
    input.resize(std::min(input.size(), kMaxInput));
    return input;
  }

 private:
  void change(Input& input, const Input& other) {
    if (input.empty()) {
      input.push_back(static_cast<std::uint8_t>(below(256)));
      return;
    }
    const std::size_t at = below(input.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(input.size() - at, 1U << below(12)));
    const auto start = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(9)) {
      case 0:
        input[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        input[at] = static_cast<std::uint8_t>(below(256));
        break;
      case 2:
      case 3:
        put_number(input, at);
        break;
      case 4:
        input.resize(at);
        break;
      case 5:
        input.erase(start, start + static_cast<std::ptrdiff_t>(length));
        break;
      case 6: {
        const Input block(start, start + static_cast<std::ptrdiff_t>(length));
        const std::size_t to = below(input.size() + 1);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(to), block.begin(), block.end());
        break;
      }
      case 7:
        std::generate_n(start, std::min<std::size_t>(length, 16),
                        [&] { return static_cast<std::uint8_t>(below(256)); });
        break;
      default:
        splice(input, other, at);
        break;
    }
  }

  /// A number that limits are made of, in 1, 2, 4 or 8 bytes, over what is there.
  void put_number(Input& input, std::size_t at) {
    std::uint64_t number = std::uint64_t{1} << below(64);
    number = below(3) == 0 ? below(70) : number + below(3) - 1;
    if (below(4) == 0) number = ~number + 1;
    const std::size_t size = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - at);
    std::memcpy(input.data() + at, &number, size);
  }

  static void overwrite(Input& input, std::size_t at, const std::uint8_t* from, std::size_t length) {
    std::copy_n(from, std::min(length, input.size() - at), input.data() + at);
  }

  void splice(Input& input, const Input& other, std::size_t at) {
    if (other.empty()) return;
    const std::size_t from = below(other.size());
    const std::size_t length = other.size() - from;
    if (below(2) == 0) {
      overwrite(input, at, other.data() + from, 1 + below(length));
    } else {
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }

  std::mt19937_64 random_;
};

// --- the run -------------------------------------------------------------------------------------------

struct Options {
  std::uint64_t runs = 0;     // 0: no limit
  std::uint64_t seconds = 0;  // 0: no limit
  std::uint64_t seed = 1;
  std::string artifact_prefix = "./";
  std::vector<fs::path> files;
  std::vector<fs::path> folders;
};

Options read_options(int argc, char** argv) {
  Options options;
  const auto value = [](std::string_view argument, std::string_view flag, auto& to) {
    if (!argument.starts_with(flag)) return false;
    const std::string text(argument.substr(flag.size()));
    if constexpr (std::is_same_v<std::decay_t<decltype(to)>, std::string>)
      to = text;
    else
      to = std::strtoull(text.c_str(), nullptr, 10);
    return true;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (value(argument, "-runs=", options.runs) || value(argument, "-max_total_time=", options.seconds) ||
        value(argument, "-seed=", options.seed) ||
        value(argument, "-artifact_prefix=", options.artifact_prefix)) {
      continue;
    }
    if (argument.starts_with("-") || !fs::exists(argument)) {
      std::fprintf(stderr, "%s: neither a flag nor a file\n", argv[i]);
      std::exit(2);
    }
    (fs::is_directory(argument) ? options.folders : options.files).emplace_back(argument);
  }
  return options;
}

std::vector<Input> read_inputs(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);  // so that a seed gives the same run
  std::vector<Input> inputs;
  for (const fs::path& file : files) inputs.push_back(read_file(file));
  return inputs;
}

void keep(const std::vector<fs::path>& folders, const Input& input) {
  if (folders.empty()) return;
  const auto name =
      std::hash<std::string_view>{}({reinterpret_cast<const char*>(input.data()), input.size()});
  write_file(folders.front() / ("reached-" + std::to_string(name)), input);
}

std::uint64_t fuzz(const Options& options, Flight& flight, std::vector<Input> inputs) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  Mutator mutator(options.seed);
  if (inputs.empty()) inputs.emplace_back();
  std::uint64_t run = 0;
  while ((options.runs == 0 || run < options.runs) && (options.seconds == 0 || Clock::now() < end)) {
    Input input = mutator.mutate(inputs[mutator.below(inputs.size())], inputs[mutator.below(inputs.size())]);
    const std::size_t before = places_reached();
    flight.run(input);
    ++run;
    if (places_reached() > before) {
      keep(options.folders, input);
      inputs.push_back(std::move(input));
    }
  }
  std::printf("%zu inputs, %zu places reached\n", inputs.size(), places_reached());
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (!options.files.empty()) {
    for (const fs::path& file : options.files) {
      const Input input = read_file(file);
      std::printf("%s, %zu bytes\n", file.c_str(), input.size());
      run_exactly(input);
    }
    return 0;
  }
  if (options.runs == 0 && options.seconds == 0) {
    std::fprintf(stderr, "say how long: -runs=N or -max_total_time=SECONDS\n");
    return 2;
  }
  const std::string in_flight = options.artifact_prefix + fs::path(argv[0]).filename().string() + "-crash-" +
                                std::to_string(::getpid());
  std::printf("seed %llu; if a run crashes, its input is %s\n", static_cast<unsigned long long>(options.seed),
              in_flight.c_str());
  std::fflush(stdout);
  Flight flight(in_flight);
  const std::vector<Input> inputs = read_inputs(options.folders);
  for (const Input& input : inputs) flight.run(input);
  const std::uint64_t runs = fuzz(options, flight, inputs);
  std::printf("%zu inputs replayed, %llu mutations run, none crashed\n", inputs.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}
