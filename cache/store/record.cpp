// SPDX-License-Identifier: Apache-2.0
#include "cache/store/record.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <string>

#include "base/bytes.h"

namespace kvboost::cache {
namespace {

constexpr std::uint32_t kMagic = std::bit_cast<std::uint32_t>(std::array{'K', 'V', 'B', 'R'});
constexpr std::size_t kChecksumAt = kRecordHeaderBytes - sizeof(std::uint64_t);

/// The header as it lies in memory and on disk.
struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kRecordVersion;
  std::uint64_t size = 0;
  BlockShape shape;
  Digest prefix_key;
  Digest content_key;
  float importance = 0;
  float rebuild_ms = 0;
  Digest model;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == kRecordHeaderBytes && offsetof(Header, checksum) == kChecksumAt);
static_assert(std::is_trivially_copyable_v<Header> && std::endian::native == std::endian::little);

std::uint64_t seed_of(std::span<const std::byte> record) {
  return XXH3_64bits(record.data(), kChecksumAt);
}

std::uint64_t checksum_of(std::span<const std::byte> record) {
  const auto payload = record.subspan(kRecordHeaderBytes);
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed_of(record));
}

}  // namespace

std::vector<std::byte> seal_record(const RecordInfo& info, std::span<const std::byte> payload) {
  Header header;
  header.size = payload.size();
  header.shape = info.shape;
  header.model = info.model;
  header.prefix_key = info.prefix_key;
  header.content_key = info.content_key;
  header.importance = info.importance;
  header.rebuild_ms = info.rebuild_ms;
  std::vector<std::byte> record(kRecordHeaderBytes + payload.size());
  std::memcpy(record.data(), &header, sizeof header);
  std::ranges::copy(payload, record.begin() + kRecordHeaderBytes);
  header.checksum = checksum_of(record);
  std::memcpy(record.data(), &header, sizeof header);
  return record;
}

namespace {

struct StateFree {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// What stands in the header of a record whose checksum is still to be compared.
struct Unchecked {
  RecordView view;
  std::uint64_t checksum;
};

Result<Unchecked> read_header(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto header = reader.read<Header>();
  if (!header || header->magic != kMagic) return fail(ErrorCode::kCorrupt, "this is no record");
  if (header->version != kRecordVersion) {
    return fail(ErrorCode::kNotFound, "a record of version " + std::to_string(header->version));
  }
  if (header->size != reader.remaining()) {
    return fail(ErrorCode::kCorrupt, "the record has " + std::to_string(reader.remaining()) + " bytes, not " +
                                         std::to_string(header->size));
  }
  const RecordInfo info{header->shape,       header->model,      header->prefix_key,
                        header->content_key, header->importance, header->rebuild_ms};
  return Unchecked{{info, bytes.subspan(kRecordHeaderBytes)}, header->checksum};
}

std::unexpected<Error> wrong_checksum() {
  return fail(ErrorCode::kCorrupt, "the record's checksum is wrong");
}

}  // namespace

Result<RecordView> open_record(std::span<const std::byte> bytes) {
  auto record = read_header(bytes);
  if (!record) return fail(record.error());
  if (record->checksum != checksum_of(bytes)) return wrong_checksum();
  return record->view;
}

Result<RecordInfo> decode_record(std::span<const std::byte> bytes, std::vector<std::uint16_t>& block) {
  const auto record = read_header(bytes);
  if (!record) return fail(record.error());
  const auto& [info, payload] = record->view;
  // Nothing is checked yet: the shape must fit the bytes that are there before memory is taken for it.
  if (auto fits = codecs_of(info.shape, payload); !fits) return fail(fits.error());
  block.resize(info.shape.elements());
  const std::unique_ptr<XXH3_state_t, StateFree> state(XXH3_createState());
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset_withSeed(state.get(), seed_of(bytes));
  auto decoded = decode_block(info.shape, payload, block, [&](std::span<const std::byte> part) {
    XXH3_64bits_update(state.get(), part.data(), part.size());
  });
  if (!decoded) return fail(decoded.error());
  if (record->checksum != XXH3_64bits_digest(state.get())) return wrong_checksum();
  return info;
}

Digest content_key_of(std::span<const std::byte> bytes) {
  Digest key;
  std::memcpy(key.bytes.data(), bytes.data() + offsetof(Header, content_key), key.bytes.size());
  return key;
}

float value_norm(const BlockShape& shape, std::span<const std::uint16_t> block) {
  const auto head = static_cast<std::size_t>(shape.head_dim);
  double sum = 0;
  for (std::int32_t layer = 0; layer < shape.n_layers; ++layer) {
    const std::uint16_t* values = block.data() + (2 * static_cast<std::size_t>(layer) + 1) * shape.plane();
    for (std::size_t first = 0; first < shape.plane(); first += head) {
      // Several sums, so that the compiler may use vectors: in order, float addition is a chain.
      std::array<float, 16> squares{};
      for (std::size_t i = 0; i < head; ++i) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(values[first + i]) << 16);
        squares[i % squares.size()] += value * value;
      }
      sum += std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0F));
    }
  }
  const double vectors = static_cast<double>(shape.plane() / std::max<std::size_t>(head, 1)) * shape.n_layers;
  return vectors > 0 ? static_cast<float>(sum / vectors) : 0.0F;
}

}  // namespace kvboost::cache
