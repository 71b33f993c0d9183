//! The program that serves volumes: `sealstone` itself.

use std::path::{Path, PathBuf};

use super::error::VolumeError;

/// Variable of the environment that names it.
const VARIABLE: &str = "SEALSTONE_PROGRAM";
const NAME: &str = "sealstone";

/// Program `sealstone`, found.
pub(super) struct VolumeProgram(PathBuf);

impl VolumeProgram {
    /// Finds it: the one that the environment names, this process's own, or one on the search path.
    ///
    /// # Errors
    /// [`VolumeError::NoProgram`].
    pub(super) fn find() -> Result<Self, VolumeError> {
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let own = || {
            let own = std::env::current_exe().ok()?;
            own.file_name().is_some_and(|name| name == NAME).then_some(own)
        };
        let on_path = || {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).map(|dir| dir.join(NAME)).find(|path| path.is_file())
        };
        let found = named.or_else(own).or_else(on_path).filter(|path| path.is_file());
        found.map(Self).ok_or(VolumeError::NoProgram)
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}
