// Writes and reads a sealed RocksDB store from C++: sealed_store STORE KEY_FILE CIPHER
//
//     c++ -std=c++17 sealed_store.cc -lsealstone_rocksdb_plugin -lrocksdb -o sealed_store

#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "sealstone_rocksdb.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "sealed_store STORE KEY_FILE CIPHER\n");
    return 2;
  }
  // a linker that leaves out libraries without a function in use must see that this one is in use
  printf("sealstone %s for RocksDB %s\n", sealstone_rocksdb_version(), sealstone_rocksdb_built_for());

  // without this, RocksDB takes the files in the clear where the library is not loaded
  rocksdb::ConfigOptions config;
  config.ignore_unsupported_options = false;
  const std::string uri = std::string("sealstone://?key=") + argv[2] + "&cipher=" + argv[3];
  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::Env> owner;  // outlives the database
  rocksdb::Status status = rocksdb::Env::CreateFromUri(config, "", uri, &env, &owner);

  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = env;
    rocksdb::DB* opened = nullptr;
    status = rocksdb::DB::Open(options, argv[1], &opened);
    db.reset(opened);
  }
  for (int n = 0; status.ok() && n < 1000; ++n) {
    char key[16];
    snprintf(key, sizeof key, "order %04d", n);
    status = db->Put(rocksdb::WriteOptions(), key, std::to_string(n * n) + " apples");
  }
  std::string value;
  if (status.ok()) {
    status = db->Get(rocksdb::ReadOptions(), "order 0017", &value);
  }
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  printf("%s\n", value.c_str());
  return 0;
}
