// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_env.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cache/store/full_disk.h"
#include "cache/store/lmdb_error.h"
#include "cache/store/lmdb_page.h"
#include "cache/store/seen_file.h"
#include "cache/store/tree_check.h"

namespace kvboost::cache {
namespace {

constexpr unsigned kDbCount = kTableNames.size();
constexpr MDB_dbi kFreePages = 0;  // LMDB's own list, by the transaction that freed them
constexpr auto kReadsEndWithin = std::chrono::seconds(2);

MDB_val val(Bytes bytes) {
  return {bytes.size(), const_cast<std::byte*>(bytes.data())};
}
Bytes bytes(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

using Cursor = std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)>;

Result<Cursor> open_cursor(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor = nullptr;
  if (const int code = mdb_cursor_open(txn, dbi, &cursor); code != 0) return fail(error_of("cursor", code));
  return Cursor(cursor, mdb_cursor_close);
}

}  // namespace

struct LmdbEnv::Impl {
  std::filesystem::path file;
  MDB_env* env = nullptr;
  std::array<unsigned, kDbCount> dbi{};
  std::size_t page_bytes = 0;
  const std::byte* map = nullptr;  // as long as it is not resized

  std::mutex write_mutex;
  std::mutex seen_mutex;
  SeenFile seen;
  bool writing = false;     // the file changes by us
  bool distrusted = false;  // a call found it damaged
  std::mutex reads_mutex;
  std::condition_variable reads_changed;
  int reads = 0;

  ~Impl() {
    if (env != nullptr) mdb_env_close(env);
  }

  /// As error_of; remembers damage, and knows a full disk.
  Error failed(const char* what, int code) {
    if (auto full = disk_is_full(file, code)) return *std::move(full);
    Error error = error_of(what, code);
    if (error.code == ErrorCode::kCorrupt) {
      const std::lock_guard lock(seen_mutex);
      distrusted = true;
    }
    return error;
  }

  Result<void> open_env(const std::filesystem::path& directory, std::uint64_t map_bytes) {
    file = directory / "data.mdb";
    if (auto checked = check_trees(file); !checked) return checked;
    if (const int code = mdb_env_create(&env); code != 0) return fail(failed("create", code));
    mdb_env_set_maxdbs(env, kDbCount);
    mdb_env_set_mapsize(env, map_bytes);
    // It aborts all the same; the next start checks the file.
    mdb_env_set_assert(env, [](MDB_env*, const char* what) {
      log::error("the cache's file broke under the daemon: {}", what);
    });
    // Readers are handles, not threads. A commit syncs its data; only the newest commits can be lost with the
    // power.
    const unsigned flags = MDB_NOTLS | MDB_NOMETASYNC | MDB_NOMEMINIT;
    if (const int code = mdb_env_open(env, directory.c_str(), flags, 0600); code != 0) {
      return fail(failed("open", code));
    }
    int dead = 0;
    mdb_reader_check(env, &dead);
    MDB_stat stat{};
    mdb_env_stat(env, &stat);
    page_bytes = stat.ms_psize;
    return {};
  }

  /// LMDB does not write a last page that was taken and freed in one transaction, but a file is known to be
  /// whole by its length.
  void complete_last_page() {
    mdb_filehandle_t descriptor = -1;
    MDB_envinfo info{};
    struct stat status {};
    mdb_env_info(env, &info);
    if (mdb_env_get_fd(env, &descriptor) != 0 || ::fstat(descriptor, &status) != 0) return;
    const auto needed = static_cast<off_t>((info.me_last_pgno + 1) * page_bytes);
    if (status.st_size < needed) (void)::ftruncate(descriptor, needed);
  }

  /// Remembers the file as it is now; `begins`: what changes from now on are we.
  void see(bool begins) {
    mdb_filehandle_t descriptor = -1;
    struct stat status {};
    const bool there = mdb_env_get_fd(env, &descriptor) == 0 && ::fstat(descriptor, &status) == 0;
    const std::lock_guard lock(seen_mutex);
    writing = begins;
    if (there) seen = SeenFile::of(status);
  }

  [[nodiscard]] std::uint64_t map_bytes() const {
    MDB_envinfo info{};
    mdb_env_info(env, &info);
    return info.me_mapsize;
  }

  Result<void> write(const std::function<Result<void>(Write&)>& body) {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env, nullptr, 0, &txn); code != 0) return fail(failed("begin", code));
    Write write(*this, txn);
    if (auto done = body(write); !done) {
      mdb_txn_abort(txn);
      return done;
    }
    if (const int code = mdb_txn_commit(txn); code != 0) return fail(failed("commit", code));
    complete_last_page();
    return {};
  }

  /// Where in the file a value has pages of its own; absent for one that is in a tree or not yet written.
  [[nodiscard]] std::optional<std::size_t> place_of(Bytes value) const {
    const std::byte* page = value.data() - lmdb_page::kHeaderBytes;
    const std::size_t offset = page - map;
    if (page < map || offset >= map_bytes() || offset % page_bytes != 0) return std::nullopt;
    return offset;
  }

  /// Gives the disk back what pages take; where that cannot be, they stay.
  void punch(std::uint64_t first, std::uint64_t count) const {
    mdb_filehandle_t descriptor = -1;
    if (mdb_env_get_fd(env, &descriptor) != 0) return;
    (void)::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(first * page_bytes), static_cast<off_t>(count * page_bytes));
  }

  bool idle(std::unique_lock<std::mutex>& lock) {
    return reads_changed.wait_for(lock, kReadsEndWithin, [&] { return reads == 0; });
  }

  /// Finds where the map begins: a page knows its number, and a key lies in a page. No transaction may be
  /// alive.
  Result<void> find_map() {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn); code != 0)
      return fail(failed("begin", code));
    MDB_dbi tables = 0;
    MDB_val key{};
    MDB_val value{};
    int code = mdb_dbi_open(txn, nullptr, 0, &tables);
    if (code == 0) {
      if (auto cursor = open_cursor(txn, tables))
        code = mdb_cursor_get(cursor->get(), &key, &value, MDB_FIRST);
    }
    if (code == 0) {
      const auto address = reinterpret_cast<std::uintptr_t>(key.mv_data);
      const auto* page = static_cast<const std::byte*>(key.mv_data) - address % page_bytes;
      std::uint64_t number = 0;
      std::memcpy(&number, page, sizeof number);
      map = page - number * page_bytes;
    }
    mdb_txn_abort(txn);
    if (code != 0) return fail(failed("map", code));
    return {};
  }

  Result<std::optional<Bytes>> get(MDB_txn* txn, Table table, Bytes key) {
    MDB_val k = val(key);
    MDB_val v{};
    const int code = mdb_get(txn, dbi[static_cast<std::size_t>(table)], &k, &v);
    if (code == MDB_NOTFOUND) return std::nullopt;
    if (code != 0) return fail(failed("read", code));
    return bytes(v);
  }

  Result<void> open_tables() {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env, nullptr, 0, &txn); code != 0) return fail(failed("begin", code));
    for (unsigned i = 0; i < kDbCount; ++i) {
      const bool many = static_cast<Table>(i) == Table::kContents;
      const unsigned flags = MDB_CREATE | (many ? MDB_DUPSORT | MDB_DUPFIXED : 0U);
      if (const int code = mdb_dbi_open(txn, kTableNames[i], flags, &dbi[i]); code != 0) {
        mdb_txn_abort(txn);
        return fail(failed(kTableNames[i], code));
      }
    }
    if (const int code = mdb_txn_commit(txn); code != 0) return fail(failed("commit", code));
    complete_last_page();
    see(false);
    return find_map();
  }
};

LmdbEnv::LmdbEnv(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmdbEnv::~LmdbEnv() {
  std::unique_lock lock(impl_->reads_mutex);
  impl_->reads_changed.wait(lock, [&] { return impl_->reads == 0; });
}

Result<std::unique_ptr<LmdbEnv>> LmdbEnv::open(const std::filesystem::path& directory,
                                               std::uint64_t map_bytes) {
  auto impl = std::make_unique<Impl>();
  if (auto opened = impl->open_env(directory, map_bytes); !opened) return fail(opened.error());
  if (auto opened = impl->open_tables(); !opened) return fail(opened.error());
  return std::unique_ptr<LmdbEnv>(new LmdbEnv(std::move(impl)));
}

struct LmdbEnv::Read::Impl {
  LmdbEnv::Impl* env = nullptr;
  MDB_txn* txn = nullptr;

  ~Impl() {
    if (txn != nullptr) mdb_txn_abort(txn);
    const std::lock_guard lock(env->reads_mutex);
    --env->reads;
    env->reads_changed.notify_all();
  }
};

LmdbEnv::Read::Read(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmdbEnv::Read::~Read() = default;

Result<std::shared_ptr<LmdbEnv::Read>> LmdbEnv::read() {
  {
    const std::lock_guard lock(impl_->reads_mutex);
    ++impl_->reads;
  }
  auto read = std::make_unique<Read::Impl>();
  read->env = impl_.get();
  int code = mdb_txn_begin(impl_->env, nullptr, MDB_RDONLY, &read->txn);
  if (code == MDB_READERS_FULL) {
    int dead = 0;
    mdb_reader_check(impl_->env, &dead);
    code = mdb_txn_begin(impl_->env, nullptr, MDB_RDONLY, &read->txn);
  }
  if (code != 0) return fail(impl_->failed("begin", code));
  return std::shared_ptr<Read>(new Read(std::move(read)));
}

Result<std::optional<Bytes>> LmdbEnv::Read::get(Table table, Bytes key) const {
  return impl_->env->get(impl_->txn, table, key);
}

Result<void> LmdbEnv::Read::for_each_value(Table table, Bytes key,
                                           const std::function<bool(Bytes)>& visit) const {
  auto cursor = open_cursor(impl_->txn, impl_->env->dbi[static_cast<std::size_t>(table)]);
  if (!cursor) return fail(cursor.error());
  MDB_val k = val(key);
  MDB_val v{};
  int code = mdb_cursor_get(cursor->get(), &k, &v, MDB_SET_KEY);
  while (code == 0) {
    if (!visit(bytes(v))) return {};
    code = mdb_cursor_get(cursor->get(), &k, &v, MDB_NEXT_DUP);
  }
  if (code != MDB_NOTFOUND) return fail(impl_->env->failed("read", code));
  return {};
}

Result<void> LmdbEnv::Read::for_each(Table table, const std::function<bool(Bytes, Bytes)>& visit,
                                     Bytes from) const {
  auto cursor = open_cursor(impl_->txn, impl_->env->dbi[static_cast<std::size_t>(table)]);
  if (!cursor) return fail(cursor.error());
  MDB_val k = val(from);
  MDB_val v{};
  int code = mdb_cursor_get(cursor->get(), &k, &v, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
  while (code == 0) {
    if (!visit(bytes(k), bytes(v))) return {};
    code = mdb_cursor_get(cursor->get(), &k, &v, MDB_NEXT);
  }
  if (code != MDB_NOTFOUND) return fail(impl_->env->failed("read", code));
  return {};
}

Result<void> LmdbEnv::write(const std::function<Result<void>(Write&)>& body) {
  const std::lock_guard lock(impl_->write_mutex);
  // A process that died while it read would keep every page from being used again.
  int dead = 0;
  mdb_reader_check(impl_->env, &dead);
  impl_->see(true);
  auto done = impl_->write(body);
  impl_->see(false);
  return done;
}

Result<void> LmdbEnv::Write::put(Table table, Bytes key, Bytes value) {
  if (auto right = check_large(table, key); !right) return right;
  MDB_val k = val(key);
  MDB_val v = val(value);
  const int code = mdb_put(static_cast<MDB_txn*>(txn_), env_.dbi[static_cast<std::size_t>(table)], &k, &v, 0);
  if (code != 0) return fail(env_.failed("write", code));
  return {};
}

Result<void> LmdbEnv::Write::erase(Table table, Bytes key, std::optional<Bytes> value) {
  if (auto right = check_large(table, key); !right) return right;
  MDB_val k = val(key);
  MDB_val v = val(value.value_or(Bytes{}));
  const int code = mdb_del(static_cast<MDB_txn*>(txn_), env_.dbi[static_cast<std::size_t>(table)], &k,
                           value ? &v : nullptr);
  if (code != 0 && code != MDB_NOTFOUND) return fail(env_.failed("erase", code));
  return {};
}

Result<std::optional<Bytes>> LmdbEnv::Write::get(Table table, Bytes key) {
  return env_.get(static_cast<MDB_txn*>(txn_), table, key);
}

/// LMDB frees as many pages of a large value as the first of them says, whichever it says it is.
Result<void> LmdbEnv::Write::check_large(Table table, Bytes key) {
  if (table == Table::kContents) return {};  // has none, though a value may begin a page of a tree of them
  const auto value = get(table, key);
  if (!value) return fail(value.error());
  if (!*value) return {};
  const auto place = env_.place_of(**value);
  if (!place) return {};
  const std::byte* page = env_.map + *place;
  const std::uint64_t pages = lmdb_page::pages_of((*value)->size(), env_.page_bytes);
  if (!lmdb_page::is_first_of({page, lmdb_page::kHeaderBytes}, *place / env_.page_bytes, pages)) {
    return fail(env_.failed("the first page of a record", MDB_CORRUPTED));
  }
  return {};
}

bool LmdbEnv::wait_idle() {
  std::unique_lock lock(impl_->reads_mutex);
  return impl_->idle(lock);
}

Result<void> LmdbEnv::resize(std::uint64_t map_bytes) {
  const std::lock_guard writes(impl_->write_mutex);
  std::unique_lock lock(impl_->reads_mutex);
  if (!impl_->idle(lock)) return fail(ErrorCode::kBusy, "the cache's map is in use and cannot grow now");
  if (const int code = mdb_env_set_mapsize(impl_->env, map_bytes); code != 0)
    return fail(impl_->failed("map", code));
  return impl_->find_map();
}

std::uint64_t LmdbEnv::map_bytes() const {
  return impl_->map_bytes();
}

void LmdbEnv::forget(Bytes value) const {
  const auto place = impl_->place_of(value);
  const std::uint64_t pages = lmdb_page::pages_of(value.size(), impl_->page_bytes);
  if (place && pages > 1) impl_->punch(*place / impl_->page_bytes + 1, pages - 1);
}

Result<void> LmdbEnv::forget_free_pages() {
  const std::lock_guard writes(impl_->write_mutex);
  // Else what a power cut leaves could be a tree that still has these pages.
  if (const int code = mdb_env_sync(impl_->env, 1); code != 0) return fail(impl_->failed("sync", code));
  auto view = read();
  if (!view) return fail(view.error());
  auto cursor = open_cursor((*view)->impl_->txn, kFreePages);
  if (!cursor) return fail(cursor.error());
  for (MDB_val key{}, list{}; mdb_cursor_get(cursor->get(), &key, &list, MDB_NEXT) == 0;) {
    std::vector<std::uint64_t> pages(list.mv_size / sizeof(std::uint64_t));
    std::memcpy(pages.data(), list.mv_data, list.mv_size);  // how many, then each, the highest first
    for (std::size_t i = 1, run = 1; i <= pages[0]; ++i, ++run) {
      if (i < pages[0] && pages[i + 1] + 1 == pages[i]) continue;
      impl_->punch(pages[i], std::exchange(run, 0));
    }
  }
  return {};
}

bool LmdbEnv::trusted() const {
  const std::lock_guard lock(impl_->seen_mutex);
  struct stat status {};
  if (impl_->distrusted || ::stat(impl_->file.c_str(), &status) != 0) return false;
  const SeenFile now = SeenFile::of(status);
  return impl_->writing ? impl_->seen.same_file(now) && now.bytes >= impl_->seen.bytes
                        : impl_->seen.same(now);
}

}  // namespace kvboost::cache
