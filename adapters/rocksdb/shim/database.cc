// RocksDB's C++ interface behind plain C functions, as far as Sealstone's Rust code uses it: here, databases with their
// caches, and batches of writes; in the files next to this one, what works on an open database. RocksDB's own C
// interface is not used because it drops status codes, lacks parts in older versions, and allocates for every value
// read.

#include "database.h"

#include <string>
#include <vector>

#include "file_systems.h"
#include "report.h"
#include "rocksdb/cache.h"
#if __has_include("rocksdb/advanced_cache.h")
#include "rocksdb/advanced_cache.h"
#endif
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/write_batch.h"

using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::TransactionDB;
using sealstone::AsSlice;
using sealstone::Caught;
using sealstone::CaughtStatus;
using sealstone::CloseDatabase;
using sealstone::Found;
using sealstone::MakeCheckpoint;
using sealstone::OpenFamilies;
using sealstone::ParseOptions;
using sealstone::Report;
using sealstone::Writing;

struct sealstone_cache {
  std::shared_ptr<rocksdb::Cache> cache;
};

struct sealstone_batch {
  rocksdb::WriteBatch batch;
  Status failure;  // what could not be added
};

namespace sealstone {

Status ParseOptions(const char* text, size_t text_bytes, rocksdb::Options* options) {
  rocksdb::ConfigOptions config;
  config.invoke_prepare_options = false;
  return rocksdb::GetOptionsFromString(config, rocksdb::Options(), std::string(text, text_bytes), options);
}

Status CloseDatabase(DB& db, const Failures& failures, std::span<ColumnFamilyHandle* const> families) {
  // what a clean end leaves in the log cannot be cut off later: a log's header says how much of it was synced
  // RocksDB built with assertions ends the process when a log is synced that could not be written (a full disk)
  const Status synced = failures.seen.load() ? Status::OK() : db.SyncWAL();
  for (ColumnFamilyHandle* family : families) {
    db.DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  const Status closed = db.Close();
  return synced.ok() || synced.IsNotSupported() ? closed : synced;
}

Status MakeCheckpoint(DB* db, const std::string& path) {
  rocksdb::Checkpoint* created = nullptr;
  const Status status = rocksdb::Checkpoint::Create(db, &created);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(created);
  return status.ok() ? checkpoint->CreateCheckpoint(path) : status;
}

}  // namespace sealstone

namespace {

// `DB::Open` returns a plain pointer in older versions and an owning one in newer ones.
template <typename Base>
Status Open(const rocksdb::Options& options, const std::string& path, std::unique_ptr<Base>* db) {
  if constexpr (requires { Base::Open(options, path, db); }) {
    return Base::Open(options, path, db);
  } else {
    Base* opened = nullptr;
    Status status = Base::Open(options, path, &opened);
    db->reset(opened);
    return status;
  }
}

// What a database was last opened with. One that has no OPTIONS file gets the defaults.
Status StoredOptions(rocksdb::Env* env, const std::string& path, rocksdb::DBOptions* options,
                     std::vector<rocksdb::ColumnFamilyDescriptor>* families) {
  rocksdb::ConfigOptions config;
  config.env = env;
  config.ignore_unknown_options = true;  // heeded for files of newer versions only
  // leaving a merge operator or a compaction filter out would change what a rewritten table holds, and RocksDB built
  // with assertions ends the process when it meets something to merge
  config.ignore_unsupported_options = false;
  Status status = rocksdb::LoadLatestOptions(config, path, options, families);
  if (status.IsNotFound()) {
    options->env = env;
    std::vector<std::string> names;
    status = DB::ListColumnFamilies(*options, path, &names);
    families->clear();
    for (const std::string& name : names) {
      families->emplace_back(name, rocksdb::ColumnFamilyOptions());
    }
  }
  return status;
}

// What a tool that did not write the database opens it with.
void Adopt(const sealstone_env* env, bool strict_log, rocksdb::DBOptions* options) {
  options->env = env->env.get();
  options->info_log = std::make_shared<sealstone::NoLog>();
  options->create_if_missing = false;
  options->error_if_exists = false;
  options->allow_mmap_reads = false;
  options->allow_mmap_writes = false;
  if (strict_log && options->wal_recovery_mode != rocksdb::WALRecoveryMode::kAbsoluteConsistency) {
    options->wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  }
}

// As `OpenFamilies`, for reading only.
template <typename Base>
Status OpenForReading(const rocksdb::DBOptions& options, const std::string& path,
                      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                      std::vector<ColumnFamilyHandle*>* handles, std::unique_ptr<Base>* db) {
  if constexpr (requires { Base::OpenForReadOnly(options, path, families, handles, db); }) {
    return Base::OpenForReadOnly(options, path, families, handles, db);
  } else {
    Base* opened = nullptr;
    Status status = Base::OpenForReadOnly(options, path, families, handles, &opened);
    db->reset(opened);
    return status;
  }
}

// The engine's settings that no options text can express.
Status Complete(const sealstone_env* env, const sealstone_cache* cache, uint32_t flags, rocksdb::Options* options,
                std::shared_ptr<rocksdb::Statistics>* statistics) {
  options->env = env->env.get();
  options->info_log = std::make_shared<sealstone::NoLog>();
  if ((flags & SEALSTONE_STATISTICS) != 0) {
    *statistics = rocksdb::CreateDBStatistics();
    (*statistics)->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
    options->statistics = *statistics;
  }
  if (cache != nullptr) {
    auto* table = options->table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    if (table == nullptr) {
      return Status::InvalidArgument("a block cache needs block-based tables");
    }
    table->block_cache = cache->cache;
  }
  return Status::OK();
}

// The first failure of several calls.
void Keep(const Status& status, Status* first) {
  if (first->ok()) {
    *first = status;
  }
}

}  // namespace

extern "C" {

// ---- caches --------------------------------------------------------------------------------------------------------

sealstone_cache* sealstone_cache_new(uint64_t capacity_bytes) noexcept try {
  return new sealstone_cache{rocksdb::NewLRUCache(static_cast<size_t>(capacity_bytes))};
} catch (...) {
  return nullptr;
}
void sealstone_cache_free(sealstone_cache* cache) noexcept { delete cache; }
void sealstone_cache_empty(sealstone_cache* cache) noexcept { cache->cache->EraseUnRefEntries(); }

// ---- databases -----------------------------------------------------------------------------------------------------

int32_t sealstone_db_open(const sealstone_env* env, const char* path, size_t path_bytes, const char* options,
                          size_t options_bytes, const sealstone_cache* cache, uint32_t flags, sealstone_db** db,
                          sealstone_error* error) noexcept try {
  rocksdb::Options parsed;
  Status status = ParseOptions(options, options_bytes, &parsed);
  if (!status.ok()) {
    return Report(status, error);
  }
  auto opened = std::make_unique<sealstone_db>();
  status = Complete(env, cache, flags, &parsed, &opened->statistics);
  if (!status.ok()) {
    return Report(status, error);
  }
  parsed.listeners.push_back(opened->watch);
  const std::string name(path, path_bytes);
  if ((flags & SEALSTONE_TRANSACTIONS) != 0) {
    TransactionDB* transactions = nullptr;
    rocksdb::TransactionDBOptions settings;
    settings.transaction_lock_timeout = 1000;  // ms
    status = TransactionDB::Open(parsed, settings, name, &transactions);
    opened->db.reset(transactions);
    opened->transactions = transactions;
    opened->base = transactions == nullptr ? nullptr : transactions->GetBaseDB();
  } else {
    status = Open<DB>(parsed, name, &opened->db);
    opened->base = opened->db.get();
  }
  if (!status.ok()) {
    return Report(status, error);
  }
  opened->unchecked = (flags & SEALSTONE_UNCHECKED) != 0;
  opened->families.push_back(opened->base->DefaultColumnFamily());
  opened->borrowed_families = 1;
  *db = opened.release();
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_open_stored(const sealstone_env* env, const char* path, size_t path_bytes, int32_t strict_log,
                                 sealstone_db** db, sealstone_error* error) noexcept try {
  const std::string name(path, path_bytes);
  auto opened = std::make_unique<sealstone_db>();
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Status status = StoredOptions(env->env.get(), name, &options, &families);
  if (!status.ok()) {
    return Report(status, error);
  }
  Adopt(env, strict_log != 0, &options);
  options.listeners.push_back(opened->watch);
  status = OpenFamilies<DB>(options, name, families, &opened->families, &opened->db);
  if (!status.ok()) {
    return Report(status, error);
  }
  opened->base = opened->db.get();
  *db = opened.release();
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_open_for_reading(const sealstone_env* env, const char* path, size_t path_bytes, size_t count,
                                      const sealstone_bytes* families, sealstone_db** db,
                                      sealstone_error* error) noexcept try {
  const std::string name(path, path_bytes);
  auto opened = std::make_unique<sealstone_db>();
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> stored;
  Status status = StoredOptions(env->env.get(), name, &options, &stored);
  if (!status.ok()) {
    return Report(status, error);
  }
  Adopt(env, true, &options);
  std::vector<std::string> names = {rocksdb::kDefaultColumnFamilyName};
  for (size_t i = 0; i < count; i++) {
    names.push_back(AsSlice(families[i].data, families[i].bytes).ToString());
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
  for (const std::string& family : names) {
    if (&family != &names.front() && family == rocksdb::kDefaultColumnFamilyName) {
      continue;
    }
    wanted.emplace_back(family, rocksdb::ColumnFamilyOptions());
    for (const rocksdb::ColumnFamilyDescriptor& known : stored) {
      if (known.name == family) {
        wanted.back().options = known.options;
      }
    }
  }
  status = OpenForReading<DB>(options, name, wanted, &opened->families, &opened->db);
  if (!status.ok()) {
    return Report(status, error);
  }
  opened->base = opened->db.get();
  for (ColumnFamilyHandle* family : opened->families) {
    if (family->GetName() == names.back()) {
      opened->reads = family;
    }
  }
  *db = opened.release();
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_close(sealstone_db* db, sealstone_error* error) noexcept try {
  const std::unique_ptr<sealstone_db> ended(db);
  const auto own = std::span(ended->families).subspan(ended->borrowed_families);
  return Report(CloseDatabase(*ended->db, *ended->watch, own), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_get(sealstone_db* db, const uint8_t* key, size_t key_bytes, sealstone_sink sink, void* context,
                         int32_t* found, sealstone_error* error) noexcept try {
  PinnableSlice value;
  const Status status = db->base->Get(db->Reading(), db->ReadFamily(), AsSlice(key, key_bytes), &value);
  return Found(status, value, sink, context, found, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_multi_get(sealstone_db* db, size_t count, const sealstone_bytes* keys, sealstone_sink sink,
                               void* context, sealstone_error* error) noexcept try {
  std::vector<Slice> slices;
  slices.reserve(count);
  for (size_t i = 0; i < count; i++) {
    slices.push_back(AsSlice(keys[i].data, keys[i].bytes));
  }
  std::vector<PinnableSlice> values(count);
  std::vector<Status> statuses(count);
  db->base->MultiGet(db->Reading(), db->ReadFamily(), count, slices.data(), values.data(), statuses.data());
  for (const Status& status : statuses) {
    if (!status.ok() && !status.IsNotFound()) {
      return Report(status, error);
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (statuses[i].ok()) {
      sink(context, i, reinterpret_cast<const uint8_t*>(values[i].data()), values[i].size());
    }
  }
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_put(sealstone_db* db, const uint8_t* key, size_t key_bytes, const uint8_t* value,
                         size_t value_bytes, int32_t sync, int32_t locked, sealstone_error* error) noexcept try {
  DB* target = locked != 0 ? db->db.get() : db->base;
  return Report(target->Put(Writing(sync), target->DefaultColumnFamily(), AsSlice(key, key_bytes),
                            AsSlice(value, value_bytes)),
                error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_delete(sealstone_db* db, const uint8_t* key, size_t key_bytes, int32_t sync,
                            sealstone_error* error) noexcept try {
  DB* target = db->db.get();
  return Report(target->Delete(Writing(sync), target->DefaultColumnFamily(), AsSlice(key, key_bytes)), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_flush(sealstone_db* db, sealstone_error* error) noexcept try {
  return Report(db->base->Flush(rocksdb::FlushOptions()), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_sync_wal(sealstone_db* db, sealstone_error* error) noexcept try {
  return Report(db->base->SyncWAL(), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_compact(sealstone_db* db, int32_t rewrite, sealstone_error* error) noexcept try {
  rocksdb::CompactRangeOptions options;
  if (rewrite != 0) {
    // optimized: not again those that this compaction itself has just written
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  }
  return Report(db->base->CompactRange(options, nullptr, nullptr), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_verify_checksum(sealstone_db* db, sealstone_error* error) noexcept try {
  return Report(db->base->VerifyChecksum(), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_checkpoint(sealstone_db* db, const char* path, size_t path_bytes,
                                sealstone_error* error) noexcept try {
  return Report(MakeCheckpoint(db->db.get(), std::string(path, path_bytes)), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_ingest(sealstone_db* db, size_t count, const sealstone_bytes* paths, int32_t move,
                            sealstone_error* error) noexcept try {
  std::vector<std::string> files;
  files.reserve(count);
  for (size_t i = 0; i < count; i++) {
    files.emplace_back(reinterpret_cast<const char*>(paths[i].data), paths[i].bytes);
  }
  rocksdb::IngestExternalFileOptions options;
  options.move_files = move != 0;
  options.write_global_seqno = false;  // would rewrite a few bytes in the middle of a sealed file
  return Report(db->base->IngestExternalFile(files, options), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_property(sealstone_db* db, const char* name, size_t name_bytes, uint64_t* value) noexcept try {
  return db->base->GetIntProperty(Slice(name, name_bytes), value) ? 1 : 0;
} catch (...) {
  return 0;
}

void sealstone_db_cache_counts(const sealstone_db* db, uint64_t* hits, uint64_t* misses) noexcept {
  *hits = 0;
  *misses = 0;
  if (db->statistics != nullptr) {
    *hits = db->statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_HIT);
    *misses = db->statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_MISS);
  }
}

// ---- write batches -------------------------------------------------------------------------------------------------

sealstone_batch* sealstone_batch_new(void) noexcept try {
  return new sealstone_batch;
} catch (...) {
  return nullptr;
}
void sealstone_batch_free(sealstone_batch* batch) noexcept { delete batch; }

void sealstone_batch_put(sealstone_batch* batch, const uint8_t* key, size_t key_bytes, const uint8_t* value,
                         size_t value_bytes) noexcept try {
  Keep(batch->batch.Put(AsSlice(key, key_bytes), AsSlice(value, value_bytes)), &batch->failure);
} catch (...) {
  batch->failure = CaughtStatus();
}

void sealstone_batch_delete(sealstone_batch* batch, const uint8_t* key, size_t key_bytes) noexcept try {
  Keep(batch->batch.Delete(AsSlice(key, key_bytes)), &batch->failure);
} catch (...) {
  batch->failure = CaughtStatus();
}

int32_t sealstone_db_write(sealstone_db* db, sealstone_batch* batch, int32_t sync,
                           sealstone_error* error) noexcept try {
  return Report(batch->failure.ok() ? db->db->Write(Writing(sync), &batch->batch) : batch->failure, error);
} catch (...) {
  return Caught(error);
}

}  // extern "C"
