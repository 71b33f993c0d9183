//! The program `fsx`: random operations on one file, compared with what it has in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::findings::Findings;
use sealstone_turns::program::{output, run};

/// Its configuration: the weights of its operations. Only some are synced, and no write through
/// memory, or the disk below would decide how long 10^7 operations take. With lengths of 0 it calls
/// `posix_fallocate` with one now and then, which every file system refuses.
const CONFIGURATION: &str = "flen = 262144
nomsyncafterwrite = true
[opsize]
min = 1
max = 16384
[weights]
read = 10
write = 20
mapread = 2
mapwrite = 2
close_open = 0.3
invalidate = 0.3
truncate = 0.3
posix_fallocate = 0.3
punch_hole = 0.3
posix_fadvise = 0.3
copy_file_range = 0.3
sendfile = 0.1
fsync = 0.02
fdatasync = 0.02
";

/// The program, and how much it does.
pub(crate) struct Fsx {
    program: PathBuf,
    pub(crate) version: String,
    /// Operations with each seed.
    pub(crate) operations: u64,
}

impl Fsx {
    pub(crate) fn new(program: &Path, operations: u64) -> Result<Self> {
        let version = output(Command::new(program).arg("--version"))?.trim().to_owned();
        Ok(Self { program: program.to_owned(), version, operations })
    }

    /// Runs it on a file of `files`; what it leaves of a failure comes to `dir`.
    pub(crate) fn run(&self, files: &Path, dir: &Path, seed: u64, findings: &mut Findings) {
        let judge = "fsx, operations";
        match self.exercise(files, dir, seed) {
            Ok(()) => findings.count(judge, self.operations),
            Err(error) => findings.fail(judge, &format!("seed {seed}: {error:#}")),
        }
    }

    fn exercise(&self, files: &Path, dir: &Path, seed: u64) -> Result<()> {
        let configuration = dir.join("fsx.toml");
        fs::write(&configuration, CONFIGURATION).context("write the configuration")?;
        let mut fsx = Command::new(&self.program);
        fsx.arg("-f").arg(configuration).arg("-P").arg(dir);
        fsx.arg("-N").arg(self.operations.to_string()).arg("-S").arg(seed.to_string());
        output(fsx.arg(files.join(format!("fsx-{seed}")))).map(drop)
    }
}

/// Returns the sum of all files that it left, which are the same wherever it ran.
pub(crate) fn sum(files: &Path) -> Result<String> {
    let line = "cd \"$1\" && cat $(ls -d fsx-* | LC_ALL=C sort) | sha256sum | cut -c -16";
    let sum = run("sh", &["-c", line, "sh", &files.to_string_lossy()])?;
    Ok(format!("sha256 {}…", sum.trim()))
}
