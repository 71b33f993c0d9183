// Threads that seal and store what RocksDB appends to a file, while RocksDB continues. Not here: when a file takes one
// (`sealed_writable_file.cc`).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "rocksdb/io_status.h"
#include "rocksdb/slice.h"

namespace sealstone {

// Does on a thread of its own what one file needs done with its data, one piece after another, while the caller
// continues. A piece that fails is reported at the next call, and no later one is begun.
class WriteBehind {
 public:
  using Work = std::function<rocksdb::IOStatus(const rocksdb::Slice&)>;

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
    status_ = rocksdb::IOStatus::OK();
  }

  // Takes a copy of `data`, to be worked on next. Waits for the piece before it, so that at most one is under way.
  rocksdb::IOStatus Post(const rocksdb::Slice& data) {
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
  rocksdb::IOStatus Wait() {
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
      rocksdb::IOStatus status = work_(piece_);
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
  rocksdb::IOStatus status_;
  std::thread thread_;  // last, since it uses all of the above
};

// Threads that files take for as long as they are written, with the memory that the threads have grown into.
class WriteBehinds {
 public:
  // Null where the system provides no more threads.
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

}  // namespace sealstone
