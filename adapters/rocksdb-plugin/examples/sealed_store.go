// Writes and reads a sealed RocksDB store from Go, through RocksDB's C interface: sealed_store STORE KEY_FILE CIPHER
//
//	go run sealed_store.go STORE KEY_FILE CIPHER
package main

/*
#cgo LDFLAGS: -lsealstone_rocksdb_plugin -lrocksdb
#include <stdlib.h>
#include <rocksdb/c.h>
#include "sealstone_rocksdb.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"unsafe"
)

// failure is the error that C reports, which is freed.
func failure(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.rocksdb_free(unsafe.Pointer(text))
	return errors.New(C.GoString(text))
}

func run(path, keyFile, cipher string) error {
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	settings := C.CString("key=" + escape(keyFile) + "&cipher=" + escape(cipher))
	defer C.free(unsafe.Pointer(settings))
	var text *C.char
	env := C.sealstone_rocksdb_env_create(settings, &text)
	if err := failure(text); err != nil {
		return err
	}
	defer C.rocksdb_env_destroy(env)

	options := C.rocksdb_options_create()
	defer C.rocksdb_options_destroy(options)
	C.rocksdb_options_set_create_if_missing(options, 1)
	C.rocksdb_options_set_env(options, env)
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	db := C.rocksdb_open(options, name, &text)
	if err := failure(text); err != nil {
		return err
	}
	defer C.rocksdb_close(db)

	writing, reading := C.rocksdb_writeoptions_create(), C.rocksdb_readoptions_create()
	defer C.rocksdb_writeoptions_destroy(writing)
	defer C.rocksdb_readoptions_destroy(reading)
	for n := 0; n < 1000; n++ {
		key, value := fmt.Sprintf("order %04d", n), fmt.Sprintf("%d apples", n*n)
		k, v := C.CString(key), C.CString(value)
		C.rocksdb_put(db, writing, k, C.size_t(len(key)), v, C.size_t(len(value)), &text)
		C.free(unsafe.Pointer(k))
		C.free(unsafe.Pointer(v))
		if err := failure(text); err != nil {
			return err
		}
	}
	key := C.CString("order 0017")
	defer C.free(unsafe.Pointer(key))
	var length C.size_t
	value := C.rocksdb_get(db, reading, key, 10, &length, &text)
	if err := failure(text); err != nil {
		return err
	}
	defer C.rocksdb_free(unsafe.Pointer(value))
	fmt.Println(C.GoStringN(value, C.int(length)))
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sealed_store STORE KEY_FILE CIPHER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
