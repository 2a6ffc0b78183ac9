// SPDX-License-Identifier: Apache-2.0
// Loads and stores of float32 and bfloat16 as float vectors, over Highway. Included once a target by the
// kernels' own files (hence the double guard); pure, any thread.
#if defined(KVBOOST_ENGINE_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVBOOST_ENGINE_KERNELS_SIMD_INL_H
#undef KVBOOST_ENGINE_KERNELS_SIMD_INL_H
#else
#define KVBOOST_ENGINE_KERNELS_SIMD_INL_H
#endif

#include <hwy/highway.h>

#include "engine/kernels/bfloat16.h"

HWY_BEFORE_NAMESPACE();
namespace kvboost::engine {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

HWY_INLINE FloatVector load(const float* at) {
  return hn::LoadU(FloatTag(), at);
}
HWY_INLINE FloatVector load(const BFloat16* at) {
  const hn::RebindToUnsigned<FloatTag> words;
  const hn::Rebind<std::uint16_t, FloatTag> halves;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(at));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
}

HWY_INLINE void store(FloatVector value, float* at) {
  hn::StoreU(value, FloatTag(), at);
}
/// Rounds to nearest even. A NaN comes out as a NaN: those of arithmetic have a payload that can't overflow.
HWY_INLINE void store(FloatVector value, BFloat16* at) {
  const hn::RebindToUnsigned<FloatTag> words;
  const hn::RebindToSigned<FloatTag> numbers;
  const hn::Rebind<std::uint16_t, FloatTag> halves;
  const auto bits = hn::BitCast(words, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFF))));
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(numbers, rounded)), halves,
             reinterpret_cast<std::uint16_t*>(at));
}

HWY_INLINE float sum_of(FloatVector value) {
  return hn::GetLane(hn::SumOfLanes(FloatTag(), value));
}

}  // namespace HWY_NAMESPACE
}  // namespace kvboost::engine
HWY_AFTER_NAMESPACE();

#endif
