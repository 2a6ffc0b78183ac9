// SPDX-License-Identifier: Apache-2.0
// GgufWriter: puts a GGUF v3 file together for tests: typed metadata, tensors from float data. Keys and
// tensors can be replaced and removed, so that a test can start from a good file and break one thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "engine/model/gguf.h"

namespace kvboost::test {

/// The number's bytes behind those that are there.
template <class T>
void append(std::vector<std::byte>& to, T value) {
  const std::size_t size = to.size();
  to.resize(size + sizeof value);
  std::memcpy(to.data() + size, &value, sizeof value);
}

class GgufWriter {
 public:
  /// The kind in the file is that of T: bool, std::string, a number of any width, or a vector of one of
  /// these. A key that is there already is replaced.
  template <class T>
  void set(const std::string& key, const T& value) {
    put_value(metadata_[key], value);
  }
  void set(const std::string& key, const char* value) { set(key, std::string(value)); }
  void remove(const std::string& key) { metadata_.erase(key); }

  /// `shape[0]` is the contiguous dimension, a multiple of the type's block. Types: F32, F16, BF16, Q8_0,
  /// Q4_0, Q4_1; kInvalidArgument for another one or for data that does not fill the shape. Replaces a
  /// tensor of that name.
  [[nodiscard]] Result<void> add_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                                        engine::TensorType type, std::span<const float> values);
  void remove_tensor(const std::string& name) { tensors_.erase(name); }

  [[nodiscard]] std::vector<std::byte> bytes() const;
  [[nodiscard]] Result<void> write(const std::filesystem::path& file) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Tensor {
    std::vector<std::int64_t> shape;
    engine::TensorType type;
    Bytes data;
  };
  enum class Kind : std::uint32_t {
    kU8,
    kI8,
    kU16,
    kI16,
    kU32,
    kI32,
    kF32,
    kBool,
    kText,
    kArray,
    kU64,
    kI64,
    kF64
  };

  template <class T>
  static constexpr Kind kind_of() {
    if constexpr (std::is_same_v<T, bool>)
      return Kind::kBool;
    else if constexpr (std::is_same_v<T, std::string>)
      return Kind::kText;
    else if constexpr (std::is_same_v<T, float>)
      return Kind::kF32;
    else if constexpr (std::is_same_v<T, double>)
      return Kind::kF64;
    else if constexpr (sizeof(T) == 1)
      return std::is_signed_v<T> ? Kind::kI8 : Kind::kU8;
    else if constexpr (sizeof(T) == 2)
      return std::is_signed_v<T> ? Kind::kI16 : Kind::kU16;
    else if constexpr (sizeof(T) == 4)
      return std::is_signed_v<T> ? Kind::kI32 : Kind::kU32;
    else
      return std::is_signed_v<T> ? Kind::kI64 : Kind::kU64;
  }

  static void put_text(Bytes& to, std::string_view text);
  template <class T>
  static void put_element(Bytes& to, const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      put_text(to, value);
    else
      append(to, value);
  }

  template <class T>
  static void put_value(Bytes& to, const T& value) {
    to.clear();
    append(to, kind_of<T>());
    put_element(to, value);
  }
  template <class T>
  static void put_value(Bytes& to, const std::vector<T>& values) {
    to.clear();
    append(to, Kind::kArray);
    append(to, kind_of<T>());
    append<std::uint64_t>(to, values.size());
    for (const T& value : values) put_element(to, value);
  }

  std::map<std::string, Bytes> metadata_;  // kind and value, as in the file
  std::map<std::string, Tensor> tensors_;
};

}  // namespace kvboost::test
