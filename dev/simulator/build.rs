//! Compiles the C++ part of the simulator, against RocksDB and the shim of `adapters/rocksdb`, with
//! the same options.

use std::env;
use std::ffi::OsString;

const FILES: [&str; 3] = ["shim/base_files.h", "shim/base_fs.cc", "shim/families.cc"];

/// Headers of the shim of `sealstone-rocksdb`.
const HEADERS: &str = "../../adapters/rocksdb/shim";

fn main() {
    for file in FILES {
        println!("cargo:rerun-if-changed={file}");
    }
    let mut shim = cc::Build::new();
    shim.cpp(true).std("c++20").define("NDEBUG", None).opt_level(2).extra_warnings(true);
    // not told by the other build: one cache may serve clones in several places
    println!("cargo:rerun-if-changed={HEADERS}");
    shim.include(HEADERS);
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
