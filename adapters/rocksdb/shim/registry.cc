// The sealed file system in RocksDB's registry of objects: what a URI that a program passes on leads to. Not here: what
// is in a URI, which is Rust's business (`sealstone_opener`).

#include "rocksdb/utilities/object_registry.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "file_systems.h"
#include "report.h"

namespace sealstone {
namespace {

using rocksdb::Env;
using rocksdb::FileSystem;
using rocksdb::ObjectLibrary;

// How URIs are opened; what it makes is sealed on the operating system's files.
struct Opening {
  sealstone_seal_ops ops;
  sealstone_opener open;

  // Null, with the reason in `message`, where `uri` leads to nothing.
  std::unique_ptr<FileSystem> FileSystemAt(const std::string& uri, std::string* message) const {
    const void* seal = nullptr;
    if (open(uri.data(), uri.size(), &seal, Keep, message) != 0) {
      return nullptr;
    }
    return NewSealedFileSystem(NewRegularFileSystem(FileSystem::Default()), ops, seal, true);
  }

  static void Keep(void* context, size_t /*index*/, const uint8_t* text, size_t bytes) noexcept {
    try {
      static_cast<std::string*>(context)->assign(reinterpret_cast<const char*>(text), bytes);
    } catch (...) {
      // RocksDB says that it could not load the object, at least
    }
  }
};

// The environments that were made, by their URIs. Kept for good: a holder of one does not own it, and may still use it
// while the process ends.
class Environments {
 public:
  Env* At(const Opening& opening, const std::string& uri, std::string* message) {
    const std::lock_guard<std::mutex> guard(mutex_);
    std::unique_ptr<Env>& known = made_[uri];
    if (known == nullptr) {
      std::unique_ptr<FileSystem> files = opening.FileSystemAt(uri, message);
      if (files != nullptr) {
        known = rocksdb::NewCompositeEnv(std::move(files));
      }
    }
    return known.get();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Env>> made_;
};

}  // namespace
}  // namespace sealstone

extern "C" int32_t sealstone_register(const char* scheme, size_t scheme_bytes, const sealstone_seal_ops* ops,
                                      sealstone_opener open, sealstone_error* error) noexcept try {
  using namespace sealstone;
  const Opening opening{*ops, open};
  ObjectLibrary::PatternEntry uris(std::string(scheme, scheme_bytes));
  uris.AddSeparator("://", false);
  ObjectLibrary& library = *ObjectLibrary::Default();
  library.AddFactory<FileSystem>(
      uris, [opening](const std::string& uri, std::unique_ptr<FileSystem>* guard, std::string* message) {
        *guard = opening.FileSystemAt(uri, message);
        return guard->get();
      });
  // never freed: see the class
  auto* environments = new Environments();
  library.AddFactory<Env>(uris,
                          [opening, environments](const std::string& uri, std::unique_ptr<Env>* guard,
                                                  std::string* message) {
                            guard->reset();
                            return environments->At(opening, uri, message);
                          });
  return 0;
} catch (...) {
  return sealstone::Caught(error);
}
