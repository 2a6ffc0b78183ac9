// SPDX-License-Identifier: Apache-2.0
// The file, as it is read here (all numbers little-endian):
//
//   file     = "GGUF" u32:version u64:tensors u64:pairs pair* tensor* padding data
//   pair     = text:key u32:kind value
//   text     = u64:length byte*
//   value    = a number, a byte 0 or 1, a text, or u32:kind u64:count value*
//   tensor   = text:name u32:dimensions u64* u32:type u64:offset     offset counts from the data's start
//   padding  = bytes up to a multiple of general.alignment (32 by default)
//
// Every count is checked against the bytes that are left, and against a limit, before memory is taken for it.
#include "engine/model/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/bytes.h"
#include "engine/model/dequantise.h"
#include "engine/model/gguf_refusal.h"

namespace kvboost::engine {
namespace {

// Far above any real model; they bound the memory that a hostile header can ask for.
constexpr std::uint64_t kMaxTensors = 1U << 16;
constexpr std::uint64_t kMaxPairs = 1U << 16;
constexpr std::uint64_t kMaxNameLength = 1U << 16;
constexpr std::uint64_t kMaxTextLength = 1U << 26;
constexpr std::uint64_t kMaxElements = 1U << 24;  // of all arrays together
constexpr std::uint64_t kMaxAlignment = 1U << 16;
constexpr std::uint32_t kMaxDimensions = 4;

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 8 + 4 + 8;
constexpr std::uint64_t kLeastPairBytes = 8 + 4 + 1;

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

/// Bytes of one element of the kind, of a text the least; 0 for what no array is made of here.
std::uint64_t least_bytes(Kind kind) {
  constexpr std::array<std::uint8_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  const auto number = static_cast<std::size_t>(kind);
  return number < kBytes.size() ? kBytes[number] : 0;
}

std::optional<TensorType> known_type(std::uint32_t number) {
  const auto type = static_cast<TensorType>(number);
  if (to_string(type) == "unknown") return std::nullopt;
  return type;
}

/// The first failure is kept, with the place it was met at; from then on every read gives zero. So the
/// grammar above reads straight through, and failure is asked about once a rule.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> bytes) : reader_(bytes), bytes_(bytes) {}

  Result<GgufHeader> read();

 private:
  template <class T>
  T number();
  std::string text(std::uint64_t limit);
  std::int64_t unsigned_integer();
  bool boolean();

  void read_counts();
  void read_pair();
  GgufValue value(Kind kind);
  GgufValue array();
  template <class T, class Read>
  std::vector<T> elements(std::uint64_t count, Read read);
  void read_tensor();
  void read_shape(GgufTensor& tensor);
  std::uint64_t data_bytes(const GgufTensor& tensor);
  void place_tensors();
  std::uint64_t alignment();

  void corrupt(const std::string& message);
  void refuse(ErrorCode code, std::string message, std::string remedy);
  void incomplete(const std::string& what);

  ByteReader reader_;
  std::span<const std::byte> bytes_;
  GgufHeader header_;
  std::optional<Error> error_;
  std::string where_ = "the header";
  std::uint64_t n_tensors_ = 0;
  std::uint64_t n_pairs_ = 0;
  std::uint64_t elements_left_ = kMaxElements;
  std::vector<std::uint64_t> offsets_;  // of each tensor, in the data
};

Result<GgufHeader> HeaderReader::read() {
  read_counts();
  for (std::uint64_t i = 0; i < n_pairs_ && !error_; ++i) read_pair();
  if (!error_) header_.tensors.reserve(n_tensors_);
  for (std::uint64_t i = 0; i < n_tensors_ && !error_; ++i) read_tensor();
  if (!error_) place_tensors();
  if (error_) return fail(*error_);
  return std::move(header_);
}

void HeaderReader::read_counts() {
  constexpr std::string_view kMagic = "GGUF";
  const auto magic = reader_.take_text(std::min<std::uint64_t>(kMagic.size(), bytes_.size()));
  if (!magic || *magic != kMagic) {
    error_ = not_gguf(bytes_);
    return;
  }
  header_.version = number<std::uint32_t>();
  if (error_) return;
  const std::string convert = "convert it again with a current llama.cpp";
  if ((header_.version & 0xFFFFU) == 0) {
    return refuse(ErrorCode::kModel, "it is a big-endian GGUF file, which is not supported", convert);
  }
  if (header_.version < 2 || header_.version > 3) {
    return refuse(
        ErrorCode::kModel,
        "its GGUF version is " + std::to_string(header_.version) + "; versions 2 and 3 are supported",
        header_.version < 2 ? convert : "use a newer kvboost");
  }
  n_tensors_ = number<std::uint64_t>();
  n_pairs_ = number<std::uint64_t>();
  if (error_) return;
  if (n_tensors_ > std::min(kMaxTensors, reader_.remaining() / kLeastTensorBytes)) {
    corrupt("has an absurd number of tensors, " + std::to_string(n_tensors_));
  }
  if (n_pairs_ > std::min(kMaxPairs, reader_.remaining() / kLeastPairBytes)) {
    corrupt("has an absurd number of metadata keys, " + std::to_string(n_pairs_));
  }
}

void HeaderReader::read_pair() {
  where_ = "a metadata key";
  const std::string key = text(kMaxNameLength);
  if (error_) return;
  where_ = "metadata key " + shown(key);
  if (key.empty()) return corrupt("is empty");
  const auto kind = static_cast<Kind>(number<std::uint32_t>());
  GgufValue read = value(kind);
  if (error_) return;
  if (!header_.metadata.emplace(key, std::move(read)).second) corrupt("stands there twice");
}

GgufValue HeaderReader::value(Kind kind) {
  switch (kind) {
    case Kind::kU8:
      return std::int64_t{number<std::uint8_t>()};
    case Kind::kI8:
      return std::int64_t{number<std::int8_t>()};
    case Kind::kU16:
      return std::int64_t{number<std::uint16_t>()};
    case Kind::kI16:
      return std::int64_t{number<std::int16_t>()};
    case Kind::kU32:
      return std::int64_t{number<std::uint32_t>()};
    case Kind::kI32:
      return std::int64_t{number<std::int32_t>()};
    case Kind::kU64:
      return unsigned_integer();
    case Kind::kI64:
      return number<std::int64_t>();
    case Kind::kF32:
      return double{number<float>()};
    case Kind::kF64:
      return number<double>();
    case Kind::kBool:
      return boolean();
    case Kind::kText:
      return text(kMaxTextLength);
    case Kind::kArray:
      return array();
  }
  corrupt("has a value of unknown kind " + std::to_string(static_cast<std::uint32_t>(kind)));
  return false;
}

GgufValue HeaderReader::array() {
  const auto kind = static_cast<Kind>(number<std::uint32_t>());
  const auto count = number<std::uint64_t>();
  if (error_) return false;
  const std::uint64_t least = least_bytes(kind);
  if (least == 0) {
    corrupt("is an array of arrays or of an unknown kind, " +
            std::to_string(static_cast<std::uint32_t>(kind)));
    return false;
  }
  if (count > std::min(elements_left_, reader_.remaining() / least)) {
    corrupt("is an array of an absurd length, " + std::to_string(count));
    return false;
  }
  elements_left_ -= count;
  const auto integer = [&] { return std::get<std::int64_t>(value(kind)); };
  const auto floating = [&] { return std::get<double>(value(kind)); };
  switch (kind) {
    case Kind::kText:
      return elements<std::string>(count, [&] { return text(kMaxTextLength); });
    case Kind::kBool:
      return elements<bool>(count, [&] { return boolean(); });
    case Kind::kF32:
    case Kind::kF64:
      return elements<double>(count, floating);
    default:
      return elements<std::int64_t>(count, integer);
  }
}

template <class T, class Read>
std::vector<T> HeaderReader::elements(std::uint64_t count, Read read) {
  std::vector<T> all;
  all.reserve(count);
  for (std::uint64_t i = 0; i < count && !error_; ++i) all.push_back(read());
  return all;
}

void HeaderReader::read_tensor() {
  where_ = "a tensor";
  GgufTensor tensor;
  tensor.name = text(kMaxNameLength);
  if (error_) return;
  where_ = "tensor " + shown(tensor.name);
  if (tensor.name.empty()) return corrupt("has no name");
  read_shape(tensor);
  const auto number_of_type = number<std::uint32_t>();
  offsets_.push_back(number<std::uint64_t>());
  if (error_) return;
  const auto type = known_type(number_of_type);
  if (!type) {
    return refuse(ErrorCode::kModel,
                  where_ + " is of type " + name_of_unknown_type(number_of_type) + ", which is not supported",
                  "take a file quantised as Q8_0, Q6_K, Q5_K_M, Q4_K_M or Q4_0");
  }
  tensor.type = *type;
  if (!header_.index.emplace(tensor.name, header_.tensors.size()).second)
    return corrupt("stands there twice");
  header_.tensors.push_back(std::move(tensor));
}

void HeaderReader::read_shape(GgufTensor& tensor) {
  const auto dimensions = number<std::uint32_t>();
  if (error_) return;
  if (dimensions == 0 || dimensions > kMaxDimensions) {
    return corrupt("has " + std::to_string(dimensions) + " dimensions");
  }
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < dimensions && !error_; ++i) {
    const auto size = number<std::int64_t>();
    if (error_) return;
    if (size <= 0 || __builtin_mul_overflow(elements, size, &elements)) {
      return corrupt("has an impossible dimension, " + std::to_string(size));
    }
    tensor.shape.push_back(size);
  }
}

std::uint64_t HeaderReader::data_bytes(const GgufTensor& tensor) {
  const BlockFormat format = block_format(tensor.type);
  if (tensor.shape[0] % format.elements != 0) {
    corrupt("has rows of " + std::to_string(tensor.shape[0]) + " values, no multiple of the " +
            std::to_string(format.elements) + " of a " + std::string(to_string(tensor.type)) + " block");
    return 0;
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.elements() / format.elements, format.bytes, &bytes)) {
    corrupt("has an impossible size");
  }
  return static_cast<std::uint64_t>(bytes);
}

void HeaderReader::place_tensors() {
  const std::uint64_t align = alignment();
  const std::uint64_t start = (reader_.offset() + align - 1) / align * align;
  const std::uint64_t available = start < bytes_.size() ? bytes_.size() - start : 0;
  for (std::size_t i = 0; i < header_.tensors.size() && !error_; ++i) {
    GgufTensor& tensor = header_.tensors[i];
    where_ = "tensor " + shown(tensor.name);
    const std::uint64_t size = data_bytes(tensor);
    if (error_) return;
    if (offsets_[i] % align != 0) {
      return corrupt("begins at " + std::to_string(offsets_[i]) + ", no multiple of " +
                     std::to_string(align));
    }
    if (size > available || offsets_[i] > available - size) {
      return incomplete("the data of " + where_ + ", " + std::to_string(size) + " bytes at " +
                        std::to_string(offsets_[i]) + " behind " + std::to_string(start) +
                        ", end outside it");
    }
    tensor.data = bytes_.subspan(start + offsets_[i], size);
  }
}

std::uint64_t HeaderReader::alignment() {
  const auto found = header_.metadata.find("general.alignment");
  if (found == header_.metadata.end()) return kDefaultAlignment;
  where_ = "metadata key 'general.alignment'";
  const auto* stored = std::get_if<std::int64_t>(&found->second);
  const std::uint64_t align = stored != nullptr && *stored > 0 ? static_cast<std::uint64_t>(*stored) : 0;
  if (!std::has_single_bit(align) || align > kMaxAlignment) {
    corrupt("is no power of two up to " + std::to_string(kMaxAlignment));
    return kDefaultAlignment;
  }
  return align;
}

template <class T>
T HeaderReader::number() {
  if (error_) return T{};
  const auto read = reader_.read<T>();
  if (!read) incomplete("it ends within " + where_);
  return read.value_or(T{});
}

std::string HeaderReader::text(std::uint64_t limit) {
  const auto length = number<std::uint64_t>();
  if (error_) return {};
  if (length > limit) {
    corrupt("has a text of an absurd length, " + std::to_string(length));
    return {};
  }
  const auto read = reader_.take_text(length);
  if (!read) {
    incomplete("it ends within " + where_);
    return {};
  }
  return std::string(*read);
}

std::int64_t HeaderReader::unsigned_integer() {
  const auto read = number<std::uint64_t>();
  if (read > static_cast<std::uint64_t>(INT64_MAX)) corrupt("has an absurd value, " + std::to_string(read));
  return static_cast<std::int64_t>(read);
}

bool HeaderReader::boolean() {
  const auto read = number<std::uint8_t>();
  if (read > 1) corrupt("has a truth value of " + std::to_string(read));
  return read == 1;
}

void HeaderReader::corrupt(const std::string& message) {
  refuse(ErrorCode::kCorrupt, where_ + " " + message + " (at byte " + std::to_string(reader_.offset()) + ")",
         "fetch the file again");
}

void HeaderReader::incomplete(const std::string& what) {
  refuse(ErrorCode::kCorrupt, "the file is incomplete, " + std::to_string(bytes_.size()) + " bytes: " + what,
         "fetch the file again");
}

void HeaderReader::refuse(ErrorCode code, std::string message, std::string remedy) {
  if (!error_) error_ = Error{code, std::move(message), std::move(remedy)};
}

}  // namespace

Result<GgufHeader> read_gguf_header(std::span<const std::byte> bytes) {
  return HeaderReader(bytes).read();
}

}  // namespace kvboost::engine
