//! Facts about a cipher: one row of the table of ciphers, which is in [`crate::registry`].
//!
//! A row is a constant in the file of its cipher.

use crate::error::Error;
use crate::limits::Limits;
use crate::mode::SetKey;
use crate::modes::{Mode, ModeFacts, modes};
#[cfg(any(test, feature = "testing"))]
use crate::reference::EncryptBlock;
pub use crate::standing::Standing;

/// Identification of a cipher on a key-management server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kmip {
    /// Number of the algorithm.
    ///
    /// Source: OASIS KMIP 1.4, section 9.1.3.2.13; KMIP 2.1, section 11, for ARIA and SEED.
    pub algorithm: u32,
    /// Length of a key without its parity bits, in bits, which some servers record instead.
    pub bits_without_parity: Option<usize>,
}

/// One row of the table: a cipher with one key length.
///
/// Two rows are equal when their ids are: an id is never reused.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cipher {
    /// The name in flags, files and reports, such as `aria-256`.
    pub name: &'static str,
    /// Number of this row in sealed files; never reused.
    pub id: u16,
    /// Block length in bytes: 8 or 16.
    pub block_bytes: usize,
    /// Key length in bytes.
    pub key_bytes: usize,
    /// Further key lengths of the cipher, in bits, that have no rows: the shortest and the longest.
    pub other_key_bits: Option<(usize, usize)>,
    /// The mode that authenticates data under this cipher.
    pub mode: Mode,
    /// The bodies behind it.
    pub standing: Standing,
    /// The specification, such as `FIPS 197`.
    pub source: &'static str,
    /// The block cipher is approved for new encryption under FIPS 140; see [`Cipher::approval_in`]
    /// for the mode.
    pub fips: bool,
    /// The block cipher is on the Korean validation list (KCMVP); see [`Cipher::approval_in`] for
    /// the mode.
    pub kcmvp: bool,
    /// Amount of data that one key may protect.
    pub limits: Limits,
    /// Caveat that a user must know before choosing it, if there is any.
    pub caveat: Option<&'static str>,
    /// True if no branch and no address depends on a secret, on any backend; the reasons are in
    /// docs/side-channels.md.
    pub constant_time: bool,
    /// Identification on a key-management server; none if KMIP has no number for it.
    pub kmip: Option<Kmip>,
    /// Sets a key.
    pub(crate) set_key: SetKey,
    /// Evidence that the conformance suite checks it against.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) evidence: Evidence,
}

/// Evidence that the conformance suite checks a cipher against.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// The block cipher once more, written independently: encrypts one block in place under a key
    /// of the row's length.
    pub(crate) reference: fn(&[u8]) -> EncryptBlock,
    /// Files with known answers: name and text.
    pub(crate) vectors: &'static [(&'static str, &'static str)],
    /// A key repeated to the row's length is the same key.
    pub(crate) repeats_keys: bool,
}

/// Evidence of a reference and files of `vectors/`, compiled in so that a test needs no path.
#[cfg(any(test, feature = "testing"))]
macro_rules! evidence {
    ($reference:path, $($file:literal),+) => {
        $crate::facts::Evidence {
            reference: $reference,
            vectors: &[$((
                $file,
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/", $file)),
            )),+],
            repeats_keys: false,
        }
    };
}
#[cfg(any(test, feature = "testing"))]
pub(crate) use evidence;

impl PartialEq for Cipher {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Cipher {}

impl Cipher {
    /// Returns the modes in which it can be used: its authenticated one first, then counter mode,
    /// CBC, CMAC and, with blocks of 128 bits, FF1, HCTR2, and CBC with ciphertext stealing or with
    /// a Feistel network at the end.
    pub fn modes(&self) -> impl Iterator<Item = &'static ModeFacts> {
        let (own, block_bytes) = (self.mode, self.block_bytes);
        modes().iter().filter(move |row| {
            row.mode == own || !row.is_aead() && row.block_bytes.contains(&block_bytes)
        })
    }

    /// Returns the nonce length of this cipher's AEAD, in bytes: 12 for GCM, 8 (the first counter
    /// block) for CTR plus MAC.
    pub fn nonce_bytes(&self) -> usize {
        self.mode.facts().nonce_bytes(self.block_bytes)
    }

    /// Returns whether the cipher takes keys of `bits` bits, of the row's length or another.
    pub fn takes_key_bits(&self, bits: usize) -> bool {
        let others = self.other_key_bits.is_some_and(|(min, max)| (min..=max).contains(&bits));
        bits == 8 * self.key_bytes || others
    }

    /// Checks that `key` has the length of this cipher's keys.
    ///
    /// # Errors
    /// `Error::KeyLength`.
    pub fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        let (found, want) = (key.len(), self.key_bytes);
        if found == want { Ok(()) } else { Err(Error::KeyLength { found, want }) }
    }

    /// Blocks that may be encrypted under one key.
    pub fn blocks_per_key(&self) -> u64 {
        self.limits.bytes_per_key / self.block_bytes as u64
    }
}
