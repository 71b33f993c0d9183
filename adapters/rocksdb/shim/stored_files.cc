// What each function of `sealstone_files` does with the base file system.

#include "stored_files.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "file_systems.h"

namespace sealstone {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSDirectory;
using rocksdb::FSRandomRWFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using rocksdb::Status;

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

// `files` of the calls below.
FileSystem& Target(const void* files) { return *static_cast<FileSystem*>(const_cast<void*>(files)); }

// As `Look`, for the operating system's files.
int32_t LookOnSystem(const void* /*files*/, const char* path, size_t path_bytes, uint64_t* bytes, sealstone_sink sink,
                     void* context, sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    const std::string name(path, path_bytes);
    const Place place = LookAt(name);
    if (place.error != 0) {
      return Failed(IOStatus::IOError("cannot look at " + name, strerror(place.error)), message);
    }
    *bytes = place.bytes;
    if (place.other != nullptr) {
      sink(context, 0, reinterpret_cast<const uint8_t*>(place.other), strlen(place.other));
    }
    return static_cast<int32_t>(place.there ? SEALSTONE_FILES_OK : SEALSTONE_FILES_NOT_FOUND);
  });
}

int32_t Look(const void* files, const char* path, size_t path_bytes, uint64_t* bytes, sealstone_sink sink,
             void* context, sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    const std::string name(path, path_bytes);
    bool is_directory = false;
    IOStatus status = Target(files).IsDirectory(name, IOOptions(), &is_directory, nullptr);
    if (status.IsNotSupported()) {
      // files in memory have no directories of their own
      is_directory = false;
      status = Target(files).FileExists(name, IOOptions(), nullptr);
    }
    constexpr char kWords[] = "a directory";
    if (status.ok() && is_directory) {
      sink(context, 0, reinterpret_cast<const uint8_t*>(kWords), sizeof(kWords) - 1);
    } else if (status.ok()) {
      status = Target(files).GetFileSize(name, IOOptions(), bytes, nullptr);
    }
    return Said(status, message);
  });
}

int32_t Read(const void* files, const char* path, size_t path_bytes, size_t bytes, sealstone_sink sink,
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

int32_t Create(const void* files, const char* path, size_t path_bytes, const uint8_t* data, size_t bytes,
               sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    const std::string name(path, path_bytes);
    std::unique_ptr<FSWritableFile> file;
    // what is there is removed and not emptied: it may be a link to something else
    IOStatus status = Target(files).DeleteFile(name, IOOptions(), nullptr);
    if (status.ok() || status.IsNotFound() || status.IsPathNotFound()) {
      status = Target(files).NewWritableFile(name, FileOptions(), &file, nullptr);
    }
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

int32_t Update(const void* files, const char* path, size_t path_bytes, void** update,
               sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    std::unique_ptr<FSRandomRWFile> file;
    IOStatus status = Target(files).NewRandomRWFile(std::string(path, path_bytes), FileOptions(), &file, nullptr);
    *update = file.release();
    return Said(status, message);
  });
}

int32_t Write(void* update, uint64_t offset, const uint8_t* data, size_t bytes,
              sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    const Slice slice(reinterpret_cast<const char*>(data), bytes);
    return Said(static_cast<FSRandomRWFile*>(update)->Write(offset, slice, IOOptions(), nullptr), message);
  });
}

int32_t Sync(void* update, sealstone_message* message) noexcept {
  return Guarded(message,
                 [&] { return Said(static_cast<FSRandomRWFile*>(update)->Sync(IOOptions(), nullptr), message); });
}

void Free(void* update) noexcept {
  sealstone_message message;
  Guarded(&message, [&] {
    std::unique_ptr<FSRandomRWFile> file(static_cast<FSRandomRWFile*>(update));
    file->Close(IOOptions(), nullptr).PermitUncheckedError();
    return 0;
  });
}

int32_t Rename(const void* files, const char* from, size_t from_bytes, const char* to, size_t to_bytes,
               sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    return Said(Target(files).RenameFile(std::string(from, from_bytes), std::string(to, to_bytes), IOOptions(),
                                         nullptr),
                message);
  });
}

int32_t Remove(const void* files, const char* path, size_t path_bytes, sealstone_message* message) noexcept {
  return Guarded(message, [&] {
    // without asking whether it exists, which a link that leads nowhere does not
    return Said(Target(files).DeleteFile(std::string(path, path_bytes), IOOptions(), nullptr), message);
  });
}

int32_t SyncDirectory(const void* files, const char* path, size_t path_bytes,
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

int32_t Names(const void* files, const char* path, size_t path_bytes, sealstone_sink sink, void* context,
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

}  // namespace

StoredFiles::StoredFiles(std::shared_ptr<FileSystem> target, bool on_system)
    : target(std::move(target)),
      calls{this->target.get(), on_system ? &LookOnSystem : &Look, &Read, &Create, &Update, &Write, &Sync, &Free,
            &Rename, &Remove, &SyncDirectory, &Names} {}

}  // namespace sealstone
