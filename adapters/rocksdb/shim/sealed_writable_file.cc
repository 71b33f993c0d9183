// How a file is written sealed: behind RocksDB's back where that is quicker, and with a record of what was synced.

#include "sealed_writable_file.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace sealstone {
namespace {

using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSRandomRWFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Keeps the record of how much of a log is on stable storage, which the catalogue has. It is written after what it
// covers was synced, and is not synced itself: a crash leaves the previous one.
class SyncRecord {
 public:
  SyncRecord(SealPtr seal, void* syncer, std::unique_ptr<FSRandomRWFile> header)
      : seal_(std::move(seal)), syncer_(syncer), header_(std::move(header)) {}
  ~SyncRecord() { seal_->ops.syncer_free(syncer_); }
  SyncRecord(const SyncRecord&) = delete;
  SyncRecord& operator=(const SyncRecord&) = delete;

  // Sees to it that what the next sync promises is listed on stable storage.
  IOStatus Before() {
    sealstone_message message;
    message.text_bytes = 0;
    return Answer(seal_->ops.before_sync(syncer_, &message), message);
  }

  // The first `stored_bytes` bytes are on stable storage. Any number of threads at once.
  IOStatus Advance(uint64_t stored_bytes, const IOOptions& options, IODebugContext* dbg) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stored_bytes <= recorded_) {
      return IOStatus::OK();
    }
    sealstone_mark mark;
    mark.bytes_used = 0;
    sealstone_message message;
    message.text_bytes = 0;
    IOStatus status = Answer(seal_->ops.synced(syncer_, stored_bytes, &mark, &message), message);
    if (status.ok() && mark.bytes_used > 0) {
      const Slice bytes(reinterpret_cast<const char*>(mark.bytes), mark.bytes_used);
      status = header_->Write(mark.offset, bytes, options, dbg);
    }
    if (status.ok()) {
      recorded_ = stored_bytes;
    }
    return status;
  }

 private:
  const SealPtr seal_;
  void* const syncer_;
  const std::unique_ptr<FSRandomRWFile> header_;
  std::mutex mutex_;
  uint64_t recorded_ = 0;
};

// Writes a new file. A paged file ends with the first Sync, Fsync or Close: RocksDB calls none of them before all of
// a table is written, and only with its last page is the file one that can be opened, so syncing less would be of no
// use. Frames are synced as often as asked.
//
// RocksDB writes tables in pieces of up to a megabyte. From the second such piece on they are sealed and stored behind
// its back: where a core is idle, building a table then costs no more time than without a seal.
class SealedWritableFile : public FSWritableFile {
 public:
  SealedWritableFile(const FileOptions& options, SealPtr seal, std::shared_ptr<WriteBehinds> behinds,
                     std::unique_ptr<FSWritableFile> target, void* writer, bool paged)
      : FSWritableFile(options),
        seal_(std::move(seal)),
        behinds_(std::move(behinds)),
        target_(std::move(target)),
        writer_(writer),
        paged_(paged) {}

  ~SealedWritableFile() override {
    if (!closed_) {
      // some callers in RocksDB leave closing to the destructor
      Close(IOOptions(), nullptr).PermitUncheckedError();
    }
    failed_.PermitUncheckedError();
    behind_.reset();
    seal_->ops.writer_free(writer_);
  }

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    if (!failed_.ok()) {
      return failed_;
    }
    IOStatus status;
    if (paged_ && data.size() >= kBehindBytes && ++large_pieces_ > 1 && StartBehind()) {
      status = behind_->Post(data);
    } else {
      status = Drain();
      if (status.ok()) {
        status = SealAndStore(data, options, dbg);
      }
    }
    if (status.ok()) {
      bytes_ += data.size();
      seal_->ops.appended(data.size());
    } else {
      // what is stored from here on would not match what was counted: nothing more may follow
      failed_ = status;
    }
    return status;
  }

  IOStatus Truncate(uint64_t size, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return size == bytes_ ? IOStatus::OK() : IOStatus::NotSupported("a sealed file cannot be cut");
  }

  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    if (closed_) {
      return IOStatus::OK();
    }
    closed_ = true;
    IOStatus status = Finish(options, dbg);
    IOStatus closing = target_->Close(options, dbg);
    return status.ok() ? closing : status;
  }

  IOStatus Flush(const IOOptions& options, IODebugContext* dbg) override {
    // RocksDB flushes after every piece; of a paged file nothing is of use before its end
    return failed_.ok() && !paged_ ? target_->Flush(options, dbg) : failed_;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return SyncBy([&] { return target_->Sync(options, dbg); }, options, dbg);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return SyncBy([&] { return target_->Fsync(options, dbg); }, options, dbg);
  }
  // A frame file's Sync touches nothing but the file below and its header.
  bool IsSyncThreadSafe() const override { return !paged_ && target_->IsSyncThreadSafe(); }

  uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return bytes_; }

  // Asks the system to begin writing out what is stored so far.
  IOStatus RangeSync(uint64_t /*offset*/, uint64_t /*bytes*/, const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = Drain();
    return status.ok() ? target_->RangeSync(0, stored_bytes_, options, dbg) : status;
  }
  void PrepareWrite(size_t /*offset*/, size_t length, const IOOptions& options, IODebugContext* dbg) override {
    // a paged file prepares when it stores, on whatever thread that is
    if (!paged_) {
      target_->PrepareWrite(stored_bytes_, length, options, dbg);
    }
  }
  IOStatus Allocate(uint64_t /*offset*/, uint64_t bytes, const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = Drain();
    return status.ok() ? target_->Allocate(stored_bytes_, bytes, options, dbg) : status;
  }
  void SetPreallocationBlockSize(size_t size) override { target_->SetPreallocationBlockSize(size); }
  void GetPreallocationStatus(size_t* block_size, size_t* last_allocated_block) override {
    target_->GetPreallocationStatus(block_size, last_allocated_block);
  }

  void SetWriteLifeTimeHint(Env::WriteLifeTimeHint hint) override { target_->SetWriteLifeTimeHint(hint); }
  Env::WriteLifeTimeHint GetWriteLifeTimeHint() override { return target_->GetWriteLifeTimeHint(); }
  void SetIOPriority(Env::IOPriority priority) override { target_->SetIOPriority(priority); }
  Env::IOPriority GetIOPriority() override { return target_->GetIOPriority(); }
  size_t GetUniqueId(char* id, size_t max_size) const override { return target_->GetUniqueId(id, max_size); }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return target_->InvalidateCache(0, 0); }

  // Stores the header. `record` is null for a paged file.
  IOStatus Begin(const sealstone_bytes& header, std::unique_ptr<SyncRecord> record, const IOOptions& options,
                 IODebugContext* dbg) {
    record_ = std::move(record);
    failed_ = Store(header, options, dbg);
    return failed_;
  }

 private:
  // Shorter pieces are sealed before another thread would have begun.
  static constexpr size_t kBehindBytes = 256 << 10;

  // Whether there is a thread to seal behind RocksDB's back; where the system provides none, RocksDB's own does it.
  bool StartBehind() {
    if (behind_ == nullptr && !no_thread_) {
      behind_ = behinds_->Take([this](const Slice& data) { return SealAndStore(data, IOOptions(), nullptr); });
      no_thread_ = behind_ == nullptr;
    }
    return behind_ != nullptr;
  }

  // Waits until all that was appended is stored.
  IOStatus Drain() { return behind_ != nullptr ? behind_->Wait() : IOStatus::OK(); }

  IOStatus SealAndStore(const Slice& data, const IOOptions& options, IODebugContext* dbg) {
    sealstone_bytes stored;
    sealstone_message message;
    message.text_bytes = 0;
    const int32_t code = seal_->ops.append(writer_, reinterpret_cast<const uint8_t*>(data.data()), data.size(),
                                           &stored, &message);
    IOStatus status = Answer(code, message);
    return status.ok() ? Store(stored, options, dbg) : status;
  }

  IOStatus Store(const sealstone_bytes& stored, const IOOptions& options, IODebugContext* dbg) {
    if (stored.bytes == 0) {
      return IOStatus::OK();
    }
    if (paged_) {
      target_->PrepareWrite(stored_bytes_, stored.bytes, options, dbg);
    }
    IOStatus status = target_->Append(Slice(reinterpret_cast<const char*>(stored.data), stored.bytes), options, dbg);
    // counted once it is with the file below, and only then: a concurrent sync may record everything that is counted
    if (status.ok()) {
      stored_bytes_ += stored.bytes;
    }
    return status;
  }

  template <typename TargetSync>
  IOStatus SyncBy(TargetSync sync, const IOOptions& options, IODebugContext* dbg) {
    IOStatus status = Finish(options, dbg);
    const uint64_t stored_bytes = stored_bytes_;
    if (status.ok() && record_ != nullptr) {
      status = record_->Before();
    }
    if (status.ok()) {
      status = sync();
    }
    if (status.ok() && record_ != nullptr) {
      status = record_->Advance(stored_bytes, options, dbg);
    }
    return status;
  }

  // Stores the last page of a paged file, once. Touches nothing of a frame file, whose Sync may run concurrently with
  // Append.
  IOStatus Finish(const IOOptions& options, IODebugContext* dbg) {
    if (!paged_) {
      return IOStatus::OK();
    }
    IOStatus drained = Drain();
    if (behind_ != nullptr) {
      behinds_->GiveBack(std::move(behind_));
    }
    if (failed_.ok()) {
      failed_ = drained;
    }
    if (!failed_.ok()) {
      return failed_;
    }
    sealstone_bytes stored;
    sealstone_message message;
    message.text_bytes = 0;
    const int32_t code = seal_->ops.finish(writer_, &stored, &message);
    IOStatus status = Answer(code, message);
    if (status.ok()) {
      status = Store(stored, options, dbg);
    }
    if (!status.ok()) {
      failed_ = status;
    }
    return status;
  }

  const SealPtr seal_;
  const std::shared_ptr<WriteBehinds> behinds_;
  const std::unique_ptr<FSWritableFile> target_;
  void* const writer_;
  const bool paged_;
  bool closed_ = false;
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> stored_bytes_ = 0;
  std::unique_ptr<SyncRecord> record_;
  IOStatus failed_;
  uint64_t large_pieces_ = 0;
  bool no_thread_ = false;
  std::unique_ptr<WriteBehind> behind_;  // last, since its thread uses all of the above
};

// An existing paged file that is to be brought to stable storage, as after taking a table file over.
class SyncOnlyFile : public FSWritableFile {
 public:
  SyncOnlyFile(const FileOptions& options, std::unique_ptr<FSWritableFile> target, uint64_t bytes)
      : FSWritableFile(options), target_(std::move(target)), bytes_(bytes) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& /*data*/, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported("a sealed file is written once and cannot be appended to");
  }
  IOStatus Truncate(uint64_t size, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return size == bytes_ ? IOStatus::OK() : IOStatus::NotSupported("a sealed file cannot be cut");
  }
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override { return target_->Close(options, dbg); }
  IOStatus Flush(const IOOptions& options, IODebugContext* dbg) override { return target_->Flush(options, dbg); }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override { return target_->Sync(options, dbg); }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override { return target_->Fsync(options, dbg); }
  uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return bytes_; }

 private:
  const std::unique_ptr<FSWritableFile> target_;
  const uint64_t bytes_;
};

}  // namespace

IOStatus CreateSealedFile(FileSystem& files, const SealPtr& seal, const std::shared_ptr<WriteBehinds>& behinds,
                          const std::string& name, const FileOptions& options,
                          std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) {
  IOStatus status = RefuseMaps(name, options);
  if (!status.ok()) {
    return status;
  }
  // The key first: without one, no file must be made or emptied. A file that is in the way is removed, not emptied. So
  // a stored file has one header as long as it lives, and a rotation that read it can never write into the header of
  // another file.
  sealstone_bytes header;
  sealstone_message message;
  message.text_bytes = 0;
  void* writer = nullptr;
  void* syncer = nullptr;
  const int32_t code = seal->ops.create(seal->seal, name.data(), name.size(), &writer, &syncer, &header, &message);
  if (code != SEALSTONE_OK) {
    return Answer(code, message);
  }
  std::unique_ptr<FSWritableFile> target;
  std::unique_ptr<FSRandomRWFile> header_file;
  // without asking whether it exists, which a link that leads nowhere does not
  status = files.DeleteFile(name, options.io_options, dbg);
  if (status.ok() || status.IsNotFound() || status.IsPathNotFound()) {
    status = files.NewWritableFile(name, Below(options), &target, dbg);
  }
  if (status.ok() && syncer != nullptr) {
    // opened now, since the file may be renamed before it is synced
    status = files.NewRandomRWFile(name, Below(options), &header_file, dbg);
  }
  if (!status.ok()) {
    seal->ops.writer_free(writer);
    if (syncer != nullptr) {
      seal->ops.syncer_free(syncer);
    }
    return status;
  }
  auto file =
      std::make_unique<SealedWritableFile>(options, seal, behinds, std::move(target), writer, syncer == nullptr);
  std::unique_ptr<SyncRecord> record;
  if (syncer != nullptr) {
    record = std::make_unique<SyncRecord>(seal, syncer, std::move(header_file));
  }
  status = file->Begin(header, std::move(record), options.io_options, dbg);
  if (status.ok()) {
    *result = std::move(file);
  }
  return status;
}

std::unique_ptr<FSWritableFile> NewSyncOnlyFile(const FileOptions& options, std::unique_ptr<FSWritableFile> target,
                                                uint64_t bytes) {
  return std::make_unique<SyncOnlyFile>(options, std::move(target), bytes);
}

}  // namespace sealstone
