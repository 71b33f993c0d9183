// Rewriting files of an open database: which ones it has, replacing them, and what happens in the meantime. Not here: in
// which order and how fast, which is Rust's business.

#include <algorithm>
#include <string>
#include <vector>

#include "database.h"
#include "report.h"
#include "rocksdb/metadata.h"

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;
using sealstone::AsBytes;
using sealstone::AsSlice;
using sealstone::Caught;
using sealstone::Report;
using sealstone::Rewriting;

namespace {

// Without force, a parameter of older versions: deletions that others disabled stay disabled.
template <typename Base>
Status AllowDeletions(Base* db) {
  if constexpr (requires { db->EnableFileDeletions(false); }) {
    return db->EnableFileDeletions(false);
  } else {
    return db->EnableFileDeletions();
  }
}

}  // namespace

extern "C" {

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
  const std::string table(name, name_bytes);
  // where the table is now, for databases that are spread over several directories
  const rocksdb::Options settings = db->base->GetOptions(handle);
  int path = -1;
  for (size_t i = 0; i < settings.cf_paths.size(); i++) {
    if (settings.cf_paths[i].path == std::string(directory, directory_bytes)) {
      path = static_cast<int>(i);
    }
  }
  const Status status = db->base->CompactFiles(Rewriting(), handle, {table}, level, path);
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
  // enabling deletions again is what makes RocksDB look through the directories; an earlier disabling stays in force
  const Status status = db->base->DisableFileDeletions();
  return Report(status.ok() ? AllowDeletions(db->base) : status, error);
} catch (...) {
  return Caught(error);
}

void sealstone_db_compactions(const sealstone_db* db, uint64_t* begun, uint64_t* ended) noexcept {
  // locking our own mutex fails only where it is misused, in which case the process had better end
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

}  // extern "C"
