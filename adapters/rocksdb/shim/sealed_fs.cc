// A file system that stores every file sealed in another one. What the bytes mean is Rust's business
// (`sealstone_seal_ops`); this file moves them and answers RocksDB in RocksDB's terms.
//
// The classes derive from RocksDB's abstract ones and not from its wrappers, so that a method this file does not know
// of is refused or goes through those it does, and never reaches the stored bytes behind the seal's back.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "file_systems.h"
#include "seal.h"
#include "sealed_content.h"
#include "sealed_writable_file.h"
#include "write_behind.h"

namespace sealstone {
namespace {

using rocksdb::DBOptions;
using rocksdb::FileAttributes;
using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::ImmutableDBOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Status;

class SealedFileSystem : public FileSystem {
 public:
  SealedFileSystem(std::shared_ptr<FileSystem> target, SealPtr seal)
      : target_(std::move(target)), seal_(std::move(seal)) {}

  const char* Name() const override { return "SealstoneSealedFileSystem"; }

  // ---- opening files

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<FSSequentialFile>* result, IODebugContext* dbg) override {
    result->reset();
    std::unique_ptr<SealedContent> content;
    IOStatus status = SealedContent::Open(*target_, seal_, name, options, dbg, &content);
    if (status.ok()) {
      *result = NewSealedSequentialFile(std::move(content));
    }
    return status;
  }

  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext* dbg) override {
    result->reset();
    std::unique_ptr<SealedContent> content;
    IOStatus status = SealedContent::Open(*target_, seal_, name, options, dbg, &content);
    if (status.ok()) {
      *result = NewSealedRandomAccessFile(std::move(content));
    } else if (status.IsPathNotFound() && name.ends_with(".ldb")) {
      // RocksDB looks for a table under this older name once its own is not there, and reports what it heard last
      const std::string table = name.substr(0, name.size() - 4) + ".sst";
      status = IOStatus::PathNotFound(table, "No such file or directory, nor under its older name " + name);
    }
    return status;
  }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    result->reset();
    return CreateSealedFile(*target_, seal_, behinds_, name, options, result, dbg);
  }

  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    result->reset();
    if (target_->FileExists(name, options.io_options, dbg).IsNotFound()) {
      return NewWritableFile(name, options, result, dbg);
    }
    if (IsAppendedTo(name)) {
      // RocksDB only asks for this to trim or continue a file, and uses a new one instead
      return IOStatus::NotSupported(name, "a sealed log cannot be continued");
    }
    uint64_t bytes = 0;
    IOStatus status = GetFileSize(name, options.io_options, &bytes, dbg);
    std::unique_ptr<FSWritableFile> target;
    if (status.ok()) {
      status = target_->ReopenWritableFile(name, Below(options), &target, dbg);
    }
    if (status.ok()) {
      *result = NewSyncOnlyFile(options, std::move(target), bytes);
    }
    return status;
  }

  // Recycling a log saves no time here: the new one gets a key of its own, and nothing of the old one fits it.
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    result->reset();
    IOStatus status = DeleteFile(old_name, options.io_options, dbg);
    return status.ok() ? NewWritableFile(name, options, result, dbg) : status;
  }

  // NewRandomRWFile and NewMemoryMappedFileBuffer of the base class refuse.

  // No log file is written. Refusing would be clearer, but newer versions then do not open the database.
  IOStatus NewLogger(const std::string& /*name*/, const IOOptions& /*options*/,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* /*dbg*/) override {
    *result = std::make_shared<NoLog>();
    return IOStatus::OK();
  }

  // ---- facts about files

  // Length of the content. A paged file that is not whole is an error already here, so that it is reported as damaged
  // and not merely as one of unexpected length.
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, uint64_t* bytes,
                       IODebugContext* dbg) override {
    FileOptions reading;
    reading.io_options = options;
    std::unique_ptr<SealedContent> content;
    IOStatus status = SealedContent::Open(*target_, seal_, name, reading, dbg, &content);
    return status.ok() ? content->Size(options, bytes, dbg) : status;
  }

  // As the base class does it; but a file that is not sealed, or not whole yet, is listed with its stored length: a
  // listing must not fail for it.
  IOStatus GetChildrenFileAttributes(const std::string& directory, const IOOptions& options,
                                     std::vector<FileAttributes>* result, IODebugContext* dbg) override {
    IOStatus status = target_->GetChildrenFileAttributes(directory, options, result, dbg);
    if (status.ok()) {
      std::erase_if(*result, [&](const FileAttributes& file) { return Hides(directory + "/" + file.name); });
      for (FileAttributes& file : *result) {
        uint64_t bytes = 0;
        bool is_directory = false;
        const std::string name = directory + "/" + file.name;
        if (target_->IsDirectory(name, options, &is_directory, dbg).ok() && !is_directory &&
            GetFileSize(name, options, &bytes, dbg).ok()) {
          file.size_bytes = bytes;
        }
      }
    }
    return status;
  }

  // ---- passed on as they are

  Status RegisterDbPaths(const std::vector<std::string>& paths) override { return target_->RegisterDbPaths(paths); }
  Status UnregisterDbPaths(const std::vector<std::string>& paths) override {
    return target_->UnregisterDbPaths(paths);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options, std::unique_ptr<FSDirectory>* result,
                        IODebugContext* dbg) override {
    return target_->NewDirectory(name, options, result, dbg);
  }
  IOStatus FileExists(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    return Hides(name) ? IOStatus::NotFound(name) : target_->FileExists(name, options, dbg);
  }
  IOStatus GetChildren(const std::string& directory, const IOOptions& options, std::vector<std::string>* result,
                       IODebugContext* dbg) override {
    IOStatus status = Told(seal_->ops.list, directory);
    if (status.ok()) {
      status = target_->GetChildren(directory, options, result, dbg);
    }
    if (status.ok()) {
      std::erase_if(*result, [&](const std::string& name) { return Hides(directory + "/" + name); });
    }
    return status;
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    sealstone_message message;
    message.text_bytes = 0;
    int32_t now = 1;
    IOStatus status = Answer(seal_->ops.remove(seal_->seal, name.data(), name.size(), &now, &message), message);
    return status.ok() && now != 0 ? target_->DeleteFile(name, options, dbg) : status;
  }
  IOStatus CreateDir(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    return target_->CreateDir(name, options, dbg);
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    return target_->CreateDirIfMissing(name, options, dbg);
  }
  IOStatus DeleteDir(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = Told(seal_->ops.remove_directory, name);
    return status.ok() ? target_->DeleteDir(name, options, dbg) : status;
  }
  IOStatus GetFileModificationTime(const std::string& name, const IOOptions& options, uint64_t* time,
                                   IODebugContext* dbg) override {
    return target_->GetFileModificationTime(name, options, time, dbg);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* dbg) override {
    sealstone_message message;
    message.text_bytes = 0;
    const sealstone_seal_ops& ops = seal_->ops;
    IOStatus status =
        Answer(ops.rename(seal_->seal, from.data(), from.size(), to.data(), to.size(), &message), message);
    if (!status.ok()) {
      return status;
    }
    status = target_->RenameFile(from, to, options, dbg);
    message.text_bytes = 0;
    const int32_t done = status.ok() ? 1 : 0;
    IOStatus noted = Answer(
        ops.renamed(seal_->seal, from.data(), from.size(), to.data(), to.size(), done, &message), message);
    return status.ok() ? noted : status;
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override {
    sealstone_message message;
    message.text_bytes = 0;
    IOStatus status =
        Answer(seal_->ops.link(seal_->seal, from.data(), from.size(), to.data(), to.size(), &message), message);
    return status.ok() ? target_->LinkFile(from, to, options, dbg) : status;
  }
  IOStatus NumFileLinks(const std::string& name, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override {
    return target_->NumFileLinks(name, options, count, dbg);
  }
  IOStatus AreFilesSame(const std::string& one, const std::string& other, const IOOptions& options, bool* same,
                        IODebugContext* dbg) override {
    return target_->AreFilesSame(one, other, options, same, dbg);
  }
  IOStatus LockFile(const std::string& name, const IOOptions& options, FileLock** lock, IODebugContext* dbg) override {
    IOStatus status = target_->LockFile(name, options, lock, dbg);
    if (!status.ok()) {
      return status;
    }
    status = Told(seal_->ops.locked, name);
    if (!status.ok()) {
      target_->UnlockFile(*lock, options, dbg).PermitUncheckedError();
      *lock = nullptr;
      return status;
    }
    const std::lock_guard<std::mutex> guard(locks_mutex_);
    locks_[*lock] = name;
    return status;
  }
  IOStatus UnlockFile(FileLock* lock, const IOOptions& options, IODebugContext* dbg) override {
    std::string name;
    {
      const std::lock_guard<std::mutex> guard(locks_mutex_);
      const auto found = locks_.find(lock);
      if (found != locks_.end()) {
        name = found->second;
        locks_.erase(found);
      }
    }
    // what could not be put on stable storage now is what a crash would have left
    IOStatus noted = name.empty() ? IOStatus::OK() : Told(seal_->ops.unlocked, name);
    IOStatus status = target_->UnlockFile(lock, options, dbg);
    return status.ok() ? noted : status;
  }
  IOStatus GetTestDirectory(const IOOptions& options, std::string* path, IODebugContext* dbg) override {
    return target_->GetTestDirectory(options, path, dbg);
  }
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& options, std::string* result,
                           IODebugContext* dbg) override {
    return target_->GetAbsolutePath(path, options, result, dbg);
  }
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                        IODebugContext* dbg) override {
    return target_->GetFreeSpace(path, options, bytes, dbg);
  }
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_directory,
                       IODebugContext* dbg) override {
    return target_->IsDirectory(path, options, is_directory, dbg);
  }
  void SanitizeFileOptions(FileOptions* options) const override { target_->SanitizeFileOptions(options); }
  FileOptions OptimizeForLogRead(const FileOptions& options) const override {
    return target_->OptimizeForLogRead(options);
  }
  FileOptions OptimizeForManifestRead(const FileOptions& options) const override {
    return target_->OptimizeForManifestRead(options);
  }
  FileOptions OptimizeForLogWrite(const FileOptions& options, const DBOptions& db) const override {
    return target_->OptimizeForLogWrite(options, db);
  }
  FileOptions OptimizeForManifestWrite(const FileOptions& options) const override {
    return target_->OptimizeForManifestWrite(options);
  }
  FileOptions OptimizeForCompactionTableWrite(const FileOptions& options,
                                              const ImmutableDBOptions& db) const override {
    return target_->OptimizeForCompactionTableWrite(options, db);
  }
  FileOptions OptimizeForCompactionTableRead(const FileOptions& options, const ImmutableDBOptions& db) const override {
    return target_->OptimizeForCompactionTableRead(options, db);
  }
  FileOptions OptimizeForBlobFileRead(const FileOptions& options, const ImmutableDBOptions& db) const override {
    return target_->OptimizeForBlobFileRead(options, db);
  }

  // ---- overrides in newer versions, unused in older ones

  // Syncing concerns the stored file.
  virtual IOStatus SyncFile(const std::string& name, const FileOptions& options, const IOOptions& io_options,
                            bool use_fsync, IODebugContext* dbg) {
    return SyncStored(target_.get(), name, Below(options), io_options, use_fsync, dbg);
  }
  // Neither asynchronous reads nor prefetching, nor buffers handed over.
  virtual void SupportedOps(int64_t& operations) { operations = 0; }

 private:
  bool Hides(const std::string& name) const { return seal_->ops.hides(seal_->seal, name.data(), name.size()) != 0; }

  // Tells Rust about a file or directory.
  IOStatus Told(int32_t (*what)(const void*, const char*, size_t, sealstone_message*), const std::string& name) const {
    sealstone_message message;
    message.text_bytes = 0;
    return Answer(what(seal_->seal, name.data(), name.size(), &message), message);
  }

  template <typename Target>
  static IOStatus SyncStored(Target* target, const std::string& name, const FileOptions& options,
                             const IOOptions& io_options, bool use_fsync, IODebugContext* dbg) {
    if constexpr (requires { target->SyncFile(name, options, io_options, use_fsync, dbg); }) {
      return target->SyncFile(name, options, io_options, use_fsync, dbg);
    } else {
      return IOStatus::NotSupported("SyncFile");
    }
  }

  const std::shared_ptr<FileSystem> target_;
  const SealPtr seal_;
  const std::shared_ptr<WriteBehinds> behinds_ = std::make_shared<WriteBehinds>();
  std::mutex locks_mutex_;
  std::map<FileLock*, std::string> locks_;  // the lock files that are held, by name
};

}  // namespace

std::unique_ptr<rocksdb::FileSystem> NewSealedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                         const sealstone_seal_ops& ops, const void* seal,
                                                         bool on_system) {
  SealPtr taken;
  try {
    taken = std::make_shared<const Seal>(ops, seal, target, on_system);
  } catch (...) {
    ops.release(seal);
    throw;
  }
  return std::make_unique<SealedFileSystem>(target, std::move(taken));
}

}  // namespace sealstone
