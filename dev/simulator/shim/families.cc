// Databases with several column families and prepared transactions behind plain C functions.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base_files.h"
#include "database.h"
#include "file_systems.h"
#include "report.h"
#include "rocksdb/metadata.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/write_batch.h"

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::Transaction;
using rocksdb::TransactionDB;
using sealstone::AsSlice;
using sealstone::CloseDatabase;
using sealstone::Found;
using sealstone::MakeCheckpoint;
using sealstone::OpenFamilies;
using sealstone::ParseOptions;
using sealstone::Report;
using sealstone::Rewriting;
using sealstone::Writing;

struct sealstone_families {
  std::unique_ptr<DB> db;                 // a TransactionDB where `transactions` is set
  TransactionDB* transactions = nullptr;  // the same object
  std::vector<ColumnFamilyHandle*> families;
  std::map<std::string, std::unique_ptr<Transaction>> prepared;
  std::shared_ptr<sealstone::Failures> failures = std::make_shared<sealstone::Failures>();
};

namespace {

template <typename Target>
Status Apply(sealstone_families* db, size_t count, const sealstone_family_write* writes, Target* target) {
  Status status;
  for (size_t i = 0; i < count && status.ok(); i++) {
    ColumnFamilyHandle* family = db->families[writes[i].family];
    status = writes[i].value.data == nullptr
                 ? target->Delete(family, AsSlice(writes[i].key))
                 : target->Put(family, AsSlice(writes[i].key), AsSlice(writes[i].value));
  }
  return status;
}

// Waits until RocksDB's own threads have nothing more to do: a job counts as running until it has removed its files.
void Settle(sealstone_families* db) {
  for (const char* running : {"rocksdb.num-running-flushes", "rocksdb.num-running-compactions"}) {
    uint64_t jobs = 1;
    while (db->db->GetIntProperty(running, &jobs) && jobs > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

// The status of what was done, once nothing is under way any more.
int32_t Settled(sealstone_families* db, const Status& status, sealstone_error* error) {
  Settle(db);
  return Report(status, error);
}

}  // namespace

extern "C" {

int32_t sealstone_families_open(const sealstone_env* env, const char* path, size_t path_bytes, const char* options,
                                size_t options_bytes, size_t count, const sealstone_bytes* names, int32_t transactions,
                                sealstone_families** db, sealstone_error* error) noexcept {
  rocksdb::Options parsed;
  Status status = ParseOptions(options, options_bytes, &parsed);
  if (!status.ok()) {
    return Report(status, error);
  }
  auto opened = std::make_unique<sealstone_families>();
  parsed.env = env->env.get();
  parsed.info_log = std::make_shared<sealstone::NoLog>();
  parsed.listeners.push_back(opened->failures);
  parsed.create_missing_column_families = true;
  std::vector<ColumnFamilyDescriptor> families;
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, parsed);
  for (size_t i = 0; i < count; i++) {
    families.emplace_back(AsSlice(names[i]).ToString(), parsed);
  }
  const std::string name(path, path_bytes);
  if (transactions != 0) {
    TransactionDB* made = nullptr;
    status = TransactionDB::Open(parsed, rocksdb::TransactionDBOptions(), name, families, &opened->families, &made);
    opened->db.reset(made);
    opened->transactions = made;
  } else {
    status = OpenFamilies<DB>(parsed, name, families, &opened->families, &opened->db);
  }
  if (!status.ok()) {
    return Report(status, error);
  }
  if (opened->transactions != nullptr) {
    std::vector<Transaction*> found;
    opened->transactions->GetAllPreparedTransactions(&found);
    for (Transaction* transaction : found) {
      opened->prepared[transaction->GetName()].reset(transaction);
    }
  }
  *db = opened.release();
  return 0;
}

int32_t sealstone_families_close(sealstone_families* db, sealstone_error* error) noexcept {
  const std::unique_ptr<sealstone_families> ended(db);
  ended->prepared.clear();
  return Report(CloseDatabase(*ended->db, *ended->failures, ended->families), error);
}

int32_t sealstone_families_write(sealstone_families* db, size_t count, const sealstone_family_write* writes,
                                 int32_t sync, sealstone_error* error) noexcept {
  rocksdb::WriteBatch batch;
  Status status = Apply(db, count, writes, &batch);
  if (status.ok()) {
    status = db->db->Write(Writing(sync), &batch);
  }
  return Report(status, error);
}

int32_t sealstone_families_scan(sealstone_families* db, uint32_t family, sealstone_sink sink, void* context,
                                sealstone_error* error) noexcept {
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db->db->NewIterator(rocksdb::ReadOptions(), db->families[family]));
  size_t index = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    for (const Slice& part : {iterator->key(), iterator->value()}) {
      sink(context, index++, reinterpret_cast<const uint8_t*>(part.data()), part.size());
    }
  }
  return Report(iterator->status(), error);
}

int32_t sealstone_families_get(sealstone_families* db, uint32_t family, const uint8_t* key, size_t key_bytes,
                               sealstone_sink sink, void* context, int32_t* found, sealstone_error* error) noexcept {
  rocksdb::PinnableSlice value;
  const Status status =
      db->db->Get(rocksdb::ReadOptions(), db->families[family], AsSlice({key, key_bytes}), &value);
  return Found(status, value, sink, context, found, error);
}

int32_t sealstone_families_sync_wal(sealstone_families* db, sealstone_error* error) noexcept {
  return Report(db->db->SyncWAL(), error);
}

int32_t sealstone_families_flush(sealstone_families* db, uint32_t family, sealstone_error* error) noexcept {
  return Settled(db, db->db->Flush(rocksdb::FlushOptions(), db->families[family]), error);
}

int32_t sealstone_families_compact(sealstone_families* db, uint32_t family, sealstone_error* error) noexcept {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  return Settled(db, db->db->CompactRange(options, db->families[family], nullptr, nullptr), error);
}

int32_t sealstone_families_rewrite(sealstone_families* db, uint64_t* tables, sealstone_error* error) noexcept {
  *tables = 0;
  Status status = db->db->Flush(rocksdb::FlushOptions(), db->families);
  Settle(db);
  for (size_t i = 0; i < db->families.size() && status.ok(); i++) {
    rocksdb::ColumnFamilyMetaData family;
    db->db->GetColumnFamilyMetaData(db->families[i], &family);
    for (const rocksdb::LevelMetaData& level : family.levels) {
      for (const rocksdb::SstFileMetaData& table : level.files) {
        const Status rewritten =
            status.ok() ? db->db->CompactFiles(Rewriting(), db->families[i], {table.relative_filename}, level.level)
                        : status;
        // a table that another was merged with is gone
        status = rewritten.IsInvalidArgument() ? Status::OK() : rewritten;
        *tables += rewritten.ok() ? 1 : 0;
      }
    }
  }
  return Settled(db, status, error);
}

int32_t sealstone_families_checkpoint(sealstone_families* db, const char* path, size_t path_bytes,
                                      sealstone_error* error) noexcept {
  return Settled(db, MakeCheckpoint(db->db.get(), std::string(path, path_bytes)), error);
}

int32_t sealstone_families_prepare(sealstone_families* db, const char* name, size_t name_bytes, size_t count,
                                   const sealstone_family_write* writes, int32_t sync, sealstone_error* error) noexcept {
  if (db->transactions == nullptr) {
    return Report(Status::NotSupported("the database was not opened for transactions"), error);
  }
  std::unique_ptr<Transaction> transaction(db->transactions->BeginTransaction(Writing(sync)));
  Status status = transaction->SetName(std::string(name, name_bytes));
  if (status.ok()) {
    status = Apply(db, count, writes, transaction.get());
  }
  if (status.ok()) {
    status = transaction->Prepare();
  }
  if (status.ok()) {
    db->prepared[transaction->GetName()] = std::move(transaction);
  }
  return Report(status, error);
}

int32_t sealstone_families_end(sealstone_families* db, const char* name, size_t name_bytes, int32_t commit,
                               int32_t sync, sealstone_error* error) noexcept {
  const auto found = db->prepared.find(std::string(name, name_bytes));
  if (found == db->prepared.end()) {
    return Report(Status::NotFound("no prepared transaction of this name"), error);
  }
  found->second->GetWriteOptions()->sync = sync != 0;
  const Status status = commit != 0 ? found->second->Commit() : found->second->Rollback();
  if (status.ok()) {
    db->prepared.erase(found);
  }
  return Report(status, error);
}

void sealstone_families_prepared(sealstone_families* db, sealstone_sink sink, void* context) noexcept {
  for (const auto& [name, transaction] : db->prepared) {
    sink(context, 0, reinterpret_cast<const uint8_t*>(name.data()), name.size());
  }
}

}  // extern "C"
