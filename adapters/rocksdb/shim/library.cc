// The RocksDB that is loaded, and the one that this shim was compiled for.

#include <cstdio>
#include <string>

#include "rocksdb/version.h"
#include "sealstone.h"

extern "C" void sealstone_version(int32_t* major, int32_t* minor, int32_t* patch) noexcept try {
  *major = *minor = *patch = 0;
  const std::string version = rocksdb::GetRocksVersionAsString(true);
  sscanf(version.c_str(), "%d.%d.%d", major, minor, patch);
} catch (...) {
  *major = *minor = *patch = 0;
}

extern "C" void sealstone_headers_version(int32_t* major, int32_t* minor) noexcept {
  *major = ROCKSDB_MAJOR;
  *minor = ROCKSDB_MINOR;
}
