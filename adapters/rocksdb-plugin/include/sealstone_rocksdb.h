/* Sealed RocksDB stores for programs in C and in whatever calls C; link with -lsealstone_rocksdb_plugin -lrocksdb.
 *
 * The program must have the librocksdb.so that this library was built for: a RocksDB linked into the program, or into
 * the binding of another language, is a different one, to which nothing of this may be passed.
 *
 * C++ programs do not need these functions: once the library is loaded, rocksdb::Env::CreateFromUri takes the settings
 * below as "sealstone://?key=...&cipher=...", and so does --fs_uri of RocksDB's own tools.
 *
 * Functions are added to this header, and none is changed: a program built with an older one runs with a newer library.
 * All of them may be called by any number of threads at once. */
#ifndef SEALSTONE_ROCKSDB_H
#define SEALSTONE_ROCKSDB_H

#ifdef __cplusplus
extern "C" {
#endif

/* As in rocksdb/c.h. */
typedef struct rocksdb_env_t rocksdb_env_t;

/* Makes an environment in which every file is stored sealed: encrypted, authenticated, bound to its place.
 *
 * settings  NAME=VALUE&NAME=VALUE..., UTF-8, ending with a zero byte; also with "sealstone://?" before it. In values
 *           %26 stands for &, and %25 for %. A path that is not absolute is taken from the current directory, now.
 *
 *     key              required: path of a key file, kmip://HOST/KEY..., or kmip:FILE.toml
 *     passphrase_file  path of a file with the passphrase of the key file [SEALSTONE_PASSPHRASE_FILE]
 *     cipher           cipher of new files, such as aria-256; required unless the key server knows it
 *     accel            backend of the ciphers [auto]
 *     module           cryptographic module that computes instead: openssl:PROVIDER, or the path of a library
 *                      [none: this library's own code, which is no validated module]
 *     page_bytes       bytes of data in a page of a table or blob file: a power of two from 1024 to 65536
 *                      [1024 in tables, 4096 in blob files and under ciphers with blocks of 64 bits]
 *     anchor           path of a file on other storage, or an address of a key server, that remembers how new the
 *                      store is; with it, the environment is for one store. Compared when the store is opened for
 *                      writing
 *     counts_dir       directory of the store, in which the file SEALSTONE-COUNTS counts what is sealed and opened, for
 *                      monitoring; with it, the environment is for one store [not counted]
 *
 * error     null, or where to put the reason for a failure: a text from malloc, two lines without a newline at the end,
 *           which the caller passes to free or rocksdb_free. Null is put there if nothing failed. What was there before
 *           is overwritten, not freed.
 *
 * Returns the environment, or null. Pass it to rocksdb_options_set_env, and to rocksdb_env_destroy once every database
 * and backup engine in it is closed. Files that exist are read as their own headers say, whatever cipher they have. */
rocksdb_env_t* sealstone_rocksdb_env_create(const char* settings, char** error);

/* The version of this library, such as "0.1.0". Lives as long as the process. */
const char* sealstone_rocksdb_version(void);

/* The releases of RocksDB that it was built for, such as "7.8". Lives as long as the process. With another one loaded,
 * sealstone_rocksdb_env_create fails, and "sealstone://" is not registered. */
const char* sealstone_rocksdb_built_for(void);

#ifdef __cplusplus
}
#endif

#endif
