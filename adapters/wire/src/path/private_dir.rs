//! A directory that only its owner may use.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use sealstone_file::{own_directory, parent};

/// Makes `dir` if it is missing, and checks that it is this user's alone; returns the fault in
/// words. `parents`: whether parent directories are made, too.
pub(crate) fn open(dir: &Path, parents: bool) -> Result<(), String> {
    // the caller adds the next step
    let words = |error: io::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    if parents {
        DirBuilder::new().mode(0o700).recursive(true).create(parent(dir)).map_err(words)?;
    }
    let (dir, _) = own_directory(dir).map_err(words)?;
    let mode = dir.metadata().map_err(words)?.permissions().mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(format!("others may use it (mode {mode:04o}); chmod 700 it")),
    }
}
