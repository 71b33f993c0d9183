// RocksDB's own EncryptedFileSystem with AES-256 in counter mode by OpenSSL: the rival that a user of RocksDB would take
// instead of a seal. It encrypts, and authenticates nothing: a changed
// byte is read as another byte.
//
// RocksDB ships the file system and the interface of a provider, and no cipher but ROT13. This provider does what those in
// use do (a random initial counter in a prefix of each file), and as quickly as the interface allows: the key is set once a
// thread, and a call encrypts whole buffers. `db_bench` takes it by LD_PRELOAD and --fs_uri=encrypted-fs://.
//
// Not here: management of keys. ENCRYPTED_FS_KEY names a file with the 32 bytes of one, since every benchmark is a process.

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/env_encryption.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"

namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t kBlockBytes = 16;
// a multiple of the memory page, as rocksdb/env_encryption.h advises
constexpr size_t kPrefixBytes = 4096;
const char kScheme[] = "encrypted-fs";

const std::array<unsigned char, 32>& Key() {
  static const std::array<unsigned char, 32> key = [] {
    std::array<unsigned char, 32> read{};
    const char* path = std::getenv("ENCRYPTED_FS_KEY");
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(read.data()), read.size())) abort();
    return read;
  }();
  return key;
}

// The context of this thread, with the key already set.
EVP_CIPHER_CTX* Keyed() {
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context = [] {
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> made(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    if (!made || EVP_EncryptInit_ex(made.get(), EVP_aes_256_ctr(), nullptr, Key().data(), nullptr) != 1) abort();
    return made;
  }();
  return context.get();
}

class CounterStream final : public rocksdb::BlockAccessCipherStream {
 public:
  explicit CounterStream(const char* initial) { std::memcpy(initial_.data(), initial, kBlockBytes); }

  size_t BlockSize() override { return kBlockBytes; }
  Status Encrypt(uint64_t offset, char* data, size_t bytes) override { return Apply(offset, data, bytes); }
  Status Decrypt(uint64_t offset, char* data, size_t bytes) override { return Apply(offset, data, bytes); }

 protected:
  void AllocateScratch(std::string&) override {}
  Status EncryptBlock(uint64_t, char*, char*) override { return Status::NotSupported("whole buffers only"); }
  Status DecryptBlock(uint64_t, char*, char*) override { return Status::NotSupported("whole buffers only"); }

 private:
  Status Apply(uint64_t offset, char* data, size_t bytes) const {
    std::array<unsigned char, kBlockBytes> counter = initial_;
    uint64_t carry = offset / kBlockBytes;
    for (size_t i = kBlockBytes; i-- > 0 && carry > 0;) {
      carry += counter[i];
      counter[i] = static_cast<unsigned char>(carry);
      carry >>= 8;
    }
    EVP_CIPHER_CTX* context = Keyed();
    int made = 0;
    bool right = EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, counter.data()) == 1;
    if (const int before = static_cast<int>(offset % kBlockBytes); before > 0) {
      unsigned char skipped[kBlockBytes] = {};
      right = right && EVP_EncryptUpdate(context, skipped, &made, skipped, before) == 1;
    }
    auto* at = reinterpret_cast<unsigned char*>(data);
    while (right && bytes > 0) {
      const int piece = static_cast<int>(std::min<size_t>(bytes, 1 << 30));
      right = EVP_EncryptUpdate(context, at, &made, at, piece) == 1;
      at += piece;
      bytes -= static_cast<size_t>(piece);
    }
    return right ? Status::OK() : Status::Corruption("OpenSSL refused to encrypt");
  }

  std::array<unsigned char, kBlockBytes> initial_;
};

class CounterProvider final : public rocksdb::EncryptionProvider {
 public:
  const char* Name() const override { return "AES-256-CTR"; }
  size_t GetPrefixLength() const override { return kPrefixBytes; }

  Status CreateNewPrefix(const std::string&, char* prefix, size_t bytes) const override {
    std::memset(prefix, 0, bytes);
    const bool drawn = RAND_bytes(reinterpret_cast<unsigned char*>(prefix), kBlockBytes) == 1;
    return drawn ? Status::OK() : Status::Aborted("OpenSSL has no random bytes");
  }

  Status AddCipher(const std::string&, const char*, size_t, bool) override {
    return Status::NotSupported("the key is that of ENCRYPTED_FS_KEY");
  }

  Status CreateCipherStream(const std::string& name, const rocksdb::EnvOptions&, Slice& prefix,
                            std::unique_ptr<rocksdb::BlockAccessCipherStream>* result) override {
    if (prefix.size() < kBlockBytes) return Status::Corruption(name, "shorter than its prefix");
    *result = std::make_unique<CounterStream>(prefix.data());
    return Status::OK();
  }
};

const bool registered = [] {
  rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::FileSystem>(
      rocksdb::ObjectLibrary::PatternEntry(kScheme).AddSeparator("://", false),
      [](const std::string&, std::unique_ptr<rocksdb::FileSystem>* guard, std::string*) {
        // the registry wants an object of its own; the one that RocksDB makes is shared
        struct Held final : rocksdb::FileSystemWrapper {
          using rocksdb::FileSystemWrapper::FileSystemWrapper;
          const char* Name() const override { return kScheme; }
        };
        guard->reset(
            new Held(rocksdb::NewEncryptedFS(rocksdb::FileSystem::Default(), std::make_shared<CounterProvider>())));
        return guard->get();
      });
  return true;
}();

}  // namespace
