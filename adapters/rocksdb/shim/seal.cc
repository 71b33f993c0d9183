// What Rust's answers mean to RocksDB, and which of RocksDB's files are stored in which way.

#include "seal.h"

namespace sealstone {

using rocksdb::FileOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus Answer(int32_t code, const sealstone_message& message) {
  const Slice text(message.text, message.text_bytes);
  switch (code) {
    case SEALSTONE_OK:
      return IOStatus::OK();
    case SEALSTONE_DAMAGED:
      return IOStatus::Corruption(text);
    case SEALSTONE_REFUSED:
      return IOStatus::InvalidArgument(text);
    case SEALSTONE_READ_FAILED:
      return IOStatus::IOError("a read failed without saying why");
    case SEALSTONE_IO_FAILED:
      return std::string(message.text, message.text_bytes).find("No space left") != std::string::npos
                 ? IOStatus::NoSpace(text)
                 : IOStatus::IOError(text);
    default:
      return IOStatus::IOError(text);
  }
}

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

bool IsAppendedTo(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const size_t digits = name.find_first_not_of("0123456789");
  const bool log = digits != std::string::npos && digits > 0 && name.compare(digits, std::string::npos, ".log") == 0;
  const std::string manifest = "MANIFEST-";
  return log || name.compare(0, manifest.size(), manifest) == 0;
}

}  // namespace sealstone
