//! Errors of the commands on columns that are the same for each kind of file. Not here: what is wrong with a file.

use std::io;
use std::path::Path;

/// What to do about a row that does not fit.
pub(super) const LEAVE_OUT: &str = "nothing was written; to leave such rows out and list them: --on-error report";

/// That `out` cannot be written.
pub(super) fn cannot_write(error: io::Error, out: &Path) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot write {}\nnothing of it was left", out.display()))
}

/// That the user ended it.
pub(super) fn stopped() -> anyhow::Error {
    anyhow::anyhow!("stopped; nothing was written\nrun the same command again")
}
