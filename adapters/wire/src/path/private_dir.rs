//! A directory that nobody but its owner may use. Not here: what lies in it.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use nix::unistd::geteuid;

/// Makes `dir` if it is missing, and checks that it is this user's alone; what is wrong, in words. `parents`: whether
/// those above it are made, too.
pub(crate) fn open(dir: &Path, parents: bool) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).recursive(parents).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.to_string()),
    }
    let found = std::fs::symlink_metadata(dir).map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("it is no directory".into());
    }
    if found.uid() != geteuid().as_raw() {
        return Err(format!("it belongs to user {}", found.uid()));
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!("others may use it (mode {mode:04o}); chmod 700 it"));
    }
    Ok(())
}
