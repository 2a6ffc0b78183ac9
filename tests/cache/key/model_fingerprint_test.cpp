// SPDX-License-Identifier: Apache-2.0
#include "cache/key/model_fingerprint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

const ModelUse kUse{"float32", false, 1};

class ModelFingerprintTest : public testing::Test {
 protected:
  /// By a new object, as after a restart; `reads_` says how often the file was read on.
  Result<Digest> attempt(const ModelUse& use = kUse) {
    reads_ = 0;
    ModelFingerprints fingerprints(memo_);
    return fingerprints.of(model_, use, {}, [&](std::uint64_t, std::uint64_t) { ++reads_; });
  }
  Digest fingerprint(const ModelUse& use = kUse) {
    const auto found = attempt(use);
    EXPECT_TRUE(found.has_value()) << found.error().text();
    return found.value_or(Digest{});
  }
  static std::string bytes(unsigned seed, std::size_t size = 3'000'000) {
    std::mt19937 random(seed);
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  const test::ScratchTree scratch_;
  const fs::path model_ = scratch_ / "model.gguf";
  const fs::path memo_ = scratch_ / "models";
  int reads_ = 0;
};

TEST_F(ModelFingerprintTest, IsComputedOnceAndRemembered) {
  scratch_.write("model.gguf", bytes(1));
  const auto first = fingerprint();
  EXPECT_GT(reads_, 0);
  EXPECT_EQ(fingerprint(), first);
  EXPECT_EQ(reads_, 0);
}

TEST_F(ModelFingerprintTest, CoversHowTheModelIsUsed) {
  scratch_.write("model.gguf", bytes(1));
  std::vector<Digest> all;
  for (const ModelUse& use :
       {kUse, ModelUse{"bfloat16", false, 1}, ModelUse{"float32", true, 1}, ModelUse{"float32", false, 2}}) {
    all.push_back(fingerprint(use));
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  EXPECT_EQ(reads_, 0) << "the file's digest serves all";
}

TEST_F(ModelFingerprintTest, OtherWeightsUnderTheSameNameSizeAndTimeAreNoticed) {
  scratch_.write("model.gguf", bytes(1));
  const auto first = fingerprint();
  const auto time = fs::last_write_time(model_);
  scratch_.write("other", bytes(2));
  fs::last_write_time(scratch_ / "other", time);
  fs::rename(scratch_ / "other", model_);
  EXPECT_NE(fingerprint(), first);
  EXPECT_GT(reads_, 0);
  scratch_.write("model.gguf", bytes(1));  // in place, with the time set back
  fs::last_write_time(model_, time);
  EXPECT_EQ(fingerprint(), first);
}

/// Where nothing that the system tells of the file has changed, its bytes still do.
TEST_F(ModelFingerprintTest, ASampleOfTheBytesIsComparedEachTime) {
  scratch_.write("model.gguf", bytes(1));
  const auto first = fingerprint();
  std::string memo = read(memo_);
  const auto sample = memo.rfind(' ', memo.rfind(' ') - 1) + 1;
  memo[sample] = memo[sample] == 'a' ? 'b' : 'a';
  memo.resize(memo.size() - 65);
  scratch_.write("models", memo + sha256(memo).hex() + "\n");
  EXPECT_EQ(fingerprint(), first);
  EXPECT_GT(reads_, 0);
}

TEST_F(ModelFingerprintTest, FilesOfEverySizeHaveOne) {
  std::vector<Digest> all;
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 100'000}) {
    scratch_.write("model.gguf", bytes(1, size));
    all.push_back(fingerprint());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST_F(ModelFingerprintTest, ADamagedMemoIsNotTrusted) {
  scratch_.write("model.gguf", bytes(1, 10'000));
  const auto first = fingerprint();
  const std::string memo = read(memo_);
  for (std::size_t i = 0; i < memo.size(); i += 7) {
    std::string damaged = memo;
    damaged[i] = damaged[i] == '1' ? '2' : '1';
    scratch_.write("models", damaged);
    ASSERT_EQ(fingerprint(), first) << "byte " << i;
    ASSERT_GT(reads_, 0) << "byte " << i;
    scratch_.write("models", memo.substr(0, i));
    ASSERT_EQ(fingerprint(), first) << "length " << i;
    ASSERT_GT(reads_, 0) << "length " << i;
  }
}

TEST_F(ModelFingerprintTest, AMemoThatCannotBeWrittenCostsTimeOnly) {
  scratch_.write("model.gguf", bytes(1));
  const auto first = fingerprint();
  ModelFingerprints fingerprints(scratch_ / "no such folder" / "models");
  for (int reads = 0; reads < 2; ++reads) EXPECT_EQ(*fingerprints.of(model_, kUse), first);
}

TEST_F(ModelFingerprintTest, CanBeCancelled) {
  scratch_.write("model.gguf", bytes(1, 20'000'000));
  ModelFingerprints fingerprints(memo_);
  std::stop_source stop;
  int calls = 0;
  const auto found = fingerprints.of(model_, kUse, stop.get_token(), [&](std::uint64_t, std::uint64_t) {
    ++calls;
    stop.request_stop();
  });
  EXPECT_EQ(found.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(fs::exists(memo_));
}

TEST_F(ModelFingerprintTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(attempt().error().code, ErrorCode::kNotFound);
  fs::create_directory(model_);
  EXPECT_EQ(attempt().error().code, ErrorCode::kInvalidArgument);
  fs::remove(model_);
  ASSERT_EQ(::mkfifo(model_.c_str(), 0600), 0);
  EXPECT_EQ(attempt().error().code, ErrorCode::kInvalidArgument) << "and does not wait";
}

}  // namespace
}  // namespace kvboost::cache
