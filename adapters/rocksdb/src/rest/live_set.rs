//! Check that a directory holds the database that its CURRENT and MANIFEST name: every table, blob
//! file and log of the [live set](LiveSet), each of the right length. Not here: the content of
//! files (`check`), reading a MANIFEST (`manifest`).
//!
//! The database may be in use. It writes a file before its MANIFEST names it, and removes a file
//! after its MANIFEST has dropped it; so a missing file counts only if a MANIFEST read later still
//! names it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sealstone_seal::CATALOGUE_NAMES;

use super::backup::{self, Shared};
use super::content::{Contents, NEXT, Unread};
use super::file_state::{State, state};
use super::files_on_disk::{lengths, numbered};
use super::report::{ComparedWith, Comparison, Finding, Verification};
use crate::catalogue::{Refusal, View};
use crate::manifest::{self, LiveSet, Replay};
use crate::place::{self, Place};

/// Longest CURRENT: it holds one name.
const CURRENT_BYTES_MAX: usize = 4096;
/// Longest OPTIONS file that is looked into.
const OPTIONS_BYTES_MAX: usize = 16 << 20;
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Beginnings of names that only the directory of a database holds.
const TRACES: [&str; 5] = ["LOCK", "IDENTITY", "OPTIONS-", "MANIFEST-", "SEALSTONE-CATALOGUE"];

/// Returns the directories outside `root` that a database in it keeps its logs in, since it was
/// opened with a `wal_dir`.
pub(super) fn log_directories(
    root: &Path,
    files: &[(String, u64)],
    contents: Contents<'_>,
) -> Vec<PathBuf> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let directories = by_directory(files);
    let named = directories
        .keys()
        .filter_map(|below| log_directory(&root.join(below), contents).ok().flatten());
    named.filter(|dir| fs::canonicalize(dir).is_ok_and(|dir| !dir.starts_with(&root))).collect()
}

/// Returns the logs in `dir`, by their whole paths, with their lengths.
pub(super) fn logs_in(dir: &Path) -> impl Iterator<Item = (String, u64)> {
    let here = lengths(dir)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| numbered(name, "log").is_some());
    here.map(|(name, bytes)| (dir.join(name).to_string_lossy().into_owned(), bytes))
}

/// Compares the directories that hold `files`, named from `root` on, and adds the findings to
/// `report`, which already holds the findings in each file.
pub(super) fn compare(
    root: &Path,
    files: &[(String, u64)],
    contents: Contents<'_>,
    report: &mut Verification,
) {
    let directories = by_directory(files);
    let mut of_logs = BTreeSet::new();
    for below in directories.keys() {
        if let Some(dir) = log_directory(&root.join(below), contents).ok().flatten() {
            of_logs.extend(fs::canonicalize(dir));
        }
    }
    let mut found = Vec::new();
    for (below, names) in directories {
        let mut look = Compare {
            root,
            below: &below,
            dir: root.join(&below),
            contents,
            report: &mut *report,
            found: &mut found,
        };
        let of_a_database =
            |dir: &Path| fs::canonicalize(dir).is_ok_and(|dir| of_logs.contains(&dir));
        // RocksDB keeps logs that others may still need in `archive`, and files that a repair took
        // out of a database in `lost`
        let is_beside = |dir: &Path| {
            let parent = dir.parent().filter(|_| dir.ends_with("archive") || dir.ends_with("lost"));
            parent.is_some_and(|parent| parent.join("CURRENT").exists() || of_a_database(parent))
        };
        let belongs_to_a_database = |dir: &Path| of_a_database(dir) || is_beside(dir);
        if look.dir.join("CURRENT").exists() {
            look.database();
        } else if !belongs_to_a_database(&look.dir) {
            look.without_current(&names);
        }
    }
    report.failures.append(&mut found);
}

/// Returns the names in each directory. A name from the root on holds no leading slash: the others
/// are elsewhere.
fn by_directory(files: &[(String, u64)]) -> BTreeMap<String, Vec<&str>> {
    let mut directories: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, _) in files.iter().filter(|(path, _)| !path.starts_with('/')) {
        let (below, name) = path.rsplit_once('/').unwrap_or(("", path));
        directories.entry(below.to_owned()).or_default().push(name);
    }
    directories
}

/// The comparison of one directory.
struct Compare<'a> {
    root: &'a Path,
    /// Its name from `root` on.
    below: &'a str,
    dir: PathBuf,
    contents: Contents<'a>,
    report: &'a mut Verification,
    /// Failures besides those of the check of each file.
    found: &'a mut Vec<Finding>,
}

/// Findings of a single look at a database.
#[derive(Default)]
struct Look {
    manifest: Option<String>,
    tables: u64,
    blob_files: u64,
    logs: u64,
    leftovers: Vec<String>,
    /// Files that are not as they should be, and why.
    failures: BTreeSet<(String, String)>,
    notes: Vec<(String, String)>,
}

impl Compare<'_> {
    fn database(&mut self) {
        let mut look = self.look();
        if !look.failures.is_empty() {
            // A finding of a look counts only if the next look, which reads CURRENT and MANIFEST
            // again, repeats it: a file that was removed in time is no longer named then. By name,
            // since a text may name a MANIFEST that was replaced.
            let before: BTreeSet<String> =
                std::mem::take(&mut look.failures).into_iter().map(|(name, _)| name).collect();
            thread::sleep(PAUSE);
            look = self.look();
            look.failures.retain(|(name, _)| before.contains(name));
        }
        if look.manifest.is_some() {
            self.settle(&look);
        }
        for (name, what) in look.failures {
            self.fail(name, what);
        }
        for (name, what) in look.notes {
            self.report.notes.push(finding(name, what));
        }
        let with = match look.manifest {
            Some(manifest) => {
                let Look { tables, blob_files, logs, leftovers, .. } = look;
                ComparedWith::LiveSet { manifest, tables, blob_files, logs, leftovers }
            }
            None => ComparedWith::Unknown,
        };
        self.compared(with);
    }

    /// Reconsiders the findings in each file of this directory, which may have been half written. A
    /// file outside the live set does no harm; a file of the live set was whole before the MANIFEST
    /// named it, so a second check decides.
    fn settle(&mut self, look: &Look) {
        let is_here = |finding: &Finding| {
            finding.file.rsplit_once('/').unwrap_or(("", &finding.file)).0 == self.below
        };
        let (here, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.report.failures)
            .into_iter()
            .partition(|failure| is_here(failure));
        self.report.failures = others;
        let mut again = BTreeSet::new();
        for failure in here {
            if look.leftovers.contains(&failure.file) {
                let what =
                    format!("not part of the live set, so nothing needs it: {}", failure.what);
                self.report.notes.push(Finding { what, ..failure });
            } else if again.insert(failure.file.clone()) {
                self.report.failures.extend(self.contents.check(self.root, &failure.file));
            }
        }
    }

    /// Compares the current files with the files that CURRENT and MANIFEST name now.
    fn look(&self) -> Look {
        let mut look = Look::default();
        let (manifest, live) = match named_by_current(&self.dir, self.contents) {
            Ok(found) => found,
            Err((name, unread)) => {
                let role = match name.as_str() {
                    "CURRENT" => "it should name the MANIFEST of the database",
                    _ => "CURRENT names it, and it should name the files of the database",
                };
                look.failures.insert((self.named(&name), unread.explain(role)));
                return look;
            }
        };
        // listed after the MANIFEST was read, so that everything that it names is there, unless it
        // was dropped since
        let present = lengths(&self.dir).unwrap_or_default();
        let shared = backup::shared(&self.dir);
        let mut elsewhere = 0;
        for family in live.families.values() {
            for table in family.tables.values() {
                let what =
                    format!("a table on level {} of column family {}", table.level, family.name);
                let names =
                    [format!("{:06}.sst", table.number), format!("{:06}.ldb", table.number)];
                let shared = shared.as_ref().map(|shared| (shared, table.number, "sst"));
                let wanted =
                    Wanted { names: &names, bytes: table.bytes, what: &what, manifest: &manifest };
                if let Some(failure) = self.wanted(&wanted, &present, shared) {
                    // RocksDB does not record the place of these directories
                    match table.path_id > 0 && failure.missing {
                        true => elsewhere += 1,
                        false => drop(look.failures.insert((failure.name, failure.what))),
                    }
                }
                look.tables += 1;
            }
        }
        for (number, bytes) in live.blob_files() {
            let names = [format!("{number:06}.blob")];
            let shared = shared.as_ref().map(|shared| (shared, number, "blob"));
            let wanted = Wanted { names: &names, bytes, what: "a blob file", manifest: &manifest };
            if let Some(failure) = self.wanted(&wanted, &present, shared) {
                look.failures.insert((failure.name, failure.what));
            }
            look.blob_files += 1;
        }
        if elsewhere > 0 {
            let what = format!(
                "names {elsewhere} tables in further directories of the database (db_paths, \
                 cf_paths), which no file here names; they were not checked"
            );
            look.notes.push((self.named(&manifest), what));
        }
        if live.unfinished_bytes > 0 {
            let what = format!(
                "ends within a record of {} bytes or more; its writer was stopped there, and \
                 recovery ends before it",
                live.unfinished_bytes
            );
            look.notes.push((self.named(&manifest), what));
        }
        self.logs(&mut look, &live, &manifest, &present);
        self.control_files(&mut look, &live, &manifest, &present);
        look.manifest = Some(manifest);
        look
    }

    /// Checks a file of the live set, and returns its fault, if any.
    fn wanted(
        &self,
        wanted: &Wanted<'_>,
        present: &BTreeMap<String, u64>,
        shared: Option<(&Shared, u64, &str)>,
    ) -> Option<Failure> {
        let Wanted { names, bytes, what, manifest } = wanted;
        let mut candidates: Vec<(String, PathBuf, u64)> = Vec::new();
        for name in *names {
            let path = self.dir.join(name);
            let stored_bytes = present.get(name).copied().or_else(|| match place::look(&path) {
                Ok(Place::File { bytes }) => Some(bytes),
                _ => None,
            });
            candidates
                .extend(stored_bytes.map(|stored_bytes| (self.named(name), path, stored_bytes)));
        }
        if let Some((shared, number, ending)) = shared {
            let found = shared.candidates(number, ending);
            candidates.extend(found.map(|(path, bytes)| (self.shown(&path), path, bytes)));
        }
        let mut wrong = None;
        for (name, path, stored_bytes) in candidates {
            let found = match state(&path, stored_bytes) {
                Ok(State::Empty) => "empty".to_owned(),
                Ok(State::Sealed(sealed)) => match sealed.logical_bytes {
                    Some(found) if found != *bytes => format!("{found} bytes"),
                    Some(_) => return None,
                    None if sealed.page_bytes.is_some() => return None,
                    None => format!("sealed as {}", sealed.format),
                },
                // the check of the file itself reports why
                Ok(State::NotSealed | State::Unreadable { .. }) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return None,
            };
            let what = format!("{found}, but {manifest} names {what} of {bytes} bytes\n{NEXT}");
            wrong.get_or_insert(Failure { name, what, missing: false });
        }
        Some(wrong.unwrap_or_else(|| Failure {
            name: self.named(&names[0]),
            what: format!("missing: {manifest} names {what} of {bytes} bytes\n{NEXT}"),
            missing: true,
        }))
    }

    /// Compares the logs, here and in the directory that OPTIONS names.
    fn logs(
        &self,
        look: &mut Look,
        live: &LiveSet,
        manifest: &str,
        present: &BTreeMap<String, u64>,
    ) {
        let mut logs: BTreeMap<u64, (String, PathBuf, u64)> = BTreeMap::new();
        let mut add = |dir: &Path, lengths: &BTreeMap<String, u64>| {
            for (name, bytes) in lengths {
                if let Some(number) = numbered(name, "log") {
                    let path = dir.join(name);
                    logs.entry(number).or_insert((self.shown(&path), path, *bytes));
                }
            }
        };
        add(&self.dir, present);
        match log_directory(&self.dir, self.contents) {
            Ok(Some(dir)) => match lengths(&dir) {
                Ok(lengths) => add(&dir, &lengths),
                Err(error) => {
                    let what = format!("the directory of the logs cannot be read: {error}\n{NEXT}");
                    look.failures.insert((self.shown(&dir), what));
                }
            },
            Ok(None) => {}
            // the check of the file itself reports why
            Err(()) => {}
        }
        if let Some((path, what)) = other_logs(&self.dir, self.contents) {
            look.failures.insert((self.shown(Path::new(&path)), what));
        }
        for (number, synced_bytes) in &live.wals {
            // one that was never synced may be gone after a power cut
            let Some(synced_bytes) = synced_bytes else { continue };
            let want = format!("{manifest} says that {synced_bytes} bytes of log were synced");
            let Some((name, path, _)) = logs.get(number) else {
                let name = self.named(&format!("{number:06}.log"));
                look.failures.insert((name, format!("missing: {want}\n{NEXT}")));
                continue;
            };
            match self.contents.bytes(path) {
                Ok(bytes) if bytes < *synced_bytes => {
                    look.failures.insert((
                        name.clone(),
                        format!("{bytes} bytes of log, but {want}\n{NEXT}"),
                    ));
                }
                Ok(_) => {}
                Err(unread) => drop(look.failures.insert((name.clone(), unread.explain(&want)))),
            }
        }
        for (number, (name, path, stored_bytes)) in &logs {
            if *number < live.first_log_needed() {
                look.leftovers.push(name.clone());
                continue;
            }
            look.logs += 1;
            // a catalogue records how much of a log was synced, and so whether it may be empty
            let catalogued =
                CATALOGUE_NAMES.iter().any(|catalogue| path.with_file_name(catalogue).exists());
            if *stored_bytes > 0 || catalogued {
                continue;
            }
            if *number < live.next_file_number {
                let what = format!(
                    "empty: a log has a header from its beginning on, and {manifest} is newer\n\
                     {NEXT}"
                );
                look.failures.insert((name.clone(), what));
            } else {
                look.notes.push((
                    name.clone(),
                    "empty: its writer was stopped when it began the log".into(),
                ));
            }
        }
    }

    /// Checks the files other than data, and names files that are not part of the database.
    fn control_files(
        &self,
        look: &mut Look,
        live: &LiveSet,
        manifest: &str,
        present: &BTreeMap<String, u64>,
    ) {
        let tables: BTreeSet<u64> = live.tables().map(|table| table.number).collect();
        let blobs: BTreeSet<u64> = live.blob_files().map(|(number, _)| number).collect();
        for (name, stored_bytes) in present {
            let is_control =
                name == "IDENTITY" || (name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp"));
            if is_control && *stored_bytes == 0 {
                let what = format!("empty: RocksDB never leaves it like that\n{NEXT}");
                look.failures.insert((self.named(name), what));
            }
            let table = numbered(name, "sst").or_else(|| numbered(name, "ldb"));
            let is_part = match (table, numbered(name, "blob")) {
                (Some(number), _) => tables.contains(&number),
                (_, Some(number)) => blobs.contains(&number),
                // covered with the logs
                _ if numbered(name, "log").is_some() => true,
                _ => {
                    let known = ["CURRENT", "LOCK", "LOG", manifest];
                    known.contains(&name.as_str())
                        || is_control
                        || name.starts_with("LOG.old.")
                        || name.starts_with("SEALSTONE-")
                }
            };
            if !is_part {
                look.leftovers.push(self.named(name));
            }
        }
    }

    /// Looks at a directory that has no CURRENT.
    fn without_current(&mut self, names: &[&str]) {
        // a directory that has disappeared in the meantime has no findings
        let Ok(present) = lengths(&self.dir) else { return };
        let stored: Vec<(&str, State)> = names
            .iter()
            .filter_map(|name| {
                Some((*name, state(&self.dir.join(name), *present.get(*name)?).ok()?))
            })
            .collect();
        let is_trace = |name: &str, state: &State| {
            let is_log = matches!(state, State::Sealed(sealed) if sealed.page_bytes.is_none());
            is_log
                || numbered(name, "log").is_some()
                || TRACES.iter().any(|trace| name.starts_with(trace))
        };
        let traces: Vec<&str> = stored
            .iter()
            .filter(|(name, state)| is_trace(name, state))
            .map(|(name, _)| *name)
            .collect();
        if let Some(first) = traces.first() {
            let more = match traces.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let what = format!(
                "missing: {first}{more} show that there is a database here\n\
                 {NEXT}; verify a directory of logs together with its database"
            );
            self.fail(self.named("CURRENT"), what);
            self.compared(ComparedWith::Unknown);
            return;
        }
        for (name, state) in &stored {
            if *state == State::Empty
                && [".sst", ".ldb", ".blob"].iter().any(|ending| name.ends_with(ending))
            {
                self.fail(
                    self.named(name),
                    format!("empty: a sealed file has a header at least\n{NEXT}"),
                );
            }
        }
        for (path, what) in backup::missing(&self.dir, &stored, self.contents) {
            self.fail(self.shown(&path), what);
        }
        if stored.iter().any(|(_, state)| matches!(state, State::Sealed(_))) {
            self.compared(ComparedWith::Nothing);
        }
    }

    fn compared(&mut self, with: ComparedWith) {
        self.report.compared.push(Comparison { directory: self.below.to_owned(), with });
    }

    /// Adds a failure, unless the check of that file found one already.
    fn fail(&mut self, name: String, what: String) {
        if !self.report.failures.iter().chain(&*self.found).any(|failure| failure.file == name) {
            self.found.push(finding(name, what));
        }
    }

    /// Returns the name of a file of this directory, from the root on.
    fn named(&self, name: &str) -> String {
        if self.below.is_empty() { name.to_owned() } else { format!("{}/{name}", self.below) }
    }

    /// Returns the same for any file: the whole path if it is not below the root.
    fn shown(&self, path: &Path) -> String {
        let root = fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        let below =
            path.strip_prefix(self.root).or_else(|_| path.strip_prefix(root)).unwrap_or(path);
        below.to_string_lossy().into_owned()
    }
}

/// A file of the live set.
struct Wanted<'a> {
    /// The names that it may have.
    names: &'a [String],
    /// Length of its content.
    bytes: u64,
    /// Description of the file, in words.
    what: &'a str,
    /// Name of the MANIFEST that names it.
    manifest: &'a str,
}

/// Problem with a file of the live set.
struct Failure {
    name: String,
    what: String,
    missing: bool,
}

fn finding(file: String, what: String) -> Finding {
    Finding { file, page: None, frame: None, what }
}

/// Returns the name of the MANIFEST that CURRENT in `dir` names, and its content; or the
/// obstructing file and the reason.
pub(super) fn named_by_current(
    dir: &Path,
    contents: Contents<'_>,
) -> Result<(String, LiveSet), (String, Unread)> {
    let current = contents.small(&dir.join("CURRENT"), CURRENT_BYTES_MAX);
    let manifest = match current.and_then(|content| Ok(manifest::named_by_current(&content)?)) {
        Ok(number) => format!("MANIFEST-{number:06}"),
        Err(unread) => return Err(("CURRENT".into(), unread)),
    };
    let mut replay = Replay::new();
    let read = contents.each(&dir.join(&manifest), &mut |content| Ok(replay.push(content)?));
    let live = read.and_then(|()| {
        replay.finish().map_err(|error| Unread::Failed(format!("as a MANIFEST: {error}")))
    });
    live.map(|live| (manifest.clone(), live)).map_err(|unread| (manifest, unread))
}

/// Returns the directory of the logs of the database in `dir`, if its OPTIONS name one other than
/// `dir`.
///
/// # Errors
/// OPTIONS that cannot be read.
pub(super) fn log_directory(dir: &Path, contents: Contents<'_>) -> Result<Option<PathBuf>, ()> {
    let Some(text) = newest_options(dir, contents)? else { return Ok(None) };
    let value = text.lines().find_map(|line| line.trim_start().strip_prefix("wal_dir="));
    let named = PathBuf::from(unescaped(value.unwrap_or_default()));
    // a path that is not absolute begins where the database's own process was
    let is_other =
        named.is_absolute() && fs::canonicalize(&named).ok() != fs::canonicalize(dir).ok();
    Ok(is_other.then_some(named))
}

/// Returns the fault of the directory in which the database in `dir` has its logs, according to its
/// catalogue, and its path; none if that is unknown, since the catalogue cannot be read, which is
/// reported elsewhere.
pub(super) fn other_logs(dir: &Path, contents: Contents<'_>) -> Option<(String, String)> {
    let dir = dir.to_str()?;
    let mut view = View::new(contents.keys, contents.backend);
    // a path that is not absolute begins where the database's own process was
    let logs = view.logs(dir).ok()?.filter(|logs| logs.path.starts_with('/'))?;
    match view.other_logs(dir, &logs) {
        Ok(found) => found.map(|(path, error)| (path, error.to_string())),
        Err(Refusal::Seal { path, error }) => Some((path, error.to_string())),
        Err(Refusal::Raw(error)) => Some((logs.path, error.0)),
    }
}

/// Returns the text of the newest OPTIONS file in `dir`, if there is one.
///
/// # Errors
/// One that cannot be read.
pub(super) fn newest_options(dir: &Path, contents: Contents<'_>) -> Result<Option<String>, ()> {
    let names = lengths(dir).map_err(drop)?.into_keys();
    let newest = names
        .filter_map(|name| Some((name.strip_prefix("OPTIONS-")?.parse::<u64>().ok()?, name)))
        .max();
    let Some((_, name)) = newest else { return Ok(None) };
    let content = contents.small(&dir.join(name), OPTIONS_BYTES_MAX).map_err(drop)?;
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}

/// Returns a value of an OPTIONS file, in which a backslash precedes what would otherwise mean
/// something else.
fn unescaped(value: &str) -> String {
    let mut characters = value.chars();
    let mut plain = String::with_capacity(value.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next().map(|next| match next {
                'n' => '\n',
                'r' => '\r',
                other => other,
            })),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_taken_apart() {
        assert_eq!(numbered("000012.log", "log"), Some(12));
        assert_eq!(numbered("1234567.log", "log"), Some(1_234_567));
        for other in
            ["12.sst", ".log", "log", "-1.log", "1x.log", "LOG", "99999999999999999999999.log"]
        {
            assert_eq!(numbered(other, "log"), None, "{other}");
        }
        assert_eq!(unescaped(r"/a\#b\\c\:d"), r"/a#b\c:d");
        assert_eq!(unescaped("\\"), "");
    }
}
