// The file systems of this shim, and the env that stacks them.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "sealstone.h"

namespace sealstone {

// A logger for databases that must leave no log file: it holds options, file names and sometimes keys of records, and
// would be outside the seal.
class NoLog : public rocksdb::Logger {
 public:
  NoLog() : Logger(rocksdb::InfoLogLevel::HEADER_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

// What the counting file system adds up. Many threads at once.
struct IoCounters {
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> written_bytes{0};
  std::atomic<uint64_t> syncs{0};
  std::atomic<uint64_t> sync_ns{0};
  std::atomic<uint64_t> wall_ns{0};
  std::atomic<uint64_t> cpu_ns{0};
};

// After a long read, which is RocksDB reading ahead: asks the system to fetch what follows while this is being used.
// Single blocks are shorter.
inline void FetchNext(rocksdb::FSRandomAccessFile& file, uint64_t offset, size_t bytes,
                      const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) {
  constexpr size_t kReadAheadBytes = 128 * 1024;
  if (bytes >= kReadAheadBytes) {
    file.Prefetch(offset, bytes, options, dbg).PermitUncheckedError();
  }
}

// Forwards everything to `target` and counts bytes and time of reads, writes and syncs. `reads_as_sealed`: reads ahead
// the way the sealed file system does, for a database without a seal. Otherwise a comparison of the two would also
// compare two ways of reading ahead, and RocksDB's own is the slower one.
std::shared_ptr<rocksdb::FileSystem> NewCountingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                           const std::shared_ptr<IoCounters>& counters,
                                                           bool reads_as_sealed);

// What a name of the operating system's files stands for, links followed.
struct Place {
  bool there = false;           // also for a link that leads nowhere
  uint64_t bytes = 0;           // length of a regular file
  const char* other = nullptr;  // what is there instead of a regular file, in words
  int error = 0;                // why it cannot be looked at: an errno
};
Place LookAt(const std::string& path);

// Forwards everything to `target`, the operating system's files, but opens regular files alone.
std::shared_ptr<rocksdb::FileSystem> NewRegularFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target);

// Stores every file sealed in `target`. Takes over `seal`, even if it fails. `on_system`: whether the names of `target`
// are those of the operating system's files.
std::unique_ptr<rocksdb::FileSystem> NewSealedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                         const sealstone_seal_ops& ops, const void* seal,
                                                         bool on_system);

}  // namespace sealstone

struct sealstone_env {
  std::unique_ptr<rocksdb::Env> memory;  // the base, where it is not the default one
  std::shared_ptr<sealstone::IoCounters> counters;
  std::unique_ptr<rocksdb::Env> env;
};
