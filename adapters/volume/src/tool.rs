//! Programs of the system that only root may use to their full: `losetup`, `mount`, `mkfs`.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::error::Failure;

/// Runs `program` and returns what it printed.
///
/// # Errors
/// [`Failure::Tool`] with its own words.
pub(crate) fn run<S: AsRef<OsStr>>(program: &str, args: &[S]) -> Result<String, Failure> {
    let failed = |said: String| Failure::Tool { program: program.to_owned(), said };
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(if said.is_empty() { output.status.to_string() } else { said }));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
