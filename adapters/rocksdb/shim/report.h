// How this shim tells Rust what RocksDB said: statuses, exceptions, values and bytes in the terms of `sealstone.h`.
#pragma once

#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "sealstone.h"

namespace sealstone {

inline rocksdb::Slice AsSlice(const uint8_t* data, size_t bytes) {
  return rocksdb::Slice(reinterpret_cast<const char*>(data), bytes);
}
inline rocksdb::Slice AsSlice(const sealstone_bytes& bytes) { return AsSlice(bytes.data, bytes.bytes); }

inline sealstone_bytes AsBytes(const rocksdb::Slice& slice) {
  return {reinterpret_cast<const uint8_t*>(slice.data()), slice.size()};
}

// The code of `status`; where that is a failure, `error` is filled in.
int32_t Report(const rocksdb::Status& status, sealstone_error* error);

// What to return where an exception was caught; to be called from the handler.
int32_t Caught(sealstone_error* error) noexcept;

// The same as a status, kept for a later call.
rocksdb::Status CaughtStatus() noexcept;

// The answer to looking a key up: hands the value over, if there is one.
int32_t Found(const rocksdb::Status& status, const rocksdb::PinnableSlice& value, sealstone_sink sink, void* context,
              int32_t* found, sealstone_error* error);

}  // namespace sealstone
