//! Compiles the C++ shim against RocksDB: the system library by default, or the source that
//! `librocksdb-sys` carries (feature `bundled`). It does not build RocksDB itself. It passes the
//! path of the headers to `dev/simulator`, whose own shim uses this shim.

use std::path::{Path, PathBuf};
use std::{env, fs};

const SOURCES: [&str; 16] = [
    "shim/backup.cc",
    "shim/counting_fs.cc",
    "shim/database.cc",
    "shim/env.cc",
    "shim/iterator.cc",
    "shim/library.cc",
    "shim/regular_fs.cc",
    "shim/report.cc",
    "shim/rewriting.cc",
    "shim/seal.cc",
    "shim/sealed_content.cc",
    "shim/sealed_fs.cc",
    "shim/sealed_writable_file.cc",
    "shim/stored_files.cc",
    "shim/table_writer.cc",
    "shim/transaction.cc",
];
/// More sources for feature `plugin`.
const PLUGIN_SOURCES: [&str; 1] = ["shim/registry.cc"];
const HEADERS: [&str; 9] = [
    "shim/database.h",
    "shim/file_systems.h",
    "shim/report.h",
    "shim/seal.h",
    "shim/sealed_content.h",
    "shim/sealed_writable_file.h",
    "shim/sealstone.h",
    "shim/stored_files.h",
    "shim/write_behind.h",
];

fn main() {
    for file in SOURCES.iter().chain(&PLUGIN_SOURCES).chain(&HEADERS) {
        println!("cargo:rerun-if-changed={file}");
    }
    let mut shim = cc::Build::new();
    shim.cpp(true)
        .std("c++20")
        .define("NDEBUG", None)
        .opt_level(2)
        .extra_warnings(true)
        .file(together());
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        // librocksdb-sys links its library itself and names its headers here
        println!("cargo:rerun-if-env-changed=DEP_ROCKSDB_CARGO_MANIFEST_DIR");
        let source = env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
            .expect("librocksdb-sys says where its source is");
        include(&mut shim, &Path::new(&source).join("rocksdb/include"));
        // that library is built without run-time type information, so classes derived from its own
        // must do without
        shim.flag("-fno-rtti");
        println!("cargo::metadata=flag=-fno-rtti");
        // link order: the shim needs the library, so the library comes after it
        shim.compile("sealstone_rocksdb_shim");
        return;
    }
    for variable in ["ROCKSDB_INCLUDE_DIR", "ROCKSDB_LIB_DIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if let Some(headers) = env::var_os("ROCKSDB_INCLUDE_DIR") {
        include(&mut shim, Path::new(&headers));
    }
    if !has_header(&shim) {
        println!(
            "cargo::error=the headers of RocksDB were not found; on Debian or Ubuntu: apt-get \
             install librocksdb-dev (or name their directory in ROCKSDB_INCLUDE_DIR, or build \
             RocksDB from source with --features bundled)"
        );
        return;
    }
    shim.compile("sealstone_rocksdb_shim");
    if let Some(library) = env::var_os("ROCKSDB_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", Path::new(&library).display());
    }
    println!("cargo:rustc-link-lib=dylib=rocksdb");
}

fn here() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo").into()
}

/// Has `shim` take RocksDB's headers from `headers`, as others do that include ours.
fn include(shim: &mut cc::Build, headers: &Path) {
    shim.flag("-isystem").flag(headers);
    println!("cargo::metadata=rocksdb={}", headers.display());
}

/// Writes the only compiled file, which includes all sources that the features need, and returns
/// its path. RocksDB's headers take longer to read than the whole shim: file by file takes three
/// times the CPU time.
fn together() -> PathBuf {
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let plugin = PLUGIN_SOURCES.iter().filter(|_| has("PLUGIN"));
    let here = here();
    let lines = SOURCES.iter().chain(plugin).map(|file| {
        let path = here.join(file);
        format!("#include \"{}\"\n", path.to_str().expect("cargo takes UTF-8 paths only"))
    });
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("shim.cc");
    fs::write(&path, lines.collect::<String>()).expect("OUT_DIR is writable");
    path
}

/// Returns whether the compiler that will compile the shim finds RocksDB's headers.
fn has_header(shim: &cc::Build) -> bool {
    let probe = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("probe.cc");
    fs::write(&probe, "#if !__has_include(<rocksdb/file_system.h>)\n#error missing\n#endif\n")
        .expect("OUT_DIR is writable");
    let mut only = cc::Build::new();
    only.cpp(true).std("c++20").cargo_metadata(false).cargo_warnings(false).file(probe);
    if let Some(headers) = env::var_os("ROCKSDB_INCLUDE_DIR") {
        only.flag("-isystem").flag(headers);
    }
    // an unusable compiler is reported by the real compilation
    shim.get_compiler().is_like_msvc() || only.try_expand().is_ok()
}
