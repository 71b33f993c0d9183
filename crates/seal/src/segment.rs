//! Segments: how one file stays within what its cipher allows under one key. Each stretch of a file (a segment) has
//! a subkey of its own; here the keyed ciphers are kept, one a segment, so that a page costs no key setup.
//!
//! Not here: how long a segment is (`header`) and how subkeys are derived (`file`).

use std::sync::OnceLock;

use sealstone_cipher::aead::Aead;

/// Runs of 1, 2, 4, … slots: run k begins at segment 2^k - 1. 32 of them hold every segment a file may have.
const RUNS: usize = 32;

/// Segments in one file at most: 2^32 - 1.
pub(crate) const SEGMENTS_MAX: u64 = (1 << RUNS) - 1;

type Slot = OnceLock<Box<dyn Aead>>;

/// The keyed ciphers of a file, made on first use and kept.
///
/// Reading one costs two loads and takes no lock. A file under a cipher with roomy keys has one segment; a 3DES file
/// has one for every 8 MB, so the keys kept stay well under a thousandth of the data.
pub(crate) struct SegmentKeys {
    runs: [OnceLock<Box<[Slot]>>; RUNS],
}

impl SegmentKeys {
    pub(crate) fn new() -> Self {
        Self { runs: [const { OnceLock::new() }; RUNS] }
    }

    /// The keyed cipher of `segment` (below [`SEGMENTS_MAX`]); `make` sets the key on first use. Two threads may both
    /// make it; they make the same, and one of the two is dropped.
    pub(crate) fn get<E>(&self, segment: u64, make: impl FnOnce() -> Result<Box<dyn Aead>, E>) -> Result<&dyn Aead, E> {
        let run = (segment + 1).ilog2() as usize;
        let first = (1u64 << run) - 1;
        let slots = self.runs[run].get_or_init(|| (0..1u64 << run).map(|_| Slot::new()).collect());
        let slot = &slots[(segment - first) as usize];
        if let Some(keyed) = slot.get() {
            return Ok(keyed.as_ref());
        }
        let keyed = make()?;
        Ok(slot.get_or_init(|| keyed).as_ref())
    }
}

/// The nonce that starts at block `counter` of a segment, right-aligned: its last `Aead::nonce_bytes()` bytes are the
/// nonce, 8 bytes as they are or 12 bytes with four zeros before them, big-endian.
pub(crate) fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}
