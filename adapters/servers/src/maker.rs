//! The program that makes a server's data directory: run to its end.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::LabError;
use crate::error::io;
use crate::output_file;

/// Runs `command`, which starts `program`, to its end. Its output goes to the file `output`.
///
/// # Errors
/// [`LabError::Io`].
pub(crate) fn run(
    command: &mut Command,
    program: &Path,
    output: &Path,
) -> Result<ExitStatus, LabError> {
    let (said, said_too) = output_file::create(output)?;
    let status =
        command.current_dir("/").stdin(Stdio::null()).stdout(said).stderr(said_too).status();
    status.map_err(|error| io("start", program, error))
}
