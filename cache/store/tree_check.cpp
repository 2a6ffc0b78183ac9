// SPDX-License-Identifier: Apache-2.0
#include "cache/store/tree_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/file_descriptor.h"
#include "cache/store/lmdb_env.h"
#include "cache/store/lmdb_page.h"

namespace kvboost::cache {
namespace {

using namespace lmdb_page;

constexpr int kMostDepth = 31;  // of LMDB's cursors

/// What a tree holds, and so what its nodes may be.
enum class Tree { kFree, kMain, kPlain, kMany, kValues };

int compare(Bytes a, Bytes b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

class TreeCheck {
 public:
  TreeCheck(int file, std::uint64_t file_bytes)
      : file_(file),
        file_bytes_(file_bytes),
        page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {}

  bool run() {
    Meta meta;
    if (!read_meta(meta)) return false;
    last_page_ = meta.last_page;
    used_.assign(last_page_ + 1, false);
    if (!walk(meta.free, Tree::kFree) || !walk(meta.main, Tree::kMain)) return false;
    for (const auto& [tree, db] : tables_) {
      if (!walk(db, tree)) return false;
    }
    return true;
  }

  [[nodiscard]] const Error& error() const { return error_; }

 private:
  /// One tree on its way: what was counted, and where in the order of keys it is.
  struct Walk {
    Tree tree{};
    Db db;
    Db counted;
    std::vector<std::byte> last;  // key
    bool may_equal = true;        // the next one may be the same: `last` is from a branch
  };

  bool damaged(const char* what) {
    error_ = {ErrorCode::kCorrupt, std::string("the file is damaged: ") + what, {}};
    return false;
  }

  bool read_bytes(std::uint64_t offset, std::span<std::byte> out) {
    for (std::size_t done = 0; done < out.size();) {
      const ssize_t got =
          ::pread(file_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        error_ = fail_errno("cannot read the cache's file", errno).error();
        return false;
      }
      if (got == 0) return damaged("it is cut short");
      done += static_cast<std::size_t>(got);
    }
    return true;
  }

  /// The newer of the two, as LMDB chooses it.
  bool read_meta(Meta& newest) {
    if (file_bytes_ < 2 * page_bytes_) return damaged("it is cut short");
    std::array<Meta, 2> metas;
    std::vector<std::byte> page(kHeaderBytes + sizeof(Meta));
    for (std::size_t i = 0; i < metas.size(); ++i) {
      if (!read_bytes(i * page_bytes_, page)) return false;
      metas[i] = at<Meta>(page, kHeaderBytes);
      const Meta& meta = metas[i];
      if (at<std::uint16_t>(page, 10) != kMeta || meta.magic != kMagic || meta.version != kVersion ||
          meta.free.pad != page_bytes_ || meta.free.flags != kIntegerKeys) {
        return damaged("a first page is not one of LMDB's");
      }
    }
    const std::size_t chosen = metas[0].txn < metas[1].txn ? 1 : 0;
    newest = metas[chosen];
    if (newest.txn > 0 && (newest.txn % 2 != chosen || metas[1 - chosen].txn + 1 != newest.txn)) {
      return damaged("its first pages do not follow each other");
    }
    if (newest.last_page < 1 || newest.last_page >= file_bytes_ / page_bytes_)
      return damaged("it is cut short");
    return true;
  }

  bool take_page(std::uint64_t page) {
    if (page < 2 || page > last_page_) return damaged("a page is named that it does not have");
    if (used_[page]) return damaged("a page is used twice");
    used_[page] = true;
    return true;
  }

  bool walk(const Db& db, Tree tree) {
    const bool fixed = tree == Tree::kMany || tree == Tree::kValues;
    const std::uint16_t flags = tree == Tree::kFree     ? kIntegerKeys
                                : tree == Tree::kMany   ? kDupSort | kDupFixed
                                : tree == Tree::kValues ? kDupFixed
                                                        : 0;
    if (db.flags != flags || db.depth > kMostDepth) return damaged("a tree is of another kind");
    if (fixed && db.pad != (tree == Tree::kValues || db.pad != 0 ? sizeof(Digest) : 0)) {
      return damaged("a tree is of another kind");
    }
    if ((db.root == kNoPage) != (db.depth == 0)) return damaged("a tree has no root");
    Walk walk{tree, db, {}, {}, true};
    if (db.root != kNoPage && !visit(walk, db.root, 1)) return false;
    const Db& counted = walk.counted;
    if (counted.branches != db.branches || counted.leaves != db.leaves || counted.overflows != db.overflows ||
        counted.entries != db.entries) {
      return damaged("a tree has other pages than it says");
    }
    return true;
  }

  bool visit(Walk& walk, std::uint64_t number, int depth) {
    std::vector<std::byte> page(page_bytes_);
    if (!take_page(number) || !read_bytes(number * page_bytes_, page)) return false;
    if (at<std::uint64_t>(page, 0) != number) return damaged("a page is not where it belongs");
    const auto kind = at<std::uint16_t>(page, 10);
    if (depth < walk.db.depth) {
      ++walk.counted.branches;
      return kind == kBranch ? visit_branch(walk, page, depth) : damaged("a page is of another kind");
    }
    ++walk.counted.leaves;
    if (walk.tree == Tree::kValues) {
      return kind == (kLeaf | kFixed) ? visit_values(walk, page) : damaged("a page is of another kind");
    }
    return kind == kLeaf ? visit_leaf(walk, page) : damaged("a page is of another kind");
  }

  bool in_order(Walk& walk, Bytes key, bool of_branch) {
    int order = 1;
    if (walk.tree == Tree::kFree && key.size() != sizeof(std::uint64_t)) return damaged("a key is too long");
    if (!walk.last.empty()) {
      if (walk.tree == Tree::kFree) {
        const auto now = at<std::uint64_t>(key, 0);
        const auto before = at<std::uint64_t>(walk.last, 0);
        order = now < before ? -1 : now > before ? 1 : 0;
      } else {
        order = compare(key, walk.last);
      }
    }
    if (order < 0 || (order == 0 && !walk.may_equal)) return damaged("keys are out of order");
    walk.last.assign(key.begin(), key.end());
    walk.may_equal = of_branch;
    return true;
  }

  bool visit_branch(Walk& walk, Bytes page, int depth) {
    const std::size_t nodes = nodes_of(page);
    if (nodes < (walk.tree == Tree::kFree ? 1U : 2U)) return damaged("a page has too few nodes");
    std::size_t room = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      Node node;
      if (!read_node(page, i, true, node)) return damaged("a node leaves its page");
      room += room_of(node);
      if (i > 0 && (node.key.empty() || !in_order(walk, node.key, true)))
        return damaged("keys are out of order");
      if (!visit(walk, node.below, depth + 1)) return false;
    }
    return room <= page.size() - at<std::uint16_t>(page, 14) || damaged("nodes overlap");
  }

  bool visit_leaf(Walk& walk, Bytes page) {
    const std::size_t nodes = nodes_of(page);
    if (nodes < 1) return damaged("a page has too few nodes");
    std::size_t room = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      Node node;
      if (!read_node(page, i, false, node) || node.key.empty()) return damaged("a node leaves its page");
      room += room_of(node);
      if (!in_order(walk, node.key, false) || !visit_value(walk, node)) return false;
    }
    return room <= page.size() - at<std::uint16_t>(page, 14) || damaged("nodes overlap");
  }

  bool visit_value(Walk& walk, const Node& node) {
    switch (walk.tree) {
      case Tree::kMain:
        ++walk.counted.entries;
        return visit_table(node);
      case Tree::kMany:
        return visit_many(walk, node);
      case Tree::kFree:
        ++walk.counted.entries;
        return take_big(walk, node) && visit_free(node);
      default:
        ++walk.counted.entries;
        return take_big(walk, node);
    }
  }

  bool visit_table(const Node& node) {
    if (node.flags != kSub || node.value.size() != sizeof(Db)) return damaged("a table is of another kind");
    const std::string_view name(reinterpret_cast<const char*>(node.key.data()), node.key.size());
    const auto found = std::ranges::find(kTableNames, name);
    if (found == kTableNames.end()) return damaged("a table has another name");
    const bool many = static_cast<Table>(found - kTableNames.begin()) == Table::kContents;
    tables_.emplace_back(many ? Tree::kMany : Tree::kPlain, at<Db>(node.value, 0));
    return true;
  }

  /// The pages of a value that is not in the tree.
  bool take_big(Walk& walk, const Node& node) {
    if (node.flags == 0) return true;
    if (node.flags != kBig) return damaged("a node is of another kind");
    const auto first = at<std::uint64_t>(node.value, 0);
    const std::uint64_t count = pages_of(node.bytes, page_bytes_);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!take_page(first + i)) return false;
    }
    walk.counted.overflows += count;
    return true;
  }

  /// Pages that a transaction left free: their number, then each, the highest first.
  bool visit_free(const Node& node) {
    std::vector<std::byte> list(node.value.begin(), node.value.end());
    if (node.flags == kBig) {
      const auto first = at<std::uint64_t>(node.value, 0);
      list.resize(kHeaderBytes + node.bytes);
      if (!read_bytes(first * page_bytes_, list)) return false;
      if (!is_first_of(list, first, pages_of(node.bytes, page_bytes_))) {
        return damaged("a page is of another kind");
      }
      list.erase(list.begin(), list.begin() + kHeaderBytes);
    }
    constexpr std::size_t kEach = sizeof(std::uint64_t);
    if (list.size() < kEach || list.size() / kEach - 1 < at<std::uint64_t>(list, 0)) {
      return damaged("a list of free pages is cut short");
    }
    std::uint64_t before = kNoPage;
    for (std::size_t i = 1; i <= at<std::uint64_t>(list, 0); ++i) {
      const auto page = at<std::uint64_t>(list, i * kEach);
      if (page >= before) return damaged("a list of free pages is out of order");
      before = page;
      if (!take_page(page)) return false;
    }
    return true;
  }

  /// Values of one key: one, a page of them within the page, or a tree of them.
  bool visit_many(Walk& walk, const Node& node) {
    if (node.flags == 0) {
      ++walk.counted.entries;
      return node.value.size() == sizeof(Digest) || damaged("a key is too long");
    }
    if (node.flags == (kDup | kSub)) {
      if (node.value.size() != sizeof(Db)) return damaged("a tree is of another kind");
      const Db values = at<Db>(node.value, 0);
      walk.counted.entries += values.entries;
      return this->walk(values, Tree::kValues);
    }
    if (node.flags != kDup || node.value.size() < kHeaderBytes) return damaged("a node is of another kind");
    const auto kind = at<std::uint16_t>(node.value, 10) & ~kDirty;
    if (kind != (kLeaf | kFixed | kWithin)) return damaged("a page is of another kind");
    Walk within{Tree::kValues, {}, {}, {}, true};
    if (!visit_values(within, node.value)) return false;
    walk.counted.entries += within.counted.entries;
    return true;
  }

  bool visit_values(Walk& walk, Bytes page) {
    const std::size_t values = nodes_of(page);
    if (values < 1) return damaged("a page has too few nodes");
    if (at<std::uint16_t>(page, 8) != sizeof(Digest) ||
        kHeaderBytes + values * sizeof(Digest) > page.size()) {
      return damaged("a node leaves its page");
    }
    for (std::size_t i = 0; i < values; ++i) {
      if (!in_order(walk, page.subspan(kHeaderBytes + i * sizeof(Digest), sizeof(Digest)), false))
        return false;
    }
    walk.counted.entries += values;
    return true;
  }

  const int file_;
  const std::uint64_t file_bytes_;
  const std::size_t page_bytes_;
  std::uint64_t last_page_ = 0;
  std::vector<bool> used_;
  std::vector<std::pair<Tree, Db>> tables_;
  Error error_;
};

}  // namespace

Result<void> check_trees(const std::filesystem::path& file) {
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened.is_open() && errno == ENOENT) return {};
  if (!opened.is_open()) return fail_errno("cannot open " + file.string(), errno);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return fail_errno("cannot look at " + file.string(), errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kCorrupt, file.string() + " is no regular file");
  if (status.st_size == 0) return {};
  TreeCheck check(opened.get(), static_cast<std::uint64_t>(status.st_size));
  if (!check.run()) return fail(check.error());
  return {};
}

}  // namespace kvboost::cache
