//! The directories of a comparison's stores while it runs. Existing files are not touched, except
//! the stores of a killed run: they are recognised by a file that a living run keeps locked.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::libc::O_NOFOLLOW;
use nix::unistd::geteuid;

use crate::study::plan::Plan;

/// Prefix of the names of the directories.
const PREFIX: &str = "stores-";
/// The file that a run locks as long as it lives: a lock ends with its process, however that ends,
/// and no other process takes it over with the number.
const MARK: &str = ".sealstone-run";
/// Beginning of the file, once it is locked.
const MARK_TEXT: &str =
    "the stores of a run of sealstone compare; once it has ended, the next run removes them\n";

/// Time to wait for the servers of a killed run, which end by themselves.
const END_LIMIT: Duration = Duration::from_secs(6);

/// Number of attempts to remove files that are still being written.
const REMOVE_TRIES: usize = 40;

/// A directory for the stores cannot be made, is not empty, or cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("{} for the stores: {reason}", dir.display())]
#[non_exhaustive]
pub struct WorkDirError {
    /// The directory.
    pub dir: PathBuf,
    /// Description of the problem.
    pub reason: String,
}

/// Directory of the stores.
pub(crate) struct WorkDir {
    pub(crate) path: PathBuf,
    temporary: Option<tempfile::TempDir>,
    /// Locked; closed with the value, after the directory is gone.
    _mark: Option<File>,
}

impl WorkDir {
    pub(crate) fn create(plan: &Plan) -> Result<Self, WorkDirError> {
        let failed = |dir: &Path, error: std::io::Error| WorkDirError {
            dir: dir.to_owned(),
            reason: format!("it cannot be created: {error}"),
        };
        if let Some(keep) = &plan.keep {
            std::fs::create_dir_all(keep).map_err(|error| failed(keep, error))?;
            let taken =
                std::fs::read_dir(keep).map_err(|error| failed(keep, error))?.next().is_some();
            if taken {
                let reason =
                    "it is not empty\nname an empty or new directory; nothing in it was touched"
                        .into();
                return Err(WorkDirError { dir: keep.clone(), reason });
            }
            return Ok(Self { path: keep.clone(), temporary: None, _mark: None });
        }
        let out = &plan.out;
        std::fs::create_dir_all(out).map_err(|error| failed(out, error))?;
        let temporary = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(out)
            .map_err(|error| failed(out, error))?;
        // without locks in the file system nobody removes the directory
        let mark = mark(temporary.path()).ok();
        OWN.lock().unwrap_or_else(PoisonError::into_inner).push(temporary.path().to_owned());
        Ok(Self { path: temporary.path().to_owned(), temporary: Some(temporary), _mark: mark })
    }

    pub(crate) fn remove(self) -> Result<(), WorkDirError> {
        let Some(temporary) = self.temporary else { return Ok(()) };
        temporary.close().map_err(|error| WorkDirError {
            dir: self.path,
            reason: format!(
                "it cannot be removed: {error}\nremove it by hand; it holds test data only"
            ),
        })
    }
}

/// The directories that runs in this process have made, whether they are gone or not.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the stores of the runs in this process, which is about to end and may still be writing
/// them. Returns the directories that cannot be removed; none where there never was one.
pub fn remove_own() -> Option<Vec<PathBuf>> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_left = |dir: &PathBuf| {
        // a file made in the meantime is in the way
        for _ in 0..REMOVE_TRIES {
            let _ = fs::remove_dir_all(dir);
            if !dir.exists() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    };
    (!own.is_empty()).then(|| own.into_iter().filter(is_left).collect())
}

/// Marks `dir` as that of a living run.
fn mark(dir: &Path) -> std::io::Result<File> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(dir.join(MARK))?;
    file.lock()?;
    // without the text it is nobody's, so there is no moment at which another run could take it for
    // a dead one's
    file.write_all(MARK_TEXT.as_bytes())?;
    Ok(file)
}

/// The stores that a run left when it was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Their directory, which the next run with results beside it removes.
    pub dir: PathBuf,
    /// The processes that still use it: number and name.
    pub users: Vec<(u32, String)>,
}

/// Returns the stores that runs with results in `dir`, or in its subdirectories, left when they
/// were killed.
#[must_use]
pub fn left_in(dir: &Path) -> Vec<Left> {
    let below = entries(dir).into_iter().filter(|path| path.is_dir());
    let dirs = std::iter::once(dir.to_owned()).chain(below);
    let found = dirs.flat_map(|dir| entries(&dir)).filter(|path| left(path).is_some());
    found.map(|dir| Left { users: users(&dir), dir }).collect()
}

/// Removes the stores that runs with results in `out`, or in a directory that differs from it in
/// its number only, left when they were killed, and reports them to `note`. Directories that a
/// server still uses are only named.
pub(crate) fn remove_left(out: &Path, note: &dyn Fn(&str)) {
    for path in alike(out).iter().flat_map(|dir| entries(dir)) {
        let Some(_mark) = left(&path) else { continue };
        let shown = path.display();
        let begin = Instant::now();
        let mut users = users(&path);
        while !users.is_empty() && begin.elapsed() < END_LIMIT {
            std::thread::sleep(Duration::from_millis(100));
            users = self::users(&path);
        }
        if users.is_empty() {
            note(&match fs::remove_dir_all(&path) {
                Ok(()) => format!("removed {shown}: the stores of an earlier run that was killed"),
                Err(error) => {
                    format!(
                        "{shown}, the stores of an earlier run that was killed, cannot be removed: \
                         {error}"
                    )
                }
            });
        } else {
            let pids: Vec<String> = users.iter().map(|(pid, _)| pid.to_string()).collect();
            let named: Vec<String> =
                users.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
            note(&format!(
                "an earlier run that was killed left running in {shown}: {}; end with: kill {}; \
                 the next run then removes the directory",
                named.join(", "),
                pids.join(" ")
            ));
        }
    }
}

/// Lists the contents of `dir`, by name; empty if it cannot be read.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Returns `out`, and the directories beside it whose names differ only in the number at the end,
/// like the directories of successive runs.
fn alike(out: &Path) -> Vec<PathBuf> {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let stem = name
            .rsplit_once('-')
            .filter(|(_, number)| number.parse::<u32>().is_ok())
            .map(|(stem, _)| stem.to_owned());
        Some(stem.unwrap_or(name))
    };
    let parent =
        out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_other = |path: &PathBuf| {
        path.file_name() != out.file_name() && stem(path).is_some() && stem(path) == stem(out)
    };
    let others = entries(parent).into_iter().filter(|path| is_other(path) && path.is_dir());
    std::iter::once(out.to_owned())
        .chain(others.map(|path| match parent == Path::new(".") && out.is_relative() {
            true => path.strip_prefix(".").unwrap_or(&path).to_owned(),
            false => path,
        }))
        .collect()
}

/// Returns the locked mark of the directory `path`, if it is one of stores, of this user, whose run
/// has ended.
fn left(path: &Path) -> Option<File> {
    let ours = |facts: &fs::Metadata| facts.uid() == geteuid().as_raw();
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let is_dir = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir() && ours(&facts));
    if !is_named || !is_dir {
        return None;
    }
    let mut file =
        File::options().read(true).custom_flags(O_NOFOLLOW).open(path.join(MARK)).ok()?;
    if !file.metadata().is_ok_and(|facts| facts.is_file() && ours(&facts)) {
        return None;
    }
    match file.try_lock() {
        Ok(()) => {}
        // it lives, or that cannot be determined
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    (text == MARK_TEXT).then_some(file)
}

/// Returns the processes that work in `dir`, or whose command lines name a file below it, like
/// servers: number and name.
fn users(dir: &Path) -> Vec<(u32, String)> {
    let Ok(dir) = dir.canonicalize() else { return Vec::new() };
    let below = format!("{}/", dir.display());
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut users: Vec<(u32, String)> = pids
        .filter(|pid| {
            // some servers write other words over their command lines
            if fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&dir)) {
                return true;
            }
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .split('\0')
                .any(|word| format!("{word}/").contains(&below))
        })
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim().to_owned())
        })
        .collect();
    users.sort();
    users
}

/// Returns the label of a variant as a directory name: `none (2)` becomes `none-2`.
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
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WorkDirError {
            dir: dir.to_owned(),
            reason: format!("it cannot be removed: {error}"),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::{Command, Stdio};

    use super::*;

    fn plan(out: &Path) -> Plan {
        Plan { out: out.to_owned(), ..Plan::default() }
    }

    /// Does what a run in `out` does first; returns its messages.
    fn removed(out: &Path) -> Vec<String> {
        let said = RefCell::new(Vec::new());
        remove_left(out, &|text| said.borrow_mut().push(text.to_owned()));
        said.into_inner()
    }

    /// Returns a directory as a run leaves it that was killed.
    fn killed(out: &Path) -> PathBuf {
        let mut left = WorkDir::create(&plan(out)).unwrap();
        fs::create_dir_all(left.path.join("ycsb/none")).unwrap();
        fs::write(left.path.join("ycsb/none/000001.log"), "x").unwrap();
        left.temporary.take().unwrap().keep()
    }

    #[test]
    fn stores_of_a_dead_run_are_removed_and_those_of_a_living_one_stay() {
        let out = tempfile::tempdir().unwrap();
        let living = WorkDir::create(&plan(out.path())).unwrap();
        assert_eq!(removed(out.path()), Vec::<String>::new());
        let dead = [killed(out.path()), killed(out.path())];
        let said = removed(out.path());
        for path in &dead {
            let line =
                format!("removed {}: the stores of an earlier run that was killed", path.display());
            assert!(said.contains(&line), "{said:?}");
            assert!(!path.exists());
        }
        assert!(said.len() == 2 && living.path.is_dir());
        living.remove().unwrap();
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
        assert_eq!(removed(&out.path().join("not there")), Vec::<String>::new());
    }

    #[test]
    fn whatever_is_not_surely_ours_stays() {
        let out = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let make = |name: &str, mark: Option<&str>| {
            let dir = out.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("precious"), "x").unwrap();
            if let Some(text) = mark {
                fs::write(dir.join(MARK), text).unwrap();
            }
        };
        make("stores-of-mine", None);
        // between the moment at which it is made and that at which it is locked
        make("stores-empty", Some(""));
        make("stores-other", Some("something else"));
        make("backup", Some(MARK_TEXT));
        // a link to what would be removed, and a link as mark
        std::os::unix::fs::symlink(killed(elsewhere.path()), out.path().join("stores-link"))
            .unwrap();
        make("stores-linked-mark", None);
        let mark = out.path().join("backup").join(MARK);
        std::os::unix::fs::symlink(mark, out.path().join("stores-linked-mark").join(MARK)).unwrap();
        assert_eq!(removed(out.path()), Vec::<String>::new());
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 6);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_server_that_outlived_its_run_is_named_and_keeps_its_directory() {
        let out = tempfile::tempdir().unwrap();
        let dead = killed(out.path());
        let data = dead.join("ycsb/none/000001.log").canonicalize().unwrap();
        let mut server =
            Command::new("tail").arg("-f").arg(data).stdout(Stdio::null()).spawn().unwrap();
        // its command line shows only a moment after it was started
        while users(&dead).is_empty() {
            std::thread::yield_now();
        }
        let said = removed(out.path());
        let id = server.id();
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(
            said,
            [format!(
                "an earlier run that was killed left running in {}: tail ({id}); end with: kill \
                 {id}; the next run then removes the directory",
                dead.display()
            )]
        );
        assert_eq!(removed(out.path()).len(), 1);
        assert!(!dead.exists());
    }

    #[test]
    fn runs_with_numbered_results_remove_what_those_before_left() {
        let dir = tempfile::tempdir().unwrap();
        let out = |name: &str| dir.path().join(name);
        let dead = [killed(&out("results")), killed(&out("results-2")), killed(&out("other"))];
        let found: Vec<PathBuf> = left_in(dir.path()).into_iter().map(|left| left.dir).collect();
        assert_eq!(found, [&dead[2], &dead[0], &dead[1]].map(Clone::clone), "as they lie below it");
        assert_eq!(left_in(&out("other")), [Left { dir: dead[2].clone(), users: Vec::new() }]);
        assert_eq!(removed(&out("results-3")).len(), 2);
        assert_eq!(dead.map(|dir| dir.exists()), [false, false, true]);
        assert!(left_in(&out("results")).is_empty());
    }

    /// Servers end by themselves once their run was killed, but not at once.
    #[test]
    fn servers_that_are_about_to_end_are_waited_for() {
        let out = tempfile::tempdir().unwrap();
        let dead = killed(out.path());
        let data = dead.join("ycsb/none/000001.log").canonicalize().unwrap();
        let mut server = Command::new("timeout")
            .args(["1", "tail", "-f"])
            .arg(data)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while users(&dead).is_empty() {
            std::thread::yield_now();
        }
        let said = removed(out.path());
        server.wait().unwrap();
        assert!(said.len() == 1 && said[0].starts_with("removed "), "{said:?}");
    }
}
