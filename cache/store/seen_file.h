// SPDX-License-Identifier: Apache-2.0
// SeenFile: a file as it was when this process had last written to it. A value.
#pragma once

#include <sys/stat.h>

#include <ctime>

namespace kvboost::cache {

struct SeenFile {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  timespec changed{};  // moves with every change by others

  [[nodiscard]] static SeenFile of(const struct stat& status) {
    return {status.st_dev, status.st_ino, status.st_size, status.st_ctim};
  }
  [[nodiscard]] bool same_file(const SeenFile& other) const {
    return device == other.device && inode == other.inode;
  }
  [[nodiscard]] bool same(const SeenFile& other) const {
    return same_file(other) && bytes == other.bytes && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

}  // namespace kvboost::cache
