// The stored files, as the catalogues are kept on them (`sealstone_files`): each function makes one or a few calls of
// the base file system, below the seal. Not here: what is written into them, which is Rust's business.
#pragma once

#include <memory>

#include "rocksdb/file_system.h"
#include "sealstone.h"

namespace sealstone {

// The functions for the files of `target`, as long as this object lives. Many threads at once. `on_system`: whether its
// names are those of the operating system's files.
struct StoredFiles {
  StoredFiles(std::shared_ptr<rocksdb::FileSystem> target, bool on_system);
  StoredFiles(const StoredFiles&) = delete;
  StoredFiles& operator=(const StoredFiles&) = delete;

  const std::shared_ptr<rocksdb::FileSystem> target;
  const sealstone_files calls;
};

}  // namespace sealstone
