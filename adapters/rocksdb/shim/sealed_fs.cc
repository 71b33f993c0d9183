// A file system that stores every file sealed in another one. What the bytes mean is Rust's business
// (`sealstone_seal_ops`); this file moves them and answers RocksDB in RocksDB's terms.
//
// The classes derive from RocksDB's abstract ones and not from its wrappers, so that a method this file does not know
// of is refused or goes through those it does, and never reaches the stored bytes behind the seal's back.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "file_systems.h"

namespace sealstone {
namespace {

using rocksdb::DBOptions;
using rocksdb::DirFsyncOptions;
using rocksdb::Env;
using rocksdb::FileAttributes;
using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSRandomRWFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::ImmutableDBOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::Temperature;

// Puts the text of a failure into `message`.
int32_t Failed(const Status& status, sealstone_message* message) {
  if (status.IsNotFound() || status.IsPathNotFound()) {
    return SEALSTONE_FILES_NOT_FOUND;
  }
  const std::string text = status.ToString();
  message->text_bytes = std::min(text.size(), sizeof(message->text));
  memcpy(message->text, text.data(), message->text_bytes);
  return SEALSTONE_FILES_FAILED;
}

int32_t Said(const Status& status, sealstone_message* message) {
  return status.ok() ? SEALSTONE_FILES_OK : Failed(status, message);
}

// Does `work`, which may throw where memory runs out; Rust takes no exceptions.
template <typename Work>
int32_t Guarded(sealstone_message* message, Work work) noexcept {
  try {
    return work();
  } catch (...) {
    constexpr char kText[] = "out of memory";
    message->text_bytes = sizeof(kText) - 1;
    memcpy(message->text, kText, message->text_bytes);
    return SEALSTONE_FILES_FAILED;
  }
}

// The stored files, as the catalogues are kept on them.
class StoredFiles {
 public:
  explicit StoredFiles(std::shared_ptr<FileSystem> target)
      : target_(std::move(target)),
        calls{this, &Read, &Create, &Update, &Write, &Sync, &Free, &Rename, &Remove, &SyncDirectory, &Names} {}
  StoredFiles(const StoredFiles&) = delete;
  StoredFiles& operator=(const StoredFiles&) = delete;

 private:
  const std::shared_ptr<FileSystem> target_;

  static FileSystem& Target(const void* files) { return *static_cast<const StoredFiles*>(files)->target_; }

  static int32_t Read(const void* files, const char* path, size_t path_bytes, size_t bytes, sealstone_sink sink,
                      void* context, sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      const std::string name(path, path_bytes);
      std::unique_ptr<FSSequentialFile> file;
      IOStatus status = Target(files).FileExists(name, IOOptions(), nullptr);
      if (status.ok()) {
        status = Target(files).NewSequentialFile(name, FileOptions(), &file, nullptr);
      }
      constexpr size_t kPieceBytes = 64 << 10;
      std::string piece(std::min(bytes, kPieceBytes), 0);
      for (size_t rest = bytes; status.ok() && rest > 0;) {
        Slice got;
        status = file->Read(std::min(rest, piece.size()), IOOptions(), &got, piece.data(), nullptr);
        if (!status.ok() || got.empty()) {
          break;
        }
        sink(context, 0, reinterpret_cast<const uint8_t*>(got.data()), got.size());
        rest -= got.size();
      }
      return Said(status, message);
    });
  }

  static int32_t Create(const void* files, const char* path, size_t path_bytes, const uint8_t* data, size_t bytes,
                        sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      std::unique_ptr<FSWritableFile> file;
      IOStatus status = Target(files).NewWritableFile(std::string(path, path_bytes), FileOptions(), &file, nullptr);
      if (status.ok()) {
        status = file->Append(Slice(reinterpret_cast<const char*>(data), bytes), IOOptions(), nullptr);
      }
      if (status.ok()) {
        status = file->Flush(IOOptions(), nullptr);
      }
      if (status.ok()) {
        status = file->Sync(IOOptions(), nullptr);
      }
      if (file != nullptr) {
        IOStatus closed = file->Close(IOOptions(), nullptr);
        status = status.ok() ? closed : status;
      }
      return Said(status, message);
    });
  }

  static int32_t Update(const void* files, const char* path, size_t path_bytes, void** update,
                        sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      std::unique_ptr<FSRandomRWFile> file;
      IOStatus status = Target(files).NewRandomRWFile(std::string(path, path_bytes), FileOptions(), &file, nullptr);
      *update = file.release();
      return Said(status, message);
    });
  }
  static int32_t Write(void* update, uint64_t offset, const uint8_t* data, size_t bytes,
                       sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      const Slice slice(reinterpret_cast<const char*>(data), bytes);
      return Said(static_cast<FSRandomRWFile*>(update)->Write(offset, slice, IOOptions(), nullptr), message);
    });
  }
  static int32_t Sync(void* update, sealstone_message* message) noexcept {
    return Guarded(message,
                   [&] { return Said(static_cast<FSRandomRWFile*>(update)->Sync(IOOptions(), nullptr), message); });
  }
  static void Free(void* update) noexcept {
    sealstone_message message;
    Guarded(&message, [&] {
      std::unique_ptr<FSRandomRWFile> file(static_cast<FSRandomRWFile*>(update));
      file->Close(IOOptions(), nullptr).PermitUncheckedError();
      return 0;
    });
  }

  static int32_t Rename(const void* files, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
                        sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      return Said(Target(files).RenameFile(std::string(from, from_bytes), std::string(to, to_bytes), IOOptions(),
                                           nullptr),
                  message);
    });
  }
  static int32_t Remove(const void* files, const char* path, size_t path_bytes, sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      const std::string name(path, path_bytes);
      IOStatus status = Target(files).FileExists(name, IOOptions(), nullptr);
      if (status.ok()) {
        status = Target(files).DeleteFile(name, IOOptions(), nullptr);
      }
      return Said(status, message);
    });
  }
  static int32_t SyncDirectory(const void* files, const char* path, size_t path_bytes,
                               sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      std::unique_ptr<FSDirectory> directory;
      IOStatus status = Target(files).NewDirectory(std::string(path, path_bytes), IOOptions(), &directory, nullptr);
      if (status.ok()) {
        status = directory->Fsync(IOOptions(), nullptr);
      }
      return Said(status, message);
    });
  }
  static int32_t Names(const void* files, const char* path, size_t path_bytes, sealstone_sink sink, void* context,
                       sealstone_message* message) noexcept {
    return Guarded(message, [&] {
      std::vector<std::string> names;
      IOStatus status = Target(files).GetChildren(std::string(path, path_bytes), IOOptions(), &names, nullptr);
      for (const std::string& name : names) {
        if (name != "." && name != "..") {
          sink(context, 0, reinterpret_cast<const uint8_t*>(name.data()), name.size());
        }
      }
      return Said(status, message);
    });
  }

 public:
  const sealstone_files calls;
};

// `seal` and the functions that know what it is. Shared by the file system and its open files.
class Seal {
 public:
  Seal(const sealstone_seal_ops& ops, const void* seal, const std::shared_ptr<FileSystem>& target)
      : ops(ops), seal(seal), files_(target) {
    ops.attach(seal, &files_.calls);
  }
  ~Seal() { ops.release(seal); }
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  const sealstone_seal_ops ops;
  const void* const seal;

 private:
  const StoredFiles files_;
};
using SealPtr = std::shared_ptr<const Seal>;

// A stored file, with the status of its last failure, for the length of one call.
struct Raw {
  Raw(const FSRandomAccessFile& file, const IOOptions& options, IODebugContext* dbg)
      : file(file), options(options), dbg(dbg), calls{this, &Raw::Read} {}

  static int32_t Read(const void* self, uint64_t offset, size_t bytes, uint8_t* into, size_t* got) {
    auto* raw = static_cast<const Raw*>(self);
    char* scratch = reinterpret_cast<char*>(into);
    Slice result;
    raw->status = raw->file.Read(offset, bytes, raw->options, &result, scratch, raw->dbg);
    if (!raw->status.ok()) {
      return 1;
    }
    if (result.data() != scratch && !result.empty()) {
      memmove(scratch, result.data(), result.size());
    }
    *got = result.size();
    return 0;
  }

  const FSRandomAccessFile& file;
  const IOOptions& options;
  IODebugContext* const dbg;
  mutable IOStatus status;
  const sealstone_raw calls;
};

// What Rust's answer is in RocksDB's terms. `raw` is null where nothing was read.
IOStatus Answer(int32_t code, const sealstone_message& message, const Raw* raw) {
  const Slice text(message.text, message.text_bytes);
  switch (code) {
    case SEALSTONE_OK:
      return IOStatus::OK();
    case SEALSTONE_DAMAGED:
      return IOStatus::Corruption(text);
    case SEALSTONE_REFUSED:
      return IOStatus::InvalidArgument(text);
    case SEALSTONE_READ_FAILED:
      return raw != nullptr ? raw->status : IOStatus::IOError("a read failed without saying why");
    case SEALSTONE_IO_FAILED:
      return std::string(message.text, message.text_bytes).find("No space left") != std::string::npos
                 ? IOStatus::NoSpace(text)
                 : IOStatus::IOError(text);
    default:
      return IOStatus::IOError(text);
  }
}

// How the file below is to be opened: memory maps and direct I/O are about stored bytes, which RocksDB never sees.
FileOptions Below(const FileOptions& options) {
  FileOptions below = options;
  below.use_direct_reads = false;
  below.use_direct_writes = false;
  return below;
}

IOStatus RefuseMaps(const std::string& name, const FileOptions& options) {
  if (options.use_mmap_reads || options.use_mmap_writes) {
    return IOStatus::NotSupported(name, "a sealed file cannot be mapped into memory; set allow_mmap_reads and "
                                        "allow_mmap_writes to false");
  }
  return IOStatus::OK();
}

// Logs and manifests are appended to and must be readable after a crash. Everything else is written once.
bool IsAppendedTo(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const size_t digits = name.find_first_not_of("0123456789");
  const bool log = digits != std::string::npos && digits > 0 && name.compare(digits, std::string::npos, ".log") == 0;
  const std::string manifest = "MANIFEST-";
  return log || name.compare(0, manifest.size(), manifest) == 0;
}

bool IsIdentity(const std::string& path) { return path.substr(path.find_last_of('/') + 1) == "IDENTITY"; }

// The answer to opening or reading a file. RocksDB asserts that reading the file IDENTITY fails with an I/O error only.
// Damage found in a log while it is being read must be one, too: some recovery modes take corruption for its end.
IOStatus ReadAnswer(bool io_error, int32_t code, const sealstone_message& message, const Raw& raw) {
  if (io_error && code != SEALSTONE_OK && code != SEALSTONE_READ_FAILED) {
    return IOStatus::IOError(Slice(message.text, message.text_bytes));
  }
  return Answer(code, message, &raw);
}

// A stored file and its reader in Rust.
class SealedContent {
 public:
  // Opens `name` in `files`, whatever its format.
  static IOStatus Open(FileSystem& files, const SealPtr& seal, const std::string& name, const FileOptions& options,
                       IODebugContext* dbg, std::unique_ptr<SealedContent>* result) {
    IOStatus status = RefuseMaps(name, options);
    std::unique_ptr<FSRandomAccessFile> target;
    if (status.ok()) {
      status = files.NewRandomAccessFile(name, Below(options), &target, dbg);
    }
    uint64_t stored_bytes = 0;
    if (status.ok()) {
      status = files.GetFileSize(name, options.io_options, &stored_bytes, dbg);
    }
    if (!status.ok()) {
      return status;
    }
    sealstone_message message;
    message.text_bytes = 0;
    void* reader = nullptr;
    uint64_t page_bytes = 0;
    Raw raw(*target, options.io_options, dbg);
    const int32_t code = seal->ops.open(seal->seal, name.data(), name.size(), stored_bytes, &raw.calls, &reader,
                                        &page_bytes, &message);
    if (code != SEALSTONE_OK) {
      return ReadAnswer(IsIdentity(name), code, message, raw);
    }
    result->reset(
        new SealedContent(seal, std::move(target), reader, page_bytes, IsIdentity(name) || IsAppendedTo(name)));
    return IOStatus::OK();
  }

  ~SealedContent() { seal_->ops.reader_free(reader_); }
  SealedContent(const SealedContent&) = delete;
  SealedContent& operator=(const SealedContent&) = delete;

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const {
    sealstone_message message;
    message.text_bytes = 0;
    Raw raw(*target_, options, dbg);
    size_t got = 0;
    const int32_t code =
        seal_->ops.read(reader_, &raw.calls, offset, n, reinterpret_cast<uint8_t*>(scratch), &got, &message);
    *result = Slice(scratch, code == SEALSTONE_OK ? got : 0);
    return ReadAnswer(io_errors_, code, message, raw);
  }

  IOStatus Size(const IOOptions& options, uint64_t* bytes, IODebugContext* dbg) const {
    sealstone_message message;
    message.text_bytes = 0;
    Raw raw(*target_, options, dbg);
    return Answer(seal_->ops.size(reader_, &raw.calls, bytes, &message), message, &raw);
  }

  // About where the content at `offset` is stored: near enough to be fetched beforehand.
  uint64_t StoredOffset(uint64_t offset) const {
    constexpr uint64_t kTagBytes = 16;
    return offset + offset / page_bytes_ * kTagBytes;
  }

  FSRandomAccessFile& target() const { return *target_; }
  size_t page_bytes() const { return page_bytes_; }

 private:
  SealedContent(SealPtr seal, std::unique_ptr<FSRandomAccessFile> target, void* reader, uint64_t page_bytes,
                bool io_errors)
      : seal_(std::move(seal)),
        target_(std::move(target)),
        reader_(reader),
        page_bytes_(page_bytes),
        io_errors_(io_errors) {}

  const SealPtr seal_;
  const std::unique_ptr<FSRandomAccessFile> target_;
  void* const reader_;
  const size_t page_bytes_;
  const bool io_errors_;
};

class SealedRandomAccessFile : public FSRandomAccessFile {
 public:
  explicit SealedRandomAccessFile(std::unique_ptr<SealedContent> content) : content_(std::move(content)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    IOStatus status = content_->Read(offset, n, options, result, scratch, dbg);
    if (status.ok() && result->size() == n) {
      FetchNext(content_->target(), content_->StoredOffset(offset + n), n, options, dbg);
    }
    return status;
  }

  // MultiRead and ReadAsync of the base class go through Read. Prefetch stays "not supported": RocksDB then reads
  // ahead into a buffer of its own, many pages in one read, instead of asking for one block after another.

  // RocksDB rounds what it reads ahead to multiples of this, so that no page is opened twice.
  size_t GetRequiredBufferAlignment() const override { return content_->page_bytes(); }

  size_t GetUniqueId(char* id, size_t max_size) const override { return content_->target().GetUniqueId(id, max_size); }
  void Hint(AccessPattern pattern) override { content_->target().Hint(pattern); }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override {
    return content_->target().InvalidateCache(0, 0);
  }
  Temperature GetTemperature() const override { return content_->target().GetTemperature(); }

  // In newer versions an override.
  virtual IOStatus GetFileSize(uint64_t* bytes) { return content_->Size(IOOptions(), bytes, nullptr); }

 private:
  const std::unique_ptr<SealedContent> content_;
};

class SealedSequentialFile : public FSSequentialFile {
 public:
  explicit SealedSequentialFile(std::unique_ptr<SealedContent> content) : content_(std::move(content)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch, IODebugContext* dbg) override {
    IOStatus status = content_->Read(position_, n, options, result, scratch, dbg);
    position_ += result->size();
    return status;
  }

  IOStatus Skip(uint64_t n) override {
    uint64_t bytes = 0;
    IOStatus status = content_->Size(IOOptions(), &bytes, nullptr);
    if (status.ok()) {
      position_ = n < bytes - position_ ? position_ + n : bytes;
    }
    return status;
  }

  size_t GetRequiredBufferAlignment() const override { return content_->page_bytes(); }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override {
    return content_->target().InvalidateCache(0, 0);
  }
  Temperature GetTemperature() const override { return content_->target().GetTemperature(); }

 private:
  const std::unique_ptr<SealedContent> content_;
  uint64_t position_ = 0;
};

// Keeps the record of how much of a log is on stable storage, which the catalogue has. It is written after what it speaks
// of was synced, and is not synced itself: a crash leaves the one before it.
class SyncRecord {
 public:
  SyncRecord(SealPtr seal, void* syncer, std::unique_ptr<FSRandomRWFile> header)
      : seal_(std::move(seal)), syncer_(syncer), header_(std::move(header)) {}
  ~SyncRecord() { seal_->ops.syncer_free(syncer_); }
  SyncRecord(const SyncRecord&) = delete;
  SyncRecord& operator=(const SyncRecord&) = delete;

  // What the next sync promises is listed on stable storage.
  IOStatus Before() {
    sealstone_message message;
    message.text_bytes = 0;
    return Answer(seal_->ops.before_sync(syncer_, &message), message, nullptr);
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
    IOStatus status = Answer(seal_->ops.synced(syncer_, stored_bytes, &mark, &message), message, nullptr);
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

// Does on a thread of its own what one file needs done with the data that it is given, one piece after the other, while
// whoever gave it goes on. A piece that fails is reported at the next call, and no later one is begun.
class WriteBehind {
 public:
  using Work = std::function<IOStatus(const Slice&)>;

  WriteBehind() : thread_([this] { Run(); }) {}

  ~WriteBehind() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
    status_.PermitUncheckedError();
  }
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // Begins with a file; `work` stores a piece of it.
  void Begin(Work work) {
    work_ = std::move(work);
    status_ = IOStatus::OK();
  }

  // Takes a copy of `data`, to be worked on next. Waits for the piece before it, so that at most one is under way.
  IOStatus Post(const Slice& data) {
    // while the thread may still be at the piece before
    next_.assign(data.data(), data.size());
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    if (status_.ok()) {
      std::swap(piece_, next_);
      busy_ = true;
      changed_.notify_all();
    }
    return status_;
  }

  // Waits until everything taken is done.
  IOStatus Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    return status_;
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return busy_ || ended_; });
      if (!busy_) {
        return;
      }
      lock.unlock();
      IOStatus status = work_(piece_);
      lock.lock();
      if (status_.ok()) {
        status_ = status;
      }
      busy_ = false;
      changed_.notify_all();
    }
  }

  Work work_;
  std::string next_;  // of the thread that posts
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string piece_;
  bool busy_ = false;
  bool ended_ = false;
  IOStatus status_;
  std::thread thread_;  // last, since it uses all of the above
};

// Threads that files take for as long as they are written, with the memory that they have grown into.
class WriteBehinds {
 public:
  // Null where the system gives no more threads.
  std::unique_ptr<WriteBehind> Take(WriteBehind::Work work) {
    std::unique_ptr<WriteBehind> taken;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        taken = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (taken == nullptr) {
      try {
        taken = std::make_unique<WriteBehind>();
      } catch (const std::system_error&) {
        return nullptr;
      }
    }
    taken->Begin(std::move(work));
    return taken;
  }

  // Takes back one with nothing under way.
  void GiveBack(std::unique_ptr<WriteBehind> idle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < kIdleMax) {
      idle_.push_back(std::move(idle));
    }
  }

 private:
  static constexpr size_t kIdleMax = 4;

  std::mutex mutex_;
  std::vector<std::unique_ptr<WriteBehind>> idle_;
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
      // what is stored from here on would not fit what was counted: nothing more may follow
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

  // Whether there is a thread to seal behind RocksDB's back; where the system gives none, RocksDB's own does it.
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
    IOStatus status = Answer(code, message, nullptr);
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
    // counted once it is with the file below, and only then: a sync beside this may record all that is counted
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

  // Stores the last page of a paged file, once. Touches nothing of a frame file, whose Sync may run beside Append.
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
    IOStatus status = Answer(code, message, nullptr);
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
      *result = std::make_unique<SealedSequentialFile>(std::move(content));
    }
    return status;
  }

  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext* dbg) override {
    result->reset();
    std::unique_ptr<SealedContent> content;
    IOStatus status = SealedContent::Open(*target_, seal_, name, options, dbg, &content);
    if (status.ok()) {
      *result = std::make_unique<SealedRandomAccessFile>(std::move(content));
    }
    return status;
  }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    result->reset();
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
    const int32_t code =
        seal_->ops.create(seal_->seal, name.data(), name.size(), &writer, &syncer, &header, &message);
    if (code != SEALSTONE_OK) {
      return Answer(code, message, nullptr);
    }
    std::unique_ptr<FSWritableFile> target;
    std::unique_ptr<FSRandomRWFile> header_file;
    if (target_->FileExists(name, options.io_options, dbg).ok()) {
      status = target_->DeleteFile(name, options.io_options, dbg);
    }
    if (status.ok()) {
      status = target_->NewWritableFile(name, Below(options), &target, dbg);
    }
    if (status.ok() && syncer != nullptr) {
      // opened now, since the file may be renamed before it is synced
      status = target_->NewRandomRWFile(name, Below(options), &header_file, dbg);
    }
    if (!status.ok()) {
      seal_->ops.writer_free(writer);
      if (syncer != nullptr) {
        seal_->ops.syncer_free(syncer);
      }
      return status;
    }
    auto file = std::make_unique<SealedWritableFile>(options, seal_, behinds_, std::move(target), writer, syncer == nullptr);
    std::unique_ptr<SyncRecord> record;
    if (syncer != nullptr) {
      record = std::make_unique<SyncRecord>(seal_, syncer, std::move(header_file));
    }
    status = file->Begin(header, std::move(record), options.io_options, dbg);
    if (status.ok()) {
      *result = std::move(file);
    }
    return status;
  }

  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    result->reset();
    if (target_->FileExists(name, options.io_options, dbg).IsNotFound()) {
      return NewWritableFile(name, options, result, dbg);
    }
    if (IsAppendedTo(name)) {
      // RocksDB only asks for this to trim or continue a file, and takes a new one instead
      return IOStatus::NotSupported(name, "a sealed log cannot be continued");
    }
    uint64_t bytes = 0;
    IOStatus status = GetFileSize(name, options.io_options, &bytes, dbg);
    std::unique_ptr<FSWritableFile> target;
    if (status.ok()) {
      status = target_->ReopenWritableFile(name, Below(options), &target, dbg);
    }
    if (status.ok()) {
      *result = std::make_unique<SyncOnlyFile>(options, std::move(target), bytes);
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

  // Length of the content. A paged file that is not whole is an error here already, so that it is named as damaged
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
    IOStatus status = target_->GetChildren(directory, options, result, dbg);
    if (status.ok()) {
      std::erase_if(*result, [&](const std::string& name) { return Hides(directory + "/" + name); });
    }
    return status;
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    sealstone_message message;
    message.text_bytes = 0;
    int32_t now = 1;
    IOStatus status =
        Answer(seal_->ops.remove(seal_->seal, name.data(), name.size(), &now, &message), message, nullptr);
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
        Answer(ops.rename(seal_->seal, from.data(), from.size(), to.data(), to.size(), &message), message, nullptr);
    if (!status.ok()) {
      return status;
    }
    status = target_->RenameFile(from, to, options, dbg);
    message.text_bytes = 0;
    IOStatus noted = Answer(
        ops.renamed(seal_->seal, from.data(), from.size(), to.data(), to.size(), status.ok() ? 1 : 0, &message), message,
        nullptr);
    return status.ok() ? noted : status;
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override {
    sealstone_message message;
    message.text_bytes = 0;
    IOStatus status = Answer(
        seal_->ops.link(seal_->seal, from.data(), from.size(), to.data(), to.size(), &message), message, nullptr);
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

  // Tells Rust of a file or directory.
  IOStatus Told(int32_t (*what)(const void*, const char*, size_t, sealstone_message*), const std::string& name) const {
    sealstone_message message;
    message.text_bytes = 0;
    return Answer(what(seal_->seal, name.data(), name.size(), &message), message, nullptr);
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

std::shared_ptr<rocksdb::FileSystem> NewSealedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                         const sealstone_seal_ops& ops, const void* seal) {
  return std::make_shared<SealedFileSystem>(target, std::make_shared<const Seal>(ops, seal, target));
}

}  // namespace sealstone
