// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "engine/model/dequantise.h"

namespace kvboost::test {
namespace {

using engine::TensorType;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kAlignment = 32;
constexpr std::size_t kBlock = 32;

/// Rounds a float to `kept` bits of mantissa, to the nearest, ties to even.
std::uint32_t rounded(std::uint32_t bits, int kept) {
  const int dropped = 23 - kept;
  const std::uint32_t half = 1U << (dropped - 1);
  return bits + half - 1 + ((bits >> dropped) & 1U);
}

std::uint16_t bfloat16_bits(float value) {
  return static_cast<std::uint16_t>(rounded(std::bit_cast<std::uint32_t>(value), 7) >> 16);
}

std::uint16_t half_bits(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7C00U;
  if (magnitude < 0x1p-14F) return sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24F));
  const std::uint32_t bits = rounded(std::bit_cast<std::uint32_t>(magnitude), 10);
  return sign | static_cast<std::uint16_t>((bits >> 13) - ((127U - 15U) << 10));
}

int nearest(float value, int least, int most) {
  return std::clamp(static_cast<int>(std::lround(value)), least, most);
}

void put_q8_0(Bytes& to, std::span<const float> block) {
  const float most = std::fabs(*std::ranges::max_element(block, {}, [](float v) { return std::fabs(v); }));
  const float scale = most / 127.0F;
  append(to, half_bits(scale));
  for (const float value : block) {
    append(to, static_cast<std::int8_t>(scale == 0 ? 0 : nearest(value / scale, -127, 127)));
  }
}

/// Two nibbles a byte: value j low, value j + 16 high. `minimum` and `scale` map a value to 0..15.
void put_nibbles(Bytes& to, std::span<const float> block, float minimum, float scale) {
  const auto quant = [&](float value) { return scale == 0 ? 0 : nearest((value - minimum) / scale, 0, 15); };
  for (std::size_t j = 0; j < kBlock / 2; ++j) {
    append(to, static_cast<std::uint8_t>(quant(block[j]) | (quant(block[j + kBlock / 2]) << 4)));
  }
}

void put_q4_0(Bytes& to, std::span<const float> block) {
  const float scale = *std::ranges::max_element(block, {}, [](float v) { return std::fabs(v); }) / -8.0F;
  append(to, half_bits(scale));
  put_nibbles(to, block, -8.0F * scale, scale);
}

void put_q4_1(Bytes& to, std::span<const float> block) {
  const auto [least, most] = std::ranges::minmax(block);
  const float scale = (most - least) / 15.0F;
  append(to, half_bits(scale));
  append(to, half_bits(least));
  put_nibbles(to, block, least, scale);
}

template <class Put>
Bytes blocks(std::span<const float> values, Put put_block) {
  Bytes bytes;
  for (; !values.empty(); values = values.subspan(kBlock)) put_block(bytes, values.first(kBlock));
  return bytes;
}

template <class Put>
Bytes numbers(std::span<const float> values, Put bits) {
  Bytes bytes;
  for (const float value : values) append(bytes, bits(value));
  return bytes;
}

Result<Bytes> encode(TensorType type, std::span<const float> values) {
  switch (type) {
    case TensorType::kF32:
      return numbers(values, [](float value) { return value; });
    case TensorType::kF16:
      return numbers(values, half_bits);
    case TensorType::kBF16:
      return numbers(values, bfloat16_bits);
    case TensorType::kQ8_0:
      return blocks(values, put_q8_0);
    case TensorType::kQ4_0:
      return blocks(values, put_q4_0);
    case TensorType::kQ4_1:
      return blocks(values, put_q4_1);
    default:
      return fail(ErrorCode::kInvalidArgument, "no encoder for " + std::string(to_string(type)));
  }
}

void pad(Bytes& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

void GgufWriter::put_text(Bytes& to, std::string_view text) {
  append<std::uint64_t>(to, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Result<void> GgufWriter::add_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                                    TensorType type, std::span<const float> values) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  if (shape.empty() || elements != static_cast<std::int64_t>(values.size()) ||
      shape[0] % engine::block_format(type).elements != 0) {
    return fail(ErrorCode::kInvalidArgument, "the shape of " + name + " does not fit its data or its type");
  }
  auto data = encode(type, values);
  if (!data) return fail(data.error());
  tensors_[name] = {shape, type, std::move(*data)};
  return {};
}

std::vector<std::byte> GgufWriter::bytes() const {
  constexpr std::uint32_t kVersion = 3;
  Bytes file;
  for (const char c : {'G', 'G', 'U', 'F'}) append(file, c);
  append(file, kVersion);
  append<std::uint64_t>(file, tensors_.size());
  append<std::uint64_t>(file, metadata_.size());
  for (const auto& [key, value] : metadata_) {
    put_text(file, key);
    file.insert(file.end(), value.begin(), value.end());
  }
  Bytes data;
  for (const auto& [name, tensor] : tensors_) {
    put_text(file, name);
    append(file, static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::int64_t size : tensor.shape) append(file, size);
    append(file, tensor.type);
    append<std::uint64_t>(file, data.size());
    data.insert(data.end(), tensor.data.begin(), tensor.data.end());
    pad(data);
  }
  pad(file);
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Result<void> GgufWriter::write(const std::filesystem::path& file) const {
  const Bytes content = bytes();
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (!stream) return fail_errno("cannot write " + file.string(), errno);
  return {};
}

}  // namespace kvboost::test
