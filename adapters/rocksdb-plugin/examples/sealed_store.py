#!/usr/bin/env python3
"""Writes and reads a sealed RocksDB store through RocksDB's C interface: sealed_store.py STORE KEY_FILE CIPHER

Needs librocksdb.so and libsealstone_rocksdb_plugin.so where the loader finds them, and no package of Python.
"""

import ctypes
import sys
import urllib.parse
from ctypes import POINTER, byref, c_char_p, c_size_t, c_ubyte, c_void_p

# by its exact name: another release of RocksDB lays its objects out differently
rocksdb = ctypes.CDLL("librocksdb.so.7.8")
plugin = ctypes.CDLL("libsealstone_rocksdb_plugin.so")


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


error_pointer = POINTER(c_void_p)
env_create = declare(plugin, "sealstone_rocksdb_env_create", c_void_p, c_char_p, error_pointer)
env_destroy = declare(rocksdb, "rocksdb_env_destroy", None, c_void_p)
options_create = declare(rocksdb, "rocksdb_options_create", c_void_p)
options_destroy = declare(rocksdb, "rocksdb_options_destroy", None, c_void_p)
set_create_if_missing = declare(rocksdb, "rocksdb_options_set_create_if_missing", None, c_void_p, c_ubyte)
set_env = declare(rocksdb, "rocksdb_options_set_env", None, c_void_p, c_void_p)
open_db = declare(rocksdb, "rocksdb_open", c_void_p, c_void_p, c_char_p, error_pointer)
close_db = declare(rocksdb, "rocksdb_close", None, c_void_p)
write_options = declare(rocksdb, "rocksdb_writeoptions_create", c_void_p)()
read_options = declare(rocksdb, "rocksdb_readoptions_create", c_void_p)()
put = declare(rocksdb, "rocksdb_put", None, c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, error_pointer)
get = declare(
    rocksdb, "rocksdb_get", c_void_p, c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t), error_pointer
)
free = declare(rocksdb, "rocksdb_free", None, c_void_p)


def call(function, *arguments):
    """Calls a function whose last argument is the error; raises what it reports."""
    error = c_void_p()
    result = function(*arguments, byref(error))
    if error:
        text = ctypes.string_at(error).decode()
        free(error)
        raise RuntimeError(text)
    return result


class SealedStore:
    def __init__(self, path, **settings):
        self.env = call(env_create, urllib.parse.urlencode(settings, quote_via=urllib.parse.quote).encode())
        options = options_create()
        set_create_if_missing(options, 1)
        set_env(options, self.env)
        try:
            self.db = call(open_db, options, path.encode())
        except RuntimeError:
            env_destroy(self.env)
            raise
        finally:
            options_destroy(options)

    def put(self, key, value):
        call(put, self.db, write_options, key, len(key), value, len(value))

    def get(self, key):
        length = c_size_t()
        value = call(get, self.db, read_options, key, len(key), byref(length))
        if not value:
            return None
        found = ctypes.string_at(value, length.value)
        free(value)
        return found

    def close(self):
        close_db(self.db)
        env_destroy(self.env)


def main():
    path, key_file, cipher = sys.argv[1:]
    store = SealedStore(path, key=key_file, cipher=cipher)
    for n in range(1000):
        store.put(b"order %04d" % n, b"%d apples" % (n * n))
    print(store.get(b"order 0017").decode())
    store.close()


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
