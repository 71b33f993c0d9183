//! Calls that WiredTiger makes to write a journal, made without it: for tests of this crate, and
//! for what measures it (`benches/journal_cost.rs`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_seal::engine_page::{EnginePageError, OVERHEAD_BYTES};

use crate::encryptor::Encryptor;
use crate::error::ExtensionError;
use crate::files::{Files, How, OpenFile};
use crate::header::Bound;
use crate::journal::record::STEP_BYTES;
use crate::journal::{Journal, path_of};
use crate::settings::Settings;

/// Mode in which WiredTiger opens a journal file.
pub(crate) const LOG: How = How {
    directory: false,
    log: true,
    create: false,
    exclusive: false,
    durable: false,
    direct: false,
    advice: None,
};
/// Length of the first and the second record of a file, in bytes.
pub(crate) const FIRST_BYTES: usize = 128;
/// Length that a file is given before it is used, in bytes.
const READY_BYTES: i64 = 64 << 10;

/// One opening of a database.
pub struct Opening {
    pub(crate) dir: PathBuf,
    pub(crate) files: Files,
    journal: Arc<Journal>,
    pub(crate) encryptor: Arc<Encryptor>,
}

impl Opening {
    /// Opens the database in the existing directory `dir` with the key and cipher of `settings`.
    ///
    /// # Errors
    /// As [`Encryptor::open`].
    pub fn new(dir: &Path, settings: &Settings) -> Result<Self, ExtensionError> {
        let encryptor = Arc::new(Encryptor::open(settings)?);
        let journal = Arc::new(Journal::new(encryptor.clone(), settings));
        journal.activate();
        Ok(Self { dir: dir.to_owned(), files: Files::new(journal.clone()), journal, encryptor })
    }

    /// Looks at the whole journal, as the first call of an opening makes it do.
    ///
    /// # Errors
    /// The defect of the journal.
    pub fn look(&self) -> Result<Vec<Vec<u8>>, ExtensionError> {
        self.files.list(&self.dir, "WiredTigerLog", false)
    }

    /// Returns whether there is an account of the journal.
    pub fn is_kept(&self) -> bool {
        self.journal.is_kept()
    }

    /// Returns a new journal file, made ready and renamed, with its first two records. The next one
    /// begins at byte 256.
    ///
    /// # Errors
    /// Errors of files.
    pub fn file(&self, number: u32) -> Result<JournalFile, ExtensionError> {
        self.files.list(&self.dir, "WiredTigerTmplog", false)?;
        let fresh = self.dir.join("WiredTigerTmplog.0000000001");
        let made = self.files.open(&fresh, How { create: true, ..LOG })?;
        made.write(0, &clear([0x64, 0x10, 0x10, 0x00]))?;
        let made = JournalFile(made);
        made.extend(READY_BYTES)?;
        made.sync()?;
        drop(made);
        let path = path_of(&self.dir, number);
        self.files.rename(&fresh, &path, false)?;
        let file = self.files.open(&path, LOG)?;
        file.write(FIRST_BYTES as u64, &clear([4, 1, 2, 3]))?;
        Ok(JournalFile(file))
    }

    /// Returns a record of `bytes` bytes, sealed, as WiredTiger hands it over to be stored.
    ///
    /// # Errors
    /// Errors of sealing.
    pub fn record(&self, bytes: usize) -> Result<Vec<u8>, EnginePageError> {
        let bound = Bound::new_record(&[0; 16]);
        let mut block = vec![7; bytes + OVERHEAD_BYTES + bound.place_tag_bytes()];
        self.encryptor.pages().seal_in_place(&mut block, 0, bound.place())?;
        let encrypted_end = 20 + block.len();
        let mut record = vec![0; encrypted_end.next_multiple_of(STEP_BYTES)];
        record[8] = 2;
        record[16..20].copy_from_slice(&(encrypted_end as u32).to_le_bytes());
        record[20..encrypted_end].copy_from_slice(&block);
        if record.len() - encrypted_end > 1 {
            *record.last_mut().expect("it has a header") = 0xAB;
        }
        Ok(finish(record))
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// An open journal file.
pub struct JournalFile(OpenFile);

impl JournalFile {
    /// Writes whole records at byte `at`.
    ///
    /// # Errors
    /// Errors of files.
    pub fn write(&self, at: u64, records: &[u8]) -> Result<(), ExtensionError> {
        self.0.write(at, records)
    }

    /// Waits until everything written is on stable storage and, according to the settings,
    /// accounted for.
    ///
    /// # Errors
    /// Errors of files.
    pub fn sync(&self) -> Result<(), ExtensionError> {
        self.0.sync()
    }

    /// Makes the file `bytes` bytes long.
    ///
    /// # Errors
    /// The system's error.
    pub fn extend(&self, bytes: i64) -> Result<(), ExtensionError> {
        self.0.extend(bytes).map_err(|code| ExtensionError::File {
            attempted: "extend",
            path: PathBuf::new(),
            source: std::io::Error::from_raw_os_error(code),
        })
    }
}

impl fmt::Debug for JournalFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalFile").finish_non_exhaustive()
    }
}

/// Returns `record` with its length and its checksum.
pub(crate) fn finish(mut record: Vec<u8>) -> Vec<u8> {
    let length = record.len() as u32;
    record[..4].copy_from_slice(&length.to_le_bytes());
    record[4..8].fill(0);
    let sum = crc32c::crc32c(&record);
    record[4..8].copy_from_slice(&sum.to_le_bytes());
    record
}

/// Returns a record in the clear.
pub(crate) fn clear(content: [u8; 4]) -> Vec<u8> {
    let mut record = vec![0; FIRST_BYTES];
    record[16..20].copy_from_slice(&content);
    finish(record)
}
