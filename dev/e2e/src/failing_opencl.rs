//! A device that fails on command, for programs as users run them: a library in front of the
//! installed OpenCL (`failing_opencl.c`), which they load instead.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("failing_opencl.c");

/// Kind of failure.
#[derive(Clone, Copy, Debug)]
pub enum Failing {
    /// The device is lost after as many runs of kernels.
    LostAfterRuns(u64),
    /// It hangs in the run after as many; a file `hangs` in the working directory shows that.
    HangsAfterRuns(u64),
    /// It has as much memory, and no more, however much was given back.
    MemoryBytes(u64),
    /// Wrong data, different from what was computed, after this many reads.
    WrongAfterReads(u64),
}

/// Builds the library in `dir`.
///
/// # Panics
/// If no C compiler is there, or OpenCL's library.
pub fn build(dir: &Path) -> PathBuf {
    let (source, library) = (dir.join("failing_opencl.c"), dir.join("failing_opencl.so"));
    std::fs::write(&source, SOURCE).expect("a directory of ours");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wno-deprecated-non-prototype", "-o"])
        .arg(&library)
        .arg(&source);
    // as a dependency, so that whatever is not in it is found there
    let output = cc
        .args(["-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl"])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// Makes `command` reach devices through `library`, and fail according to `failing`.
pub fn with<'a>(command: &'a mut Command, library: &Path, failing: Failing) -> &'a mut Command {
    let (name, number) = match failing {
        Failing::LostAfterRuns(runs) => ("FAILING_LOST_AFTER_RUNS", runs),
        Failing::HangsAfterRuns(runs) => ("FAILING_HANGS_AFTER_RUNS", runs),
        Failing::MemoryBytes(bytes) => ("FAILING_MEMORY_BYTES", bytes),
        Failing::WrongAfterReads(reads) => ("FAILING_WRONG_AFTER_READS", reads),
    };
    command.env("OPENCL_DYLIB_PATH", library).env(name, number.to_string())
}
