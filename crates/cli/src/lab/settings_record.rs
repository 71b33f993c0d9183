//! Record of the settings with which the servers of a lab were started, so that the same command
//! finds them running and a different command is informed of the difference.

use std::collections::BTreeMap;
use std::path::Path;

use sealstone_servers::{LabError, state};

use crate::flags::LabUp;

/// File in the directory of a lab with the settings of each kind of server, as they were given.
const FILE: &str = "lab.asked.toml";

/// Records the settings of the servers that `flags` have started in `dir`.
///
/// # Errors
/// A file that cannot be read or written.
pub(super) fn remember(dir: &Path, flags: &LabUp) -> Result<(), LabError> {
    let Some(server) = flags.server else { return Ok(()) };
    let path = dir.join(FILE);
    let mut asked: BTreeMap<String, String> = state::read(&path)?.unwrap_or_default();
    asked.insert(server.name.to_owned(), words(flags));
    state::write(&path, &asked)
}

/// Returns whether the servers in `dir` were requested with the same settings.
pub(super) fn is_as_before(dir: &Path, flags: &LabUp) -> bool {
    let asked =
        state::read::<BTreeMap<String, String>>(&dir.join(FILE)).ok().flatten().unwrap_or_default();
    flags.server.is_some_and(|server| asked.get(server.name) == Some(&words(flags)))
}

/// Returns the settings in one line, independent of their order. No flag takes a password.
fn words(flags: &LabUp) -> String {
    format!("{:?} {:?}", flags.settings, flags.sealing)
}
