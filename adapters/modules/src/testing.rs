//! Libraries with the module interface for tests, compiled from the reference shim: whole, or with
//! a fault (`shim/failing.c`).

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source`, a file of `adapters/modules/shim`, with `defines` into a library in `dir`.
///
/// # Panics
/// If there is no C compiler, no libcrypto with its headers, or an error in the source.
#[must_use]
pub fn compiled(dir: &Path, source: &str, defines: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = defines.join("-").replace(['=', '"', '-'], "_");
    let library = dir.join(format!("libmodule_{name}.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-Wno-unused-function").arg("-I").arg(root.join("include"));
    compiler.args(defines.iter().map(|define| format!("-D{define}")));
    compiler.arg("-o").arg(&library).arg(root.join("shim").join(source)).arg("-lcrypto");
    let output = compiler.output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
