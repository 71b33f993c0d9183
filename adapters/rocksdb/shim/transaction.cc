// Pessimistic transactions. Not here: prepared ones (`families.cc`).

#include <memory>
#include <new>

#include "database.h"
#include "report.h"
#include "rocksdb/utilities/transaction.h"

using rocksdb::PinnableSlice;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using sealstone::AsSlice;
using sealstone::Caught;
using sealstone::Found;
using sealstone::Report;
using sealstone::Writing;

struct sealstone_transaction {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ReadOptions reading;
  std::unique_ptr<rocksdb::Transaction> transaction;  // null: it could not start again
};

namespace {

// The transaction inside; throws where it could not start again.
rocksdb::Transaction& Begun(const sealstone_transaction* transaction) {
  if (transaction->transaction == nullptr) {
    throw std::bad_alloc();
  }
  return *transaction->transaction;
}

}  // namespace

extern "C" {

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
  transaction->reading = db->Reading();
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
  const Status status = for_update != 0 ? inside.GetForUpdate(transaction->reading, transaction->family, name, &value)
                                        : inside.Get(transaction->reading, transaction->family, name, &value);
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

}  // extern "C"
