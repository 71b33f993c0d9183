// The C interface between Sealstone's Rust code and RocksDB's C++ code. Nothing else is shared between the two.
//
// Conventions:
// - Every pointer is non-null unless it says so. Lengths are in bytes. Text is UTF-8 without a final zero.
// - A function that can fail returns a code: 0, or one of RocksDB's `Status::Code` values; the text is then in `error`.
// - Every object that a `_new` or `_open` function returns has exactly one owner, which hands it to the matching
//   `_free` or `_close` once. Objects keep alive what they need of each other only where this file says so.
// - Threads: an env, a cache and a database serve any number of threads at once. An iterator, a transaction, a table
//   writer and a backup engine belong to one thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

// No exception crosses this interface, in either direction. A function that meets one (no memory, a thread that cannot
// be started, whatever RocksDB throws) fails as it does otherwise, and what RocksDB had begun by then is left behind.
// One that returns a pointer then returns null.
#ifdef __cplusplus
#define SEALSTONE_NOEXCEPT noexcept
extern "C" {
#else
#define SEALSTONE_NOEXCEPT
#endif

// ---- errors --------------------------------------------------------------------------------------------------------

// Filled in by a function that fails; `text` must then be passed to `sealstone_text_free`.
typedef struct sealstone_error {
  int32_t code;     // rocksdb::Status::Code
  int32_t subcode;  // rocksdb::Status::SubCode
  char* text;
  size_t text_bytes;
} sealstone_error;

void sealstone_text_free(char* text) SEALSTONE_NOEXCEPT;

// ---- what Rust does for the sealed file system ---------------------------------------------------------------------

// Codes that the functions of `sealstone_seal_ops` return.
enum {
  SEALSTONE_OK = 0,
  SEALSTONE_DAMAGED = 1,        // authentication failed, truncated, not sealed: `message` says what
  SEALSTONE_REFUSED = 2,        // no such key, wrong key, not supported: `message` says what
  SEALSTONE_READ_FAILED = 3,    // the `read` function of `sealstone_raw` failed; it kept its own status
  SEALSTONE_BUG = 4,            // a panic was caught: `message` says where
  SEALSTONE_IO_FAILED = 5,      // an operation on stored files failed: `message` says which
};

// The text of a failure, in memory of the C++ side.
typedef struct sealstone_message {
  char text[1024];
  size_t text_bytes;
} sealstone_message;

// Reading of the file as it is stored. `read` puts up to `bytes` bytes from `offset` on into `into` and their number
// into `got` (fewer only at the end of the file); it returns 0, or anything else after a failure.
typedef struct sealstone_raw {
  const void* file;
  int32_t (*read)(const void* file, uint64_t offset, size_t bytes, uint8_t* into, size_t* got) SEALSTONE_NOEXCEPT;
} sealstone_raw;

// Bytes that Rust owns; valid until the next call with the same writer.
typedef struct sealstone_bytes {
  const uint8_t* data;
  size_t bytes;
} sealstone_bytes;

// What is to be written into a log's own header area after its first sync; nothing if `bytes_used` is 0.
typedef struct sealstone_mark {
  uint64_t offset;
  uint8_t bytes[16];
  size_t bytes_used;
} sealstone_mark;

// Receives bytes during the call that hands them over; see `sealstone_db_get`.
typedef void (*sealstone_sink)(void* context, size_t index, const uint8_t* value, size_t value_bytes)
    SEALSTONE_NOEXCEPT;

enum { SEALSTONE_FILES_OK = 0, SEALSTONE_FILES_NOT_FOUND = 1, SEALSTONE_FILES_FAILED = 2 };

// Operations on stored files that the catalogues are kept with. Functions return one of the codes above, and fill in
// `message` with SEALSTONE_FILES_FAILED. Any number of threads at once; an `update` belongs to one thread at a time.
typedef struct sealstone_files {
  const void* files;
  // What a name stands for, links followed: `bytes` gets the length of a regular file; `sink` gets words for what is
  // there instead of one, a link that leads nowhere among them.
  int32_t (*look)(const void* files, const char* path, size_t path_bytes, uint64_t* bytes, sealstone_sink sink,
                  void* context, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Hands the first `bytes` bytes of a file, or all there are, to `sink`.
  int32_t (*read)(const void* files, const char* path, size_t path_bytes, size_t bytes, sealstone_sink sink,
                  void* context, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Puts a new file in place of the file or link that is there, holding `data` on stable storage.
  int32_t (*create)(const void* files, const char* path, size_t path_bytes, const uint8_t* data, size_t bytes,
                    sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Opens an existing file for writing in place.
  int32_t (*update)(const void* files, const char* path, size_t path_bytes, void** update, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  int32_t (*write)(void* update, uint64_t offset, const uint8_t* data, size_t bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  int32_t (*sync)(void* update, sealstone_message* message) SEALSTONE_NOEXCEPT;
  void (*update_free)(void* update) SEALSTONE_NOEXCEPT;
  int32_t (*rename)(const void* files, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
                    sealstone_message* message) SEALSTONE_NOEXCEPT;
  int32_t (*remove)(const void* files, const char* path, size_t path_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  int32_t (*sync_directory)(const void* files, const char* path, size_t path_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  // Hands each name in a directory to `sink`.
  int32_t (*names)(const void* files, const char* path, size_t path_bytes, sealstone_sink sink, void* context,
                   sealstone_message* message) SEALSTONE_NOEXCEPT;
} sealstone_files;

// `seal` is what was passed to `sealstone_env_new`; it serves any number of threads at once.
typedef struct sealstone_seal_ops {
  // Gives up `seal`; called once, when the file system ends.
  void (*release)(const void* seal) SEALSTONE_NOEXCEPT;

  // Says on which files the catalogues are kept, before any other call. `files` lives until `release`.
  void (*attach)(const void* seal, const sealstone_files* files) SEALSTONE_NOEXCEPT;

  // Begins a file, which the catalogue lists from then on; whatever had that name is gone. `stored` is to be written
  // first. `syncer` is null for a paged file, and non-null for a file of frames.
  int32_t (*create)(const void* seal, const char* name, size_t name_bytes, void** writer, void** syncer,
                    sealstone_bytes* stored, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Seals `data`; `stored` is to be appended to the file and may be empty. One thread at a time.
  int32_t (*append)(void* writer, const uint8_t* data, size_t bytes, sealstone_bytes* stored,
                    sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Called by RocksDB's own thread once it has handed over `bytes` bytes, whether sealed by now or not: waits where
  // that thread is limited.
  void (*appended)(size_t bytes) SEALSTONE_NOEXCEPT;
  // Ends a file; `stored` is to be appended. No `append` may follow.
  int32_t (*finish)(void* writer, sealstone_bytes* stored, sealstone_message* message) SEALSTONE_NOEXCEPT;
  void (*writer_free)(void* writer) SEALSTONE_NOEXCEPT;
  // Before a file of frames is synced. Any number of threads at once, as the next one.
  int32_t (*before_sync)(const void* syncer, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Records that the first `stored_bytes` bytes of the file are on stable storage; also concurrently with `append`.
  int32_t (*synced)(const void* syncer, uint64_t stored_bytes, sealstone_mark* mark, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  void (*syncer_free)(void* syncer) SEALSTONE_NOEXCEPT;

  // Opens a file of `stored_bytes` bytes for reading, whatever its layout. `page_bytes` is the length of the pieces
  // in which reading is cheapest.
  int32_t (*open)(const void* seal, const char* name, size_t name_bytes, uint64_t stored_bytes,
                  const sealstone_raw* raw, void** reader, uint64_t* page_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  // Reads up to `bytes` bytes of content from `offset` on into `into`, their number into `got` (fewer only at the end
  // of the file). Any number of threads at once. After a failure none of `into` is content.
  int32_t (*read)(const void* reader, const sealstone_raw* raw, uint64_t offset, size_t bytes, uint8_t* into,
                  size_t* got, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Length of the content, in bytes, as of now.
  int32_t (*size)(const void* reader, const sealstone_raw* raw, uint64_t* bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  void (*reader_free)(void* reader) SEALSTONE_NOEXCEPT;

  // Before a file is removed. `now`: 1 if the caller is to remove it, 0 if it goes later and is hidden until then.
  int32_t (*remove)(const void* seal, const char* name, size_t name_bytes, int32_t* now, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  // Before `to` becomes a link to `from`.
  int32_t (*link)(const void* seal, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
                  sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Before a file or directory is renamed, and after: `done` is 0 if that failed.
  int32_t (*rename)(const void* seal, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
                    sealstone_message* message) SEALSTONE_NOEXCEPT;
  int32_t (*renamed)(const void* seal, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
                     int32_t done, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // Whether this file is hidden from everything above the seal: 1 or 0.
  int32_t (*hides)(const void* seal, const char* name, size_t name_bytes) SEALSTONE_NOEXCEPT;
  // Before the names in a directory are handed out.
  int32_t (*list)(const void* seal, const char* name, size_t name_bytes, sealstone_message* message) SEALSTONE_NOEXCEPT;
  // A lock file was taken: the store in its directory is being opened. It is about to be given up: it is being closed.
  int32_t (*locked)(const void* seal, const char* name, size_t name_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  int32_t (*unlocked)(const void* seal, const char* name, size_t name_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
  // Before a directory is removed.
  int32_t (*remove_directory)(const void* seal, const char* name, size_t name_bytes, sealstone_message* message)
      SEALSTONE_NOEXCEPT;
} sealstone_seal_ops;

// ---- environments --------------------------------------------------------------------------------------------------

typedef struct sealstone_env sealstone_env;

// What the file system counted since the env was made, below the seal.
typedef struct sealstone_io {
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t syncs;    // of files and directories
  uint64_t sync_ns;  // wall time inside them, summed over threads; wall_ns contains it
  uint64_t wall_ns;  // inside reads, writes and syncs, summed over threads
  uint64_t cpu_ns;   // the same, CPU time, extrapolated from samples
} sealstone_io;

enum { SEALSTONE_BASE_DEFAULT = 0, SEALSTONE_BASE_MEMORY = 1 };

// An env over the operating system's files or over memory: counting where `count` is not 0, then sealing where `seal`
// is not null. `ops` is copied. Takes over `seal`, also when it fails.
sealstone_env* sealstone_env_new(uint32_t base, int32_t count, const sealstone_seal_ops* ops, const void* seal)
    SEALSTONE_NOEXCEPT;
void sealstone_env_free(sealstone_env* env) SEALSTONE_NOEXCEPT;
void sealstone_env_io(const sealstone_env* env, sealstone_io* into) SEALSTONE_NOEXCEPT;
// Turns `env` into RocksDB's own `rocksdb_env_t`, which `rocksdb_env_destroy` ends. Takes over `env`, also when it
// fails.
void* sealstone_env_into_c(sealstone_env* env) SEALSTONE_NOEXCEPT;

// ---- RocksDB's registry of objects ---------------------------------------------------------------------------------

// Opens what `uri` names: puts into `seal` what `sealstone_env_new` takes by that name, and returns 0; or hands the
// reason why not to `sink`, and returns something else. Any number of threads at once.
typedef int32_t (*sealstone_opener)(const char* uri, size_t uri_bytes, const void** seal, sealstone_sink sink,
                                    void* context) SEALSTONE_NOEXCEPT;

// For the rest of the process, RocksDB finds file systems and environments whose URI is `scheme`, or begins with it and
// "://", through `open`. A file system has one owner, who ends it; an environment lasts as long as the process, and is
// the same one each time a URI is asked for, since RocksDB wants such environments where an options text names one.
// `ops` is copied. To be called once for a scheme.
int32_t sealstone_register(const char* scheme, size_t scheme_bytes, const sealstone_seal_ops* ops,
                           sealstone_opener open, sealstone_error* error) SEALSTONE_NOEXCEPT;

// ---- caches --------------------------------------------------------------------------------------------------------

typedef struct sealstone_cache sealstone_cache;

sealstone_cache* sealstone_cache_new(uint64_t capacity_bytes) SEALSTONE_NOEXCEPT;
// A database keeps its own reference: the cache may be freed first.
void sealstone_cache_free(sealstone_cache* cache) SEALSTONE_NOEXCEPT;
// Drops every entry that is not in use.
void sealstone_cache_empty(sealstone_cache* cache) SEALSTONE_NOEXCEPT;

// ---- databases -----------------------------------------------------------------------------------------------------

typedef struct sealstone_db sealstone_db;

enum {
  SEALSTONE_TRANSACTIONS = 1,  // opens a TransactionDB
  SEALSTONE_STATISTICS = 2,    // tickers only
  SEALSTONE_UNCHECKED = 4,     // reads do not compare RocksDB's own checksum of a block
};

// Opens the database in `path` with RocksDB's own options text. No log file is written. `env` and `cache` (which may
// be null) must outlive the database.
int32_t sealstone_db_open(const sealstone_env* env, const char* path, size_t path_bytes, const char* options,
                          size_t options_bytes, const sealstone_cache* cache, uint32_t flags, sealstone_db** db,
                          sealstone_error* error) SEALSTONE_NOEXCEPT;
// Opens the database in `path` with the options and all the column families that it was last opened with, as its own
// file OPTIONS says; an option that this program cannot make (a merge operator of another program) is an error.
// `strict_log`: damage in the middle of a log is an error, even where those options take it for the log's end. No log
// file is written. `env` must outlive the database.
int32_t sealstone_db_open_stored(const sealstone_env* env, const char* path, size_t path_bytes, int32_t strict_log,
                                 sealstone_db** db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// Opens the database in `path` for reading only, and of it the default column family and those named: writes nothing and
// takes no lock. Reads and iterators are of the last one named, in the order of its comparator. Options as with
// `sealstone_db_open_stored`. `env` must outlive the database.
int32_t sealstone_db_open_for_reading(const sealstone_env* env, const char* path, size_t path_bytes, size_t count,
                                      const sealstone_bytes* families, sealstone_db** db, sealstone_error* error)
    SEALSTONE_NOEXCEPT;
// Ends the database. Its iterators and transactions must be gone.
int32_t sealstone_db_close(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;

// Puts 1 into `found` and hands the value to `sink`, with the position of its key, or puts 0.
int32_t sealstone_db_get(sealstone_db* db, const uint8_t* key, size_t key_bytes, sealstone_sink sink, void* context,
                         int32_t* found, sealstone_error* error) SEALSTONE_NOEXCEPT;
// As `sealstone_db_get` for `count` keys at once; `sink` is called for those found, in ascending order of index.
int32_t sealstone_db_multi_get(sealstone_db* db, size_t count, const sealstone_bytes* keys, sealstone_sink sink,
                               void* context, sealstone_error* error) SEALSTONE_NOEXCEPT;
// `locked`: through the lock table of a TransactionDB, so that transactions are not overwritten.
int32_t sealstone_db_put(sealstone_db* db, const uint8_t* key, size_t key_bytes, const uint8_t* value,
                         size_t value_bytes, int32_t sync, int32_t locked, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_delete(sealstone_db* db, const uint8_t* key, size_t key_bytes, int32_t sync,
                            sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_flush(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_sync_wal(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// Merges all levels into the bottommost one; with `rewrite` also rewrites what was there before.
int32_t sealstone_db_compact(sealstone_db* db, int32_t rewrite, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_verify_checksum(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_checkpoint(sealstone_db* db, const char* path, size_t path_bytes, sealstone_error* error)
    SEALSTONE_NOEXCEPT;
// Takes over sorted table files; `move` links them instead of copying.
int32_t sealstone_db_ingest(sealstone_db* db, size_t count, const sealstone_bytes* paths, int32_t move,
                            sealstone_error* error) SEALSTONE_NOEXCEPT;
// An integer property by RocksDB's name; returns 0 where there is none.
int32_t sealstone_db_property(sealstone_db* db, const char* name, size_t name_bytes, uint64_t* value)
    SEALSTONE_NOEXCEPT;
// Data block cache hits and misses since opening.
void sealstone_db_cache_counts(const sealstone_db* db, uint64_t* hits, uint64_t* misses) SEALSTONE_NOEXCEPT;

// ---- rewriting files of an open database ---------------------------------------------------------------------------

// A table or blob file of the newest version of a database. The bytes are valid during the call that hands it over.
typedef struct sealstone_live_file {
  sealstone_bytes directory;
  sealstone_bytes name;  // within the directory
  uint64_t number;
  uint64_t bytes;        // length
  uint64_t oldest_blob;  // number of the oldest blob file that a table refers to; 0: none
  uint32_t family;       // index of the column family
  int32_t level;         // of a table; -1 for a blob file
} sealstone_live_file;

typedef void (*sealstone_live_file_sink)(void* context, const sealstone_live_file* file) SEALSTONE_NOEXCEPT;

// Hands every table and blob file to `sink`.
int32_t sealstone_db_live_files(sealstone_db* db, sealstone_live_file_sink sink, void* context,
                                sealstone_error* error) SEALSTONE_NOEXCEPT;

enum {
  SEALSTONE_REWRITTEN = 0,
  SEALSTONE_IN_USE = 1,  // a compaction has it at the moment
  SEALSTONE_GONE = 2,    // it is no longer there, or on another level
};

// Rewrites one table file into its own level, in the calling thread; puts what came of it into `outcome`. Tables of its
// level that share a key with it (versions of one key, kept for a snapshot) are merged with it.
int32_t sealstone_db_rewrite(sealstone_db* db, uint32_t family, const char* directory, size_t directory_bytes,
                             const char* name, size_t name_bytes, int32_t level, int32_t* outcome,
                             sealstone_error* error) SEALSTONE_NOEXCEPT;
// While `on` is not 0, rewriting a table also moves all its values out of blob files into new ones. With 0 the settings
// are what they were.
int32_t sealstone_db_move_blobs(sealstone_db* db, int32_t on, sealstone_error* error) SEALSTONE_NOEXCEPT;
// Flushes all column families, and with data to flush begins a new log. What was being flushed before is in place too.
int32_t sealstone_db_flush_all(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// Looks through the directories and removes every file that is not needed, also those that an earlier opening left.
int32_t sealstone_db_sweep(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// How many compactions were begun since opening, into `begun`, and how many of the first of them have all ended, into
// `ended`: a compaction counts as ended once its files are part of the database.
void sealstone_db_compactions(const sealstone_db* db, uint64_t* begun, uint64_t* ended) SEALSTONE_NOEXCEPT;
// Hands the directory of the logs to `sink`; empty where it is that of the database.
int32_t sealstone_db_log_directory(sealstone_db* db, sealstone_sink sink, void* context, sealstone_error* error)
    SEALSTONE_NOEXCEPT;

// Begins a column family with the options of the default one, as the last of the database's families.
int32_t sealstone_db_family_create(sealstone_db* db, const char* name, size_t name_bytes, sealstone_error* error)
    SEALSTONE_NOEXCEPT;
// Ends the last one, which must not be the only one.
int32_t sealstone_db_family_drop(sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// As `sealstone_db_put`, in the column family with index `family`.
int32_t sealstone_db_family_put(sealstone_db* db, uint32_t family, const uint8_t* key, size_t key_bytes,
                                const uint8_t* value, size_t value_bytes, sealstone_error* error) SEALSTONE_NOEXCEPT;
// As `sealstone_db_compact`.
int32_t sealstone_db_family_compact(sealstone_db* db, uint32_t family, sealstone_error* error) SEALSTONE_NOEXCEPT;

// ---- write batches -------------------------------------------------------------------------------------------------

typedef struct sealstone_batch sealstone_batch;

// What `_put` and `_delete` cannot take (a key or value of 4 GiB), `sealstone_db_write` reports, and writes nothing.
sealstone_batch* sealstone_batch_new(void) SEALSTONE_NOEXCEPT;
void sealstone_batch_free(sealstone_batch* batch) SEALSTONE_NOEXCEPT;
void sealstone_batch_put(sealstone_batch* batch, const uint8_t* key, size_t key_bytes, const uint8_t* value,
                         size_t value_bytes) SEALSTONE_NOEXCEPT;
void sealstone_batch_delete(sealstone_batch* batch, const uint8_t* key, size_t key_bytes) SEALSTONE_NOEXCEPT;
int32_t sealstone_db_write(sealstone_db* db, sealstone_batch* batch, int32_t sync, sealstone_error* error)
    SEALSTONE_NOEXCEPT;

// ---- iterators -----------------------------------------------------------------------------------------------------

typedef struct sealstone_iterator sealstone_iterator;

typedef struct sealstone_iterator_options {
  uint64_t readahead_bytes;  // 0: RocksDB decides
  int32_t fill_cache;
  sealstone_bytes lower;  // inclusive; copied; `data` null: none
  sealstone_bytes upper;  // exclusive; copied; `data` null: none
} sealstone_iterator_options;

// An iterator's position; the bytes are valid until it moves. `valid` is 0 past either end and after a failure, which
// `sealstone_iterator_status` then reports.
typedef struct sealstone_entry {
  int32_t valid;
  sealstone_bytes key;
  sealstone_bytes value;
} sealstone_entry;

sealstone_iterator* sealstone_iterator_new(sealstone_db* db, const sealstone_iterator_options* options)
    SEALSTONE_NOEXCEPT;
void sealstone_iterator_free(sealstone_iterator* iterator) SEALSTONE_NOEXCEPT;
void sealstone_iterator_first(sealstone_iterator* iterator, sealstone_entry* entry) SEALSTONE_NOEXCEPT;
void sealstone_iterator_last(sealstone_iterator* iterator, sealstone_entry* entry) SEALSTONE_NOEXCEPT;
void sealstone_iterator_seek(sealstone_iterator* iterator, const uint8_t* key, size_t key_bytes,
                             sealstone_entry* entry) SEALSTONE_NOEXCEPT;
void sealstone_iterator_seek_for_prev(sealstone_iterator* iterator, const uint8_t* key, size_t key_bytes,
                                      sealstone_entry* entry) SEALSTONE_NOEXCEPT;
// Only while the entry is valid.
void sealstone_iterator_next(sealstone_iterator* iterator, sealstone_entry* entry) SEALSTONE_NOEXCEPT;
void sealstone_iterator_prev(sealstone_iterator* iterator, sealstone_entry* entry) SEALSTONE_NOEXCEPT;
int32_t sealstone_iterator_status(const sealstone_iterator* iterator, sealstone_error* error) SEALSTONE_NOEXCEPT;

// ---- transactions --------------------------------------------------------------------------------------------------

typedef struct sealstone_transaction sealstone_transaction;

// Only on a database opened with SEALSTONE_TRANSACTIONS.
sealstone_transaction* sealstone_transaction_new(sealstone_db* db, int32_t sync) SEALSTONE_NOEXCEPT;
// Rolls back what was not committed.
void sealstone_transaction_free(sealstone_transaction* transaction) SEALSTONE_NOEXCEPT;
// Starts again in the same memory; what was not committed is rolled back. If it fails, so does every later call.
void sealstone_transaction_restart(sealstone_db* db, sealstone_transaction* transaction, int32_t sync)
    SEALSTONE_NOEXCEPT;
int32_t sealstone_transaction_get(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                  int32_t for_update, sealstone_sink sink, void* context, int32_t* found,
                                  sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_transaction_put(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                  const uint8_t* value, size_t value_bytes, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_transaction_delete(sealstone_transaction* transaction, const uint8_t* key, size_t key_bytes,
                                     sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_transaction_commit(sealstone_transaction* transaction, sealstone_error* error) SEALSTONE_NOEXCEPT;
int32_t sealstone_transaction_rollback(sealstone_transaction* transaction, sealstone_error* error) SEALSTONE_NOEXCEPT;

// ---- table files ---------------------------------------------------------------------------------------------------

typedef struct sealstone_table_writer sealstone_table_writer;

// A writer of sorted table files with the options of `db`, which must outlive it.
int32_t sealstone_table_writer_open(sealstone_db* db, const char* path, size_t path_bytes,
                                    sealstone_table_writer** writer, sealstone_error* error) SEALSTONE_NOEXCEPT;
void sealstone_table_writer_free(sealstone_table_writer* writer) SEALSTONE_NOEXCEPT;
int32_t sealstone_table_writer_put(sealstone_table_writer* writer, const uint8_t* key, size_t key_bytes,
                                   const uint8_t* value, size_t value_bytes, sealstone_error* error) SEALSTONE_NOEXCEPT;
uint64_t sealstone_table_writer_bytes(sealstone_table_writer* writer) SEALSTONE_NOEXCEPT;
int32_t sealstone_table_writer_finish(sealstone_table_writer* writer, sealstone_error* error) SEALSTONE_NOEXCEPT;

// ---- backups -------------------------------------------------------------------------------------------------------

typedef struct sealstone_backup sealstone_backup;

// `env` must outlive the engine.
int32_t sealstone_backup_open(const sealstone_env* env, const char* path, size_t path_bytes, sealstone_backup** backup,
                              sealstone_error* error) SEALSTONE_NOEXCEPT;
void sealstone_backup_free(sealstone_backup* backup) SEALSTONE_NOEXCEPT;
int32_t sealstone_backup_create(sealstone_backup* backup, sealstone_db* db, sealstone_error* error) SEALSTONE_NOEXCEPT;
// Compares sizes, and with `checksums` also contents.
int32_t sealstone_backup_verify(sealstone_backup* backup, uint32_t id, int32_t checksums, sealstone_error* error)
    SEALSTONE_NOEXCEPT;
// Newest backup into an empty directory.
int32_t sealstone_backup_restore(sealstone_backup* backup, const char* path, size_t path_bytes,
                                 sealstone_error* error) SEALSTONE_NOEXCEPT;
// Number of the newest backup, 0 where there is none.
uint32_t sealstone_backup_latest(sealstone_backup* backup) SEALSTONE_NOEXCEPT;

// ---- the library ---------------------------------------------------------------------------------------------------

// Version of the library that is loaded, not of the headers.
void sealstone_version(int32_t* major, int32_t* minor, int32_t* patch) SEALSTONE_NOEXCEPT;
// Version of the headers that this code was compiled with.
void sealstone_headers_version(int32_t* major, int32_t* minor) SEALSTONE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
