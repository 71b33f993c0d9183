// The two file systems of this shim, and the env that stacks them.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <memory>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "sealstone.h"

namespace sealstone {

// A logger for databases that must leave no log file: it holds options, file names and sometimes keys of records, and
// would lie outside the seal.
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
  std::atomic<uint64_t> wall_ns{0};
  std::atomic<uint64_t> cpu_ns{0};
};

// Passes everything on to `target` and counts bytes and time of reads, writes and syncs.
std::shared_ptr<rocksdb::FileSystem> NewCountingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                           const std::shared_ptr<IoCounters>& counters);

// Stores every file sealed in `target`. Takes over `seal`.
std::shared_ptr<rocksdb::FileSystem> NewSealedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                         const sealstone_seal_ops& ops, const void* seal);

}  // namespace sealstone

struct sealstone_env {
  std::unique_ptr<rocksdb::Env> memory;  // the base, where it is not the default one
  std::shared_ptr<sealstone::IoCounters> counters;
  std::unique_ptr<rocksdb::Env> env;
};
