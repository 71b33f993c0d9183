// Iterators over a database.

#include <memory>
#include <string>

#include "database.h"
#include "report.h"
#include "rocksdb/iterator.h"

using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using sealstone::AsBytes;
using sealstone::AsSlice;
using sealstone::Caught;
using sealstone::CaughtStatus;
using sealstone::Report;

struct sealstone_iterator {
  std::string lower, upper;
  Slice lower_slice, upper_slice;
  std::unique_ptr<rocksdb::Iterator> iterator;
  Status failure;  // of moving, besides what the iterator itself knows
};

namespace {

// Moves an iterator and reports its new position.
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

}  // namespace

extern "C" {

sealstone_iterator* sealstone_iterator_new(sealstone_db* db, const sealstone_iterator_options* options) noexcept try {
  auto made = std::make_unique<sealstone_iterator>();
  ReadOptions reading = db->Reading();
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
  // every key in order, whatever prefixes the column family has
  reading.total_order_seek = db->reads != nullptr;
  made->iterator.reset(db->base->NewIterator(reading, db->ReadFamily()));
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

}  // extern "C"
