//! The random part of a nonce. The counter alone keeps nonces apart within one run of a process.
//! The random part keeps them apart when the memory of a process, with its counter, is restored and
//! runs a second time: a virtual machine resumed twice from one snapshot, a process restored from
//! an image.
//!
//! There are two sources, since each call may cost only a few nanoseconds. Bytes of the operating
//! system's generator are drawn for [`BATCH`] blocks of a thread at once; they differ between the
//! two runs from the next draw on. Until then only the CPU's time stamp differs, which is added to
//! every block. The remaining risk, exactly: up to [`BATCH`] blocks of each thread after the memory
//! was restored have equal nonces if a thread of one run and the same thread of the other seal a
//! block under the same counter at the same tick.

use std::cell::Cell;
use std::time::Instant;

use sealstone_cipher::{Provider, speed};
use sealstone_keys::{KeyError, fill_random};

use super::error::EnginePageError;
use super::header::DRAWN_BYTES;

/// Number of blocks of a thread that share one draw from the operating system.
const BATCH: u32 = 256;

thread_local! {
    /// Value that was drawn, and the number of further blocks that it is good for.
    static DRAWN: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
    /// Name of the module that drew it.
    static DRAWN_BY: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Bytes for the next block of this thread.
///
/// # Errors
/// [`EnginePageError::Random`].
pub(super) fn draw(provider: Provider) -> Result<[u8; DRAWN_BYTES], EnginePageError> {
    let (drawn, left) = DRAWN.get();
    let module = provider.module().map(|module| module.name());
    // names live as long as the process, so the place is enough
    let same = DRAWN_BY.get().map(str::as_ptr) == module.map(str::as_ptr);
    let (drawn, left) = if left == 0 || !same {
        DRAWN_BY.set(module);
        (fresh(provider)?, BATCH)
    } else {
        (drawn, left)
    };
    DRAWN.set((drawn, left - 1));
    let mixed = (drawn ^ time_stamp()).to_le_bytes();
    Ok(*mixed.first_chunk().expect("six of eight bytes"))
}

#[cold]
fn fresh(provider: Provider) -> Result<u64, EnginePageError> {
    let mut bytes = [0; 8];
    random(provider, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Fills `bytes` from the generator of `provider`.
///
/// # Errors
/// [`EnginePageError::Random`]; [`EnginePageError::Key`] with that of a module.
pub(super) fn random(provider: Provider, bytes: &mut [u8]) -> Result<(), EnginePageError> {
    fill_random(provider, bytes).map_err(|error| match error {
        KeyError::Random(found) => EnginePageError::Random(found),
        other => other.into(),
    })
}

/// Returns a count that differs each time: ticks of the CPU, or nanoseconds where it exposes none.
fn time_stamp() -> u64 {
    speed::ticks().unwrap_or_else(|| {
        thread_local!(static START: Instant = Instant::now());
        START.with(|start| u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Restores the memory of this thread repeatedly, as a snapshot would: the drawn bits are never
    /// the same.
    #[test]
    fn memory_brought_back_draws_something_else() {
        draw(Provider::own()).unwrap();
        let image = DRAWN.get();
        let seen: HashSet<[u8; DRAWN_BYTES]> = (0..10_000)
            .map(|_| {
                DRAWN.set(image);
                draw(Provider::own()).unwrap()
            })
            .collect();
        assert_eq!(seen.len(), 10_000);
    }

    #[test]
    fn the_system_is_asked_again_after_a_batch() {
        draw(Provider::own()).unwrap();
        let (first, left) = DRAWN.get();
        for _ in 0..left {
            draw(Provider::own()).unwrap();
            assert_eq!(DRAWN.get().0, first);
        }
        draw(Provider::own()).unwrap();
        assert_ne!(DRAWN.get().0, first);
    }
}
