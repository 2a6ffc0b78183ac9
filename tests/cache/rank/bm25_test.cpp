// SPDX-License-Identifier: Apache-2.0
#include "cache/rank/bm25.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace kvboost::cache {
namespace {

struct Source {
  std::string path;
  std::string content;
};

// The formula, document by document, with nothing remembered between queries.
std::vector<ScoredDocument> reference(const std::map<DocumentId, Source>& documents, const std::string& query,
                                      std::size_t limit, const Bm25Options& options) {
  std::map<DocumentId, std::map<std::string, double>> frequencies;
  std::map<DocumentId, double> lengths;
  std::map<std::string, int> containing;
  double total = 0;
  for (const auto& [id, source] : documents) {
    for (const auto& word : words(source.content)) frequencies[id][word] += 1;
    for (const auto& word : words(source.path)) frequencies[id][word] += options.path_weight;
    for (const auto& [word, count] : frequencies[id]) {
      lengths[id] += count;
      ++containing[word];
    }
    total += lengths[id];
  }
  const auto n = static_cast<double>(documents.size());
  std::map<std::string, double> in_query;
  for (const auto& word : words(query)) in_query[word] += 1;
  std::vector<ScoredDocument> scored;
  for (const auto& [id, source] : documents) {
    double score = 0;
    for (const auto& [word, times] : in_query) {
      const auto found = frequencies[id].find(word);
      if (found == frequencies[id].end()) continue;
      const double rarity = std::log(1 + (n - containing[word] + 0.5) / (containing[word] + 0.5));
      const double norm = options.k1 * (1 - options.b + options.b * lengths[id] / (total / n));
      score += rarity * (times * 9 / (times + 8)) * found->second * (options.k1 + 1) / (found->second + norm);
    }
    if (score > 0) scored.push_back({id, score});
  }
  std::ranges::stable_sort(scored, [](auto& a, auto& b) { return a.score > b.score; });
  if (scored.size() > limit) scored.resize(limit);
  return scored;
}

std::string random_words(std::mt19937& random, std::size_t most) {
  std::string text;
  for (std::size_t n = random() % (most + 1); n > 0; --n) {
    // Squared, so that some words are common and most are rare.
    const auto pick = random() % 40;
    text += "word" + std::string(1, static_cast<char>('a' + (pick * pick) % 97 % 26)) + std::to_string(pick) +
            ' ';
  }
  return text;
}

TEST(Bm25, EqualsTheFormulaUnderRandomChanges) {
  std::mt19937 random(42);
  Bm25Index index;
  std::map<DocumentId, Source> documents;
  for (int step = 0; step < 3000; ++step) {
    const auto id = static_cast<DocumentId>(random() % 150);
    if (random() % 5 < 2) {
      index.remove(id);
      documents.erase(id);
    } else {
      const Source source{"dir" + std::to_string(random() % 5) + "/" + random_words(random, 2),
                          random_words(random, 60)};
      index.add(id, source.path, source.content);
      documents[id] = source;
    }
    ASSERT_EQ(index.size(), documents.size());
    if (step % 10 != 0) continue;
    const std::string query = random_words(random, 12) + "dir3";
    const auto expected = reference(documents, query, 1000, {});
    const auto found = index.query(query, 1000);
    ASSERT_EQ(found.size(), expected.size()) << "step " << step;
    std::map<DocumentId, double> by_id;
    for (const auto& document : expected) by_id[document.id] = document.score;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i].score, by_id.at(found[i].id), 1e-9) << "step " << step;
      ASSERT_NEAR(found[i].score, expected[i].score, 1e-9);
    }
    const auto few = index.query(query, 5);
    ASSERT_EQ(few.size(), std::min<std::size_t>(5, found.size()));
    for (std::size_t i = 0; i < few.size(); ++i) ASSERT_EQ(few[i].id, found[i].id);
  }
}

TEST(Bm25, DoesNotDependOnTheWayItWasBuilt) {
  Bm25Index direct;
  Bm25Index roundabout;
  for (DocumentId id = 0; id < 200; ++id)
    roundabout.add(id, "old.c", "text that goes away " + std::to_string(id));
  for (DocumentId id = 0; id < 100; ++id) {
    const std::string content = "reads block " + std::to_string(id % 7) + " of file " + std::to_string(id);
    direct.add(id, "src/a.cpp", content);
    roundabout.add(99 - id, "src/a.cpp",
                   "reads block " + std::to_string((99 - id) % 7) + " of file " + std::to_string(99 - id));
  }
  for (DocumentId id = 100; id < 200; ++id) roundabout.remove(id);
  const auto a = direct.query("which block of file 42, a.cpp?", 100);
  const auto b = roundabout.query("which block of file 42, a.cpp?", 100);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].score, b[i].score);  // to the last bit
  }
}

TEST(Bm25, OrdersEqualScoresById) {
  Bm25Index index;
  for (const DocumentId id : {9U, 3U, 7U, 1U}) index.add(id, "x", "same words here");
  std::vector<DocumentId> ids;
  for (const auto& document : index.query("same", 3)) ids.push_back(document.id);
  EXPECT_EQ(ids, (std::vector<DocumentId>{1, 3, 7}));
}

TEST(Bm25, WeighsPathWords) {
  Bm25Index index;
  index.add(1, "net/socket.cpp", "opens and closes");
  index.add(2, "other.cpp", "socket and closes");
  const auto found = index.query("socket", 10);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, 1U);
}

TEST(Bm25, AnswersNothingToNothing) {
  Bm25Index index;
  EXPECT_TRUE(index.query("anything", 5).empty());
  index.remove(4);
  index.add(1, "", "");
  index.add(2, "a.c", "int main");
  EXPECT_TRUE(index.query("", 5).empty());
  EXPECT_TRUE(index.query("main", 0).empty());
  EXPECT_TRUE(index.query("absent", 5).empty());
  ASSERT_EQ(index.query("main", 5).size(), 1U);
  index.remove(2);
  EXPECT_TRUE(index.query("main", 5).empty());
  EXPECT_EQ(index.size(), 1U);
}

TEST(Bm25, ReplacesADocumentOfTheSameId) {
  Bm25Index index;
  index.add(5, "a.c", "before");
  index.add(5, "a.c", "after");
  EXPECT_TRUE(index.query("before", 5).empty());
  EXPECT_EQ(index.query("after", 5).size(), 1U);
  EXPECT_EQ(index.size(), 1U);
}

}  // namespace
}  // namespace kvboost::cache
