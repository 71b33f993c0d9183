//! Segments: they keep a file within the limits of its cipher for one key. Each stretch of a file
//! (a segment) has its own subkey; the keyed ciphers are kept here, one per segment, so that a page
//! costs no key setup.
//!
//! Not here: the length of a segment (`header`) and the derivation of subkeys (`file`).

use std::sync::OnceLock;

use sealstone_cipher::Aead;
use sealstone_cipher::memory::{Forked, Generation, Protected};

/// Runs of 1, 2, 4, … slots: run k begins at segment 2^k - 1. 32 of them hold every segment a file
/// may have.
const RUNS: usize = 32;

/// Segments in one file at most: 2^32 - 1.
pub(crate) const SEGMENTS_MAX: u64 = (1 << RUNS) - 1;

type Slot = OnceLock<Protected<dyn Aead>>;

/// The keyed ciphers of a file, made on first use and kept.
///
/// Reading one costs a few loads and takes no lock. A file under a cipher with roomy keys has one
/// segment; a 3DES file has one for every 8 MB, each with a key schedule of 34 to 50 KB in the
/// memory for keys: about half a percent of the data that was used.
pub(crate) struct SegmentKeys {
    /// The process they were made in: a forked child has the counters of its parent and would seal
    /// under the same nonces.
    made_in: Generation,
    runs: [OnceLock<Box<[Slot]>>; RUNS],
}

impl SegmentKeys {
    pub(crate) fn new() -> Self {
        Self { made_in: Generation::current(), runs: [const { OnceLock::new() }; RUNS] }
    }

    /// Returns the keyed cipher of `segment` (below [`SEGMENTS_MAX`]); `make` sets the key on first
    /// use. Two threads may both make it; they make the same, and one of the two is dropped.
    ///
    /// # Errors
    /// [`Forked`] in a child that was forked since; errors of `make`.
    pub(crate) fn get<E: From<Forked>>(
        &self,
        segment: u64,
        make: impl FnOnce() -> Result<Protected<dyn Aead>, E>,
    ) -> Result<&dyn Aead, E> {
        self.made_in.check()?;
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

/// Returns the nonce that starts at block `counter` of a segment, right-aligned: its last
/// `Aead::nonce_bytes()` bytes are the nonce, 8 bytes unchanged or 12 bytes with four zeros before
/// them, big-endian.
pub(crate) fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}

/// Returns the nonce of frame `index` with `random` bits in front, where a nonce has 12 bytes.
pub(crate) fn drawn_nonce(index: u64, random: u32) -> [u8; 12] {
    let mut nonce = nonce(index);
    nonce[..4].copy_from_slice(&random.to_be_bytes());
    nonce
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sealstone_cipher::{Backend, cipher};

    use super::*;
    use crate::SealError;

    #[test]
    fn each_key_is_set_up_once_and_is_the_right_one() {
        let aes = cipher("aes-128").unwrap();
        let keys = SegmentKeys::new();
        let made = Cell::new(0);
        let tag_by = |keyed: &dyn Aead| keyed.seal(&[0; 12], b"", &mut []).unwrap();
        let segments: Vec<u64> = (0..40).chain([1000, 4095, 4096]).collect();
        for _ in 0..3 {
            for &segment in &segments {
                let key = [segment.to_le_bytes(), [7; 8]].concat();
                let make = || {
                    sealstone_cipher::aead(aes, &key, Backend::portable()).map_err(SealError::from)
                };
                let counted = || {
                    made.set(made.get() + 1);
                    make()
                };
                assert_eq!(
                    tag_by(keys.get(segment, counted).unwrap()),
                    tag_by(make().unwrap().as_ref())
                );
            }
        }
        assert_eq!(made.get(), segments.len());
        assert!(matches!(
            keys.get(50, || Err(SealError::WrittenOnce)),
            Err(SealError::WrittenOnce)
        ));
    }

    #[test]
    fn nonces_are_big_endian_and_right_aligned() {
        assert_eq!(nonce(0x0102), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(nonce(u64::MAX)[..4], [0; 4]);
    }
}
