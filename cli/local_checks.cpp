// SPDX-License-Identifier: Apache-2.0
#include "cli/local_checks.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/bytes.h"
#include "base/paths.h"
#include "cli/installation.h"
#include "cli/start_daemon.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;
using protocol::DoctorCheck;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kLittleMemory = 1000 * kMegabyte;
constexpr std::uint64_t kLittleDisk = 2000 * kMegabyte;
constexpr std::uint64_t kNoDisk = 50 * kMegabyte;

DoctorCheck check_memory() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t available = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) available = std::strtoull(line.c_str() + 13, nullptr, 10) * 1024;
  }
  if (available == 0) return {"memory", kWarning, "the system does not say how much is free", ""};
  const std::string detail = human_size(available) + " available";
  if (available > kLittleMemory) return {"memory", kOk, detail, ""};
  return {"memory", kWarning, detail + ": the system may start to swap, or end the daemon",
          "close other programs, choose a smaller model, or lower context and max_memory"};
}

DoctorCheck check_programs() {
  const auto daemon = find_daemon();
  if (!daemon) return {"programs", kFailed, daemon.error().message, daemon.error().remedy};
  // The dynamic loader resolves the engine's libraries before the program can say its version.
  const auto output = run_program(*daemon, "--version");
  if (!output) return {"programs", kFailed, output.error().message, output.error().remedy};
  return {"programs", kOk, daemon->string() + ": " + output->substr(0, output->find('\n')), ""};
}

std::vector<DoctorCheck> check_configuration(const Result<Config>& config) {
  if (!config) return {{"configuration", kFailed, config.error().message, config.error().remedy}};
  std::vector<DoctorCheck> checks;
  const ConfigSources sources = Config::process_sources();
  checks.push_back(
      {"configuration", kOk,
       sources.user_file ? sources.user_file->string() : "no file: all options at their defaults", ""});
  for (const std::string& warning : config->warnings())
    checks.push_back({"configuration", kWarning, warning, ""});
  return checks;
}

/// The nearest folder upwards that is there.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

DoctorCheck check_directory(const std::string& name, const Result<fs::path>& dir) {
  if (!dir) return {name, kFailed, dir.error().message, dir.error().remedy};
  std::error_code error;
  if (!fs::exists(*dir, error)) {
    const fs::path parent = existing(*dir);
    if (::access(parent.c_str(), W_OK | X_OK) == 0)
      return {name, kOk, dir->string() + " (made on first use)", ""};
    return {name, kFailed, dir->string() + " cannot be made: " + parent.string() + " is not writable",
            "make it yourself, or set the XDG variable for it"};
  }
  if (auto good = ensure_private_dir(*dir); !good)
    return {name, kFailed, good.error().message, good.error().remedy};
  return {name, kOk, dir->string(), ""};
}

DoctorCheck check_disk(const std::string& name, const Result<fs::path>& dir) {
  if (!dir) return {name, kFailed, dir.error().message, dir.error().remedy};
  struct statvfs disk {};
  const fs::path place = existing(*dir);
  if (::statvfs(place.c_str(), &disk) != 0) {
    return {name, kWarning, place.string() + ": " + std::strerror(errno), ""};
  }
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::string detail = human_size(free) + " free at " + place.string();
  if (free < kNoDisk) return {name, kFailed, detail, "free some space there"};
  if (free < kLittleDisk)
    return {name, kWarning, detail + ": too little for another model", "free some space there"};
  return {name, kOk, detail, ""};
}

}  // namespace

DoctorCheck check_cpu(const CpuFeatures& cpu) {
  const std::string about = (cpu.name.empty() ? "unnamed" : cpu.name) + " [" + to_string(cpu) + "]: ";
  if (!cpu.x86) return {"CPU", kWarning, "no x86-64 CPU: the engine is only tried on those", ""};
  if (cpu.amx_bf16)
    return {"CPU", kOk, about + "computes bf16 in tiles, the fastest way to read prompts", ""};
  if (cpu.avx512_bf16) return {"CPU", kOk, about + "computes bf16 in hardware", ""};
  if (cpu.avx2 && cpu.fma && cpu.f16c) {
    return {"CPU", kOk, about + "no bf16 in hardware: computes in f32, which reads prompts more slowly", ""};
  }
  return {"CPU", kWarning, about + "without AVX2, FMA and F16C the engine runs, but very slowly",
          "use a machine with a newer CPU, or a very small model"};
}

std::vector<DoctorCheck> local_checks(const Result<Config>& config) {
  std::vector<DoctorCheck> checks = {check_cpu(probe_cpu_features()), check_memory(), check_programs()};
  for (DoctorCheck& check : check_configuration(config)) checks.push_back(std::move(check));
  checks.push_back(check_directory("data directory", data_dir()));
  checks.push_back(check_directory("cache directory", cache_dir()));
  checks.push_back(check_directory("state directory", state_dir()));
  checks.push_back(check_directory("runtime directory", runtime_dir()));
  checks.push_back(check_disk("disk for models", data_dir()));
  checks.push_back(check_disk("disk for the cache", cache_dir()));
  return checks;
}

}  // namespace kvboost::cli
