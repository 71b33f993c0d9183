//! One call of the server for a page, a record or a block, and the rule by which it is enciphered.
//!
//! The server distinguishes its callers by little: the number of a key, the length of the key that
//! it passes, and the pieces. What reaches a plug-in was recorded on MariaDB 10.11.19 and 11.4.5
//! (docs/formats.md has the table):
//!
//! - binary log: key 1 with 32 bytes, written in other pieces than it is read in;
//! - redo log: key 1 with 16 bytes, in 10.11.19 in pieces of at most 256 bytes, whole blocks of 16
//!   but for the last one, which differ between writing and reading; in 11.4.5 a call for each
//!   record, of any length, the same both times. One nonce for thousands of records;
//! - pages, row logs, merge files: a key of 16 bytes, in one piece, which a key number from 3 on
//!   has alone;
//! - temporary files: key 2, in one piece, and they may grow.
//!
//! So a piece of more than 256 bytes under a key of 16 bytes is a whole, and it is read in one
//! piece, too. Pages of key numbers from 3 on are wholes however short.
//!
//! Not here: the bytes (`sealstone_seal::tablespace`).

use std::sync::Arc;

use sealstone_file::counts::Tally;
use sealstone_seal::tablespace::{CHECK_BYTES, Unit, WHOLE_BYTES_MIN};

use crate::error::PluginError;

/// Key number of the server's temporary files.
const TEMPORARY_KEY_ID: u32 = 2;

/// Length of the key that is passed for the binary log, in bytes.
const BINLOG_KEY_BYTES: usize = 32;

/// Longest piece of a redo log that is written and read in different pieces, in bytes.
const REDO_PIECE_BYTES_MAX: usize = 256;

/// Flags of the server.
const ENCRYPT: u32 = 1;
const SAME_LENGTH: u32 = 2;

/// One call of the server, from its beginning to its end.
#[derive(Debug)]
pub struct Context {
    unit: Unit,
    shape: Shape,
    encrypts: bool,
    state: State,
    counted: Counted,
}

/// Part of a call that its end counts.
#[derive(Debug, Default)]
struct Counted {
    tally: Option<Arc<Tally>>,
    bytes: usize,
    has_failed: bool,
}

/// Shape of what a call enciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Pages alone.
    Pages,
    /// Pages, or pieces of the redo log.
    PagesOrLog,
    /// The binary log, in pieces.
    Log,
    /// A block that grows.
    Block,
}

/// Pieces that came so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    None,
    Stream,
    Whole,
}

impl Context {
    /// Begins a call.
    ///
    /// - `unit`: for the key, the nonce and the version that the server passes
    /// - `key_id`, `flags`: the server's
    /// - `passed_bytes`: length of the key that it passes
    #[must_use]
    pub fn new(unit: Unit, key_id: u32, passed_bytes: usize, flags: u32) -> Self {
        let shape = match key_id {
            TEMPORARY_KEY_ID if flags & SAME_LENGTH == 0 => Shape::Block,
            1 | TEMPORARY_KEY_ID if passed_bytes == BINLOG_KEY_BYTES => Shape::Log,
            0..=TEMPORARY_KEY_ID => Shape::PagesOrLog,
            _ => Shape::Pages,
        };
        let (encrypts, counted) = (flags & ENCRYPT != 0, Counted::default());
        Self { unit, shape, encrypts, state: State::None, counted }
    }

    /// Has the end of this call count it in `tally`, as one page, record or block.
    #[must_use]
    pub fn counted_in(mut self, tally: Arc<Tally>) -> Self {
        self.counted.tally = Some(tally);
        self
    }

    /// Returns whether this call encrypts.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.encrypts
    }

    /// Returns the number of bytes that [`update`](Self::update) makes of `bytes`.
    #[must_use]
    pub(crate) fn output_bytes(&self, bytes: usize) -> usize {
        match (self.shape, self.encrypts) {
            (Shape::Block, true) => bytes.saturating_add(CHECK_BYTES),
            (Shape::Block, false) => bytes.saturating_sub(CHECK_BYTES),
            _ => bytes,
        }
    }

    /// Enciphers or deciphers the next piece in `data`, in place.
    ///
    /// - `data`: the piece; for a block of a temporary file as long as it is enciphered, so that
    ///   what is enciphered has room at its end
    ///
    /// # Errors
    /// [`PluginError::Unit`]; [`PluginError::Unexpected`] for a second piece of a page. `data` is
    /// then of no use.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), PluginError> {
        let outcome = self.crypt(data);
        match outcome {
            Ok(()) => self.counted.bytes += data.len(),
            Err(_) => self.counted.has_failed = true,
        }
        outcome
    }

    fn crypt(&mut self, data: &mut [u8]) -> Result<(), PluginError> {
        let is_whole = match self.shape {
            Shape::Pages => data.len() >= WHOLE_BYTES_MIN,
            Shape::PagesOrLog => data.len() > REDO_PIECE_BYTES_MAX,
            Shape::Log => false,
            Shape::Block => true,
        };
        if self.state == State::Whole || is_whole && self.state == State::Stream {
            return Err(PluginError::Unexpected { found: "a page in pieces" });
        }
        self.state = if is_whole { State::Whole } else { State::Stream };
        match (is_whole, self.shape, self.encrypts) {
            (false, Shape::Log, _) => self.unit.crypt_next(data)?,
            (false, _, true) => self.unit.encrypt_record(data)?,
            (false, _, false) => self.unit.decrypt_record(data)?,
            (true, Shape::Block, true) => self.unit.seal_block(data)?,
            (true, Shape::Block, false) => self.unit.open_block(data)?,
            (true, _, true) => self.unit.encrypt_whole(data)?,
            (true, _, false) => self.unit.decrypt_whole(data)?,
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let Counted { tally, bytes, has_failed } = &self.counted;
        match tally {
            None => {}
            Some(tally) if *has_failed => tally.failed(),
            // the server requests a length with a call that enciphers nothing
            Some(_) if *bytes == 0 => {}
            Some(tally) if self.encrypts => tally.sealed(*bytes),
            Some(tally) => tally.opened(*bytes),
        }
    }
}

/// Returns the length of `bytes` bytes once they are enciphered under the server's key `key_id`,
/// where the server requests that before it states what for: temporary files alone may grow.
pub(crate) fn encrypted_bytes(bytes: u32, key_id: u32) -> u32 {
    match key_id {
        TEMPORARY_KEY_ID => bytes.saturating_add(CHECK_BYTES as u32),
        _ => bytes,
    }
}
