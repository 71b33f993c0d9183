// The content of a stored file: read from the file below, opened by Rust, and handed to RocksDB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/file_system.h"
#include "seal.h"

namespace sealstone {

// A stored file and its reader in Rust.
class SealedContent {
 public:
  // Opens `name` in `files`, whatever its format.
  static rocksdb::IOStatus Open(rocksdb::FileSystem& files, const SealPtr& seal, const std::string& name,
                                const rocksdb::FileOptions& options, rocksdb::IODebugContext* dbg,
                                std::unique_ptr<SealedContent>* result);

  ~SealedContent() { seal_->ops.reader_free(reader_); }
  SealedContent(const SealedContent&) = delete;
  SealedContent& operator=(const SealedContent&) = delete;

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* dbg) const;

  rocksdb::IOStatus Size(const rocksdb::IOOptions& options, uint64_t* bytes, rocksdb::IODebugContext* dbg) const;

  // About where the content at `offset` is stored: close enough for prefetching.
  uint64_t StoredOffset(uint64_t offset) const {
    constexpr uint64_t kTagBytes = 16;
    return offset + offset / page_bytes_ * kTagBytes;
  }

  rocksdb::FSRandomAccessFile& target() const { return *target_; }
  size_t page_bytes() const { return page_bytes_; }

 private:
  SealedContent(SealPtr seal, std::unique_ptr<rocksdb::FSRandomAccessFile> target, void* reader, uint64_t page_bytes,
                bool io_errors)
      : seal_(std::move(seal)),
        target_(std::move(target)),
        reader_(reader),
        page_bytes_(page_bytes),
        io_errors_(io_errors) {}

  const SealPtr seal_;
  const std::unique_ptr<rocksdb::FSRandomAccessFile> target_;
  void* const reader_;
  const size_t page_bytes_;
  const bool io_errors_;
};

// The two kinds of files as which RocksDB asks for it.
std::unique_ptr<rocksdb::FSRandomAccessFile> NewSealedRandomAccessFile(std::unique_ptr<SealedContent> content);
std::unique_ptr<rocksdb::FSSequentialFile> NewSealedSequentialFile(std::unique_ptr<SealedContent> content);

}  // namespace sealstone
