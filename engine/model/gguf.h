// SPDX-License-Identifier: Apache-2.0
// Gguf: a memory-mapped GGUF v2/v3 file (ggml-org/ggml, docs/gguf.md), every length and offset checked
// against the file before use. Torch-free. Immutable after open: any thread may read. All views live as
// long as the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace kvboost::engine {

/// ggml_type of the file; the values are the format's.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};
[[nodiscard]] std::string_view to_string(TensorType type);

struct GgufTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;  // as in the file: shape[0] is the contiguous dimension
  std::span<const std::byte> data;  // in the map, length checked against type and shape
  [[nodiscard]] std::int64_t elements() const;
};

/// A metadata value. Integers of every width come as int64 (uint64 above 2^63 - 1 is refused as corrupt),
/// floats as double, arrays of numbers as vectors.
using GgufValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, std::vector<bool>>;

class Gguf {
 public:
  /// kNotFound, kIo, kInvalidArgument for what is no regular file, or kCorrupt with what is wrong at which
  /// offset; another version or byte order is kModel, and so is an unknown tensor type: it names the tensor.
  [[nodiscard]] static Result<Gguf> open(const std::filesystem::path& file);
  /// The same over bytes that the caller keeps alive (fuzzing, tests).
  [[nodiscard]] static Result<Gguf> parse(std::span<const std::byte> bytes);

  Gguf(Gguf&&) noexcept;
  Gguf& operator=(Gguf&&) noexcept;
  ~Gguf();

  [[nodiscard]] const GgufValue* find(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;  // an integer too
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  /// nullptr if absent or of another type.
  [[nodiscard]] const std::vector<std::string>* texts(std::string_view key) const;
  [[nodiscard]] const std::vector<std::int64_t>* integers(std::string_view key) const;
  [[nodiscard]] const std::vector<double>* numbers(std::string_view key) const;

  [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const;
  [[nodiscard]] const std::map<std::string, GgufValue, std::less<>>& metadata() const;
  [[nodiscard]] std::uint32_t version() const;
  [[nodiscard]] std::span<const std::byte> bytes() const;  // the whole file

  /// kCorrupt when the file has been cut short since: ask right before reading tensor data, since a read
  /// past a mapped file's end ends the process.
  [[nodiscard]] Result<void> check_size() const;

 private:
  struct Impl;
  explicit Gguf(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::engine
