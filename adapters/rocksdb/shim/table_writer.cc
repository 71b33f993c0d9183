// Writers of table files that a database takes over later.

#include <memory>
#include <string>

#include "database.h"
#include "report.h"
#include "rocksdb/sst_file_writer.h"

using rocksdb::Status;
using sealstone::AsSlice;
using sealstone::Caught;
using sealstone::Report;

struct sealstone_table_writer {
  rocksdb::Options options;
  std::unique_ptr<rocksdb::SstFileWriter> writer;
};

extern "C" {

int32_t sealstone_table_writer_open(sealstone_db* db, const char* path, size_t path_bytes,
                                    sealstone_table_writer** writer, sealstone_error* error) noexcept try {
  auto made = std::make_unique<sealstone_table_writer>();
  made->options = db->base->GetOptions();
  made->writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), made->options);
  const Status status = made->writer->Open(std::string(path, path_bytes));
  if (!status.ok()) {
    return Report(status, error);
  }
  *writer = made.release();
  return 0;
} catch (...) {
  return Caught(error);
}

void sealstone_table_writer_free(sealstone_table_writer* writer) noexcept { delete writer; }

int32_t sealstone_table_writer_put(sealstone_table_writer* writer, const uint8_t* key, size_t key_bytes,
                                   const uint8_t* value, size_t value_bytes, sealstone_error* error) noexcept try {
  return Report(writer->writer->Put(AsSlice(key, key_bytes), AsSlice(value, value_bytes)), error);
} catch (...) {
  return Caught(error);
}

uint64_t sealstone_table_writer_bytes(sealstone_table_writer* writer) noexcept { return writer->writer->FileSize(); }

int32_t sealstone_table_writer_finish(sealstone_table_writer* writer, sealstone_error* error) noexcept try {
  return Report(writer->writer->Finish(), error);
} catch (...) {
  return Caught(error);
}

}  // extern "C"
