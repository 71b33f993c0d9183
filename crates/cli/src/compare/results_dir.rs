//! Choice of the directory that a comparison writes its results into, so that the results of an
//! earlier run, or of a run still in progress, are kept: the next free directory if none is named,
//! and only a directory without results if one is named. Not here: the directories of stores
//! (`sealstone_bench::compare::work_dir`), writing results (`grid`).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::fcntl::OFlag;
use sealstone_bench::study::plan::Plan;
use sealstone_file::output::{self, Access};

use crate::free_name::numbered;

/// Names of the files that a run writes there.
const RESULTS: [&str; 3] = ["results.json", "results.csv", "report.html"];

/// The directory that a run has to itself as long as the value lives.
pub(crate) struct ResultsDir {
    path: PathBuf,
    is_new: bool,
    /// Closed, and so free again, with the value. None where the file system has no locks.
    _lock: Option<File>,
}

/// Chooses the directory for the results of `plan`: `plan.out`, or, if the user did not name it,
/// the first similar directory that has no results.
///
/// # Errors
/// A directory that somebody named and that has results; one that another run is writing to.
pub(crate) fn choose(plan: &Plan, is_named: bool) -> anyhow::Result<PathBuf> {
    let free = |dir: &PathBuf| kept(dir).is_none() && !is_in_use(dir);
    if !is_named && plan.out == Plan::default().out {
        return Ok(numbered(&plan.out).find(free).expect("numbers do not end"));
    }
    let out = plan.out.display();
    if is_in_use(&plan.out) {
        bail!("another run is writing its results into {out}\nname another directory with --out");
    }
    if let Some(found) = kept(&plan.out) {
        let next = match found == RESULTS[0] {
            true => format!(", or continue that run with: sealstone compare --resume {out}"),
            false => String::new(),
        };
        bail!(
            "{out} has the results of an earlier run ({found}), which stay\nname another directory \
             with --out{next}"
        );
    }
    Ok(plan.out.clone())
}

impl ResultsDir {
    /// Makes the directory `path`, takes it, and finds out before the run, not after it, whether
    /// results can be written there.
    ///
    /// # Errors
    /// A directory that cannot be written, or that another run writes to.
    pub(crate) fn take(path: &Path) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        let probe = path.join(".sealstone-writable");
        fs::create_dir_all(path)
            .and_then(|()| output::check_replaceable(&probe, Access::Usual))
            .with_context(|| format!("cannot write results into {}", path.display()))
            .map_err(|error| anyhow::anyhow!("{error:#}\nname another directory with --out"))?;
        let lock = match lock(path) {
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another run is writing its results into {}\nname another directory with --out",
                    path.display()
                )
            }
            outcome => outcome.ok(),
        };
        Ok(Self { path: path.to_owned(), is_new, _lock: lock })
    }

    /// Returns the directory, if this run made it.
    pub(crate) fn made(&self) -> Option<&Path> {
        self.is_new.then_some(&self.path)
    }
}

impl Drop for ResultsDir {
    fn drop(&mut self) {
        if self.is_new {
            // it stays if anything is in it
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Returns the first of the files of an earlier run that `dir` has.
fn kept(dir: &Path) -> Option<&'static str> {
    RESULTS.into_iter().find(|name| dir.join(name).symlink_metadata().is_ok())
}

/// Returns whether a run has taken `dir`.
fn is_in_use(dir: &Path) -> bool {
    matches!(lock(dir), Err(TryLockError::WouldBlock))
}

/// A lock on the directory itself, so that no file is left behind.
fn lock(dir: &Path) -> Result<File, TryLockError> {
    // a pipe in its place must not make the run wait
    let flags = OFlag::O_DIRECTORY | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(dir);
    let dir = opened.map_err(TryLockError::Error)?;
    dir.try_lock()?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_taken_once() {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("out");
        let plan = Plan { out: out.clone(), ..Plan::default() };
        assert_eq!(choose(&plan, true).unwrap(), out);
        let taken = ResultsDir::take(&out).unwrap();
        let refused = choose(&plan, true).unwrap_err().to_string();
        assert!(refused.starts_with("another run is writing its results into "), "{refused}");
        assert!(ResultsDir::take(&out).is_err());
        drop(taken);
        assert!(!out.exists(), "nothing was written into it");
        for (file, next) in [("results.json", true), ("results.csv", false), ("report.html", false)]
        {
            fs::create_dir_all(&out).unwrap();
            fs::write(out.join(file), "").unwrap();
            let refused = choose(&plan, true).unwrap_err().to_string();
            assert!(refused.contains(file) && refused.contains("--resume") == next, "{refused}");
            fs::remove_dir_all(&out).unwrap();
        }
    }
}
