// A file system that forwards everything and counts: bytes read and written, wall and CPU time of reads, writes and
// syncs. It sits directly on the operating system's files, below the seal and below an unsealed database alike, so that
// both are measured in the same way and pay the same for it.

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

#include "file_systems.h"

namespace sealstone {
namespace {

using rocksdb::DataVerificationInfo;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSDirectoryWrapper;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSRandomAccessFileOwnerWrapper;
using rocksdb::FSReadRequest;
using rocksdb::FSSequentialFile;
using rocksdb::FSSequentialFileOwnerWrapper;
using rocksdb::FSWritableFile;
using rocksdb::FSWritableFileOwnerWrapper;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

using Counters = std::shared_ptr<IoCounters>;

// How many calls a measured one stands for, by bytes. Reading the CPU clock of a thread is a system call, and the two
// that a measurement takes may cost more than a short read from the page cache; these keep them near a hundredth of
// what is measured.
struct Sampling {
  size_t below_bytes;
  uint32_t every;
};
constexpr Sampling kSampling[] = {{32 * 1024, 64}, {512 * 1024, 8}, {SIZE_MAX, 1}};

// For calls that are rare and long: syncs.
constexpr size_t kAlways = SIZE_MAX;

// The number of a thread's first call. Threads that make few calls, such as the clients of one short slice, would each
// have their first one measured and counted for many if all began at 0; so they begin anywhere in the range.
uint32_t FirstCall() {
  static std::atomic<uint32_t> threads{0};
  // odd, so that a run of threads meets every remainder equally often
  return threads.fetch_add(1, std::memory_order_relaxed) * 37;
}

// How many calls of this thread this one stands for: 0 for most, which are not measured.
uint32_t Weight(size_t bytes) {
  static_assert(std::size(kSampling) == 3);
  thread_local uint32_t calls[] = {FirstCall(), FirstCall(), FirstCall()};
  size_t index = 0;
  while (index + 1 < std::size(kSampling) && bytes >= kSampling[index].below_bytes) {
    index++;
  }
  return calls[index]++ % kSampling[index].every == 0 ? kSampling[index].every : 0;
}

uint64_t Nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// What one reading of the CPU clock itself adds to a measured interval.
uint64_t ClockCostNs() {
  static const uint64_t cost = [] {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
      const uint64_t begin = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
      least = std::min(least, Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    return least;
  }();
  return cost;
}

// Measures one call, from its construction to its end.
class Timer {
 public:
  Timer(const Counters& counters, size_t bytes) : counters_(*counters), weight_(Weight(bytes)) {
    if (weight_ != 0) {
      cpu_begin_ = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    }
    wall_begin_ = Nanoseconds(CLOCK_MONOTONIC);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  ~Timer() {
    counters_.wall_ns.fetch_add(Nanoseconds(CLOCK_MONOTONIC) - wall_begin_, std::memory_order_relaxed);
    if (weight_ != 0) {
      const uint64_t spent = Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_begin_;
      const uint64_t own = ClockCostNs();
      counters_.cpu_ns.fetch_add(weight_ * (spent > own ? spent - own : 0), std::memory_order_relaxed);
    }
  }

 private:
  IoCounters& counters_;
  const uint64_t weight_;
  uint64_t cpu_begin_ = 0;
  uint64_t wall_begin_;
};

// Measures one sync, which counts as a file operation, too.
class SyncTimer {
 public:
  explicit SyncTimer(const Counters& counters)
      : counters_(*counters), timer_(counters, kAlways), begin_(Nanoseconds(CLOCK_MONOTONIC)) {}
  SyncTimer(const SyncTimer&) = delete;
  SyncTimer& operator=(const SyncTimer&) = delete;

  ~SyncTimer() {
    counters_.syncs.fetch_add(1, std::memory_order_relaxed);
    counters_.sync_ns.fetch_add(Nanoseconds(CLOCK_MONOTONIC) - begin_, std::memory_order_relaxed);
  }

 private:
  IoCounters& counters_;
  const Timer timer_;
  const uint64_t begin_;
};

void AddRead(const Counters& counters, const IOStatus& status, size_t bytes) {
  if (status.ok()) {
    counters->read_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
}

class CountingSequentialFile : public FSSequentialFileOwnerWrapper {
 public:
  CountingSequentialFile(std::unique_ptr<FSSequentialFile>&& target, Counters counters)
      : FSSequentialFileOwnerWrapper(std::move(target)), counters_(std::move(counters)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch, IODebugContext* dbg) override {
    Timer timer(counters_, n);
    IOStatus status = target()->Read(n, options, result, scratch, dbg);
    AddRead(counters_, status, result->size());
    return status;
  }

  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                          IODebugContext* dbg) override {
    Timer timer(counters_, n);
    IOStatus status = target()->PositionedRead(offset, n, options, result, scratch, dbg);
    AddRead(counters_, status, result->size());
    return status;
  }

 private:
  const Counters counters_;
};

class CountingRandomAccessFile : public FSRandomAccessFileOwnerWrapper {
 public:
  CountingRandomAccessFile(std::unique_ptr<FSRandomAccessFile>&& target, Counters counters, bool reads_as_sealed)
      : FSRandomAccessFileOwnerWrapper(std::move(target)),
        counters_(std::move(counters)),
        reads_as_sealed_(reads_as_sealed) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    Timer timer(counters_, n);
    IOStatus status = target()->Read(offset, n, options, result, scratch, dbg);
    AddRead(counters_, status, result->size());
    if (reads_as_sealed_ && status.ok() && result->size() == n) {
      FetchNext(*target(), offset + n, n, options, dbg);
    }
    return status;
  }

  IOStatus MultiRead(FSReadRequest* requests, size_t count, const IOOptions& options, IODebugContext* dbg) override {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
      bytes += requests[i].len;
    }
    Timer timer(counters_, bytes);
    IOStatus status = target()->MultiRead(requests, count, options, dbg);
    for (size_t i = 0; i < count; i++) {
      AddRead(counters_, requests[i].status, requests[i].result.size());
    }
    return status;
  }

  // Asking the system to read ahead is reading: time counts here, bytes when they are fetched.
  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions& options, IODebugContext* dbg) override {
    if (reads_as_sealed_) {
      return IOStatus::NotSupported("Prefetch");  // see there for what the sealed file system says, and why
    }
    Timer timer(counters_, n);
    return target()->Prefetch(offset, n, options, dbg);
  }

 private:
  const Counters counters_;
  const bool reads_as_sealed_;
};

class CountingWritableFile : public FSWritableFileOwnerWrapper {
 public:
  CountingWritableFile(std::unique_ptr<FSWritableFile>&& target, Counters counters)
      : FSWritableFileOwnerWrapper(std::move(target)), counters_(std::move(counters)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    Timer timer(counters_, data.size());
    return Count(target()->Append(data, options, dbg), data);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& verification,
                  IODebugContext* dbg) override {
    Timer timer(counters_, data.size());
    return Count(target()->Append(data, options, verification, dbg), data);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* dbg) override {
    Timer timer(counters_, data.size());
    return Count(target()->PositionedAppend(data, offset, options, dbg), data);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const DataVerificationInfo& verification, IODebugContext* dbg) override {
    Timer timer(counters_, data.size());
    return Count(target()->PositionedAppend(data, offset, options, verification, dbg), data);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    SyncTimer timer(counters_);
    return target()->Sync(options, dbg);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    SyncTimer timer(counters_);
    return target()->Fsync(options, dbg);
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options, IODebugContext* dbg) override {
    Timer timer(counters_, kAlways);
    return target()->RangeSync(offset, bytes, options, dbg);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    Timer timer(counters_, kAlways);
    return target()->Close(options, dbg);
  }

 private:
  IOStatus Count(IOStatus status, const Slice& data) {
    if (status.ok()) {
      counters_->written_bytes.fetch_add(data.size(), std::memory_order_relaxed);
    }
    return status;
  }

  const Counters counters_;
};

class CountingDirectory : public FSDirectoryWrapper {
 public:
  CountingDirectory(std::unique_ptr<FSDirectory>&& target, Counters counters)
      : FSDirectoryWrapper(std::move(target)), counters_(std::move(counters)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    SyncTimer timer(counters_);
    return FSDirectoryWrapper::Fsync(options, dbg);
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& reason) override {
    SyncTimer timer(counters_);
    return FSDirectoryWrapper::FsyncWithDirOptions(options, dbg, reason);
  }

 private:
  const Counters counters_;
};

class CountingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  CountingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target, Counters counters, bool reads_as_sealed)
      : FileSystemWrapper(target), counters_(std::move(counters)), reads_as_sealed_(reads_as_sealed) {}

  const char* Name() const override { return "SealstoneCountingFileSystem"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<FSSequentialFile>* result, IODebugContext* dbg) override {
    return Wrap<CountingSequentialFile>(FileSystemWrapper::NewSequentialFile(name, options, result, dbg), result);
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext* dbg) override {
    return Wrap<CountingRandomAccessFile>(FileSystemWrapper::NewRandomAccessFile(name, options, result, dbg), result,
                                          reads_as_sealed_);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    return Wrap<CountingWritableFile>(FileSystemWrapper::NewWritableFile(name, options, result, dbg), result);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    return Wrap<CountingWritableFile>(FileSystemWrapper::ReopenWritableFile(name, options, result, dbg), result);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override {
    return Wrap<CountingWritableFile>(FileSystemWrapper::ReuseWritableFile(name, old_name, options, result, dbg),
                                      result);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options, std::unique_ptr<FSDirectory>* result,
                        IODebugContext* dbg) override {
    return Wrap<CountingDirectory>(FileSystemWrapper::NewDirectory(name, options, result, dbg), result);
  }

  // In newer versions an override. Asynchronous reads would bypass the counters, so they are not offered; a database
  // falls back to `Read`.
  virtual void SupportedOps(int64_t& operations) {
    Ask(target(), &operations);
    constexpr int64_t kAsyncReads = 1;  // bit FSSupportedOps::kAsyncIO, which older versions do not declare
    operations &= ~kAsyncReads;
  }

 private:
  template <typename Target>
  static void Ask(Target* target, int64_t* operations) {
    if constexpr (requires { target->SupportedOps(*operations); }) {
      target->SupportedOps(*operations);
    }
  }

  template <typename Counting, typename File, typename... Settings>
  IOStatus Wrap(IOStatus status, std::unique_ptr<File>* result, Settings... settings) {
    if (!status.ok()) {
      return status;
    }
    try {
      *result = std::make_unique<Counting>(std::move(*result), counters_, settings...);
    } catch (const std::bad_alloc&) {
      // RocksDB's own threads call this, and an exception would end the process there
      result->reset();
      return IOStatus::IOError("not enough memory");
    }
    return status;
  }

  const Counters counters_;
  const bool reads_as_sealed_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> NewCountingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                                           const std::shared_ptr<IoCounters>& counters,
                                                           bool reads_as_sealed) {
  return std::make_shared<CountingFileSystem>(target, counters, reads_as_sealed);
}

}  // namespace sealstone
