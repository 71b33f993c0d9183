//! Programs in another language, over other libraries, that know docs/formats.md and none of our
//! code: they open the golden files, and find every example on that page as the files have it.

use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::python_package::python;
use sealstone_e2e::transcript::run;

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats").join(name)
}

#[test]
fn another_program_opens_the_golden_files() {
    let Some(python) = python("another_program_opens_the_golden_files") else { return };
    let said = run(Command::new(python).arg(program("read-v1.py"))).done();
    for (line, name) in said.lines().zip([
        "v1-aes-256-paged",
        "v1-aes-256-frames",
        "v1-aes-256-catalogue",
        "engine-page-v1-aes-256",
        "v1-aes-256-volume",
    ]) {
        assert!(line.starts_with(name), "{said}");
    }
    assert_eq!(said.lines().count(), 5, "{said}");
}

#[test]
fn the_examples_of_the_page_are_those_of_the_golden_files() {
    let Some(python) = python("the_examples_of_the_page_are_those_of_the_golden_files") else {
        return;
    };
    let said = run(Command::new(python).arg(program("examples-v1.py")).arg("--check")).done();
    assert_eq!(said, "");
}
