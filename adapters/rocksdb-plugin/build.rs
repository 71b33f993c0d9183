//! Linker settings of the library.

fn main() {
    // RocksDB's registry of objects keeps pointers to our code until the process ends
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // a program that is linked against it finds it by its name, not by the path where it was built
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsealstone_rocksdb_plugin.so");
    println!("cargo::rerun-if-changed=build.rs");
}
