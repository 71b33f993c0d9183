//! The directories of a comparison's stores while it runs. Nothing that was there before is touched.

use std::path::{Path, PathBuf};

use crate::plan::Plan;

/// A directory for the stores cannot be made, is not empty, or cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("{} for the stores: {reason}", dir.display())]
pub struct WorkDirError {
    /// The directory.
    pub dir: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Where the stores are.
pub(crate) struct WorkDir {
    pub(crate) path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl WorkDir {
    pub(crate) fn create(plan: &Plan) -> Result<Self, WorkDirError> {
        let failed = |dir: &Path, error: std::io::Error| WorkDirError {
            dir: dir.to_owned(),
            reason: format!("it cannot be created: {error}"),
        };
        if let Some(keep) = &plan.keep {
            std::fs::create_dir_all(keep).map_err(|error| failed(keep, error))?;
            let taken = std::fs::read_dir(keep).map_err(|error| failed(keep, error))?.next().is_some();
            if taken {
                let reason = "it is not empty\nname an empty or new directory; nothing in it was touched".into();
                return Err(WorkDirError { dir: keep.clone(), reason });
            }
            return Ok(Self { path: keep.clone(), temporary: None });
        }
        let out = &plan.out;
        std::fs::create_dir_all(out).map_err(|error| failed(out, error))?;
        let temporary =
            tempfile::Builder::new().prefix("stores-").tempdir_in(out).map_err(|error| failed(out, error))?;
        Ok(Self { path: temporary.path().to_owned(), temporary: Some(temporary) })
    }

    pub(crate) fn remove(self) -> Result<(), WorkDirError> {
        let Some(temporary) = self.temporary else { return Ok(()) };
        temporary.close().map_err(|error| WorkDirError {
            dir: self.path,
            reason: format!("it cannot be removed: {error}\nremove it by hand; it holds test data only"),
        })
    }
}

/// The label of a variant as a directory name: `none (2)` becomes `none-2`.
pub(crate) fn directory_name(label: &str) -> String {
    label
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Removes `dir` and everything in it, if it exists.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), WorkDirError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkDirError { dir: dir.to_owned(), reason: format!("it cannot be removed: {error}") })
        }
        _ => Ok(()),
    }
}
