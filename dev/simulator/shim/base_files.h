// The C interface of the simulator to its C++ part: a file system whose files a Rust program keeps, and databases with several column families and prepared transactions on it.
//
// The conventions of `sealstone.h` apply here, too.
#pragma once

#include "sealstone.h"

// Nothing is thrown through Rust: a function that would throw ends the process instead.
#ifdef __cplusplus
#define SEALSTONE_NOTHROW noexcept
extern "C" {
#else
#define SEALSTONE_NOTHROW
#endif

// ---- files ---------------------------------------------------------------------------------------------------------

// What the functions of `sealstone_base_ops` return.
enum {
  SEALSTONE_BASE_OK = 0,
  SEALSTONE_BASE_NOT_FOUND = 1,      // ENOENT
  SEALSTONE_BASE_EXISTS = 2,         // EEXIST, ENOTEMPTY
  SEALSTONE_BASE_IO = 3,             // EIO
  SEALSTONE_BASE_NO_SPACE = 4,       // ENOSPC
  SEALSTONE_BASE_BUSY = 5,           // somebody else holds the lock
  SEALSTONE_BASE_NOT_SUPPORTED = 6,  // also a handle that is not open, and a panic
};

// How a file is opened.
enum {
  SEALSTONE_BASE_READ = 0,    // it must be there
  SEALSTONE_BASE_CREATE = 1,  // it is made, or emptied
  SEALSTONE_BASE_APPEND = 2,  // it is made, or continued at its end
  SEALSTONE_BASE_UPDATE = 3,  // it must be there; reads and writes anywhere
};

// Takes the name of one entry of a directory, during the call.
typedef void (*sealstone_base_names)(void* context, const char* name, size_t name_bytes) SEALSTONE_NOTHROW;

// The files. Every function serves any number of threads at once, and none of them throws. Paths are as RocksDB passes
// them. As in POSIX, an open file stays readable after it was removed or renamed, and renaming replaces.
typedef struct sealstone_base_ops {
  // Gives up `base`; called once, when the file system ends.
  void (*release)(const void* base) SEALSTONE_NOTHROW;

  int32_t (*open)(const void* base, const char* path, size_t path_bytes, uint32_t how, uint64_t* handle)
      SEALSTONE_NOTHROW;
  void (*close)(const void* base, uint64_t handle) SEALSTONE_NOTHROW;
  int32_t (*read)(const void* base, uint64_t handle, uint64_t offset, size_t bytes, uint8_t* into, size_t* got)
      SEALSTONE_NOTHROW;
  int32_t (*append)(const void* base, uint64_t handle, const uint8_t* data, size_t bytes) SEALSTONE_NOTHROW;
  int32_t (*write)(const void* base, uint64_t handle, uint64_t offset, const uint8_t* data, size_t bytes)
      SEALSTONE_NOTHROW;
  int32_t (*truncate)(const void* base, uint64_t handle, uint64_t bytes) SEALSTONE_NOTHROW;
  // Brings content and length of the file to stable storage.
  int32_t (*sync)(const void* base, uint64_t handle) SEALSTONE_NOTHROW;
  int32_t (*handle_size)(const void* base, uint64_t handle, uint64_t* bytes) SEALSTONE_NOTHROW;

  int32_t (*size)(const void* base, const char* path, size_t path_bytes, uint64_t* bytes) SEALSTONE_NOTHROW;
  // `kind`: 0 a file, 1 a directory.
  int32_t (*look)(const void* base, const char* path, size_t path_bytes, uint32_t* kind, uint64_t* links)
      SEALSTONE_NOTHROW;
  int32_t (*same)(const void* base, const char* one, size_t one_bytes, const char* other, size_t other_bytes,
                  int32_t* same) SEALSTONE_NOTHROW;
  int32_t (*list)(const void* base, const char* path, size_t path_bytes, sealstone_base_names names, void* context)
      SEALSTONE_NOTHROW;
  int32_t (*remove)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
  int32_t (*rename)(const void* base, const char* from, size_t from_bytes, const char* to, size_t to_bytes)
      SEALSTONE_NOTHROW;
  int32_t (*link)(const void* base, const char* from, size_t from_bytes, const char* to, size_t to_bytes)
      SEALSTONE_NOTHROW;
  int32_t (*make_directory)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
  int32_t (*remove_directory)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
  // Brings the entries of the directory to stable storage.
  int32_t (*sync_directory)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
  int32_t (*lock)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
  void (*unlock)(const void* base, const char* path, size_t path_bytes) SEALSTONE_NOTHROW;
} sealstone_base_ops;

// As `sealstone_env_new`, on the files of `base_ops`, which is copied. Takes over `base` and `seal`. Never null.
sealstone_env* sealstone_env_on(const sealstone_base_ops* base_ops, const void* base, int32_t count,
                                const sealstone_seal_ops* ops, const void* seal) SEALSTONE_NOTHROW;

// ---- databases with column families --------------------------------------------------------------------------------

typedef struct sealstone_families sealstone_families;

// Opens the database in `path` with the column families `default` and `names`, made where they are missing; with
// `transactions` as a TransactionDB. A family's index is 0 for `default`, then as in `names`. `env` must outlive the
// database. One thread at a time.
int32_t sealstone_families_open(const sealstone_env* env, const char* path, size_t path_bytes, const char* options,
                                size_t options_bytes, size_t count, const sealstone_bytes* names, int32_t transactions,
                                sealstone_families** db, sealstone_error* error) SEALSTONE_NOTHROW;
// Ends the database; prepared transactions stay prepared. The log is synced as `sealstone_db_close` does it.
int32_t sealstone_families_close(sealstone_families* db, sealstone_error* error) SEALSTONE_NOTHROW;

// One write of a batch; `data` of `value` is null for a removal.
typedef struct sealstone_family_write {
  uint32_t family;
  sealstone_bytes key;
  sealstone_bytes value;
} sealstone_family_write;

int32_t sealstone_families_write(sealstone_families* db, size_t count, const sealstone_family_write* writes,
                                 int32_t sync, sealstone_error* error) SEALSTONE_NOTHROW;
// Hands keys and values of a family to `sink` in order: a key with an even index, its value with the next one.
int32_t sealstone_families_scan(sealstone_families* db, uint32_t family, sealstone_sink sink, void* context,
                                sealstone_error* error) SEALSTONE_NOTHROW;
int32_t sealstone_families_get(sealstone_families* db, uint32_t family, const uint8_t* key, size_t key_bytes,
                               sealstone_sink sink, void* context, int32_t* found, sealstone_error* error) SEALSTONE_NOTHROW;
int32_t sealstone_families_sync_wal(sealstone_families* db, sealstone_error* error) SEALSTONE_NOTHROW;
int32_t sealstone_families_flush(sealstone_families* db, uint32_t family, sealstone_error* error) SEALSTONE_NOTHROW;
int32_t sealstone_families_compact(sealstone_families* db, uint32_t family, sealstone_error* error) SEALSTONE_NOTHROW;
// Flushes every family and rewrites every table into its own level: what resealing does with tables.
int32_t sealstone_families_rewrite(sealstone_families* db, uint64_t* tables, sealstone_error* error) SEALSTONE_NOTHROW;
int32_t sealstone_families_checkpoint(sealstone_families* db, const char* path, size_t path_bytes,
                                      sealstone_error* error) SEALSTONE_NOTHROW;

// Writes `writes` in a transaction called `name` and prepares it; it waits for `sealstone_families_end`.
int32_t sealstone_families_prepare(sealstone_families* db, const char* name, size_t name_bytes, size_t count,
                                   const sealstone_family_write* writes, int32_t sync, sealstone_error* error) SEALSTONE_NOTHROW;
// Commits or rolls back the prepared transaction called `name`, also one of an earlier opening.
int32_t sealstone_families_end(sealstone_families* db, const char* name, size_t name_bytes, int32_t commit,
                               int32_t sync, sealstone_error* error) SEALSTONE_NOTHROW;
// Hands the names of the prepared transactions to `sink`.
void sealstone_families_prepared(sealstone_families* db, sealstone_sink sink, void* context) SEALSTONE_NOTHROW;

#ifdef __cplusplus
}  // extern "C"
#endif
