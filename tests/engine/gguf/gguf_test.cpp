// SPDX-License-Identifier: Apache-2.0
// The reader over whole files, over hand-made headers, and over every kind of damage.
#include "engine/model/gguf.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/scratch_tree.h"

namespace kvboost::engine {
namespace {

/// Bytes of a GGUF, put together field by field so that each can be wrong.
class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const auto* start = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), start, start + sizeof value);
    return *this;
  }
  Bytes& text(std::string_view text) {
    put<std::uint64_t>(text.size());
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Bytes& raw(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Bytes& header(std::uint64_t tensors, std::uint64_t pairs, std::uint32_t version = 3) {
    return raw("GGUF").put(version).put(tensors).put(pairs);
  }
  Bytes& pad(std::size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_.push_back({});
    return *this;
  }
  Bytes& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  Bytes& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type = 0,
                std::uint64_t offset = 0) {
    text(name).put<std::uint32_t>(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t size : shape) put(size);
    return put(type).put(offset);
  }
  [[nodiscard]] std::span<const std::byte> span() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

enum : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };

Error refused(const Bytes& bytes) {
  const auto gguf = Gguf::parse(bytes.span());
  EXPECT_FALSE(gguf.has_value());
  return gguf ? Error{} : gguf.error();
}

void expect_refused(const Bytes& bytes, ErrorCode code, std::string_view part) {
  const Error error = refused(bytes);
  EXPECT_EQ(to_string(error.code), to_string(code)) << error.text();
  EXPECT_NE(error.message.find(part), std::string::npos) << error.text();
  EXPECT_FALSE(error.remedy.empty()) << error.text();
}

TEST(Gguf, ReadsEveryKindOfValue) {
  Bytes file;
  file.header(0, 14);
  file.text("u8").put(kU8).put<std::uint8_t>(200);
  file.text("i8").put(kI8).put<std::int8_t>(-3);
  file.text("u16").put(kU16).put<std::uint16_t>(60000);
  file.text("i16").put(kI16).put<std::int16_t>(-300);
  file.text("u32").put(kU32).put<std::uint32_t>(4000000000U);
  file.text("i32").put(kI32).put<std::int32_t>(-70000);
  file.text("u64").put(kU64).put<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  file.text("i64").put(kI64).put<std::int64_t>(-5000000000);
  file.text("f32").put(kF32).put(0.25F);
  file.text("f64").put(kF64).put(1e300);
  file.text("bool").put(kBool).put<std::uint8_t>(1);
  file.text("text").put(kText).text("grüß");
  file.text("texts").put(kArray).put(kText).put<std::uint64_t>(2).text("a").text("");
  file.text("halves").put(kArray).put(kF32).put<std::uint64_t>(2).put(0.5F).put(1.5F);
  const auto gguf = Gguf::parse(file.span());
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  EXPECT_EQ(gguf->version(), 3U);
  EXPECT_EQ(gguf->integer("u8"), 200);
  EXPECT_EQ(gguf->integer("i8"), -3);
  EXPECT_EQ(gguf->integer("u16"), 60000);
  EXPECT_EQ(gguf->integer("i16"), -300);
  EXPECT_EQ(gguf->integer("u32"), 4000000000);
  EXPECT_EQ(gguf->integer("i32"), -70000);
  EXPECT_EQ(gguf->integer("u64"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(gguf->integer("i64"), -5000000000);
  EXPECT_EQ(gguf->number("f32"), 0.25);
  EXPECT_EQ(gguf->number("f64"), 1e300);
  EXPECT_EQ(gguf->number("u8"), 200.0);
  EXPECT_EQ(gguf->boolean("bool"), true);
  EXPECT_EQ(gguf->text("text"), "grüß");
  ASSERT_NE(gguf->texts("texts"), nullptr);
  EXPECT_EQ(*gguf->texts("texts"), (std::vector<std::string>{"a", ""}));
  ASSERT_NE(gguf->numbers("halves"), nullptr);
  EXPECT_EQ(*gguf->numbers("halves"), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(gguf->metadata().size(), 14U);
}

TEST(Gguf, AccessorsGiveNothingForAnotherKind) {
  Bytes file;
  file.header(0, 1).text("k").put(kText).text("v");
  const auto gguf = Gguf::parse(file.span());
  ASSERT_TRUE(gguf.has_value());
  EXPECT_EQ(gguf->integer("k"), std::nullopt);
  EXPECT_EQ(gguf->number("k"), std::nullopt);
  EXPECT_EQ(gguf->boolean("k"), std::nullopt);
  EXPECT_EQ(gguf->texts("k"), nullptr);
  EXPECT_EQ(gguf->text("absent"), std::nullopt);
  EXPECT_EQ(gguf->tensor("absent"), nullptr);
}

TEST(Gguf, TensorsPointIntoTheData) {
  Bytes file;
  file.header(2, 1).text("general.alignment").put(kU32).put<std::uint32_t>(64);
  file.tensor("a", {2, 3}).tensor("b", {32}, 8, 64).pad(64);
  for (int i = 0; i < 6; ++i) file.put(static_cast<float>(i));
  file.pad(64).zeros(34);
  const auto gguf = Gguf::parse(file.span());
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  const GgufTensor* a = gguf->tensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(a->elements(), 6);
  ASSERT_EQ(a->data.size(), 24U);
  float last = 0;
  std::memcpy(&last, a->data.data() + 20, sizeof last);
  EXPECT_EQ(last, 5.0F);
  ASSERT_NE(gguf->tensor("b"), nullptr);
  EXPECT_EQ(gguf->tensor("b")->type, TensorType::kQ8_0);
  EXPECT_EQ(gguf->tensor("b")->data.size(), 34U);
}

TEST(Gguf, RefusesWhatIsNoGguf) {
  expect_refused(Bytes().raw("PK\x03\x04 and more"), ErrorCode::kCorrupt, "not a GGUF");
  expect_refused(Bytes().raw("GG"), ErrorCode::kCorrupt, "not a GGUF");
  expect_refused(Bytes().raw("version https://git-lfs.github.com/spec/v1\n"), ErrorCode::kCorrupt, "Git LFS");
  expect_refused(Bytes().raw("<!DOCTYPE html>"), ErrorCode::kCorrupt, "web page");
}

TEST(Gguf, RefusesOtherVersionsAndByteOrder) {
  expect_refused(Bytes().header(0, 0, 1), ErrorCode::kModel, "version is 1");
  expect_refused(Bytes().header(0, 0, 4), ErrorCode::kModel, "version is 4");
  expect_refused(Bytes().header(0, 0, 0x03000000), ErrorCode::kModel, "big-endian");
}

TEST(Gguf, RefusesAbsurdCounts) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  expect_refused(Bytes().header(kHuge, 0), ErrorCode::kCorrupt, "number of tensors");
  expect_refused(Bytes().header(0, kHuge), ErrorCode::kCorrupt, "number of metadata keys");
  expect_refused(Bytes().header(0, 1).put(kHuge).zeros(32), ErrorCode::kCorrupt, "absurd length");
  expect_refused(Bytes().header(0, 1).put<std::uint64_t>(60).zeros(32), ErrorCode::kCorrupt, "incomplete");
  expect_refused(Bytes().header(0, 1).text("k").put(kText).put(kHuge), ErrorCode::kCorrupt, "'k' has a text");
  expect_refused(Bytes().header(0, 1).text("k").put(kArray).put(kU8).put(kHuge), ErrorCode::kCorrupt,
                 "absurd length");
  expect_refused(Bytes().header(0, 1).text("k").put(kArray).put(kText).put<std::uint64_t>(2).zeros(15),
                 ErrorCode::kCorrupt, "absurd length");
}

TEST(Gguf, RefusesWrongValues) {
  expect_refused(Bytes().header(0, 1).text("k").put<std::uint32_t>(13).zeros(8), ErrorCode::kCorrupt,
                 "unknown kind 13");
  expect_refused(Bytes().header(0, 1).text("k").put(kArray).put(kArray).put<std::uint64_t>(1).zeros(12),
                 ErrorCode::kCorrupt, "array of arrays");
  expect_refused(Bytes().header(0, 1).text("k").put(kBool).put<std::uint8_t>(2), ErrorCode::kCorrupt,
                 "truth");
  expect_refused(Bytes().header(0, 1).text("k").put(kU64).put(~std::uint64_t{0}), ErrorCode::kCorrupt,
                 "absurd value");
  expect_refused(Bytes().header(0, 1).text("").put(kU8).zeros(8), ErrorCode::kCorrupt, "empty");
  Bytes twice;
  twice.header(0, 2).text("k").put(kU8).put<std::uint8_t>(1).text("k").put(kU8).put<std::uint8_t>(1);
  expect_refused(twice, ErrorCode::kCorrupt, "'k' stands there twice");
}

TEST(Gguf, RefusesWrongAlignments) {
  for (const std::uint32_t alignment : {0U, 3U, 48U, 1U << 20}) {
    Bytes file;
    file.header(0, 1).text("general.alignment").put(kU32).put(alignment);
    expect_refused(file, ErrorCode::kCorrupt, "'general.alignment'");
  }
  Bytes text;
  text.header(0, 1).text("general.alignment").put(kText).text("32");
  expect_refused(text, ErrorCode::kCorrupt, "'general.alignment'");
}

TEST(Gguf, RefusesWrongTensors) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  const auto with = [](const std::vector<std::uint64_t>& shape, std::uint32_t type, std::uint64_t offset) {
    Bytes file;
    return file.header(1, 0).tensor("t", shape, type, offset).pad().zeros(64);
  };
  EXPECT_TRUE(Gguf::parse(with({16}, 0, 0).span()).has_value());
  EXPECT_TRUE(Gguf::parse(with({8}, 0, 32).span()).has_value());
  expect_refused(with({}, 0, 0), ErrorCode::kCorrupt, "0 dimensions");
  expect_refused(with({1, 1, 1, 1, 1}, 0, 0), ErrorCode::kCorrupt, "5 dimensions");
  expect_refused(with({0}, 0, 0), ErrorCode::kCorrupt, "impossible dimension");
  expect_refused(with({~std::uint64_t{0}}, 0, 0), ErrorCode::kCorrupt, "impossible dimension");
  expect_refused(with({kHuge, 8}, 0, 0), ErrorCode::kCorrupt, "impossible dimension");
  expect_refused(with({kHuge}, 0, 0), ErrorCode::kCorrupt, "impossible size");
  expect_refused(with({17}, 0, 0), ErrorCode::kCorrupt, "incomplete");
  expect_refused(with({9}, 0, 32), ErrorCode::kCorrupt, "incomplete");
  expect_refused(with({1}, 0, ~std::uint64_t{31}), ErrorCode::kCorrupt, "incomplete");
  expect_refused(with({1}, 0, 4), ErrorCode::kCorrupt, "no multiple of 32");
  expect_refused(with({16}, 8, 0), ErrorCode::kCorrupt, "Q8_0 block");
  expect_refused(with({32}, 23, 0), ErrorCode::kModel, "'t' is of type IQ4_XS");
  expect_refused(with({32}, 4711, 0), ErrorCode::kModel, "'t' is of type number 4711");
  Bytes twice;
  twice.header(2, 0).tensor("t", {1}).tensor("t", {1}, 0, 32).pad().zeros(64);
  expect_refused(twice, ErrorCode::kCorrupt, "'t' stands there twice");
}

TEST(Gguf, MessagesShowNoControlCharacters) {
  Bytes file;
  file.header(1, 0).tensor("\x1b[31m\n", {32}, 4711).pad().zeros(64);
  EXPECT_NE(refused(file).message.find("'?[31m?'"), std::string::npos);
}

TEST(Gguf, EveryTruncationIsRefused) {
  Bytes file;
  file.header(1, 2).text("k").put(kText).text("value");
  file.text("list").put(kArray).put(kText).put<std::uint64_t>(2).text("a").text("bc");
  file.tensor("t", {4, 2}).pad().zeros(32);
  ASSERT_TRUE(Gguf::parse(file.span()).has_value());
  for (std::size_t size = 0; size < file.span().size(); ++size) {
    // A copy of just these bytes, so that ASan sees a read past them.
    const std::vector<std::byte> part(file.span().begin(),
                                      file.span().begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Gguf::parse(part).has_value()) << size;
  }
}

class GgufFile : public testing::Test {
 protected:
  std::filesystem::path write(std::string_view name, const Bytes& bytes) {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.span().data()),
               static_cast<std::streamsize>(bytes.span().size()));
    return folder_ / name;
  }

  const test::ScratchTree folder_;
};

TEST_F(GgufFile, OpensAndNamesTheFileInErrors) {
  Bytes good;
  good.header(1, 0).tensor("t", {1}).pad().put(7.0F);
  const auto gguf = Gguf::open(write("good.gguf", good));
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  float value = 0;
  std::memcpy(&value, gguf->tensor("t")->data.data(), sizeof value);
  EXPECT_EQ(value, 7.0F);

  const auto bad = Gguf::open(write("bad.gguf", Bytes().raw("nonsense")));
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().message.find("bad.gguf"), std::string::npos);
}

TEST_F(GgufFile, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(Gguf::open(folder_ / "absent").error().code, ErrorCode::kNotFound);
  const auto folder = Gguf::open(folder_.root());
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(folder.error().message.find("a directory"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(Gguf::open(folder_ / "fifo").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Gguf::open("/dev/null").error().code, ErrorCode::kInvalidArgument);
  const auto empty = Gguf::open(write("empty.gguf", Bytes()));
  EXPECT_EQ(empty.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(empty.error().message.find("is empty"), std::string::npos);
}

TEST_F(GgufFile, NoticesThatTheFileWasCutShort) {
  Bytes good;
  good.header(1, 0).tensor("t", {1}).pad().put(7.0F);
  const auto file = write("good.gguf", good);
  const auto gguf = Gguf::open(file);
  ASSERT_TRUE(gguf.has_value());
  EXPECT_TRUE(gguf->check_size().has_value());
  std::filesystem::resize_file(file, 10);
  const auto cut = gguf->check_size();
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
}

TEST(GgufModel, ReadsTheRealModel) {
  const char* path = std::getenv("KVBOOST_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL is not set";
  const auto gguf = Gguf::open(path);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().text();
  EXPECT_EQ(gguf->text("general.architecture"), "llama");
  EXPECT_EQ(gguf->integer("llama.block_count"), 30);
  ASSERT_NE(gguf->texts("tokenizer.ggml.tokens"), nullptr);
  EXPECT_EQ(gguf->texts("tokenizer.ggml.tokens")->size(), 49152U);
  const GgufTensor* embedding = gguf->tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (std::vector<std::int64_t>{576, 49152}));
  EXPECT_EQ(to_string(embedding->type), "Q8_0");
}

}  // namespace
}  // namespace kvboost::engine
