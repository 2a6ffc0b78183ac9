// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_error.h"

#include <lmdb.h>

#include <string>

namespace kvboost::cache {

Error error_of(const char* what, int code) {
  ErrorCode kind = ErrorCode::kIo;
  if (code == MDB_MAP_FULL || code == MDB_TXN_FULL) kind = ErrorCode::kBusy;
  if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
      code == MDB_VERSION_MISMATCH || code == MDB_PANIC || code == MDB_BAD_TXN || code == MDB_BAD_DBI ||
      code == MDB_INCOMPATIBLE || code == MDB_CURSOR_FULL || code == MDB_PAGE_FULL ||
      code == MDB_BAD_VALSIZE || code == MDB_KEYEXIST) {
    kind = ErrorCode::kCorrupt;
  }
  return {kind, std::string(what) + ": " + mdb_strerror(code), {}};
}

}  // namespace kvboost::cache
