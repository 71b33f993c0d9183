// Files that RocksDB writes, sealed on their way to the file below.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/file_system.h"
#include "seal.h"
#include "write_behind.h"

namespace sealstone {

// Makes the file `name` in `files`, sealed, in place of what has that name.
rocksdb::IOStatus CreateSealedFile(rocksdb::FileSystem& files, const SealPtr& seal,
                                   const std::shared_ptr<WriteBehinds>& behinds, const std::string& name,
                                   const rocksdb::FileOptions& options,
                                   std::unique_ptr<rocksdb::FSWritableFile>* result, rocksdb::IODebugContext* dbg);

// An existing paged file with `bytes` bytes of content, which can be synced but no longer written.
std::unique_ptr<rocksdb::FSWritableFile> NewSyncOnlyFile(const rocksdb::FileOptions& options,
                                                         std::unique_ptr<rocksdb::FSWritableFile> target,
                                                         uint64_t bytes);

}  // namespace sealstone
