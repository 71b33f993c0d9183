//! Randomness: from the operating system or a module, and few bits at a time for nonces. Not here:
//! keys (drawn by `sealstone-keys`).

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use sealstone_cipher::Provider;
use sealstone_keys::KeyError;

use crate::SealError;

/// Fills `bytes` from the generator of `provider`.
pub(crate) fn fill_random(provider: Provider, bytes: &mut [u8]) -> Result<(), SealError> {
    sealstone_keys::fill_random(provider, bytes).map_err(|error| match error {
        KeyError::Random(found) => SealError::Random(found),
        other => other.into(),
    })
}

/// Random words drawn in one call, since a call costs more than sealing a short frame.
const DRAWN: usize = 64;

thread_local! {
    static POOL: RefCell<Pool> =
        const { RefCell::new(Pool { words: [0; DRAWN], used: DRAWN, of: None }) };
}

struct Pool {
    words: [u32; DRAWN],
    used: usize,
    /// Name of the module that drew them.
    of: Option<&'static str>,
}

/// Returns 32 random bits for a nonce whose counter alone makes it unique. They cover the case
/// where counters run twice from one memory image: a virtual machine resumed from the same snapshot
/// twice. Words that were drawn before the snapshot are the same in both; so the time of the call,
/// in nanoseconds, is mixed in.
pub(crate) fn nonce_bits(provider: Provider) -> Result<u32, SealError> {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let time = (now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
    let module = provider.module().map(|module| module.name());
    POOL.with_borrow_mut(|Pool { words, used, of }| {
        // names live as long as the process, so the place is enough
        let same = of.map(str::as_ptr) == module.map(str::as_ptr);
        if *used == DRAWN || !same {
            let mut bytes = [0; DRAWN * 4];
            fill_random(provider, &mut bytes)?;
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_ne_bytes(bytes.try_into().expect("chunks of 4 bytes"));
            }
            (*used, *of) = (0, module);
        }
        *used += 1;
        Ok(words[*used - 1] ^ time)
    })
}
