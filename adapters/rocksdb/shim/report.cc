// How statuses and exceptions become codes and texts for Rust, and how it hands the texts back.

#include "report.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace sealstone {

using rocksdb::PinnableSlice;
using rocksdb::Status;

namespace {

// `text` may be lost where there is no memory; the codes are not.
int32_t Fail(Status::Code code, Status::SubCode subcode, const char* text, size_t text_bytes, sealstone_error* error) {
  error->code = static_cast<int32_t>(code);
  error->subcode = static_cast<int32_t>(subcode);
  error->text = static_cast<char*>(malloc(text_bytes + 1));
  error->text_bytes = 0;
  if (error->text != nullptr) {
    memcpy(error->text, text, text_bytes);
    error->text_bytes = text_bytes;
  }
  return error->code;
}

}  // namespace

int32_t Report(const Status& status, sealstone_error* error) {
  if (status.ok()) {
    return 0;
  }
  const std::string text = status.ToString();
  return Fail(status.code(), status.subcode(), text.data(), text.size(), error);
}

int32_t Caught(sealstone_error* error) noexcept {
  const auto fail = [error](Status::Code code, Status::SubCode subcode, const char* text) {
    return Fail(code, subcode, text, strlen(text), error);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(Status::kAborted, Status::kMemoryLimit, "not enough memory");
  } catch (const std::length_error& thrown) {
    return fail(Status::kInvalidArgument, Status::kNone, thrown.what());
  } catch (const std::exception& thrown) {
    return fail(Status::kAborted, Status::kNone, thrown.what());
  } catch (...) {
    return fail(Status::kAborted, Status::kNone, "RocksDB threw something that is not an exception");
  }
}

Status CaughtStatus() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::MemoryLimit();  // without a text, which would take memory
  } catch (...) {
    return Status::Aborted(Status::kNone);
  }
}

int32_t Found(const Status& status, const PinnableSlice& value, sealstone_sink sink, void* context, int32_t* found,
              sealstone_error* error) {
  *found = status.ok() ? 1 : 0;
  if (status.ok()) {
    sink(context, 0, reinterpret_cast<const uint8_t*>(value.data()), value.size());
    return 0;
  }
  return status.IsNotFound() ? 0 : Report(status, error);
}

}  // namespace sealstone

extern "C" void sealstone_text_free(char* text) noexcept { free(text); }
