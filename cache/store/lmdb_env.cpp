// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_env.h"

#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace kvboost::cache {
namespace {

constexpr unsigned kDbCount = kTableNames.size();
constexpr auto kReadsEndWithin = std::chrono::seconds(2);

Error error_of(const char* what, int code) {
  ErrorCode kind = ErrorCode::kIo;
  if (code == MDB_MAP_FULL || code == MDB_TXN_FULL) kind = ErrorCode::kBusy;
  if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
      code == MDB_VERSION_MISMATCH || code == MDB_PANIC || code == MDB_BAD_TXN || code == MDB_BAD_DBI ||
      code == MDB_INCOMPATIBLE) {
    kind = ErrorCode::kCorrupt;
  }
  return {kind, std::string(what) + ": " + mdb_strerror(code), {}};
}

MDB_val val(Bytes bytes) {
  return {bytes.size(), const_cast<std::byte*>(bytes.data())};
}
Bytes bytes(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

struct CursorCloser {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using Cursor = std::unique_ptr<MDB_cursor, CursorCloser>;

Result<Cursor> open_cursor(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor = nullptr;
  if (const int code = mdb_cursor_open(txn, dbi, &cursor); code != 0) return fail(error_of("cursor", code));
  return Cursor(cursor);
}

Result<std::optional<Bytes>> get_in(MDB_txn* txn, MDB_dbi dbi, Bytes key) {
  MDB_val k = val(key);
  MDB_val v{};
  const int code = mdb_get(txn, dbi, &k, &v);
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0) return fail(error_of("read", code));
  return bytes(v);
}

}  // namespace

struct LmdbEnv::Impl {
  std::filesystem::path file;
  MDB_env* env = nullptr;
  std::array<unsigned, kDbCount> dbi{};
  ino_t inode = 0;
  std::atomic<std::int64_t> length = 0;  // of the file, when it was last seen whole

  std::mutex write_mutex;
  std::mutex reads_mutex;
  std::condition_variable reads_changed;
  int reads = 0;

  ~Impl() {
    if (env != nullptr) mdb_env_close(env);
  }

  Result<void> open_env(const std::filesystem::path& directory, std::uint64_t map_bytes) {
    file = directory / "data.mdb";
    if (const int code = mdb_env_create(&env); code != 0) return fail(error_of("create", code));
    mdb_env_set_maxdbs(env, kDbCount);
    mdb_env_set_mapsize(env, map_bytes);
    // Readers are handles, not threads. A commit syncs its data; only the newest commits can be lost with the
    // power.
    const unsigned flags = MDB_NOTLS | MDB_NOMETASYNC | MDB_NOMEMINIT;
    if (const int code = mdb_env_open(env, directory.c_str(), flags, 0600); code != 0) {
      return fail(error_of("open", code));
    }
    int dead = 0;
    mdb_reader_check(env, &dead);
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return fail_errno(file.string(), errno);
    inode = status.st_ino;
    return check_length(static_cast<std::uint64_t>(status.st_size));
  }

  /// LMDB does not write a last page that was taken and freed in one transaction; the length is to say of a
  /// file whether it is whole.
  void complete_last_page() {
    mdb_filehandle_t descriptor = -1;
    MDB_envinfo info{};
    MDB_stat stat{};
    struct stat status {};
    mdb_env_info(env, &info);
    mdb_env_stat(env, &stat);
    if (mdb_env_get_fd(env, &descriptor) != 0 || ::fstat(descriptor, &status) != 0) return;
    const auto needed = static_cast<off_t>((info.me_last_pgno + 1) * stat.ms_psize);
    if (status.st_size < needed && ::ftruncate(descriptor, needed) == 0) status.st_size = needed;
    length = status.st_size;
  }

  bool idle(std::unique_lock<std::mutex>& lock) {
    return reads_changed.wait_for(lock, kReadsEndWithin, [&] { return reads == 0; });
  }

  /// Reading a page behind the end of a file that was cut short would be SIGBUS, not an error.
  Result<void> check_length(std::uint64_t size) const {
    MDB_envinfo info{};
    MDB_stat stat{};
    mdb_env_info(env, &info);
    mdb_env_stat(env, &stat);
    if (info.me_last_txnid > 0 && (info.me_last_pgno + 1) * stat.ms_psize > size) {
      return fail(ErrorCode::kCorrupt, "the file is cut short: " + std::to_string(size) + " bytes");
    }
    return {};
  }

  Result<void> open_tables() {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env, nullptr, 0, &txn); code != 0)
      return fail(error_of("begin", code));
    for (unsigned i = 0; i < kDbCount; ++i) {
      const bool many = static_cast<Table>(i) == Table::kContents;
      const unsigned flags = MDB_CREATE | (many ? MDB_DUPSORT | MDB_DUPFIXED : 0U);
      if (const int code = mdb_dbi_open(txn, kTableNames[i], flags, &dbi[i]); code != 0) {
        mdb_txn_abort(txn);
        return fail(error_of(kTableNames[i], code));
      }
    }
    if (const int code = mdb_txn_commit(txn); code != 0) return fail(error_of("commit", code));
    complete_last_page();
    return {};
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
  if (code != 0) return fail(error_of("begin", code));
  return std::shared_ptr<Read>(new Read(std::move(read)));
}

Result<std::optional<Bytes>> LmdbEnv::Read::get(Table table, Bytes key) const {
  return get_in(impl_->txn, impl_->env->dbi[static_cast<std::size_t>(table)], key);
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
  if (code != MDB_NOTFOUND) return fail(error_of("read", code));
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
  if (code != MDB_NOTFOUND) return fail(error_of("read", code));
  return {};
}

Result<void> LmdbEnv::write(const std::function<Result<void>(Write&)>& body) {
  const std::lock_guard lock(impl_->write_mutex);
  // A process that died while it read would keep every page from being used again.
  int dead = 0;
  mdb_reader_check(impl_->env, &dead);
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin(impl_->env, nullptr, 0, &txn); code != 0) {
    return fail(error_of("begin", code));
  }
  Write write(txn, impl_->dbi.data());
  if (auto done = body(write); !done) {
    mdb_txn_abort(txn);
    return done;
  }
  if (const int code = mdb_txn_commit(txn); code != 0) return fail(error_of("commit", code));
  impl_->complete_last_page();
  return {};
}

Result<void> LmdbEnv::Write::put(Table table, Bytes key, Bytes value) {
  MDB_val k = val(key);
  MDB_val v = val(value);
  const int code = mdb_put(static_cast<MDB_txn*>(txn_), dbi_[static_cast<std::size_t>(table)], &k, &v, 0);
  if (code != 0) return fail(error_of("write", code));
  return {};
}

Result<void> LmdbEnv::Write::erase(Table table, Bytes key, std::optional<Bytes> value) {
  MDB_val k = val(key);
  MDB_val v = val(value.value_or(Bytes{}));
  const int code =
      mdb_del(static_cast<MDB_txn*>(txn_), dbi_[static_cast<std::size_t>(table)], &k, value ? &v : nullptr);
  if (code != 0 && code != MDB_NOTFOUND) return fail(error_of("erase", code));
  return {};
}

Result<std::optional<Bytes>> LmdbEnv::Write::get(Table table, Bytes key) {
  return get_in(static_cast<MDB_txn*>(txn_), dbi_[static_cast<std::size_t>(table)], key);
}

Result<void> LmdbEnv::Write::clear(Table table) {
  const int code = mdb_drop(static_cast<MDB_txn*>(txn_), dbi_[static_cast<std::size_t>(table)], 0);
  if (code != 0) return fail(error_of("clear", code));
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
    return fail(error_of("map", code));
  return {};
}

std::uint64_t LmdbEnv::map_bytes() const {
  MDB_envinfo info{};
  mdb_env_info(impl_->env, &info);
  return info.me_mapsize;
}

std::uint64_t LmdbEnv::file_bytes() const {
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(impl_->env, &info);
  mdb_env_stat(impl_->env, &stat);
  return (info.me_last_pgno + 1) * stat.ms_psize;
}

Result<void> LmdbEnv::compact_to(const std::filesystem::path& directory) {
  const int code = mdb_env_copy2(impl_->env, directory.c_str(), MDB_CP_COMPACT);
  if (code != 0) return fail(error_of("compact", code));
  return {};
}

bool LmdbEnv::in_place() const {
  struct stat status {};
  return whole() && ::stat(impl_->file.c_str(), &status) == 0 && status.st_ino == impl_->inode;
}

bool LmdbEnv::whole() const {
  const std::int64_t length = impl_->length;
  mdb_filehandle_t descriptor = -1;
  struct stat status {};
  return mdb_env_get_fd(impl_->env, &descriptor) == 0 && ::fstat(descriptor, &status) == 0 &&
         status.st_size >= length;
}

}  // namespace kvboost::cache
