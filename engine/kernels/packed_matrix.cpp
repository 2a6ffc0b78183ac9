// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/kernels/packed_group.h"
#include "engine/model/half.h"
#include "engine/model/quant_block.h"

namespace kvboost::engine {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLanes = kPackedGroup;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct GroupSizes {
  std::size_t quants, total;
};

GroupSizes group_sizes(TensorType type, std::int64_t inputs) {
  return with_format(type, [&]<class F>(F) {
    const auto units = static_cast<std::size_t>(inputs / kPackedUnit);
    const std::size_t quants = units * F::kUnitBytes;
    const std::size_t scales = units * F::kSubBytes + units / F::kUnitsPerBlock * F::kHalvesBytes;
    return GroupSizes{quants, aligned(quants + scales)};
  });
}

/// Puts one output's blocks into its lane of a group, front to back.
template <class F>
class LaneWriter {
 public:
  LaneWriter(std::byte* quants, std::byte* scales, std::size_t lane)
      : quants_(reinterpret_cast<std::uint8_t*>(quants)), scales_(scales), lane_(lane) {}

  void put(const QuantBlock& block) {
    put_half(block.scale, 0);
    if constexpr (F::kMinimum) put_half(block.minimum, 1);
    scales_ += F::kHalvesBytes;
    for (int unit = 0; unit < F::kUnitsPerBlock; ++unit) {
      put_quants(block.quants.data() + unit * kPackedUnit);
      if constexpr (F::kNested) put_sub_scales(block, unit * F::kSubUnits);
    }
  }

 private:
  void put_half(std::uint16_t half, std::size_t which) {
    std::memcpy(scales_ + (which * kLanes + lane_) * sizeof half, &half, sizeof half);
  }

  void put_sub_scales(const QuantBlock& block, int first) {
    for (int sub = 0; sub < F::kSubUnits; ++sub) {
      scales_[sub * kLanes + lane_] = static_cast<std::byte>(block.scales[first + sub]);
      if constexpr (F::kMinimum) {
        scales_[(F::kSubUnits + sub) * kLanes + lane_] = static_cast<std::byte>(block.minima[first + sub]);
      }
    }
    scales_ += F::kSubBytes;
  }

  void put_quants(const std::uint8_t* from) {
    constexpr std::size_t kChunk = 4;
    constexpr std::size_t kInputs = F::kNibbles ? 2 * kChunk : kChunk;
    for (std::size_t at = 0; at < kPackedUnit; at += kInputs, quants_ += kChunk * kLanes) {
      for (std::size_t j = 0; j < kChunk; ++j) {
        const int high = F::kNibbles ? from[at + kChunk + j] << 4 : 0;
        quants_[lane_ * kChunk + j] = static_cast<std::uint8_t>(from[at + j] | high);
      }
    }
  }

  std::uint8_t* quants_;
  std::byte* scales_;
  std::size_t lane_;
};

/// Takes one lane of a group out again.
template <class F>
void read_lane(const PackedGroup& group, std::ptrdiff_t lane, std::span<float> to) {
  const auto half = [](const std::byte* at) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return half_to_float(bits);
  };
  constexpr int kSubInputs = kPackedUnit / F::kSubUnits;
  const std::uint8_t* quants = group.quants + lane * 4;
  const std::byte* scales = group.scales;
  for (float* out = to.data(); out != to.data() + to.size();) {
    const float scale = half(scales + lane * 2);
    const float minimum = F::kMinimum ? half(scales + 32 + lane * 2) : 0.0F;
    scales += F::kHalvesBytes;
    for (int sub = 0; sub < F::kUnitsPerBlock * F::kSubUnits; ++sub) {
      float step = scale;
      float least = minimum;
      if constexpr (F::kNested) {
        const std::byte* of_unit = scales + sub / F::kSubUnits * F::kSubBytes + lane;
        step *= static_cast<float>(static_cast<std::int8_t>(of_unit[sub % F::kSubUnits * 16]));
        if constexpr (F::kMinimum) {
          least *=
              static_cast<float>(std::to_integer<int>(of_unit[(F::kSubUnits + sub % F::kSubUnits) * 16]));
        }
      }
      for (int i = 0; i < kSubInputs; i += F::kNibbles ? 8 : 4, quants += 64) {
        for (int j = 0; j < 4; ++j)
          *out++ = step * static_cast<float>((F::kNibbles ? quants[j] & 15 : quants[j]) + F::kOffset) + least;
        if constexpr (F::kNibbles) {
          for (int j = 0; j < 4; ++j)
            *out++ = step * static_cast<float>((quants[j] >> 4) + F::kOffset) + least;
        }
      }
    }
    if constexpr (F::kNested) scales += F::kUnitsPerBlock * F::kSubBytes;
  }
}

enum class Kernels { kPortable, kAvx2, kAvx512 };

Kernels kernels_of_cpu() {
  static const Kernels kernels = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
      return Kernels::kAvx512;
    }
    const bool haswell =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    return haswell ? Kernels::kAvx2 : Kernels::kPortable;
  }();
  return kernels;
}

GroupProduct group_product(TensorType type) {
  switch (kernels_of_cpu()) {
    case Kernels::kAvx512:
      return group_product_avx512(type);
    case Kernels::kAvx2:
      return group_product_avx2(type);
    case Kernels::kPortable:
      break;
  }
  return group_product_portable(type);
}

}  // namespace

void PackedRow::set(std::span<const float> x) {
  constexpr float kMost = 127 * 256 + 127;
  constexpr std::size_t kUnit = kPackedUnit;
  const std::size_t units = x.size() / kUnit;
  high_.resize(x.size());
  low_.resize(x.size());
  scales_.resize(units);
  sums_.resize(2 * units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const float* from = x.data() + unit * kUnit;
    float most = 0.0F;
    float zero = 0.0F;  // NaN if a value isn't finite
    for (std::size_t i = 0; i < kUnit; ++i) {
      most = std::max(most, std::fabs(from[i]));
      zero += from[i] * 0.0F;
    }
    scales_[unit] = most / kMost + zero;
    const float inverse = most > 0.0F && zero == 0.0F ? kMost / most : 0.0F;
    std::int32_t sums[2] = {0, 0};
    for (std::size_t i = 0; i < kUnit; ++i) {
      const auto whole = static_cast<std::int32_t>(from[i] * inverse + std::copysign(0.5F, from[i]));
      const std::int32_t high = (whole + 128) >> 8;
      high_[unit * kUnit + i] = static_cast<std::int8_t>(high);
      low_[unit * kUnit + i] = static_cast<std::int8_t>(whole - high * 256);
      sums[i / 16] += whole;
    }
    sums_[2 * unit] = sums[0];
    sums_[2 * unit + 1] = sums[1];
  }
}

bool PackedMatrix::packs(TensorType type) {
  return quant_layout(type).has_value();
}

std::size_t PackedMatrix::bytes(const GgufTensor& tensor) {
  const auto groups = static_cast<std::size_t>((tensor.shape[1] + kPackedGroup - 1) / kPackedGroup);
  return groups * group_sizes(tensor.type, tensor.shape[0]).total;
}

PackedMatrix PackedMatrix::pack(const GgufTensor& tensor, std::span<std::byte> memory) {
  PackedMatrix matrix;
  matrix.type_ = tensor.type;
  matrix.inputs_ = static_cast<std::int32_t>(tensor.shape[0]);
  matrix.outputs_ = static_cast<std::int32_t>(tensor.shape[1]);
  matrix.group_bytes_ = group_sizes(tensor.type, tensor.shape[0]).total;
  matrix.groups_ = memory.data();
  std::memset(memory.data(), 0, memory.size());  // the last group's lanes without an output
  for (std::int32_t group = 0; group < matrix.n_groups(); ++group) {
    matrix.pack_group(tensor, group, memory.data() + static_cast<std::size_t>(group) * matrix.group_bytes_);
  }
  return matrix;
}

void PackedMatrix::pack_group(const GgufTensor& tensor, std::int32_t group, std::byte* to) const {
  with_format(type_, [&]<class F>(F) {
    const auto layout = *quant_layout(type_);
    const std::int32_t blocks = inputs_ / layout.elements;
    std::byte* scales = to + group_sizes(type_, inputs_).quants;
    QuantBlock block{};
    for (std::int32_t lane = 0; lane < std::min(kPackedGroup, outputs_ - group * kPackedGroup); ++lane) {
      const std::int64_t output = std::int64_t{group} * kPackedGroup + lane;
      const std::byte* from = tensor.data.data() + output * blocks * layout.bytes;
      LaneWriter<F> writer(to, scales, static_cast<std::size_t>(lane));
      for (std::int32_t b = 0; b < blocks; ++b, from += layout.bytes) {
        take_apart(type_, from, block);
        writer.put(block);
      }
    }
  });
}

void PackedMatrix::row(std::int32_t output, std::span<float> to) const {
  const std::byte* at = groups_ + static_cast<std::size_t>(output / kPackedGroup) * group_bytes_;
  const PackedGroup group{reinterpret_cast<const std::uint8_t*>(at), at + group_sizes(type_, inputs_).quants};
  with_format(type_, [&]<class F>(F) { read_lane<F>(group, output % kPackedGroup, to); });
}

void PackedMatrix::multiply(const PackedRow& x, std::int32_t first, std::int32_t last, float* y) const {
  const GroupProduct product = group_product(type_);
  const std::size_t quant_bytes = group_sizes(type_, inputs_).quants;
  for (std::int32_t group = first; group < last; ++group) {
    const std::byte* at = groups_ + static_cast<std::size_t>(group) * group_bytes_;
    const PackedGroup packed{reinterpret_cast<const std::uint8_t*>(at), at + quant_bytes};
    float* to = y + static_cast<std::size_t>(group) * kLanes;
    const std::int32_t left = outputs_ - group * kPackedGroup;
    if (left >= kPackedGroup) {
      product(packed, x, to);
    } else {
      float all[kPackedGroup];
      product(packed, x, all);
      std::copy_n(all, left, to);
    }
  }
}

std::string_view packed_kernels() {
  switch (kernels_of_cpu()) {
    case Kernels::kAvx512:
      return "avx512-vnni";
    case Kernels::kAvx2:
      return "avx2";
    case Kernels::kPortable:
      break;
  }
  return "portable";
}

}  // namespace kvboost::engine
