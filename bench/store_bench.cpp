// SPDX-License-Identifier: Apache-2.0
#include "bench/store_bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/measurement.h"
#include "bench/scratch_folder.h"
#include "cache/store/lmdb_store.h"
#include "cache/store/memory_store.h"

namespace kvboost::bench {
namespace {

namespace fs = std::filesystem;

using cache::BlockShape;
using cache::Codec;
using cache::SealedRecord;
using Clock = std::chrono::steady_clock;
using Block = std::vector<std::uint16_t>;

/// Numbers as KV has them: around zero, some channels larger than others.
Block sample_block(const BlockShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> some(4096);
  for (float& value : some) value = normal(random);
  Block block(shape.elements());
  for (std::size_t i = 0; i < block.size(); ++i) {
    const float value = some[random() % some.size()] * (i % 64 == 3 ? 8.0F : 1.0F);
    block[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }
  return block;
}

Result<std::vector<SealedRecord>> make_records(const StoreBench& bench, Codec codec) {
  const std::vector<Codec> per_layer(static_cast<std::size_t>(bench.shape.n_layers), codec);
  std::vector<SealedRecord> records;
  for (std::int32_t i = 0; i < bench.blocks; ++i) {
    const Block block = sample_block(bench.shape, static_cast<unsigned>(i));
    auto payload = cache::encode_block(bench.shape, block, per_layer);
    if (!payload) return fail(payload.error());
    cache::RecordInfo info;
    info.shape = bench.shape;
    info.prefix_key = sha256("block " + std::to_string(i));
    info.content_key = info.prefix_key;
    records.emplace_back(info, *payload);
  }
  return records;
}

/// Reads every record out of the store into `block`, one after another; seconds.
Result<double> time_load(cache::ChunkStore& store, std::span<const SealedRecord> records, Block& block) {
  const auto start = Clock::now();
  for (const SealedRecord& record : records) {
    auto found = store.load(record.info().prefix_key, block);
    if (!found) return fail(found.error());
    if (!*found) return fail(ErrorCode::kInternal, "a block that was just stored is not there");
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_memcpy(std::span<const SealedRecord> records, std::vector<std::byte>& buffer) {
  const auto start = Clock::now();
  for (const SealedRecord& record : records) {
    std::memcpy(buffer.data(), record.bytes().data(), record.size());
    __asm__ volatile("" : : "r"(buffer.data()) : "memory");
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<double> time_file_read(const fs::path& file, std::span<const SealedRecord> records,
                              std::vector<std::byte>& buffer) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(file.string(), errno);
  const auto start = Clock::now();
  for (const SealedRecord& record : records) {
    for (std::size_t done = 0; done < record.size();) {
      const ssize_t read = ::read(descriptor, buffer.data() + done, record.size() - done);
      if (read <= 0) {
        ::close(descriptor);
        return fail(ErrorCode::kIo, file.string() + " cannot be read");
      }
      done += static_cast<std::size_t>(read);
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ::close(descriptor);
  return seconds;
}

Result<void> write_plain(const fs::path& file, std::span<const SealedRecord> records) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail_errno(file.string(), errno);
  Result<void> done;
  for (const SealedRecord& record : records) {
    const ssize_t wanted = static_cast<ssize_t>(record.size());
    if (::write(descriptor, record.bytes().data(), record.size()) != wanted)
      done = fail_errno("write", errno);
  }
  ::close(descriptor);
  return done;
}

/// The median of `runs` of both, taken in turns.
Result<LoadSpeed> measure(LoadSpeed speed, int runs, const std::function<Result<double>()>& load,
                          const std::function<Result<double>()>& plain) {
  std::vector<double> loads;
  std::vector<double> plains;
  for (int run = 0; run < runs; ++run) {
    const auto loaded = load();
    if (!loaded) return fail(loaded.error());
    const auto read = plain();
    if (!read) return fail(read.error());
    loads.push_back(*loaded);
    plains.push_back(*read);
  }
  const auto gigabytes = static_cast<double>(speed.bytes) / 1e9;
  speed.gb_per_s = gigabytes / median(std::move(loads));
  speed.plain_gb_per_s = gigabytes / median(std::move(plains));
  return speed;
}

/// All measurements of one codec.
class CodecRun {
 public:
  CodecRun(const StoreBench& bench, Codec codec, const fs::path& folder,
           std::span<const SealedRecord> records)
      : bench_(bench), folder_(folder), records_(records), block_(bench.shape.elements()) {
    blank_.codec = codec;
    blank_.tokens = static_cast<std::int64_t>(bench.blocks) * bench.shape.n_tokens;
    for (const SealedRecord& record : records) blank_.bytes += record.size();
    buffer_.resize(records.front().size());
    limits_ = {blank_.bytes * 2 + (64ULL << 20), 0};
  }

  [[nodiscard]] Result<void> memory(const LoadSpeedSink& sink) {
    cache::MemoryStore store(limits_.max_bytes);
    for (const SealedRecord& record : records_) {
      if (auto put = store.put(record); !put) return put;
    }
    return add(
        "memory", [&] { return time_load(store, records_, block_); },
        [&] { return Result<double>(time_memcpy(records_, buffer_)); }, sink);
  }

  [[nodiscard]] Result<void> disk(const LoadSpeedSink& sink) {
    const fs::path plain = folder_ / "plain";
    if (auto written = write_plain(plain, records_); !written) return written;
    {
      auto store = cache::LmdbStore::open(folder_, limits_);
      if (!store) return fail(store.error());
      for (const SealedRecord& record : records_) {
        if (auto put = (*store)->put(record); !put) return put;
      }
      auto warm = add(
          "disk, cached", [&] { return time_load(**store, records_, block_); },
          [&] { return time_file_read(plain, records_, buffer_); }, sink);
      if (!warm) return warm;
    }
    return add(
        "disk, cold", [&] { return time_cold_load(); }, [&] { return time_cold_read(plain); }, sink);
  }

 private:
  using Timer = std::function<Result<double>()>;

  Result<void> add(const char* from, const Timer& load, const Timer& plain, const LoadSpeedSink& sink) {
    LoadSpeed speed = blank_;
    speed.from = from;
    auto measured = measure(speed, bench_.runs, load, plain);
    if (!measured) return fail(measured.error());
    sink(*measured);
    return {};
  }

  Result<double> time_cold_load() {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.path().filename() != "data.mdb") continue;
      if (auto cold = make_cold(entry.path()); !cold) return fail(cold.error());
    }
    auto store = cache::LmdbStore::open(folder_, limits_);
    if (!store) return fail(store.error());
    return time_load(**store, records_, block_);
  }

  Result<double> time_cold_read(const fs::path& plain) {
    if (auto cold = make_cold(plain); !cold) return fail(cold.error());
    return time_file_read(plain, records_, buffer_);
  }

  const StoreBench& bench_;
  const fs::path& folder_;
  std::span<const SealedRecord> records_;
  cache::DiskLimits limits_;
  LoadSpeed blank_;
  Block block_;
  std::vector<std::byte> buffer_;
};

double tokens_per_s(const LoadSpeed& speed) {
  return static_cast<double>(speed.tokens) * speed.gb_per_s * 1e9 / static_cast<double>(speed.bytes);
}

}  // namespace

Result<void> run_store_bench(const StoreBench& bench, const LoadSpeedSink& sink) {
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kInt4}) {
    const auto folder = ScratchFolder::make(bench.directory);
    if (!folder) return fail(folder.error());
    const auto records = make_records(bench, codec);
    if (!records) return fail(records.error());
    CodecRun run(bench, codec, folder->path(), *records);
    if (auto done = run.memory(sink); !done) return done;
    if (auto done = run.disk(sink); !done) return done;
  }
  return {};
}

void print_load_json(std::ostream& out, const LoadSpeed& speed) {
  const nlohmann::ordered_json json = {{"from", speed.from},
                                       {"codec", cache::to_string(speed.codec)},
                                       {"bytes", speed.bytes},
                                       {"tokens", speed.tokens},
                                       {"gb_per_s", speed.gb_per_s},
                                       {"tokens_per_s", tokens_per_s(speed)},
                                       {"plain_gb_per_s", speed.plain_gb_per_s}};
  out << json.dump() << '\n' << std::flush;
}

void print_load_table(std::ostream& out, std::span<const LoadSpeed> speeds) {
  out << "from           codec   KB/token      GB/s   tokens/s   plain GB/s   ratio\n" << std::fixed;
  for (const LoadSpeed& speed : speeds) {
    out << std::left << std::setw(15) << speed.from << std::setw(6) << cache::to_string(speed.codec)
        << std::right << std::setprecision(1) << std::setw(10)
        << static_cast<double>(speed.bytes) / static_cast<double>(speed.tokens) / 1e3 << std::setprecision(2)
        << std::setw(10) << speed.gb_per_s << std::setprecision(0) << std::setw(11) << tokens_per_s(speed)
        << std::setprecision(2) << std::setw(13) << speed.plain_gb_per_s << std::setw(8)
        << speed.gb_per_s / speed.plain_gb_per_s << '\n';
  }
}

}  // namespace kvboost::bench
