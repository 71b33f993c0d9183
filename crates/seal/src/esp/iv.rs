//! Initialisation vectors that nobody can predict: key stream under a separate key, drawn for each
//! association.
//!
//! Source: SP 800-38A, appendix C.

use sealstone_cipher::memory::Protected;
use sealstone_cipher::{Backend, Ctr, DEFAULT_CIPHER, ctr};
use zeroize::Zeroizing;

use super::error::EspError;
use crate::random::fill_random;

/// Bytes that are made at once.
const BATCH_BYTES: usize = 1024;

/// Makes them.
pub(super) struct Ivs {
    stream: Protected<dyn Ctr>,
    made: [u8; BATCH_BYTES],
    used: usize,
    /// Position of the next batch in the key stream.
    offset: u64,
}

impl Ivs {
    pub(super) fn new(spi: u32, backend: Backend) -> Result<Self, EspError> {
        let mut key = Zeroizing::new([0; 32]);
        fill_random(backend.into(), &mut *key)
            .map_err(|source| EspError::Random { found: source.to_string() })?;
        let failed = |source| EspError::Cipher { spi, source };
        let stream = ctr(DEFAULT_CIPHER, &*key, backend).map_err(failed)?;
        Ok(Self { stream, made: [0; BATCH_BYTES], used: BATCH_BYTES, offset: 0 })
    }

    /// The next one, as long as `iv`: a divisor of the batch.
    pub(super) fn draw(&mut self, iv: &mut [u8]) -> Result<(), sealstone_cipher::Error> {
        if self.used == BATCH_BYTES {
            self.made.fill(0);
            self.stream.apply(&[0; 16], self.offset, &mut self.made)?;
            self.offset += BATCH_BYTES as u64;
            self.used = 0;
        }
        iv.copy_from_slice(&self.made[self.used..self.used + iv.len()]);
        self.used += iv.len();
        Ok(())
    }
}
