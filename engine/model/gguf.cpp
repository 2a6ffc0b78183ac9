// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gguf.h"

#include <utility>

#include "engine/model/gguf_header.h"
#include "engine/model/mapped_file.h"

namespace kvboost::engine {

std::string_view to_string(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return "F32";
    case TensorType::kF16:
      return "F16";
    case TensorType::kQ4_0:
      return "Q4_0";
    case TensorType::kQ4_1:
      return "Q4_1";
    case TensorType::kQ5_0:
      return "Q5_0";
    case TensorType::kQ5_1:
      return "Q5_1";
    case TensorType::kQ8_0:
      return "Q8_0";
    case TensorType::kQ2_K:
      return "Q2_K";
    case TensorType::kQ3_K:
      return "Q3_K";
    case TensorType::kQ4_K:
      return "Q4_K";
    case TensorType::kQ5_K:
      return "Q5_K";
    case TensorType::kQ6_K:
      return "Q6_K";
    case TensorType::kBF16:
      return "BF16";
  }
  return "unknown";
}

std::int64_t GgufTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

struct Gguf::Impl {
  MappedFile file;  // empty when the bytes are the caller's
  std::span<const std::byte> bytes;
  GgufHeader header;
};

Result<Gguf> Gguf::open(const std::filesystem::path& file) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return fail(mapped.error());
  auto gguf = parse(mapped->bytes());
  if (auto kept = mapped->check_size(); !kept) gguf = fail(kept.error());
  if (!gguf) {
    Error error = gguf.error();
    error.message = "cannot read model " + file.string() + ": " + error.message;
    return fail(std::move(error));
  }
  gguf->impl_->file = std::move(*mapped);
  return gguf;
}

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes) {
  auto header = read_gguf_header(bytes);
  if (!header) return fail(header.error());
  auto impl = std::make_unique<Impl>();
  impl->bytes = bytes;
  impl->header = std::move(*header);
  return Gguf(std::move(impl));
}

Gguf::Gguf(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gguf::Gguf(Gguf&&) noexcept = default;
Gguf& Gguf::operator=(Gguf&&) noexcept = default;
Gguf::~Gguf() = default;

const GgufValue* Gguf::find(std::string_view key) const {
  const auto found = impl_->header.metadata.find(key);
  return found == impl_->header.metadata.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> Gguf::integer(std::string_view key) const {
  const auto* value = std::get_if<std::int64_t>(find(key));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<double> Gguf::number(std::string_view key) const {
  if (const auto whole = integer(key)) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(find(key));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<bool> Gguf::boolean(std::string_view key) const {
  const auto* value = std::get_if<bool>(find(key));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::string_view> Gguf::text(std::string_view key) const {
  const auto* value = std::get_if<std::string>(find(key));
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

const std::vector<std::string>* Gguf::texts(std::string_view key) const {
  return std::get_if<std::vector<std::string>>(find(key));
}

const std::vector<std::int64_t>* Gguf::integers(std::string_view key) const {
  return std::get_if<std::vector<std::int64_t>>(find(key));
}

const std::vector<double>* Gguf::numbers(std::string_view key) const {
  return std::get_if<std::vector<double>>(find(key));
}

const GgufTensor* Gguf::tensor(std::string_view name) const {
  const auto found = impl_->header.index.find(name);
  return found == impl_->header.index.end() ? nullptr : &impl_->header.tensors[found->second];
}

const std::vector<GgufTensor>& Gguf::tensors() const {
  return impl_->header.tensors;
}

const std::map<std::string, GgufValue, std::less<>>& Gguf::metadata() const {
  return impl_->header.metadata;
}

std::uint32_t Gguf::version() const {
  return impl_->header.version;
}

std::span<const std::byte> Gguf::bytes() const {
  return impl_->bytes;
}

Result<void> Gguf::check_size() const {
  return impl_->file.check_size();
}

}  // namespace kvboost::engine
