//! Finds the binary under test, named by `SEALSTONE_BIN`, and the libraries for WiredTiger,
//! MariaDB, RocksDB, Python, C and Java next to it, or otherwise makes cargo build them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Returns the path of the `sealstone` under test.
///
/// # Panics
/// If it can be neither found nor built; the reason is in the message.
pub fn sealstone() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("SEALSTONE_BIN") {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "SEALSTONE_BIN names {}, which is no file", path.display());
            path
        }
        None => {
            let built = build(&["--package", "sealstone-cli", "--bin", "sealstone"]);
            let executable = |message: &Value| message["executable"].as_str().map(PathBuf::from);
            built
                .iter()
                .filter_map(executable)
                .next_back()
                .expect("cargo names the executable it built")
        }
    })
}

/// Returns whether what is under test has no ciphers, derivation and random bytes of its own, so
/// that a module has to do everything: `make test-modules`.
#[must_use]
pub fn is_alone() -> bool {
    std::env::var_os("SEALSTONE_ALONE").is_some()
}

/// Returns the path of the extension under test, `libsealstone_wiredtiger.so`.
///
/// # Panics
/// As [`sealstone`].
pub fn wiredtiger_extension() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library("sealstone-wiredtiger", "libsealstone_wiredtiger.so"))
}

/// Returns the path of the plug-in for MariaDB under test, `libsealstone_mariadb.so`.
///
/// # Panics
/// As [`sealstone`].
pub fn mariadb_plugin() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library("sealstone-mariadb", "libsealstone_mariadb.so"))
}

/// Returns the path of the plug-in under test, `libsealstone_rocksdb_plugin.so`.
///
/// # Panics
/// As [`sealstone`].
pub fn rocksdb_plugin() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library("sealstone-rocksdb-plugin", "libsealstone_rocksdb_plugin.so"))
}

/// Returns the path of the extension of Python under test, `libsealstone_python.so`.
///
/// # Panics
/// As [`sealstone`].
pub fn python_extension() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library("sealstone-python", "libsealstone_python.so"))
}

/// Returns the path of the library for C and Java under test, `libsealstone_fields.so`.
///
/// # Panics
/// As [`sealstone`].
pub fn fields_library() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library("sealstone-fields-c", "libsealstone_fields.so"))
}

/// Returns the shared library `name` of `package`: next to the binary under test, or else built
/// now.
fn library(package: &str, name: &str) -> PathBuf {
    let beside = std::env::var_os("SEALSTONE_BIN")
        .map(|path| Path::new(&path).with_file_name(name))
        .filter(|path| path.is_file());
    let built = || {
        let built = build(&["--package", package, "--lib"]);
        let names = built.iter().filter_map(|message| message["filenames"].as_array()).flatten();
        let mut paths = names.filter_map(|name| name.as_str().map(PathBuf::from));
        paths.rfind(|path| path.ends_with(name)).expect("cargo names the library")
    };
    std::fs::canonicalize(beside.unwrap_or_else(built)).expect("the library is there")
}

/// Returns cargo's messages about what it built.
fn build(what: &[&str]) -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--message-format", "json"])
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "cannot build sealstone:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let stdout = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
