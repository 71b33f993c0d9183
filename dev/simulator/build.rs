//! Compiles the C++ part of the simulator, against RocksDB and the shim of `adapters/rocksdb`, with
//! the same options.

use std::env;
use std::ffi::OsString;

const FILES: [&str; 3] = ["shim/base_files.h", "shim/base_fs.cc", "shim/families.cc"];

fn main() {
    for file in FILES {
        println!("cargo:rerun-if-changed={file}");
    }
    let mut shim = cc::Build::new();
    shim.cpp(true).std("c++20").define("NDEBUG", None).opt_level(2).extra_warnings(true);
    let headers = told("HEADERS").expect("sealstone-rocksdb says where its headers are");
    println!("cargo:rerun-if-changed={}", headers.display());
    shim.include(headers);
    if let Some(rocksdb) = told("ROCKSDB") {
        shim.flag("-isystem").flag(rocksdb);
    }
    if let Some(flag) = told("FLAG") {
        shim.flag(flag);
    }
    shim.files(FILES.iter().filter(|file| file.ends_with(".cc")))
        .compile("sealstone_simulator_shim");
}

/// Returns the value of the build of `sealstone-rocksdb` under `name`.
fn told(name: &str) -> Option<OsString> {
    let variable = format!("DEP_SEALSTONE_ROCKSDB_SHIM_{name}");
    println!("cargo:rerun-if-env-changed={variable}");
    env::var_os(variable)
}
