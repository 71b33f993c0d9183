//! Randomness: from the operating system, and few bits at a time for nonces. Not here: keys (drawn
//! by `sealstone-keys`).

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::SealError;

/// Fills `bytes` from the operating system's generator.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<(), SealError> {
    getrandom::fill(bytes).map_err(|source| SealError::Random(source.to_string()))
}

/// Random words drawn in one call, since a call costs more than sealing a short frame.
const DRAWN: usize = 64;

thread_local! {
    static POOL: RefCell<([u32; DRAWN], usize)> = const { RefCell::new(([0; DRAWN], DRAWN)) };
}

/// Returns 32 random bits for a nonce whose counter alone makes it unique. They cover the case
/// where counters run twice from one memory image: a virtual machine resumed from the same snapshot
/// twice. Words that were drawn before the snapshot are the same in both; so the time of the call,
/// in nanoseconds, is mixed in.
pub(crate) fn nonce_bits() -> Result<u32, SealError> {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let time = (now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
    POOL.with_borrow_mut(|(words, used)| {
        if *used == DRAWN {
            let mut bytes = [0; DRAWN * 4];
            fill_random(&mut bytes)?;
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_ne_bytes(bytes.try_into().expect("chunks of 4 bytes"));
            }
            *used = 0;
        }
        *used += 1;
        Ok(words[*used - 1] ^ time)
    })
}
