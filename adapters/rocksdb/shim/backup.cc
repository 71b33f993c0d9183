// Backups of databases, in a directory and through an environment of their own.

#include <memory>
#include <string>
#include <vector>

#include "database.h"
#include "file_systems.h"
#include "report.h"
#include "rocksdb/utilities/backup_engine.h"

using rocksdb::Status;
using sealstone::Caught;
using sealstone::Report;

struct sealstone_backup {
  std::unique_ptr<rocksdb::BackupEngine> engine;
};

extern "C" {

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

}  // extern "C"
