// A file system whose files a Rust program keeps (`sealstone_base_ops`): RocksDB's calls in POSIX terms, one call of
// the table for each.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base_files.h"
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
using rocksdb::Slice;

// `base` and the functions that know what it is. Shared by the file system and its open files.
class Base {
 public:
  Base(const sealstone_base_ops& ops, const void* base) : ops(ops), base(base) {}
  ~Base() { ops.release(base); }
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;

  const sealstone_base_ops ops;
  const void* const base;
};
using BasePtr = std::shared_ptr<const Base>;

IOStatus Answer(int32_t code, const std::string& what) {
  switch (code) {
    case SEALSTONE_BASE_OK:
      return IOStatus::OK();
    case SEALSTONE_BASE_NOT_FOUND:
      return IOStatus::PathNotFound(what, "no such file or directory");
    case SEALSTONE_BASE_EXISTS:
      return IOStatus::IOError(what, "it exists already, or is not empty");
    case SEALSTONE_BASE_NO_SPACE:
      return IOStatus::NoSpace(what, "no space left on the simulated device");
    case SEALSTONE_BASE_BUSY:
      return IOStatus::IOError(what, "somebody else holds the lock");
    case SEALSTONE_BASE_NOT_SUPPORTED:
      return IOStatus::NotSupported(what, "the simulated file system cannot do this");
    default:
      return IOStatus::IOError(what, "input/output error of the simulated device");
  }
}

// An open file, closed with this object.
class Handle {
 public:
  static IOStatus Open(const BasePtr& base, const std::string& path, uint32_t how, std::unique_ptr<Handle>* result) {
    uint64_t number = 0;
    IOStatus status = Answer(base->ops.open(base->base, path.data(), path.size(), how, &number), path);
    if (status.ok()) {
      result->reset(new Handle(base, path, number));
    }
    return status;
  }
  ~Handle() { base_->ops.close(base_->base, number_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  IOStatus Read(uint64_t offset, size_t bytes, Slice* result, char* scratch) const {
    size_t got = 0;
    IOStatus status = Answer(
        base_->ops.read(base_->base, number_, offset, bytes, reinterpret_cast<uint8_t*>(scratch), &got), path_);
    *result = Slice(scratch, status.ok() ? got : 0);
    return status;
  }
  IOStatus Append(const Slice& data) {
    return Answer(base_->ops.append(base_->base, number_, Bytes(data), data.size()), path_);
  }
  IOStatus Write(uint64_t offset, const Slice& data) {
    return Answer(base_->ops.write(base_->base, number_, offset, Bytes(data), data.size()), path_);
  }
  IOStatus Truncate(uint64_t bytes) { return Answer(base_->ops.truncate(base_->base, number_, bytes), path_); }
  IOStatus Sync() { return Answer(base_->ops.sync(base_->base, number_), path_); }
  IOStatus Size(uint64_t* bytes) const { return Answer(base_->ops.handle_size(base_->base, number_, bytes), path_); }

 private:
  Handle(BasePtr base, std::string path, uint64_t number)
      : base_(std::move(base)), path_(std::move(path)), number_(number) {}
  static const uint8_t* Bytes(const Slice& data) { return reinterpret_cast<const uint8_t*>(data.data()); }

  const BasePtr base_;
  const std::string path_;
  const uint64_t number_;
};

class BaseRandomAccessFile : public FSRandomAccessFile {
 public:
  explicit BaseRandomAccessFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) const override {
    return handle_->Read(offset, n, result, scratch);
  }
  // In newer versions an override.
  virtual IOStatus GetFileSize(uint64_t* bytes) { return handle_->Size(bytes); }

 private:
  const std::unique_ptr<Handle> handle_;
};

class BaseSequentialFile : public FSSequentialFile {
 public:
  explicit BaseSequentialFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
  IOStatus Read(size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) override {
    IOStatus status = handle_->Read(position_, n, result, scratch);
    position_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    position_ += n;
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<Handle> handle_;
  uint64_t position_ = 0;
};

class BaseRandomRWFile : public FSRandomRWFile {
 public:
  explicit BaseRandomRWFile(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return handle_->Write(offset, data);
  }
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) const override {
    return handle_->Read(offset, n, result, scratch);
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return handle_->Sync(); }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }

 private:
  const std::unique_ptr<Handle> handle_;
};

// Preallocating and asking for writing to begin promise nothing: the base class does nothing about them.
class BaseWritableFile : public FSWritableFile {
 public:
  BaseWritableFile(const FileOptions& options, std::unique_ptr<Handle> handle)
      : FSWritableFile(options), handle_(std::move(handle)) {}
  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return handle_->Append(data);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return handle_->Truncate(size);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return handle_->Sync(); }
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return handle_->Sync(); }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    uint64_t bytes = 0;
    handle_->Size(&bytes).PermitUncheckedError();
    return bytes;
  }

 private:
  const std::unique_ptr<Handle> handle_;
};

class BaseDirectory : public FSDirectory {
 public:
  BaseDirectory(BasePtr base, std::string path) : base_(std::move(base)), path_(std::move(path)) {}
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.sync_directory(base_->base, path_.data(), path_.size()), path_);
  }
  // In newer versions overrides.
  virtual IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) { return IOStatus::OK(); }

 private:
  const BasePtr base_;
  const std::string path_;
};

class BaseLock : public FileLock {
 public:
  explicit BaseLock(std::string path) : path(std::move(path)) {}
  const std::string path;
};

class BaseFileSystem : public rocksdb::FileSystem {
 public:
  explicit BaseFileSystem(BasePtr base) : base_(std::move(base)) {}
  const char* Name() const override { return "SealstoneBaseFileSystem"; }

  // ---- opening files

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& /*options*/,
                             std::unique_ptr<FSSequentialFile>* result, IODebugContext* /*dbg*/) override {
    return Open<BaseSequentialFile>(name, SEALSTONE_BASE_READ, result);
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& /*options*/,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext* /*dbg*/) override {
    return Open<BaseRandomAccessFile>(name, SEALSTONE_BASE_READ, result);
  }
  IOStatus NewRandomRWFile(const std::string& name, const FileOptions& /*options*/,
                           std::unique_ptr<FSRandomRWFile>* result, IODebugContext* /*dbg*/) override {
    return Open<BaseRandomRWFile>(name, SEALSTONE_BASE_UPDATE, result);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return OpenWritable(name, SEALSTONE_BASE_CREATE, options, result);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return OpenWritable(name, SEALSTONE_BASE_APPEND, options, result);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    IOStatus status = RenameFile(old_name, name, options.io_options, dbg);
    return status.ok() ? OpenWritable(name, SEALSTONE_BASE_UPDATE, options, result) : status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& /*options*/, std::unique_ptr<FSDirectory>* result,
                        IODebugContext* /*dbg*/) override {
    uint32_t kind = 0;
    IOStatus status = Look(name, &kind, nullptr);
    if (status.ok() && kind == 0) {
      status = IOStatus::IOError(name, "not a directory");
    }
    if (status.ok()) {
      *result = std::make_unique<BaseDirectory>(base_, name);
    }
    return status;
  }
  IOStatus NewLogger(const std::string& /*name*/, const IOOptions& /*options*/,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* /*dbg*/) override {
    *result = std::make_shared<NoLog>();
    return IOStatus::OK();
  }

  // ---- facts about files

  IOStatus FileExists(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    uint32_t kind = 0;
    IOStatus status = Look(name, &kind, nullptr);
    return status.IsNotFound() || status.IsPathNotFound() ? IOStatus::NotFound() : status;
  }
  IOStatus IsDirectory(const std::string& path, const IOOptions& /*options*/, bool* is_directory,
                       IODebugContext* /*dbg*/) override {
    uint32_t kind = 0;
    IOStatus status = Look(path, &kind, nullptr);
    *is_directory = status.ok() && kind == 1;
    return status;
  }
  IOStatus NumFileLinks(const std::string& name, const IOOptions& /*options*/, uint64_t* count,
                        IODebugContext* /*dbg*/) override {
    uint32_t kind = 0;
    return Look(name, &kind, count);
  }
  IOStatus AreFilesSame(const std::string& one, const std::string& other, const IOOptions& /*options*/, bool* same,
                        IODebugContext* /*dbg*/) override {
    int32_t answer = 0;
    IOStatus status = Answer(
        base_->ops.same(base_->base, one.data(), one.size(), other.data(), other.size(), &answer), one);
    *same = answer != 0;
    return status;
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& /*options*/, uint64_t* bytes,
                       IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.size(base_->base, name.data(), name.size(), bytes), name);
  }
  IOStatus GetFileModificationTime(const std::string& name, const IOOptions& /*options*/, uint64_t* time,
                                   IODebugContext* /*dbg*/) override {
    *time = 1;
    uint32_t kind = 0;
    return Look(name, &kind, nullptr);
  }
  IOStatus GetChildren(const std::string& directory, const IOOptions& /*options*/, std::vector<std::string>* result,
                       IODebugContext* /*dbg*/) override {
    result->clear();
    const auto add = [](void* context, const char* name, size_t name_bytes) noexcept {
      static_cast<std::vector<std::string>*>(context)->emplace_back(name, name_bytes);
    };
    return Answer(base_->ops.list(base_->base, directory.data(), directory.size(), add, result), directory);
  }
  // Not known: RocksDB asks on a thread of its own whether a full disk has room again, and would resume writing.
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& /*options*/, uint64_t* /*bytes*/,
                        IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported(path, "the simulated file system does not say how much room it has");
  }
  IOStatus GetTestDirectory(const IOOptions& /*options*/, std::string* path, IODebugContext* /*dbg*/) override {
    *path = "/test";
    return IOStatus::OK();
  }
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& /*options*/, std::string* result,
                           IODebugContext* /*dbg*/) override {
    *result = path;
    return IOStatus::OK();
  }

  // ---- changing directories

  IOStatus DeleteFile(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.remove(base_->base, name.data(), name.size()), name);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                      IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.rename(base_->base, from.data(), from.size(), to.data(), to.size()), from + " to " + to);
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                    IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.link(base_->base, from.data(), from.size(), to.data(), to.size()), from + " to " + to);
  }
  IOStatus CreateDir(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.make_directory(base_->base, name.data(), name.size()), name);
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    bool is_directory = false;
    IOStatus status = IsDirectory(name, options, &is_directory, dbg);
    return status.ok() && is_directory ? IOStatus::OK() : CreateDir(name, options, dbg);
  }
  IOStatus DeleteDir(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return Answer(base_->ops.remove_directory(base_->base, name.data(), name.size()), name);
  }
  IOStatus LockFile(const std::string& name, const IOOptions& /*options*/, FileLock** lock,
                    IODebugContext* /*dbg*/) override {
    *lock = nullptr;
    IOStatus status = Answer(base_->ops.lock(base_->base, name.data(), name.size()), name);
    if (status.ok()) {
      *lock = new BaseLock(name);
    }
    return status;
  }
  IOStatus UnlockFile(FileLock* lock, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    const std::unique_ptr<BaseLock> ours(static_cast<BaseLock*>(lock));
    base_->ops.unlock(base_->base, ours->path.data(), ours->path.size());
    return IOStatus::OK();
  }

  // ---- overrides in newer versions, unused in older ones

  virtual IOStatus SyncFile(const std::string& name, const FileOptions& /*options*/, const IOOptions& /*io_options*/,
                            bool /*use_fsync*/, IODebugContext* /*dbg*/) {
    std::unique_ptr<Handle> handle;
    IOStatus status = Handle::Open(base_, name, SEALSTONE_BASE_UPDATE, &handle);
    return status.ok() ? handle->Sync() : status;
  }
  virtual void SupportedOps(int64_t& operations) { operations = 0; }

 private:
  template <typename File, typename Result>
  IOStatus Open(const std::string& name, uint32_t how, std::unique_ptr<Result>* result) {
    result->reset();
    std::unique_ptr<Handle> handle;
    IOStatus status = Handle::Open(base_, name, how, &handle);
    if (status.ok()) {
      *result = std::make_unique<File>(std::move(handle));
    }
    return status;
  }
  IOStatus OpenWritable(const std::string& name, uint32_t how, const FileOptions& options,
                        std::unique_ptr<FSWritableFile>* result) {
    result->reset();
    std::unique_ptr<Handle> handle;
    IOStatus status = Handle::Open(base_, name, how, &handle);
    if (status.ok()) {
      *result = std::make_unique<BaseWritableFile>(options, std::move(handle));
    }
    return status;
  }
  // `links` may be null.
  IOStatus Look(const std::string& path, uint32_t* kind, uint64_t* links) {
    uint64_t count = 0;
    IOStatus status = Answer(base_->ops.look(base_->base, path.data(), path.size(), kind, &count), path);
    if (links != nullptr) {
      *links = count;
    }
    return status;
  }

  const BasePtr base_;
};

}  // namespace
}  // namespace sealstone

extern "C" sealstone_env* sealstone_env_on(const sealstone_base_ops* base_ops, const void* base, int32_t count,
                                           const sealstone_seal_ops* ops, const void* seal) noexcept {
  auto env = std::make_unique<sealstone_env>();
  std::shared_ptr<rocksdb::FileSystem> files = std::make_shared<sealstone::BaseFileSystem>(
      std::make_shared<const sealstone::Base>(*base_ops, base));
  env->counters = std::make_shared<sealstone::IoCounters>();
  if (count != 0) {
    files = sealstone::NewCountingFileSystem(files, env->counters, seal == nullptr);
  }
  if (seal != nullptr) {
    files = sealstone::NewSealedFileSystem(files, *ops, seal, false);
  }
  env->env = rocksdb::NewCompositeEnv(files);
  return env.release();
}
