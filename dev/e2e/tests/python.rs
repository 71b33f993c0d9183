//! The Python package, laid out from its sources and the extension under test: its own tests
//! (`adapters/python/tests`), in an environment with pandas, Polars, DuckDB and pyarrow.
//!
//! Not here: the wheel, and Spark (`make test-spark`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::binary::{python_extension, sealstone};
use sealstone_e2e::transcript::run;
use sealstone_servers::cache_directory;
use tempfile::TempDir;

/// A file of the package's folder.
fn of_package(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/python").join(name)
}

/// The Python of the environment; none, with a SKIP for `test`, where it was not set up.
fn python(test: &str) -> Option<PathBuf> {
    let python = cache_directory().join("python/bin/python");
    let mut command = Command::new(&python);
    let works = command.args(["-c", "import pytest, pyarrow"]).output().is_ok_and(|output| output.status.success());
    if !works {
        println!("SKIP: {test}: no Python environment here; sh dev/setup.sh python makes one");
    }
    works.then_some(python)
}

/// A directory with the package as it is installed.
fn installed() -> TempDir {
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
fn with_package(python: &Path, installed: &TempDir) -> Command {
    let mut command = Command::new(python);
    command.current_dir(of_package("tests")).env("PYTHONPATH", installed.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("SEALSTONE_BIN", sealstone()).env_remove("SEALSTONE_PASSPHRASE_FILE");
    command
}

#[test]
fn python_package() {
    let Some(python) = python("python_package") else { return };
    let installed = installed();
    let mut pytest = with_package(&python, &installed);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore", "spark", "."]);
    let said = run(&mut pytest).done();
    let summary = said.lines().last().unwrap_or_default();
    println!("{summary}");
    assert!(summary.contains(" passed") && !summary.contains("skipped"), "{said}");
}

/// Nothing but the function that Python calls to load it is visible, and no particular Python is needed.
#[test]
fn python_extension_shows_one_function() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(python_extension()).output().expect("nm starts");
    let names = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    assert_eq!(names, ["PyInit__sealstone"]);
    let output = Command::new("readelf").arg("-d").arg(python_extension()).output().expect("readelf starts");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("libpython"));
}
