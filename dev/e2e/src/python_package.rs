//! The Python package laid out from its sources and the extension under test, and an environment to
//! use it in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_servers::cache_directory;
use tempfile::TempDir;

use crate::binary::{python_extension, sealstone};

/// Returns a file of the package's folder.
#[must_use]
pub fn of_package(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/python").join(name)
}

/// Returns the Python of the environment; none, with a SKIP for `test`, where it was not set up.
#[must_use]
pub fn python(test: &str) -> Option<PathBuf> {
    let python = cache_directory().join("python/bin/python");
    let mut command = Command::new(&python);
    let works = command
        .args(["-c", "import pytest, pyarrow"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        println!("SKIP: {test}: no Python environment here; sh dev/setup.sh python makes one");
    }
    works.then_some(python)
}

/// Returns a directory with the package as it is installed.
///
/// # Panics
/// If it cannot be laid out.
#[must_use]
pub fn installed() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let package = dir.path().join("sealstone");
    fs::create_dir(&package).expect("a directory");
    for entry in fs::read_dir(of_package("python/sealstone")).expect("the package").flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).expect("a copy");
        }
    }
    fs::copy(python_extension(), package.join("_sealstone.abi3.so")).expect("a copy");
    dir
}

/// Python with the package that `installed` holds.
#[must_use]
pub fn with_package(python: &Path, installed: &TempDir) -> Command {
    let mut command = Command::new(python);
    command
        .current_dir(of_package("tests"))
        .env("PYTHONPATH", installed.path())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("SEALSTONE_BIN", sealstone()).env_remove("SEALSTONE_PASSPHRASE_FILE");
    command
}
