// The operating system's files as a store may have them: regular ones. A FIFO, a socket, a device or a directory may
// have the name of any file of a store; RocksDB opens whatever is there, waits for the other end of a FIFO for ever, and
// takes a directory for an empty file. Here each is an error that names it. Links are followed, as RocksDB does.
//
// RocksDB opens by name, so this looks at the name before: who changes it in between can make it wait.

#include <errno.h>
#include <sys/stat.h>

#include <string>

#include "file_systems.h"

namespace sealstone {
namespace {

using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSRandomRWFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

const char* Words(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return nullptr;
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO (a pipe)";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "something else";
  }
}

class RegularFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit RegularFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target) : FileSystemWrapper(target) {}

  const char* Name() const override { return "SealstoneRegularFileSystem"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<FSSequentialFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::NewSequentialFile(name, options, result, dbg) : status;
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::NewRandomAccessFile(name, options, result, dbg) : status;
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::NewWritableFile(name, options, result, dbg) : status;
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::ReopenWritableFile(name, options, result, dbg) : status;
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(old_name);
    return status.ok() ? FileSystemWrapper::ReuseWritableFile(name, old_name, options, result, dbg) : status;
  }
  IOStatus NewRandomRWFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSRandomRWFile>* result, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::NewRandomRWFile(name, options, result, dbg) : status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options, std::unique_ptr<FSDirectory>* result,
                        IODebugContext* dbg) override {
    struct stat found;
    if (stat(name.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) {
      return IOStatus::IOError(name, "not a directory");
    }
    return FileSystemWrapper::NewDirectory(name, options, result, dbg);
  }
  IOStatus LockFile(const std::string& name, const IOOptions& options, FileLock** lock, IODebugContext* dbg) override {
    IOStatus status = Regular(name);
    return status.ok() ? FileSystemWrapper::LockFile(name, options, lock, dbg) : status;
  }

 private:
  // What cannot be looked at cannot be opened either, and that error says why.
  static IOStatus Regular(const std::string& name) {
    const Place place = LookAt(name);
    return place.other == nullptr ? IOStatus::OK()
                                  : IOStatus::IOError(name, "it is " + std::string(place.other) + ", not a file");
  }
};

}  // namespace

Place LookAt(const std::string& path) {
  Place place;
  struct stat found;
  if (stat(path.c_str(), &found) == 0) {
    place.there = true;
    place.bytes = static_cast<uint64_t>(found.st_size);
    place.other = Words(found.st_mode);
    return place;
  }
  place.error = errno;
  if (place.error == ELOOP) {
    place.there = true;
    place.error = 0;
    place.other = "a link that leads to itself";
  } else if (place.error == ENOENT) {
    place.error = 0;
    if (lstat(path.c_str(), &found) == 0) {
      place.there = true;
      place.other = "a link that leads nowhere";
    }
  }
  return place;
}

std::shared_ptr<rocksdb::FileSystem> NewRegularFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target) {
  return std::make_shared<RegularFileSystem>(target);
}

}  // namespace sealstone
