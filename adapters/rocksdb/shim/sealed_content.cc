// How the content of a stored file is read, for RocksDB to find in its own kinds of files.

#include "sealed_content.h"

#include <cstring>

#include "file_systems.h"

namespace sealstone {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using rocksdb::Temperature;

// A stored file, with the status of its last failure, for the length of one call.
struct Raw {
  Raw(const FSRandomAccessFile& file, const IOOptions& options, IODebugContext* dbg)
      : file(file), options(options), dbg(dbg), calls{this, &Raw::Read} {}

  static int32_t Read(const void* self, uint64_t offset, size_t bytes, uint8_t* into, size_t* got) noexcept {
    auto* raw = static_cast<const Raw*>(self);
    char* scratch = reinterpret_cast<char*>(into);
    Slice result;
    try {
      raw->status = raw->file.Read(offset, bytes, raw->options, &result, scratch, raw->dbg);
    } catch (...) {
      raw->status = IOStatus::IOError(IOStatus::kMemoryLimit);  // without a text, which would take memory
    }
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

bool IsIdentity(const std::string& path) { return path.substr(path.find_last_of('/') + 1) == "IDENTITY"; }

// The answer to opening or reading a file. RocksDB asserts that reading the file IDENTITY fails with an I/O error only.
// Damage found in a log while it is being read must be one, too: some recovery modes take corruption for its end.
IOStatus ReadAnswer(bool io_error, int32_t code, const sealstone_message& message, const Raw& raw) {
  if (code == SEALSTONE_READ_FAILED) {
    return raw.status;
  }
  if (io_error && code != SEALSTONE_OK) {
    return IOStatus::IOError(Slice(message.text, message.text_bytes));
  }
  return Answer(code, message);
}

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

}  // namespace

IOStatus SealedContent::Open(FileSystem& files, const SealPtr& seal, const std::string& name,
                             const FileOptions& options, IODebugContext* dbg,
                             std::unique_ptr<SealedContent>* result) {
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

IOStatus SealedContent::Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
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

IOStatus SealedContent::Size(const IOOptions& options, uint64_t* bytes, IODebugContext* dbg) const {
  sealstone_message message;
  message.text_bytes = 0;
  Raw raw(*target_, options, dbg);
  return ReadAnswer(false, seal_->ops.size(reader_, &raw.calls, bytes, &message), message, raw);
}

std::unique_ptr<FSRandomAccessFile> NewSealedRandomAccessFile(std::unique_ptr<SealedContent> content) {
  return std::make_unique<SealedRandomAccessFile>(std::move(content));
}

std::unique_ptr<FSSequentialFile> NewSealedSequentialFile(std::unique_ptr<SealedContent> content) {
  return std::make_unique<SealedSequentialFile>(std::move(content));
}

}  // namespace sealstone
