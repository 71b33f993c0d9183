//! The Python package: its own tests (`adapters/python/tests`), in an environment with pandas,
//! Polars, DuckDB and pyarrow.
//!
//! Not here: the wheel, and Spark (`make test-spark`).

use std::process::Command;

use sealstone_e2e::binary::python_extension;
use sealstone_e2e::python_package::{installed, python, with_package};
use sealstone_e2e::transcript::run;

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

/// Nothing but the function that Python calls to load it is visible, and no particular Python is
/// needed.
#[test]
fn python_extension_shows_one_function() {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(python_extension())
        .output()
        .expect("nm starts");
    let names = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> =
        names.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    assert_eq!(names, ["PyInit__sealstone"]);
    let output =
        Command::new("readelf").arg("-d").arg(python_extension()).output().expect("readelf starts");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("libpython"));
}
