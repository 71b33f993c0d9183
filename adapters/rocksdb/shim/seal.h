// What the parts of the sealed file system share: Rust's functions with what they seal by, and how a file of RocksDB's
// relates to the one that is stored. Not here: reading (`sealed_content.h`), writing (`sealed_writable_file.h`).
#pragma once

#include <memory>
#include <string>

#include "rocksdb/file_system.h"
#include "sealstone.h"
#include "stored_files.h"

namespace sealstone {

// `seal` and the functions that know what it is. Shared by the file system and its open files.
class Seal {
 public:
  Seal(const sealstone_seal_ops& ops, const void* seal, const std::shared_ptr<rocksdb::FileSystem>& target,
       bool on_system)
      : ops(ops), seal(seal), files_(target, on_system) {
    ops.attach(seal, &files_.calls);
  }
  ~Seal() { ops.release(seal); }
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  const sealstone_seal_ops ops;
  const void* const seal;

 private:
  const StoredFiles files_;
};
using SealPtr = std::shared_ptr<const Seal>;

// Rust's answer in RocksDB's terms. SEALSTONE_READ_FAILED is for callers that let Rust read and so know the reason.
rocksdb::IOStatus Answer(int32_t code, const sealstone_message& message);

// How the file below is to be opened: memory maps and direct I/O are about stored bytes, which RocksDB never sees.
rocksdb::FileOptions Below(const rocksdb::FileOptions& options);

rocksdb::IOStatus RefuseMaps(const std::string& name, const rocksdb::FileOptions& options);

// Logs and manifests are appended to and must be readable after a crash. Everything else is written once.
bool IsAppendedTo(const std::string& path);

}  // namespace sealstone
