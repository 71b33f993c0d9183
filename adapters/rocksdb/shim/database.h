// An open database, for the files of this shim that work on one, and what all databases have in common, including those
// of the simulator (`families.cc`).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/transaction_db.h"
#include "sealstone.h"

namespace sealstone {

// Remembers that a write of the database failed.
struct Failures : public rocksdb::EventListener {
  std::atomic<bool> seen{false};
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override { seen.store(true); }
};

// Also remembers which compactions are running.
struct Watch : public Failures {
  std::mutex mutex;
  uint64_t begun = 0;
  std::map<int, uint64_t> running;  // by job, its position in the order of starting
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override {
    const std::lock_guard<std::mutex> lock(mutex);
    running[job.job_id] = begun++;
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override {
    const std::lock_guard<std::mutex> lock(mutex);
    running.erase(job.job_id);
  }
};

inline rocksdb::WriteOptions Writing(int32_t sync) {
  rocksdb::WriteOptions options;
  options.sync = sync != 0;
  return options;
}

// How a table is rewritten as it is.
inline rocksdb::CompactionOptions Rewriting() {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // what the column family's own options say
  options.max_subcompactions = 1;                             // all of it in this thread
  return options;
}

// Reads RocksDB's own options text.
rocksdb::Status ParseOptions(const char* text, size_t text_bytes, rocksdb::Options* options);

// `DB::Open` returns a plain pointer in older versions and an owning one in newer ones.
template <typename Base>
rocksdb::Status OpenFamilies(const rocksdb::DBOptions& options, const std::string& path,
                             const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                             std::vector<rocksdb::ColumnFamilyHandle*>* handles, std::unique_ptr<Base>* db) {
  if constexpr (requires { Base::Open(options, path, families, handles, db); }) {
    return Base::Open(options, path, families, handles, db);
  } else {
    Base* opened = nullptr;
    rocksdb::Status status = Base::Open(options, path, families, handles, &opened);
    db->reset(opened);
    return status;
  }
}

// Ends `db`, of which `families` are the handles that do not belong to it itself. It is freed elsewhere.
rocksdb::Status CloseDatabase(rocksdb::DB& db, const Failures& failures,
                              std::span<rocksdb::ColumnFamilyHandle* const> families);

// Makes a copy of `db` in `path`.
rocksdb::Status MakeCheckpoint(rocksdb::DB* db, const std::string& path);

}  // namespace sealstone

struct sealstone_db {
  std::unique_ptr<rocksdb::DB> db;                 // a TransactionDB where `transactions` is set
  rocksdb::TransactionDB* transactions = nullptr;  // the same object
  rocksdb::DB* base = nullptr;                     // the database under the lock table, or the same object
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::shared_ptr<sealstone::Watch> watch = std::make_shared<sealstone::Watch>();
  std::vector<rocksdb::ColumnFamilyHandle*> families;  // of all column families that are open
  rocksdb::ColumnFamilyHandle* reads = nullptr;        // one of these, where reads are not of the default one
  bool unchecked = false;        // reads do not compare RocksDB's own checksum of a block
  size_t borrowed_families = 0;  // this many of the first ones belong to the database itself
  std::vector<std::pair<rocksdb::ColumnFamilyHandle*, rocksdb::ColumnFamilyOptions>> before_moving_blobs;

  // Options of every read.
  rocksdb::ReadOptions Reading() const {
    rocksdb::ReadOptions reading;
    reading.verify_checksums = !unchecked;
    return reading;
  }

  // The column family that reads and iterators are of.
  rocksdb::ColumnFamilyHandle* ReadFamily() const { return reads != nullptr ? reads : base->DefaultColumnFamily(); }
};
