//! Data at rest: what in a directory is sealed, how and under which key ([`status`]), and whether all of it is whole
//! ([`verify`]). Both read stored files as they are and never through RocksDB, so they need no lock and change nothing;
//! of a store in use they see the moment. [`rotate`] brings all of it under the current key, data untouched.
//!
//! Not here: printing (`sealstone-cli`), repair (there is none: restore from a backup).

mod backup;
mod content;
mod error;
mod rotate;
mod verify;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sealstone_cipher::backend::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::frame::{End, FrameReader};
use sealstone_seal::identity::{Kind, rocksdb_name};
use sealstone_seal::paged::{self, Pages, Shape};
use sealstone_seal::{HEADER_BYTES, HeaderInfo, Layout, SealError, SealedFile, TAG_BYTES, copies_agree, inspect};
use serde::Serialize;

use crate::anchor::Anchor;
use crate::catalogue::{Refusal, View, is_temporary};
use crate::opening::{self, Header};
use content::Contents;
pub use error::RestError;
pub use rotate::{Protected, Rotation, RotationProgress, protected, rotate};
pub use verify::{ComparedWith, Comparison};

/// Version of the reports.
pub const SCHEMA: u32 = 1;
/// How long the files of a store in use may take to be what its catalogue says.
const SETTLE: Duration = Duration::from_millis(100);
/// Stored bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// What a directory holds.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Every file below it, in order of name.
    pub files: Vec<FileStatus>,
    /// Sums by cipher and key.
    pub totals: Vec<Total>,
    /// Names of the files that hold something and are not sealed, or cannot be read.
    pub not_sealed: Vec<String>,
    /// Bytes on disk of those.
    pub not_sealed_bytes: u64,
    /// What share of all bytes on disk that is, in percent.
    pub not_sealed_percent: f64,
    /// Bytes on disk of all files.
    pub stored_bytes: u64,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileStatus {
    /// Name, from the directory on.
    pub name: String,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// What it is.
    #[serde(flatten)]
    pub state: State,
}

/// What a file is, judged by its header alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Sealed.
    Sealed(Sealed),
    /// It holds nothing, as a lock file.
    Empty,
    /// It holds something in the clear.
    NotSealed,
    /// It cannot be read, or begins as a sealed file and does not go on as one.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// How a file is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sealed {
    /// `pages` or `frames`.
    pub format: &'static str,
    /// Bytes of data in a page, where there are pages.
    pub page_bytes: Option<u32>,
    /// Cipher name.
    pub cipher: &'static str,
    /// Name of the key that wraps the file's own.
    pub key_id: String,
    /// Version of that key.
    pub key_version: u32,
    /// Bytes of data in it; absent for frames, whose lengths only the key tells.
    pub logical_bytes: Option<u64>,
}

/// Sum over the files of one cipher and key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// Cipher name.
    pub cipher: &'static str,
    /// Name of the key.
    pub key_id: String,
    /// Version of the key.
    pub key_version: u32,
    /// Files.
    pub files: u64,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// What share of all bytes on disk that is, in percent.
    pub share_percent: f64,
}

/// How far [`verify`] has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file being checked.
    pub file: &'a str,
    /// Stored bytes checked so far, over all files.
    pub done_bytes: u64,
    /// Stored bytes to check, over all files.
    pub total_bytes: u64,
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Files checked.
    pub files: u64,
    /// Pages that are whole.
    pub pages: u64,
    /// Frames that are whole.
    pub frames: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// What the files of each directory were compared with.
    pub compared: Vec<Comparison>,
    /// What an anchor said, where one was asked and the store is not older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<AnchorCheck>,
    /// Everything that is not as it was sealed.
    pub failures: Vec<Finding>,
    /// What a crash leaves behind and recovery puts right.
    pub notes: Vec<Finding>,
}

impl Verification {
    /// Whether everything is sealed and whole.
    pub fn is_whole(&self) -> bool {
        self.failures.is_empty()
    }
}

/// How new a store is beside what an anchor remembered: generation and changes of its catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnchorCheck {
    /// Where the anchor is.
    pub anchor: String,
    /// What it remembered; absent: nothing yet.
    pub remembered: Option<String>,
    /// What was found, which it remembers from now on if the store is whole; absent: the store has no catalogue.
    pub found: Option<String>,
}

/// One thing found in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name, from the directory on.
    pub file: String,
    /// Page it is about, from 0, if it is about one.
    pub page: Option<u64>,
    /// Frame it is about, from 0, if it is about one.
    pub frame: Option<u64>,
    /// What was found, in words.
    pub what: String,
}

/// Says of every file below `dir` whether and how it is sealed. Needs no key.
///
/// # Errors
/// A directory that cannot be read.
pub fn status(dir: &Path) -> Result<Status, RestError> {
    let mut files = Vec::new();
    let mut totals: BTreeMap<(&'static str, String, u32), (u64, u64)> = BTreeMap::new();
    for (name, stored_bytes) in list(dir)? {
        let state = match state(&dir.join(&name), stored_bytes) {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => State::Unreadable { why: error.to_string() },
        };
        if let State::Sealed(sealed) = &state {
            let total = totals.entry((sealed.cipher, sealed.key_id.clone(), sealed.key_version)).or_default();
            *total = (total.0 + 1, total.1 + stored_bytes);
        }
        files.push(FileStatus { name, stored_bytes, state });
    }
    let all_bytes = files.iter().map(|file| file.stored_bytes).sum();
    let percent = |bytes: u64| if bytes == 0 { 0.0 } else { 100.0 * bytes as f64 / all_bytes as f64 };
    let open = files.iter().filter(|file| matches!(file.state, State::NotSealed | State::Unreadable { .. }));
    let (not_sealed, lengths): (Vec<String>, Vec<u64>) =
        open.map(|file| (file.name.clone(), file.stored_bytes)).unzip();
    let not_sealed_bytes = lengths.iter().sum();
    let totals = totals
        .into_iter()
        .map(|((cipher, key_id, key_version), (files, stored_bytes))| Total {
            cipher,
            key_id,
            key_version,
            files,
            stored_bytes,
            share_percent: percent(stored_bytes),
        })
        .collect();
    Ok(Status {
        schema: SCHEMA,
        dir: dir.to_owned(),
        files,
        totals,
        not_sealed,
        not_sealed_bytes,
        not_sealed_percent: percent(not_sealed_bytes),
        stored_bytes: all_bytes,
    })
}

/// Opens every page and frame of every file below `dir`, compares the files of each database with the live set that its
/// CURRENT and MANIFEST name, and reports all that fails.
///
/// - `keys`: must hold the keys that the files name
/// - `backend`: instruction set to use
/// - `anchor`: what remembers how new the store in `dir` itself was, if there is something. A store that is older is a
///   failure; one that is whole and newer is remembered from now on
/// - `progress`: called about once a megabyte
///
/// # Errors
/// A directory that cannot be read; an anchor that cannot be read or written. What is wrong with a file is not an error but
/// a failure in the report.
pub fn verify(
    dir: &Path,
    keys: &dyn KeySource,
    backend: Backend,
    anchor: Option<&dyn Anchor>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Verification, RestError> {
    let mut files = list(dir)?;
    let contents = Contents { keys, backend };
    files.extend(verify::logs_elsewhere(dir, &files, contents));
    let total_bytes = files.iter().map(|(_, bytes)| bytes).sum();
    let mut report = Verification { schema: SCHEMA, dir: dir.to_owned(), ..Verification::default() };
    let mut view = View::new(keys, backend);
    for (name, _) in &files {
        let path = dir.join(name);
        let (view, progress) = (&mut view, &mut *progress);
        let mut check = Check { name, path: &path, keys, backend, view, report: &mut report, progress, total_bytes };
        check.tell();
        match File::open(&path).and_then(|file| check.file(&file)) {
            Ok(()) => {}
            // compaction removes files while the store is in use
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => check.fail(None, None, format!("cannot be read: {error}")),
        }
        report.files += 1;
    }
    // what the live set says of a file is what its reader can act on; the catalogue adds what that does not speak of
    verify::compare(dir, &files, contents, &mut report);
    survey(dir, &files, &mut view, &mut report);
    if let Some(anchor) = anchor {
        check_anchor(dir, anchor, &mut view, &mut report)?;
    }
    Ok(report)
}

/// Compares how new the store is with what `anchor` remembers, and has it remember what is newer, if all of it is whole.
fn check_anchor(
    dir: &Path,
    anchor: &dyn Anchor,
    view: &mut View<'_>,
    report: &mut Verification,
) -> Result<(), RestError> {
    match view.check_anchor(&dir.to_string_lossy(), anchor) {
        Ok((remembered, found)) => {
            if let Some(found) = found.filter(|found| report.is_whole() && Some(*found) != remembered) {
                anchor.write(&found)?;
            }
            let [remembered, found] = [remembered, found].map(|mark| mark.map(|mark| mark.age()));
            report.anchor = Some(AnchorCheck { anchor: anchor.describe(), remembered, found });
        }
        Err(Refusal::Seal { path, error }) => {
            let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
            report.failures.push(Finding { file, page: None, frame: None, what: error.to_string() });
        }
        Err(Refusal::Raw(error)) => return Err(RestError::Catalogue(error.0)),
    }
    Ok(())
}

/// Compares the files of `dir` with what the catalogues list.
fn survey(dir: &Path, files: &[(String, u64)], view: &mut View<'_>, report: &mut Verification) {
    let mut directories: Vec<&str> =
        files.iter().map(|(name, _)| name.rsplit_once('/').map_or("", |it| it.0)).collect();
    directories.push("");
    directories.sort_unstable();
    directories.dedup();
    for directory in directories {
        let path = dir.join(directory);
        let mut look = || view.survey(&path.to_string_lossy());
        let found = look().and_then(|first| {
            if first.is_empty() {
                return Ok(first);
            }
            // files of a store in use come and go: what is wrong stays so
            thread::sleep(SETTLE);
            let again = look()?;
            Ok(first.into_iter().filter(|(name, _)| again.iter().any(|(other, _)| other == name)).collect())
        });
        let wrong = match found {
            Ok(wrong) => wrong,
            Err(Refusal::Seal { path, error }) => vec![(path.rsplit('/').next().unwrap_or(&path).to_owned(), error)],
            Err(Refusal::Raw(error)) => {
                let what = format!("cannot be read: {}", error.0);
                report.failures.push(Finding { file: directory.to_owned(), page: None, frame: None, what });
                continue;
            }
        };
        for (name, error) in wrong {
            let file = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if !report.failures.iter().any(|failure| failure.file == file) {
                report.failures.push(Finding { file, page: None, frame: None, what: error.to_string() });
            }
        }
    }
}

/// The check of one file.
struct Check<'a, 'k> {
    name: &'a str,
    path: &'a Path,
    keys: &'k dyn KeySource,
    backend: Backend,
    view: &'a mut View<'k>,
    report: &'a mut Verification,
    progress: &'a mut dyn FnMut(Progress<'_>),
    total_bytes: u64,
}

impl Check<'_, '_> {
    fn file(&mut self, file: &File) -> io::Result<()> {
        let stored_bytes = file.metadata()?.len();
        let base = self.name.rsplit('/').next().unwrap_or(self.name);
        let (kind, _) = rocksdb_name(base);
        let path = self.path.to_string_lossy().into_owned();
        // of an empty file the comparison with the live set says what is missing; of a log the catalogue does
        if stored_bytes == 0 && kind != Kind::Log {
            return Ok(());
        }
        let mut read = |into: &mut [u8]| read_start(file, into);
        let header = Header::read(&mut read)?;
        let sealed = match opening::open(self.keys, self.backend, header, read)? {
            Ok(sealed) => sealed,
            Err(error @ SealError::Unfinished { .. }) if kind == Kind::Log => {
                match self.view.synced(&path) {
                    Ok(Some(0)) => self.note("holds nothing: it was never synced, and its writer was stopped".into()),
                    Ok(Some(synced)) => self.fail_with(&SealError::CutShort { end: 0, synced }),
                    _ => self.fail_with(&error),
                }
                return Ok(());
            }
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let mut header = [0; HEADER_BYTES];
        let got = read_start(file, &mut header)?;
        if !copies_agree(&header[..got]) {
            self.note("the copies of its header differ; `rest rotate` makes both whole again".into());
        }
        let synced_bytes = match kind {
            Kind::Loose | Kind::Catalogue => 0,
            _ if is_temporary(base) => 0,
            _ => match self.view.check(&path, sealed.info()) {
                Ok(synced_bytes) => synced_bytes,
                // removed meanwhile
                Err(_) if !self.path.exists() || self.view.is_leaving(&path) => return Ok(()),
                Err(Refusal::Seal { error, .. }) => {
                    self.fail_with(&error);
                    return Ok(());
                }
                Err(Refusal::Raw(error)) => return Err(io::Error::other(error.0)),
            },
        };
        match sealed.info().layout {
            Layout::Paged { .. } => self.pages(file, &sealed, stored_bytes),
            Layout::Frames => self.frames(file, &sealed, synced_bytes),
        }
    }

    fn pages(&mut self, file: &File, sealed: &SealedFile, stored_bytes: u64) -> io::Result<()> {
        let shape = match Shape::of(sealed, stored_bytes) {
            Ok(shape) => shape,
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let last = shape.last_page();
        let mut stored = vec![0; last.bytes];
        file.read_exact_at(&mut stored, last.offset)?;
        let pages = match Pages::open(sealed, stored_bytes, &mut stored) {
            Ok((pages, _)) => {
                self.report.pages += 1;
                pages
            }
            Err(error) => {
                self.fail_with(&error);
                match Pages::unproven(sealed, stored_bytes) {
                    Ok(pages) => pages,
                    Err(_) => return Ok(()),
                }
            }
        };
        let stride = shape.page_bytes() as usize + TAG_BYTES;
        let at_once = (CHUNK_BYTES / stride).max(1) as u64;
        let before_last = shape.pages() - 1;
        let mut first = 0;
        while first < before_last {
            let count = at_once.min(before_last - first);
            stored.resize(count as usize * stride, 0);
            file.read_exact_at(&mut stored, shape.page(first).offset)?;
            for (page, stored) in (first..).zip(stored.chunks_exact_mut(stride)) {
                match pages.open_stored(page, stored) {
                    Ok(_) => self.report.pages += 1,
                    Err(error) => self.fail_with(&error),
                }
            }
            self.done(stored.len() as u64);
            first += count;
        }
        self.done(last.bytes as u64);
        Ok(())
    }

    fn frames(&mut self, file: &File, sealed: &SealedFile, synced_bytes: u64) -> io::Result<()> {
        let mut reader = match FrameReader::new(sealed, synced_bytes) {
            Ok(reader) => reader,
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let mut stored = vec![0; CHUNK_BYTES];
        loop {
            loop {
                match reader.next_frame() {
                    Ok(Some(_)) => self.report.frames += 1,
                    Ok(None) => break,
                    Err(error) => {
                        self.fail_with(&error);
                        return Ok(());
                    }
                }
            }
            let got = file.read_at(&mut stored, reader.next_offset())?;
            if got == 0 {
                break;
            }
            reader.push(&stored[..got]);
            self.done(got as u64);
        }
        match reader.end() {
            Ok(End::Clean) => {}
            Ok(End::Torn { offset, bytes, .. }) => {
                self.note(format!(
                    "ends within a frame: {bytes} bytes from byte {offset} on; its writer was stopped there, and \
                     recovery ends before them"
                ));
            }
            Err(error) => self.fail_with(&error),
        }
        Ok(())
    }

    fn done(&mut self, bytes: u64) {
        self.report.stored_bytes += bytes;
        self.tell();
    }

    fn tell(&mut self) {
        (self.progress)(Progress {
            file: self.name,
            done_bytes: self.report.stored_bytes,
            total_bytes: self.total_bytes,
        });
    }

    fn fail_with(&mut self, error: &SealError) {
        // RocksDB gives a file its name only once all of it is written; of what has none yet, nothing is ever read
        if self.name.ends_with(".dbtmp") && matches!(error, SealError::Unfinished { .. } | SealError::Page { .. }) {
            self.note("left unfinished by a writer that was stopped; nothing reads it".into());
            return;
        }
        let (page, frame) = match error {
            SealError::Page { page, .. } => (Some(*page), None),
            SealError::Frame { index, .. } => (None, Some(*index)),
            _ => (None, None),
        };
        self.fail(page, frame, error.to_string());
    }

    fn fail(&mut self, page: Option<u64>, frame: Option<u64>, what: String) {
        self.report.failures.push(Finding { file: self.name.to_owned(), page, frame, what });
    }

    fn note(&mut self, what: String) {
        self.report.notes.push(Finding { file: self.name.to_owned(), page: None, frame: None, what });
    }
}

/// What the header of one file says.
fn state(path: &Path, stored_bytes: u64) -> io::Result<State> {
    if stored_bytes == 0 {
        return Ok(State::Empty);
    }
    let header = read_header(&File::open(path)?)?;
    Ok(match inspect(&header) {
        Ok(info) => sealed(info, stored_bytes),
        Err(SealError::NotSealed) => State::NotSealed,
        Err(error) => State::Unreadable { why: error.to_string() },
    })
}

fn sealed(info: HeaderInfo, stored_bytes: u64) -> State {
    let page_bytes = match info.layout {
        Layout::Paged { page_bytes } => Some(page_bytes),
        Layout::Frames => None,
    };
    let logical_bytes = page_bytes.and_then(|_| paged::logical_bytes(&info, stored_bytes).ok());
    State::Sealed(Sealed {
        format: info.layout.name(),
        page_bytes,
        cipher: info.cipher.name,
        key_id: info.key.id,
        key_version: info.key.version,
        logical_bytes,
    })
}

/// Fills `into` from the beginning of the file, as far as it reaches.
fn read_start(file: &File, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match file.read_at(&mut into[got..], got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn read_header(file: &File) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    Ok(header)
}

/// Every file below `dir` with its length, by name from `dir` on, in order.
fn list(dir: &Path) -> Result<Vec<(String, u64)>, RestError> {
    let mut files = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(below) = directories.pop() {
        let here = if below.as_os_str().is_empty() { dir.to_owned() } else { dir.join(&below) };
        let cannot = |source| RestError::Directory { dir: here.clone(), source };
        for entry in fs::read_dir(&here).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = below.join(entry.file_name());
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => directories.push(name),
                Ok(facts) if facts.is_file() => files.push((name.to_string_lossy().into_owned(), facts.len())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(cannot(error)),
            }
        }
    }
    files.sort();
    Ok(files)
}
