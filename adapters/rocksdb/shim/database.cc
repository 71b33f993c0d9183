// RocksDB's C++ interface behind plain C functions, as far as Sealstone's Rust code uses it. RocksDB's own C interface
// is not used because it drops status codes, lacks parts in older versions, and allocates for every value read.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "file_systems.h"
#include "rocksdb/cache.h"
#if __has_include("rocksdb/advanced_cache.h")
#include "rocksdb/advanced_cache.h"
#endif
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/metadata.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/version.h"
#include "rocksdb/write_batch.h"

using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::PinnableSlice;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::TransactionDB;
using rocksdb::WriteOptions;

struct sealstone_cache {
  std::shared_ptr<rocksdb::Cache> cache;
};

// Remembers that a write of the database failed, and which compactions are running.
struct Watch : public rocksdb::EventListener {
  std::atomic<bool> failed{false};
  void OnBackgroundError(rocksdb::BackgroundErrorReason, Status*) override { failed.store(true); }

  std::mutex mutex;
  uint64_t begun = 0;
  std::map<int, uint64_t> running;  // by job, the how manieth it is
  void OnCompactionBegin(DB*, const rocksdb::CompactionJobInfo& job) override {
    const std::lock_guard<std::mutex> lock(mutex);
    running[job.job_id] = begun++;
  }
  void OnCompactionCompleted(DB*, const rocksdb::CompactionJobInfo& job) override {
    const std::lock_guard<std::mutex> lock(mutex);
    running.erase(job.job_id);
  }
};

struct sealstone_db {
  std::unique_ptr<DB> db;                // a TransactionDB where `transactions` is set
  TransactionDB* transactions = nullptr;  // the same object
  DB* base = nullptr;                    // the database under the lock table, or the same object
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::vector<ColumnFamilyHandle*> families;  // of all column families that are open
  size_t borrowed_families = 0;  // as many of the first of them belong to the database itself
  std::vector<std::pair<ColumnFamilyHandle*, rocksdb::ColumnFamilyOptions>> before_moving_blobs;
};

struct sealstone_batch {
  rocksdb::WriteBatch batch;
  Status failure;  // what could not be added
};

struct sealstone_iterator {
  std::string lower, upper;
  Slice lower_slice, upper_slice;
  std::unique_ptr<rocksdb::Iterator> iterator;
  Status failure;  // of moving, beside what the iterator itself knows
};

struct sealstone_transaction {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  std::unique_ptr<rocksdb::Transaction> transaction;  // null: it could not begin anew
};

struct sealstone_table_writer {
  rocksdb::Options options;
  std::unique_ptr<rocksdb::SstFileWriter> writer;
};

struct sealstone_backup {
  std::unique_ptr<rocksdb::BackupEngine> engine;
};

namespace {

Slice AsSlice(const uint8_t* data, size_t bytes) { return Slice(reinterpret_cast<const char*>(data), bytes); }

sealstone_bytes AsBytes(const Slice& slice) {
  return {reinterpret_cast<const uint8_t*>(slice.data()), slice.size()};
}

// `text` may be lost where there is no memory; the codes are not.
int32_t Fail(Status::Code code, Status::SubCode subcode, const char* text, size_t text_bytes, sealstone_error* error) {
  error->code = static_cast<int32_t>(code);
  error->subcode = static_cast<int32_t>(subcode);
  error->text = static_cast<char*>(malloc(text_bytes + 1));
  error->text_bytes = 0;
  if (error->text != nullptr) {
    memcpy(error->text, text, text_bytes);
    error->text_bytes = text_bytes;
  }
  return error->code;
}

int32_t Report(const Status& status, sealstone_error* error) {
  if (status.ok()) {
    return 0;
  }
  const std::string text = status.ToString();
  return Fail(status.code(), status.subcode(), text.data(), text.size(), error);
}

// What to return where an exception was caught; to be called from the handler.
int32_t Caught(sealstone_error* error) noexcept {
  const auto fail = [error](Status::Code code, Status::SubCode subcode, const char* text) {
    return Fail(code, subcode, text, strlen(text), error);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(Status::kAborted, Status::kMemoryLimit, "not enough memory");
  } catch (const std::length_error& thrown) {
    return fail(Status::kInvalidArgument, Status::kNone, thrown.what());
  } catch (const std::exception& thrown) {
    return fail(Status::kAborted, Status::kNone, thrown.what());
  } catch (...) {
    return fail(Status::kAborted, Status::kNone, "RocksDB threw something that is no exception");
  }
}

// The same as a status, kept for a later call.
Status CaughtStatus() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::MemoryLimit();  // without a text, which would take memory
  } catch (...) {
    return Status::Aborted(Status::kNone);
  }
}

// `DB::Open` gives a plain pointer in older versions and an owning one in newer ones.
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

// The same for a database with several column families.
template <typename Base>
Status OpenFamilies(const rocksdb::DBOptions& options, const std::string& path,
                    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                    std::vector<ColumnFamilyHandle*>* handles, std::unique_ptr<Base>* db) {
  if constexpr (requires { Base::Open(options, path, families, handles, db); }) {
    return Base::Open(options, path, families, handles, db);
  } else {
    Base* opened = nullptr;
    Status status = Base::Open(options, path, families, handles, &opened);
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
  // leaving a merge operator or a compaction filter out would change what a rewritten table holds
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

// Without force, for which older versions ask: deletions that somebody else forbade stay forbidden.
template <typename Base>
Status AllowDeletions(Base* db) {
  if constexpr (requires { db->EnableFileDeletions(false); }) {
    return db->EnableFileDeletions(false);
  } else {
    return db->EnableFileDeletions();
  }
}

// The first failure of several calls.
void Keep(const Status& status, Status* first) {
  if (first->ok()) {
    *first = status;
  }
}

// Moves an iterator and says where it stands then.
template <typename Step>
void Move(sealstone_iterator* iterator, sealstone_entry* entry, Step step) noexcept try {
  rocksdb::Iterator& inside = *iterator->iterator;
  step(inside);
  entry->valid = inside.Valid() ? 1 : 0;
  if (entry->valid != 0) {
    entry->key = AsBytes(inside.key());
    entry->value = AsBytes(inside.value());
  }
} catch (...) {
  entry->valid = 0;
  iterator->failure = CaughtStatus();
}

int32_t Found(const Status& status, const PinnableSlice& value, sealstone_sink sink, void* context, int32_t* found,
              sealstone_error* error) {
  *found = status.ok() ? 1 : 0;
  if (status.ok()) {
    sink(context, 0, reinterpret_cast<const uint8_t*>(value.data()), value.size());
    return 0;
  }
  return status.IsNotFound() ? 0 : Report(status, error);
}

// The transaction inside; throws where it could not begin anew.
rocksdb::Transaction& Begun(const sealstone_transaction* transaction) {
  if (transaction->transaction == nullptr) {
    throw std::bad_alloc();
  }
  return *transaction->transaction;
}

WriteOptions Writing(int32_t sync) {
  WriteOptions options;
  options.sync = sync != 0;
  return options;
}

}  // namespace

extern "C" {

void sealstone_text_free(char* text) noexcept { free(text); }

// ---- environments --------------------------------------------------------------------------------------------------

sealstone_env* sealstone_env_new(uint32_t base, int32_t count, const sealstone_seal_ops* ops,
                                 const void* seal) noexcept {
  bool taken = false;
  try {
    auto env = std::make_unique<sealstone_env>();
    std::shared_ptr<rocksdb::FileSystem> files = rocksdb::FileSystem::Default();
    if (base == SEALSTONE_BASE_MEMORY) {
      env->memory.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
      files = env->memory->GetFileSystem();
    }
    env->counters = std::make_shared<sealstone::IoCounters>();
    if (count != 0) {
      files = sealstone::NewCountingFileSystem(files, env->counters, seal == nullptr);
    }
    if (seal != nullptr) {
      files = sealstone::NewSealedFileSystem(files, *ops, seal);
      taken = true;
    }
    env->env = rocksdb::NewCompositeEnv(files);
    return env.release();
  } catch (...) {
    if (seal != nullptr && !taken) {
      ops->release(seal);
    }
    return nullptr;
  }
}

void sealstone_env_free(sealstone_env* env) noexcept { delete env; }

void sealstone_env_io(const sealstone_env* env, sealstone_io* into) noexcept {
  const sealstone::IoCounters& counters = *env->counters;
  into->read_bytes = counters.read_bytes.load(std::memory_order_relaxed);
  into->written_bytes = counters.written_bytes.load(std::memory_order_relaxed);
  into->wall_ns = counters.wall_ns.load(std::memory_order_relaxed);
  into->cpu_ns = counters.cpu_ns.load(std::memory_order_relaxed);
}

// RocksDB declares this struct in db/c.cc alone; this is its layout from the first version on.
struct rocksdb_env_t {
  rocksdb::Env* rep;
  bool is_default;
};

void* sealstone_env_into_c(sealstone_env* env) noexcept {
  // A memory base would have to live as long as the result, which has room for one owner only; its file system is
  // shared and keeps itself alive.
  auto* handle = new (std::nothrow) rocksdb_env_t{nullptr, false};
  if (handle != nullptr) {
    handle->rep = env->env.release();
  }
  delete env;
  return handle;
}

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
  rocksdb::ConfigOptions config;
  config.invoke_prepare_options = false;
  rocksdb::Options parsed;
  Status status = rocksdb::GetOptionsFromString(config, rocksdb::Options(), std::string(options, options_bytes),
                                                &parsed);
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
  options.env = env->env.get();
  options.info_log = std::make_shared<sealstone::NoLog>();
  options.listeners.push_back(opened->watch);
  options.create_if_missing = false;
  options.error_if_exists = false;
  options.allow_mmap_reads = false;
  options.allow_mmap_writes = false;
  if (strict_log != 0 && options.wal_recovery_mode != rocksdb::WALRecoveryMode::kAbsoluteConsistency) {
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  }
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

int32_t sealstone_db_close(sealstone_db* db, sealstone_error* error) noexcept try {
  const std::unique_ptr<sealstone_db> ended(db);
  // what a clean end leaves in the log cannot be cut off later: a log's header says how much of it was synced
  // RocksDB built with assertions ends the process when a log is synced that could not be written (a full disk)
  Status status = db->watch->failed.load() ? Status::OK() : db->db->SyncWAL();
  for (size_t i = db->borrowed_families; i < db->families.size(); i++) {
    db->db->DestroyColumnFamilyHandle(db->families[i]).PermitUncheckedError();
  }
  const Status closing = db->db->Close();
  if (status.ok() || status.IsNotSupported()) {
    status = closing;
  }
  return Report(status, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_get(sealstone_db* db, const uint8_t* key, size_t key_bytes, sealstone_sink sink, void* context,
                         int32_t* found, sealstone_error* error) noexcept try {
  PinnableSlice value;
  const Status status = db->base->Get(ReadOptions(), db->base->DefaultColumnFamily(), AsSlice(key, key_bytes), &value);
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
  db->base->MultiGet(ReadOptions(), db->base->DefaultColumnFamily(), count, slices.data(), values.data(),
                     statuses.data());
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
    // optimized: not those again that this compaction itself has just written
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
  rocksdb::Checkpoint* created = nullptr;
  Status status = rocksdb::Checkpoint::Create(db->db.get(), &created);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(created);
  if (status.ok()) {
    status = checkpoint->CreateCheckpoint(std::string(path, path_bytes));
  }
  return Report(status, error);
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

// ---- rewriting files of an open database ---------------------------------------------------------------------------

int32_t sealstone_db_live_files(sealstone_db* db, sealstone_live_file_sink sink, void* context,
                                sealstone_error* error) noexcept try {
  for (size_t i = 0; i < db->families.size(); i++) {
    rocksdb::ColumnFamilyMetaData family;
    db->base->GetColumnFamilyMetaData(db->families[i], &family);
    sealstone_live_file file{};
    file.family = static_cast<uint32_t>(i);
    for (const rocksdb::LevelMetaData& level : family.levels) {
      file.level = level.level;
      for (const rocksdb::SstFileMetaData& table : level.files) {
        file.directory = AsBytes(table.directory);
        file.name = AsBytes(table.relative_filename);
        file.number = table.file_number;
        file.bytes = table.size;
        file.oldest_blob = table.oldest_blob_file_number;
        sink(context, &file);
      }
    }
    file.level = -1;
    file.oldest_blob = 0;
    for (const rocksdb::BlobMetaData& blob : family.blob_files) {
      // older versions put a slash before the name
      const size_t begin = blob.blob_file_name.find_first_not_of('/');
      file.directory = AsBytes(blob.blob_file_path);
      file.name = AsBytes(Slice(blob.blob_file_name.data() + begin, blob.blob_file_name.size() - begin));
      file.number = blob.blob_file_number;
      file.bytes = blob.blob_file_size;
      sink(context, &file);
    }
  }
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_rewrite(sealstone_db* db, uint32_t family, const char* directory, size_t directory_bytes,
                             const char* name, size_t name_bytes, int32_t level, int32_t* outcome,
                             sealstone_error* error) noexcept try {
  ColumnFamilyHandle* handle = db->families[family];
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // what the column family's own options say
  options.max_subcompactions = 1;                             // all of it in this thread
  const std::string table(name, name_bytes);
  // where the table lies now, for databases that are spread over several directories
  const rocksdb::Options settings = db->base->GetOptions(handle);
  int path = -1;
  for (size_t i = 0; i < settings.cf_paths.size(); i++) {
    if (settings.cf_paths[i].path == std::string(directory, directory_bytes)) {
      path = static_cast<int>(i);
    }
  }
  const Status status = db->base->CompactFiles(options, handle, {table}, level, path);
  *outcome = SEALSTONE_REWRITTEN;
  if (status.IsAborted()) {
    *outcome = SEALSTONE_IN_USE;
    return 0;
  }
  if (status.IsInvalidArgument()) {
    rocksdb::ColumnFamilyMetaData now;
    db->base->GetColumnFamilyMetaData(handle, &now);
    bool there = false;
    for (const rocksdb::SstFileMetaData& file : now.levels[static_cast<size_t>(level)].files) {
      there = there || file.relative_filename == table;
    }
    if (!there) {
      *outcome = SEALSTONE_GONE;
      return 0;
    }
  }
  return Report(status, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_move_blobs(sealstone_db* db, int32_t on, sealstone_error* error) noexcept try {
  Status status;
  if (on == 0) {
    for (const auto& [family, before] : db->before_moving_blobs) {
      const Status restored = db->base->SetOptions(
          family, {{"enable_blob_garbage_collection", before.enable_blob_garbage_collection ? "true" : "false"},
                   {"blob_garbage_collection_age_cutoff", std::to_string(before.blob_garbage_collection_age_cutoff)}});
      status = status.ok() ? restored : status;
    }
    db->before_moving_blobs.clear();
    return Report(status, error);
  }
  for (ColumnFamilyHandle* family : db->families) {
    rocksdb::ColumnFamilyMetaData files;
    db->base->GetColumnFamilyMetaData(family, &files);
    if (status.ok() && !files.blob_files.empty()) {
      db->before_moving_blobs.emplace_back(family, db->base->GetOptions(family));
      status = db->base->SetOptions(family, {{"enable_blob_garbage_collection", "true"},
                                             {"blob_garbage_collection_age_cutoff", "1.0"}});
    }
  }
  return Report(status, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_flush_all(sealstone_db* db, sealstone_error* error) noexcept try {
  return Report(db->base->Flush(rocksdb::FlushOptions(), db->families), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_sweep(sealstone_db* db, sealstone_error* error) noexcept try {
  // allowing deletions again is what makes RocksDB look through the directories; who forbade them before is heeded
  const Status status = db->base->DisableFileDeletions();
  return Report(status.ok() ? AllowDeletions(db->base) : status, error);
} catch (...) {
  return Caught(error);
}

void sealstone_db_compactions(const sealstone_db* db, uint64_t* begun, uint64_t* ended) noexcept {
  // locking a mutex of one's own fails only where it is used wrongly, which had better end the process
  const std::lock_guard<std::mutex> lock(db->watch->mutex);
  *begun = db->watch->begun;
  *ended = *begun;
  for (const auto& [job, position] : db->watch->running) {
    *ended = std::min(*ended, position);
  }
}

int32_t sealstone_db_log_directory(sealstone_db* db, sealstone_sink sink, void* context,
                                   sealstone_error* error) noexcept try {
  const std::string directory = db->base->GetDBOptions().wal_dir;
  sink(context, 0, reinterpret_cast<const uint8_t*>(directory.data()), directory.size());
  return 0;
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_family_create(sealstone_db* db, const char* name, size_t name_bytes,
                                   sealstone_error* error) noexcept try {
  db->families.reserve(db->families.size() + 1);
  ColumnFamilyHandle* family = nullptr;
  const rocksdb::ColumnFamilyOptions options = db->base->GetOptions();
  const Status status = db->base->CreateColumnFamily(options, std::string(name, name_bytes), &family);
  if (status.ok()) {
    db->families.push_back(family);
  }
  return Report(status, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_family_drop(sealstone_db* db, sealstone_error* error) noexcept try {
  Status status = db->base->DropColumnFamily(db->families.back());
  if (status.ok()) {
    status = db->base->DestroyColumnFamilyHandle(db->families.back());
    db->families.pop_back();
  }
  return Report(status, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_family_put(sealstone_db* db, uint32_t family, const uint8_t* key, size_t key_bytes,
                                const uint8_t* value, size_t value_bytes, sealstone_error* error) noexcept try {
  return Report(db->base->Put(WriteOptions(), db->families.at(family), AsSlice(key, key_bytes),
                              AsSlice(value, value_bytes)),
                error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_db_family_compact(sealstone_db* db, uint32_t family, sealstone_error* error) noexcept try {
  return Report(db->base->CompactRange(rocksdb::CompactRangeOptions(), db->families.at(family), nullptr, nullptr),
                error);
} catch (...) {
  return Caught(error);
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

// ---- iterators -----------------------------------------------------------------------------------------------------

sealstone_iterator* sealstone_iterator_new(sealstone_db* db, const sealstone_iterator_options* options) noexcept try {
  auto made = std::make_unique<sealstone_iterator>();
  ReadOptions reading;
  reading.readahead_size = options->readahead_bytes;
  reading.fill_cache = options->fill_cache != 0;
  if (options->lower.data != nullptr) {
    made->lower.assign(reinterpret_cast<const char*>(options->lower.data), options->lower.bytes);
    made->lower_slice = made->lower;
    reading.iterate_lower_bound = &made->lower_slice;
  }
  if (options->upper.data != nullptr) {
    made->upper.assign(reinterpret_cast<const char*>(options->upper.data), options->upper.bytes);
    made->upper_slice = made->upper;
    reading.iterate_upper_bound = &made->upper_slice;
  }
  made->iterator.reset(db->base->NewIterator(reading, db->base->DefaultColumnFamily()));
  return made.release();
} catch (...) {
  return nullptr;
}

void sealstone_iterator_free(sealstone_iterator* iterator) noexcept { delete iterator; }

void sealstone_iterator_first(sealstone_iterator* iterator, sealstone_entry* entry) noexcept {
  Move(iterator, entry, [](rocksdb::Iterator& inside) { inside.SeekToFirst(); });
}
void sealstone_iterator_last(sealstone_iterator* iterator, sealstone_entry* entry) noexcept {
  Move(iterator, entry, [](rocksdb::Iterator& inside) { inside.SeekToLast(); });
}
void sealstone_iterator_seek(sealstone_iterator* iterator, const uint8_t* key, size_t key_bytes,
                             sealstone_entry* entry) noexcept {
  Move(iterator, entry, [=](rocksdb::Iterator& inside) { inside.Seek(AsSlice(key, key_bytes)); });
}
void sealstone_iterator_seek_for_prev(sealstone_iterator* iterator, const uint8_t* key, size_t key_bytes,
                                      sealstone_entry* entry) noexcept {
  Move(iterator, entry, [=](rocksdb::Iterator& inside) { inside.SeekForPrev(AsSlice(key, key_bytes)); });
}
void sealstone_iterator_next(sealstone_iterator* iterator, sealstone_entry* entry) noexcept {
  Move(iterator, entry, [](rocksdb::Iterator& inside) { inside.Next(); });
}
void sealstone_iterator_prev(sealstone_iterator* iterator, sealstone_entry* entry) noexcept {
  Move(iterator, entry, [](rocksdb::Iterator& inside) { inside.Prev(); });
}
int32_t sealstone_iterator_status(const sealstone_iterator* iterator, sealstone_error* error) noexcept try {
  return Report(iterator->failure.ok() ? iterator->iterator->status() : iterator->failure, error);
} catch (...) {
  return Caught(error);
}

// ---- transactions --------------------------------------------------------------------------------------------------

sealstone_transaction* sealstone_transaction_new(sealstone_db* db, int32_t sync) noexcept try {
  auto made = std::make_unique<sealstone_transaction>();
  sealstone_transaction_restart(db, made.get(), sync);
  return made->transaction == nullptr ? nullptr : made.release();
} catch (...) {
  return nullptr;
}

void sealstone_transaction_free(sealstone_transaction* transaction) noexcept { delete transaction; }

void sealstone_transaction_restart(sealstone_db* db, sealstone_transaction* transaction, int32_t sync) noexcept try {
  rocksdb::TransactionOptions options;
  options.deadlock_detect = true;
  transaction->family = db->base->DefaultColumnFamily();
  rocksdb::Transaction* old = transaction->transaction.release();
  transaction->transaction.reset(db->transactions->BeginTransaction(Writing(sync), options, old));
} catch (...) {
  transaction->transaction.reset();
}

int32_t sealstone_transaction_get(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                  int32_t for_update, sealstone_sink sink, void* context, int32_t* found,
                                  sealstone_error* error) noexcept try {
  PinnableSlice value;
  rocksdb::Transaction& inside = Begun(transaction);
  const Slice name = AsSlice(key, key_bytes);
  const Status status = for_update != 0 ? inside.GetForUpdate(ReadOptions(), transaction->family, name, &value)
                                        : inside.Get(ReadOptions(), transaction->family, name, &value);
  return Found(status, value, sink, context, found, error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_transaction_put(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                  const uint8_t* value, size_t value_bytes, sealstone_error* error) noexcept try {
  return Report(Begun(transaction).Put(AsSlice(key, key_bytes), AsSlice(value, value_bytes)), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_transaction_delete(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                     sealstone_error* error) noexcept try {
  return Report(Begun(transaction).Delete(AsSlice(key, key_bytes)), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_transaction_commit(sealstone_transaction* transaction, sealstone_error* error) noexcept try {
  return Report(Begun(transaction).Commit(), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_transaction_rollback(sealstone_transaction* transaction, sealstone_error* error) noexcept try {
  return Report(Begun(transaction).Rollback(), error);
} catch (...) {
  return Caught(error);
}

// ---- table files ---------------------------------------------------------------------------------------------------

int32_t sealstone_table_writer_open(sealstone_db* db, const char* path, size_t path_bytes,
                                    sealstone_table_writer** writer, sealstone_error* error) noexcept try {
  auto made = std::make_unique<sealstone_table_writer>();
  made->options = db->base->GetOptions();
  made->writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), made->options);
  const Status status = made->writer->Open(std::string(path, path_bytes));
  if (!status.ok()) {
    return Report(status, error);
  }
  *writer = made.release();
  return 0;
} catch (...) {
  return Caught(error);
}

void sealstone_table_writer_free(sealstone_table_writer* writer) noexcept { delete writer; }

int32_t sealstone_table_writer_put(sealstone_table_writer* writer, const uint8_t* key, size_t key_bytes,
                                   const uint8_t* value, size_t value_bytes, sealstone_error* error) noexcept try {
  return Report(writer->writer->Put(AsSlice(key, key_bytes), AsSlice(value, value_bytes)), error);
} catch (...) {
  return Caught(error);
}

uint64_t sealstone_table_writer_bytes(sealstone_table_writer* writer) noexcept { return writer->writer->FileSize(); }

int32_t sealstone_table_writer_finish(sealstone_table_writer* writer, sealstone_error* error) noexcept try {
  return Report(writer->writer->Finish(), error);
} catch (...) {
  return Caught(error);
}

// ---- backups -------------------------------------------------------------------------------------------------------

int32_t sealstone_backup_open(const sealstone_env* env, const char* path, size_t path_bytes, sealstone_backup** backup,
                              sealstone_error* error) noexcept try {
  rocksdb::BackupEngineOptions options(std::string(path, path_bytes), env->env.get());
  rocksdb::BackupEngine* opened = nullptr;
  const Status status = rocksdb::BackupEngine::Open(options, env->env.get(), &opened);
  if (!status.ok()) {
    return Report(status, error);
  }
  *backup = new sealstone_backup{std::unique_ptr<rocksdb::BackupEngine>(opened)};
  return 0;
} catch (...) {
  return Caught(error);
}

void sealstone_backup_free(sealstone_backup* backup) noexcept { delete backup; }

int32_t sealstone_backup_create(sealstone_backup* backup, sealstone_db* db, sealstone_error* error) noexcept try {
  return Report(backup->engine->CreateNewBackup(db->db.get()), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_backup_verify(sealstone_backup* backup, uint32_t id, int32_t checksums,
                                sealstone_error* error) noexcept try {
  return Report(backup->engine->VerifyBackup(id, checksums != 0), error);
} catch (...) {
  return Caught(error);
}

int32_t sealstone_backup_restore(sealstone_backup* backup, const char* path, size_t path_bytes,
                                 sealstone_error* error) noexcept try {
  const std::string name(path, path_bytes);
  return Report(backup->engine->RestoreDBFromLatestBackup(name, name), error);
} catch (...) {
  return Caught(error);
}

uint32_t sealstone_backup_latest(sealstone_backup* backup) noexcept try {
  std::vector<rocksdb::BackupInfo> infos;
  backup->engine->GetBackupInfo(&infos);
  return infos.empty() ? 0 : infos.back().backup_id;
} catch (...) {
  return 0;
}

// ---- the library ---------------------------------------------------------------------------------------------------

void sealstone_version(int32_t* major, int32_t* minor, int32_t* patch) noexcept try {
  *major = *minor = *patch = 0;
  const std::string version = rocksdb::GetRocksVersionAsString(true);
  sscanf(version.c_str(), "%d.%d.%d", major, minor, patch);
} catch (...) {
  *major = *minor = *patch = 0;
}

}  // extern "C"
