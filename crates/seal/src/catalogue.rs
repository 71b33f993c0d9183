//! The catalogue of a directory: its sealed files, by id, and how much of its logs was synced. With
//! it a file that was added, renamed, emptied, removed, taken from elsewhere or restored to an
//! older state is an error. Byte by byte in `docs/formats.md`. Not here: reading and writing files,
//! and when (`adapters/*`).
//!
//! A catalogue is a sealed file of frames that begins with its full list, followed by changes. It
//! is stored twice, under two names, so that neither a torn write nor an attacker who restores an
//! older copy of one loses anything. Between header and frames are slots for data that changes too
//! often for a frame: how much of a log was synced. Each exists twice, and the two are written
//! alternately, so that a torn write leaves the previous one.

use std::collections::BTreeMap;

use sealstone_cipher::memory::Protected;
use sealstone_cipher::{Aead, Backend, Cipher, Provider};
use sealstone_keys::KeySource;
use subtle::ConstantTimeEq;

use crate::frame::{FrameReader, FrameWriter};
use crate::header::{FILE_ID_BYTES, HEADER_BYTES, Layout};
use crate::identity::{Identity, Kind, STORE_ID_BYTES, rocksdb_name};
pub use crate::limits::SLOTS;
use crate::limits::{SLOT_BYTES, SLOTS_BYTES};
use crate::random::fill_random;
use crate::segment::nonce;
use crate::{SealError, SealedFile, TAG_BYTES};

/// Length of a slot's content, in bytes: file id, synced bytes, tag.
const RECORD_BYTES: usize = FILE_ID_BYTES + 8 + TAG_BYTES;
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Permanent id of a file, drawn when it is made.
pub type FileId = [u8; FILE_ID_BYTES];

/// State of a name, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The file is there.
    Live,
    /// The file was renamed to this name, and the rename may not have reached the disk: the name
    /// may still belong to the file that had it before, or to none if there was none.
    Arriving {
        /// The file that had the name before.
        before: Option<FileId>,
    },
    /// The file was removed, and the removal may not have reached the disk.
    Removed,
    /// A file found after a crash that is not in the catalogue, since the change was lost; nothing
    /// was promised about it, and it is never opened.
    Leftover,
}

/// A file of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Id of the file.
    pub file_id: FileId,
    /// True if it came from elsewhere (a link, a rename), so that the store, kind and number in its
    /// header belong to the place where it was made.
    pub adopted: bool,
    /// The slot that records how much of it was synced, for files that grow.
    pub slot: Option<u16>,
    /// Number of bytes of it that were synced, as far as frames record it; see [`Entry::slot`].
    pub synced_bytes: u64,
    /// State of the file, as far as known.
    pub state: State,
}

/// A directory, other than its own, in which a database keeps its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirectory {
    /// Its path, as the database names it; at most 65,535 bytes.
    pub path: String,
    /// The store of its own catalogue.
    pub store: [u8; STORE_ID_BYTES],
}

/// One change of a catalogue. Names are names within the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// From now on, `name` is this file.
    Put {
        /// Its name.
        name: String,
        /// Entry of the file.
        entry: Entry,
    },
    /// `name` is gone for good.
    Forget {
        /// Its name.
        name: String,
    },
    /// From now on, the logs are in this directory; in its own, if none.
    Logs(Option<LogDirectory>),
}

/// The files of one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// The store, drawn when the first file was made.
    pub store: [u8; STORE_ID_BYTES],
    /// Number of times that the catalogue was rewritten; only grows.
    pub generation: u64,
    /// The highest number that a name ever had, except for files that were lost in a crash and
    /// whose numbers are reused. A file with a higher one may have been made without the change
    /// that lists it reaching the disk.
    pub highest: u64,
    entries: BTreeMap<String, Entry>,
    logs: Option<LogDirectory>,
}

const BEGIN: u8 = 1;
const PUT: u8 = 2;
const FORGET: u8 = 3;
const LOGS: u8 = 4;

impl Catalogue {
    /// Returns the catalogue of a new store, whose id `provider` draws.
    ///
    /// # Errors
    /// [`SealError::Random`].
    pub fn new(provider: impl Into<Provider>) -> Result<Self, SealError> {
        let mut store = [0; STORE_ID_BYTES];
        fill_random(provider.into(), &mut store)?;
        Ok(Self { store, generation: 0, highest: 0, entries: BTreeMap::new(), logs: None })
    }

    /// Returns the entry of `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Returns all names, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the directory of the logs, if it is another one.
    #[must_use]
    pub fn logs(&self) -> Option<&LogDirectory> {
        self.logs.as_ref()
    }

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns a slot that no file uses.
    #[must_use]
    pub fn free_slot(&self) -> Option<u16> {
        let mut taken = [false; SLOTS as usize];
        for entry in self.entries.values() {
            if let Some(slot) = entry.slot {
                taken[usize::from(slot)] = true;
            }
        }
        taken.iter().position(|taken| !taken).map(|slot| slot as u16)
    }

    /// Applies `change`.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Put { name, entry } => {
                self.highest = self.highest.max(rocksdb_name(&name).1);
                self.entries.insert(name, entry);
            }
            Change::Forget { name } => {
                self.entries.remove(&name);
            }
            Change::Logs(logs) => self.logs = logs,
        }
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.push(BEGIN);
        into.extend_from_slice(&self.store);
        into.extend_from_slice(&self.generation.to_be_bytes());
        into.extend_from_slice(&self.highest.to_be_bytes());
        let records = self.entries.len() + usize::from(self.logs.is_some());
        into.extend_from_slice(&(records as u64).to_be_bytes());
        for (name, entry) in &self.entries {
            put(name, entry, into);
        }
        if self.logs.is_some() {
            put_logs(self.logs.as_ref(), into);
        }
    }
}

fn put(name: &str, entry: &Entry, into: &mut Vec<u8>) {
    into.push(PUT);
    put_name(name, into);
    into.extend_from_slice(&entry.file_id);
    into.push(u8::from(entry.adopted));
    into.extend_from_slice(&entry.slot.unwrap_or(u16::MAX).to_be_bytes());
    into.extend_from_slice(&entry.synced_bytes.to_be_bytes());
    let (state, before) = match entry.state {
        State::Live => (0, None),
        State::Arriving { before: None } => (1, None),
        State::Arriving { before: Some(before) } => (2, Some(before)),
        State::Removed => (3, None),
        State::Leftover => (4, None),
    };
    into.push(state);
    into.extend_from_slice(before.as_ref().map_or(&[], |before| before.as_slice()));
}

fn put_name(name: &str, into: &mut Vec<u8>) {
    assert!(name.len() <= NAME_BYTES_MAX, "a name that a file system allows");
    into.push(name.len() as u8);
    into.extend_from_slice(name.as_bytes());
}

fn put_logs(logs: Option<&LogDirectory>, into: &mut Vec<u8>) {
    into.push(LOGS);
    let path = logs.map_or("", |logs| &logs.path);
    let length = u16::try_from(path.len()).expect("a path that a file system allows");
    into.extend_from_slice(&length.to_be_bytes());
    into.extend_from_slice(path.as_bytes());
    into.extend_from_slice(logs.map_or(&[], |logs| &logs.store[..]));
}

/// Decodes records from decrypted bytes; anything missing or impossible is damage.
struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], SealError> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| damaged("a record ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SealError> {
        Ok(self.bytes(N)?.try_into().expect("the length was asked for"))
    }

    fn number(&mut self) -> Result<u64, SealError> {
        self.array().map(u64::from_be_bytes)
    }

    fn text(&mut self, length: usize) -> Result<String, SealError> {
        let text =
            std::str::from_utf8(self.bytes(length)?).map_err(|_| damaged("a name is not text"))?;
        Ok(text.to_owned())
    }

    fn name(&mut self) -> Result<String, SealError> {
        let [length] = self.array()?;
        self.text(length.into())
    }

    fn logs(&mut self) -> Result<Option<LogDirectory>, SealError> {
        match u16::from_be_bytes(self.array()?) {
            0 => Ok(None),
            length => {
                Ok(Some(LogDirectory { path: self.text(length.into())?, store: self.array()? }))
            }
        }
    }

    fn entry(&mut self) -> Result<Entry, SealError> {
        let file_id = self.array()?;
        let [adopted] = self.array()?;
        let slot = u16::from_be_bytes(self.array()?);
        let synced_bytes = self.number()?;
        let [state] = self.array()?;
        let state = match state {
            0 => State::Live,
            1 => State::Arriving { before: None },
            2 => State::Arriving { before: Some(self.array()?) },
            3 => State::Removed,
            4 => State::Leftover,
            _ => return Err(damaged("an unknown state")),
        };
        let slot = match slot {
            u16::MAX => None,
            slot if slot < SLOTS => Some(slot),
            _ => return Err(damaged("an impossible slot")),
        };
        Ok(Entry { file_id, adopted: adopted != 0, slot, synced_bytes, state })
    }

    fn catalogue(&mut self) -> Result<Catalogue, SealError> {
        if self.array()? != [BEGIN] {
            return Err(damaged("it does not begin with its list"));
        }
        let (store, generation, highest, count) =
            (self.array()?, self.number()?, self.number()?, self.number()?);
        let mut catalogue =
            Catalogue { store, generation, highest, entries: BTreeMap::new(), logs: None };
        for _ in 0..count {
            let change = self.change()?;
            catalogue.apply(change);
        }
        // some listed files may have higher numbers
        catalogue.highest = highest;
        Ok(catalogue)
    }

    fn change(&mut self) -> Result<Change, SealError> {
        match self.array()? {
            [PUT] => Ok(Change::Put { name: self.name()?, entry: self.entry()? }),
            [FORGET] => Ok(Change::Forget { name: self.name()? }),
            [LOGS] => Ok(Change::Logs(self.logs()?)),
            _ => Err(damaged("an unknown record")),
        }
    }
}

fn damaged(found: &str) -> SealError {
    SealError::Damaged { found: format!("catalogue: {found}") }
}

/// Writes the catalogue of one generation: the bytes must be stored in both copies, at the same
/// offset of each.
#[derive(Debug)]
pub struct CatalogueWriter {
    file: SealedFile,
    frames: FrameWriter,
    changes: u64,
}

impl CatalogueWriter {
    /// Begins a generation that lists the same files as `catalogue`.
    ///
    /// - `synced`: how much of the file with each slot was synced, in stored bytes
    /// - `stored`: receives the whole file so far
    ///
    /// # Errors
    /// As [`SealedFile::create`].
    pub fn begin(
        catalogue: &Catalogue,
        synced: &[(u16, FileId, u64)],
        keys: &dyn KeySource,
        cipher: &'static Cipher,
        backend: Backend,
        stored: &mut Vec<u8>,
    ) -> Result<Self, SealError> {
        let identity = Identity {
            kind: Kind::Catalogue,
            number: catalogue.generation,
            store: catalogue.store,
        };
        let (file, header) =
            SealedFile::create_as(&identity, keys, cipher, backend, Layout::Frames)?;
        let start = stored.len();
        stored.extend_from_slice(&header);
        stored.resize(start + file.info().frames_at() as usize, 0);
        let mut writer = Self { frames: FrameWriter::new(&file)?, file, changes: 0 };
        for (slot, file_id, bytes) in synced {
            let mut slot = writer.slot(*slot, file_id)?;
            for record in [slot.record(*bytes)?, slot.record(*bytes)?] {
                stored[start + record.offset as usize..][..record.bytes.len()]
                    .copy_from_slice(&record.bytes);
            }
        }
        let mut listed = Vec::new();
        catalogue.encode(&mut listed);
        writer.frames.append(&listed, stored)?;
        Ok(writer)
    }

    /// Appends `changes` to `stored`, as one frame.
    ///
    /// # Errors
    /// As [`FrameWriter::append`].
    pub fn append(&mut self, changes: &[Change], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let mut records = Vec::new();
        for change in changes {
            match change {
                Change::Put { name, entry } => put(name, entry, &mut records),
                Change::Forget { name } => {
                    records.push(FORGET);
                    put_name(name, &mut records);
                }
                Change::Logs(logs) => put_logs(logs.as_ref(), &mut records),
            }
        }
        self.frames.append(&records, stored)?;
        self.changes += 1;
        Ok(())
    }

    /// Returns the length of the file once everything returned so far is written, in stored bytes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.frames.stored_bytes()
    }

    /// Returns the number of times that something was appended.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the slot that records how much of the file `file_id`, which has `slot`, was synced.
    ///
    /// # Errors
    /// [`SealError::Cipher`].
    pub fn slot(&self, slot: u16, file_id: &FileId) -> Result<Slot, SealError> {
        Slot::new(&self.file, slot, file_id)
    }
}

/// Record to write into both copies of a catalogue once more of a log is on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncedRecord {
    /// Position where it belongs, in stored bytes from the beginning of the file.
    pub offset: u64,
    /// The record.
    pub bytes: [u8; RECORD_BYTES],
}

/// The slot of one log.
pub struct Slot {
    keyed: Protected<dyn Aead>,
    slot: u16,
    file_id: FileId,
    second: bool,
}

impl Slot {
    fn new(catalogue: &SealedFile, slot: u16, file_id: &FileId) -> Result<Self, SealError> {
        let keyed = catalogue.tagger("synced slot", &[&slot.to_be_bytes(), file_id])?;
        Ok(Self { keyed, slot, file_id: *file_id, second: false })
    }

    /// Returns the record that the first `synced_bytes` stored bytes of the log are on stable
    /// storage. It must not be written before they are. The write may itself be lost: the previous
    /// record then still holds.
    ///
    /// # Errors
    /// [`SealError::Cipher`]; [`SealError::Forked`] in a child that was forked since.
    pub fn record(&mut self, synced_bytes: u64) -> Result<SyncedRecord, SealError> {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..FILE_ID_BYTES].copy_from_slice(&self.file_id);
        bytes[FILE_ID_BYTES..FILE_ID_BYTES + 8].copy_from_slice(&synced_bytes.to_be_bytes());
        bytes[FILE_ID_BYTES + 8..].copy_from_slice(&self.tag(synced_bytes)?);
        let offset = slot_offset(self.slot, self.second);
        self.second = !self.second;
        Ok(SyncedRecord { offset, bytes })
    }

    /// Returns the tag of a length. Each length is its own nonce, and always gets the same tag:
    /// nothing is encrypted.
    fn tag(&self, synced_bytes: u64) -> Result<[u8; TAG_BYTES], SealError> {
        self.keyed.check()?;
        let nonce = &nonce(synced_bytes)[12 - self.keyed.nonce_bytes()..];
        self.keyed.seal(nonce, &self.file_id, &mut []).map_err(SealError::from)
    }

    /// Returns the larger length that either record has for this file; a torn or older record does
    /// not count.
    fn read(&self, stored: &[u8]) -> Result<u64, SealError> {
        let mut most = 0;
        for second in [false, true] {
            let record =
                stored.get(slot_offset(self.slot, second) as usize..).and_then(<[u8]>::first_chunk);
            let Some(record): Option<&[u8; RECORD_BYTES]> = record else { continue };
            if record[..FILE_ID_BYTES] != self.file_id {
                continue;
            }
            let bytes = u64::from_be_bytes(
                record[FILE_ID_BYTES..FILE_ID_BYTES + 8].try_into().expect("8 bytes"),
            );
            if bool::from(self.tag(bytes)?.ct_eq(&record[FILE_ID_BYTES + 8..])) {
                most = most.max(bytes);
            }
        }
        Ok(most)
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("slot", &self.slot).finish_non_exhaustive()
    }
}

fn slot_offset(slot: u16, second: bool) -> u64 {
    HEADER_BYTES as u64 + u64::from(second) * SLOTS_BYTES / 2 + u64::from(slot) * SLOT_BYTES
}

/// Contents of one copy of a catalogue.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Catalogue that the copy holds.
    pub catalogue: Catalogue,
    /// Number of times that something was appended to it.
    pub changes: u64,
    /// Amount of each file with a slot that was synced, in stored bytes.
    pub synced: BTreeMap<FileId, u64>,
}

impl Copy {
    /// Reads the copy whose stored bytes are `stored`.
    ///
    /// # Errors
    /// As [`SealedFile::open`] and [`FrameReader::next_frame`]; [`SealError::Damaged`] if it is not
    /// a catalogue.
    pub fn read(keys: &dyn KeySource, backend: Backend, stored: &[u8]) -> Result<Self, SealError> {
        let file = SealedFile::open(keys, backend, &stored[..stored.len().min(HEADER_BYTES)])?;
        let info = file.info();
        if info.identity.kind != Kind::Catalogue {
            return Err(damaged(&format!("it is a {}", info.identity.kind.name())));
        }
        let frames_at = info.frames_at();
        // everything it begins with was synced before it got its name
        let mut reader = FrameReader::new(&file, frames_at + 1)?;
        reader.push(stored.get(frames_at as usize..).unwrap_or_default());
        let mut listed = Vec::new();
        let mut catalogue: Option<Catalogue> = None;
        let mut changes = 0;
        while let Some(frame) = reader.next_frame()? {
            match &mut catalogue {
                Some(catalogue) => {
                    let mut records = Decoder(frame.data);
                    while !records.0.is_empty() {
                        catalogue.apply(records.change()?);
                    }
                    changes += 1;
                }
                None => {
                    listed.extend_from_slice(frame.data);
                    let mut records = Decoder(&listed);
                    match records.catalogue() {
                        Ok(begun) if records.0.is_empty() => catalogue = Some(begun),
                        Ok(_) => return Err(damaged("its list is longer than it says")),
                        // a list longer than a frame continues in the next one
                        Err(_) if frame.data.len() == crate::frame::FRAME_BYTES_MAX as usize => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        reader.end()?;
        let catalogue = catalogue.ok_or_else(|| damaged("its list is incomplete"))?;
        if (catalogue.store, catalogue.generation) != (info.identity.store, info.identity.number) {
            return Err(damaged("its header names another store or generation"));
        }
        let mut synced = BTreeMap::new();
        for entry in catalogue.entries.values() {
            let bytes = match entry.slot {
                Some(slot) => Slot::new(&file, slot, &entry.file_id)?.read(stored)?,
                None => 0,
            };
            synced.insert(entry.file_id, bytes.max(entry.synced_bytes));
        }
        Ok(Self { catalogue, changes, synced })
    }

    /// Returns the age of the copy: of two copies of one catalogue, the one with the higher value
    /// counts.
    #[must_use]
    pub fn age(&self) -> (u64, u64) {
        (self.catalogue.generation, self.changes)
    }
}

#[cfg(test)]
mod tests {
    use sealstone_cipher::cipher;
    use sealstone_keys::EphemeralKey;

    use super::*;

    fn entry(id: u8, slot: Option<u16>, state: State) -> Entry {
        Entry { file_id: [id; 16], adopted: id % 2 == 1, slot, synced_bytes: 0, state }
    }

    fn filled() -> Catalogue {
        let mut catalogue = Catalogue::new(Provider::own()).unwrap();
        for (id, name, slot, state) in [
            (1, "CURRENT", None, State::Arriving { before: Some([9; 16]) }),
            (2, "MANIFEST-000005", Some(0), State::Live),
            (3, "000004.log", Some(255), State::Live),
            (4, "000007.sst", None, State::Leftover),
            (5, "IDENTITY", None, State::Arriving { before: None }),
            (6, "000003.log", Some(7), State::Removed),
        ] {
            catalogue.apply(Change::Put { name: name.into(), entry: entry(id, slot, state) });
        }
        catalogue
    }

    fn begin(
        catalogue: &Catalogue,
        synced: &[(u16, FileId, u64)],
        name: &str,
    ) -> (EphemeralKey, CatalogueWriter, Vec<u8>) {
        let keys = EphemeralKey::new().unwrap();
        let mut stored = Vec::new();
        let cipher = cipher(name).unwrap();
        let writer =
            CatalogueWriter::begin(catalogue, synced, &keys, cipher, Backend::auto(), &mut stored)
                .unwrap();
        (keys, writer, stored)
    }

    fn read(keys: &EphemeralKey, stored: &[u8]) -> Result<Copy, SealError> {
        Copy::read(keys, Backend::auto(), stored)
    }

    #[test]
    fn what_is_written_is_read_back_with_every_change() {
        for name in ["aes-256", "3des"] {
            let mut catalogue = filled();
            let (keys, mut writer, mut stored) =
                begin(&catalogue, &[(0, [2; 16], 9000), (255, [3; 16], 8192)], name);
            assert_eq!(writer.stored_bytes(), stored.len() as u64);
            let copy = read(&keys, &stored).unwrap();
            assert_eq!((&copy.catalogue, copy.changes, catalogue.highest), (&catalogue, 0, 7));
            assert_eq!(
                (copy.synced[&[2; 16]], copy.synced[&[3; 16]], copy.synced[&[1; 16]]),
                (9000, 8192, 0)
            );
            let changes = [
                Change::Put { name: "000012.log".into(), entry: entry(8, Some(1), State::Live) },
                Change::Forget { name: "000003.log".into() },
                Change::Logs(Some(LogDirectory {
                    path: "/data/기록".into(),
                    store: [7; STORE_ID_BYTES],
                })),
            ];
            writer.append(&changes, &mut stored).unwrap();
            changes.into_iter().for_each(|change| catalogue.apply(change));
            let copy = read(&keys, &stored).unwrap();
            assert_eq!((&copy.catalogue, copy.changes, catalogue.highest), (&catalogue, 1, 12));
            // a torn change does not count
            let copy = read(&keys, &stored[..stored.len() - 1]).unwrap();
            assert_eq!((copy.catalogue, copy.changes), (filled_like(&catalogue), 0));
        }
    }

    /// Returns the same as `filled`, but for the store of `like`.
    fn filled_like(like: &Catalogue) -> Catalogue {
        Catalogue { store: like.store, ..filled() }
    }

    #[test]
    fn the_newest_whole_record_of_a_slot_counts() {
        let (keys, writer, mut stored) = begin(&filled(), &[], "aes-256");
        let mut slot = writer.slot(0, &[2; 16]).unwrap();
        let mut write = |stored: &mut Vec<u8>, bytes: u64| {
            let record = slot.record(bytes).unwrap();
            stored[record.offset as usize..][..record.bytes.len()].copy_from_slice(&record.bytes);
            record.offset as usize
        };
        let mut at = Vec::new();
        for bytes in [8200, 8300, 8400] {
            at.push(write(&mut stored, bytes));
            assert_eq!(read(&keys, &stored).unwrap().synced[&[2; 16]], bytes);
        }
        assert_eq!(at[0], at[2]);
        assert!(at[0].abs_diff(at[1]) >= 4096, "one torn block holds at most one of the two");
        stored[at[2] + 20] ^= 1;
        assert_eq!(read(&keys, &stored).unwrap().synced[&[2; 16]], 8300);
        // the slot of another file has no effect on this file
        let other = writer.slot(0, &[5; 16]).unwrap().record(99_999).unwrap();
        stored[at[1]..][..other.bytes.len()].copy_from_slice(&other.bytes);
        assert_eq!(read(&keys, &stored).unwrap().synced[&[2; 16]], 0);
        stored[at[1]..][..16].copy_from_slice(&[2; 16]);
        assert_eq!(
            read(&keys, &stored).unwrap().synced[&[2; 16]],
            0,
            "a record that was not sealed for this file"
        );
    }

    #[test]
    fn the_directory_of_the_logs_is_kept_until_it_is_another_one() {
        let logs = LogDirectory { path: "/logs".into(), store: [7; STORE_ID_BYTES] };
        let mut catalogue = filled();
        catalogue.apply(Change::Logs(Some(logs.clone())));
        let (keys, mut writer, mut stored) = begin(&catalogue, &[], "aes-256");
        assert_eq!(read(&keys, &stored).unwrap().catalogue.logs(), Some(&logs));
        writer.append(&[Change::Logs(None)], &mut stored).unwrap();
        let copy = read(&keys, &stored).unwrap();
        assert_eq!((copy.catalogue.logs(), copy.catalogue.len()), (None, catalogue.len()));
    }

    #[test]
    fn slots_run_out_and_come_back() {
        let mut catalogue = Catalogue::new(Provider::own()).unwrap();
        for slot in 0..SLOTS {
            assert_eq!(catalogue.free_slot(), Some(slot));
            let entry = entry(1, Some(slot), State::Live);
            catalogue.apply(Change::Put { name: format!("{slot:06}.log"), entry });
        }
        assert_eq!(catalogue.free_slot(), None);
        catalogue.apply(Change::Forget { name: "000017.log".into() });
        assert_eq!(catalogue.free_slot(), Some(17));
    }

    #[test]
    fn a_list_longer_than_a_frame_is_read_whole() {
        let mut catalogue = Catalogue::new(Provider::own()).unwrap();
        for number in 0..40_000 {
            let entry = entry(2, None, State::Live);
            catalogue.apply(Change::Put { name: format!("{number:06}.sst"), entry });
        }
        let (keys, mut writer, mut stored) = begin(&catalogue, &[], "aes-256");
        assert!(stored.len() > 1 << 20);
        let change = Change::Forget { name: "000000.sst".into() };
        writer.append(std::slice::from_ref(&change), &mut stored).unwrap();
        catalogue.apply(change);
        assert_eq!(read(&keys, &stored).unwrap().catalogue, catalogue);
    }

    /// Only its own counts determine where such a list ends: its last frame has the maximum length.
    #[test]
    fn a_list_that_fills_its_frames_is_read_whole() {
        let length = |catalogue: &Catalogue| {
            let mut bytes = Vec::new();
            catalogue.encode(&mut bytes);
            bytes.len()
        };
        for frames in [1, 2] {
            let mut catalogue = Catalogue::new(Provider::own()).unwrap();
            let wanted = frames * crate::frame::FRAME_BYTES_MAX as usize;
            let put = |catalogue: &mut Catalogue, name: String| {
                catalogue.apply(Change::Put { name, entry: entry(2, None, State::Live) });
            };
            put(&mut catalogue, "a".into());
            let one = length(&catalogue);
            put(&mut catalogue, "b".into());
            let each = length(&catalogue) - one;
            let mut number = 0;
            while length(&catalogue) + 2 * (each + 7) < wanted {
                // in steps, since the whole length is counted again each time
                for _ in 0..((wanted - length(&catalogue)) / (each + 7)).saturating_sub(2).max(1) {
                    put(&mut catalogue, format!("{number:08}"));
                    number += 1;
                }
            }
            let left = wanted - length(&catalogue);
            put(&mut catalogue, "z".repeat(left - each + 1));
            assert_eq!(length(&catalogue), wanted);
            let (keys, mut writer, mut stored) = begin(&catalogue, &[], "aes-256");
            assert_eq!(read(&keys, &stored).unwrap().catalogue, catalogue);
            writer.append(&[Change::Forget { name: "a".into() }], &mut stored).unwrap();
            catalogue.apply(Change::Forget { name: "a".into() });
            let copy = read(&keys, &stored).unwrap();
            assert_eq!((copy.catalogue, copy.changes), (catalogue, 1), "{frames} frames");
        }
    }

    #[test]
    fn a_catalogue_cut_or_changed_gives_an_error_or_an_older_state() {
        let (keys, mut writer, mut stored) = begin(&filled(), &[(0, [2; 16], 9000)], "aes-256");
        let listed = stored.len();
        writer.append(&[Change::Forget { name: "CURRENT".into() }], &mut stored).unwrap();
        for bytes in (0..stored.len()).step_by(97).chain([stored.len() - 1]) {
            match read(&keys, &stored[..bytes]) {
                Ok(copy) => assert!(bytes >= listed && copy.changes == 0, "cut to {bytes}"),
                Err(_) => assert!(bytes < listed, "cut to {bytes}"),
            }
        }
        for at in (HEADER_BYTES + SLOTS_BYTES as usize..stored.len()).step_by(7) {
            let mut changed = stored.clone();
            changed[at] ^= 0x10;
            // a length that now reaches past the end looks like a torn change
            assert!(
                read(&keys, &changed).map_or(true, |copy| at >= listed && copy.changes == 0),
                "changed at {at}"
            );
        }
    }
}
