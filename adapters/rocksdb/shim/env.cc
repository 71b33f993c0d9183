// Environments of RocksDB: the file systems of this shim, stacked. Not here: environments on files kept in Rust
// (`dev/simulator`).

#include <memory>
#include <new>

#include "file_systems.h"

extern "C" {

sealstone_env* sealstone_env_new(uint32_t base, int32_t count, const sealstone_seal_ops* ops,
                                 const void* seal) noexcept {
  bool taken = false;
  try {
    auto env = std::make_unique<sealstone_env>();
    std::shared_ptr<rocksdb::FileSystem> files = rocksdb::FileSystem::Default();
    if (base == SEALSTONE_BASE_MEMORY) {
      env->memory.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
      files = env->memory->GetFileSystem();
    } else if (seal != nullptr) {
      files = sealstone::NewRegularFileSystem(files);
    }
    env->counters = std::make_shared<sealstone::IoCounters>();
    if (count != 0) {
      files = sealstone::NewCountingFileSystem(files, env->counters, seal == nullptr);
    }
    if (seal != nullptr) {
      taken = true;
      files = sealstone::NewSealedFileSystem(files, *ops, seal, base != SEALSTONE_BASE_MEMORY);
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
  into->syncs = counters.syncs.load(std::memory_order_relaxed);
  into->sync_ns = counters.sync_ns.load(std::memory_order_relaxed);
  into->wall_ns = counters.wall_ns.load(std::memory_order_relaxed);
  into->cpu_ns = counters.cpu_ns.load(std::memory_order_relaxed);
}

// RocksDB declares this struct only in db/c.cc; this is its layout from the first version on.
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

}  // extern "C"
