//! Key stream of the next frames, made before their data arrive: a log is written under the lock of
//! its store, and others wait. The nonce of a frame depends on its number alone, so its key stream
//! can be made as soon as the previous frame is begun.
//!
//! The writer uses up one batch while a thread that has time makes another:
//! [`KeyStreamAhead::prepare`]. If none had time, the writer makes the next batch itself, which is
//! still quicker than frame by frame.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use sealstone_cipher::memory::{Generation, Protected};
use sealstone_cipher::{Ahead, Cipher, Provider};

use crate::random::nonce_bits;
use crate::segment::drawn_nonce;
use crate::{SealError, TAG_BYTES};

/// Key stream in a batch, in bytes.
const BATCH_BYTES: usize = 8 << 10;
/// Most frames in a batch. This many may share key stream with others if a virtual machine is
/// resumed twice from one snapshot: no more than speed requires.
const FRAMES_MAX: usize = 8;
/// The longest frames, on average, for which key stream is made ahead: for longer frames, sealing
/// takes longer than starting.
const MEAN_BYTES_MAX: usize = BATCH_BYTES / 2;

/// Key stream for the frames from `first` on.
struct Batch {
    first: u64,
    frames: usize,
    /// Key stream of each frame, in bytes: whole blocks, of which the first masks the tag.
    each: usize,
    random: [u32; FRAMES_MAX],
    stream: Protected<[u8; BATCH_BYTES]>,
}

impl Batch {
    fn empty() -> Self {
        Self {
            first: 0,
            frames: 0,
            each: 0,
            random: [0; FRAMES_MAX],
            stream: Protected::new([0; BATCH_BYTES]),
        }
    }

    fn covers(&self, index: u64) -> bool {
        index.checked_sub(self.first).is_some_and(|at| at < self.frames as u64)
    }

    /// Fills it for the frames from `first` on, of about `bytes` bytes each.
    fn fill(&mut self, keyed: &Ahead, first: u64, bytes: usize) -> Result<(), SealError> {
        self.frames = 0;
        let each = (bytes.next_multiple_of(TAG_BYTES) + TAG_BYTES).min(BATCH_BYTES);
        let frames = (BATCH_BYTES / each).min(FRAMES_MAX);
        for (i, stream) in self.stream.chunks_exact_mut(each).take(frames).enumerate() {
            // modules give out no key stream of GCM
            self.random[i] = nonce_bits(Provider::own())?;
            keyed.key_stream(&drawn_nonce(first + i as u64, self.random[i]), stream);
        }
        (self.first, self.each, self.frames) = (first, each, frames);
        Ok(())
    }
}

/// State shared by the writer of a file and the threads that make its key stream.
pub struct KeyStreamAhead {
    keyed: Ahead,
    made_in: Generation,
    /// Set while the batch in `next` is yet to be made.
    wanted: Arc<AtomicBool>,
    next: Mutex<Next>,
}

struct Next {
    batch: Batch,
    /// Specification of the batch until it is made: its first frame, and the bytes per frame.
    order: Option<(u64, usize)>,
}

impl KeyStreamAhead {
    pub(super) fn new(keyed: Ahead, wanted: Arc<AtomicBool>) -> Self {
        let next = Mutex::new(Next { batch: Batch::empty(), order: None });
        Self { keyed, made_in: Generation::current(), wanted, next }
    }

    /// Returns whether sealing the frames of a log costs less if their key stream is made ahead;
    /// see [`Ahead::pays`].
    #[must_use]
    pub fn pays(cipher: &'static Cipher, provider: impl Into<Provider>) -> bool {
        Ahead::pays(cipher, provider)
    }

    /// Makes key stream if the writer will soon need some: for threads that are about to wait for
    /// the writer anyway. Never waits.
    pub fn prepare(&self) {
        // a forked child has neither the keys nor a right to these nonces
        if self.made_in.check().is_err() {
            return;
        }
        if let Some(mut next) = self.next() {
            let Next { batch, order } = &mut *next;
            if let Some((first, bytes)) = order.take() {
                // without random bits the writer itself fails, and reports why
                let _ = batch.fill(&self.keyed, first, bytes);
            }
        }
    }

    /// Returns None if another thread is working on it: that thread may have been interrupted, and
    /// must not be waited for.
    fn next(&self) -> Option<MutexGuard<'_, Next>> {
        match self.next.try_lock() {
            Ok(next) => Some(next),
            // a thread that panicked left a batch that covers no frame
            Err(TryLockError::Poisoned(next)) => Some(next.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl fmt::Debug for KeyStreamAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStreamAhead").finish_non_exhaustive()
    }
}

/// The writer's side.
pub(super) struct Consumer {
    shared: Arc<KeyStreamAhead>,
    current: Batch,
    /// Mean length of recent frames, in bytes.
    mean: usize,
}

/// The random bits of the nonce of a frame, and its key stream.
pub(super) struct Taken<'a> {
    pub(super) random: u32,
    pub(super) stream: &'a mut [u8],
    pub(super) keyed: &'a Ahead,
}

impl Consumer {
    pub(super) fn new(shared: Arc<KeyStreamAhead>) -> Self {
        Self { shared, current: Batch::empty(), mean: 0 }
    }

    /// Returns the key stream of frame `index`, of `bytes` bytes; None where it is not worthwhile.
    /// Each is returned once.
    pub(super) fn take(
        &mut self,
        index: u64,
        bytes: usize,
    ) -> Result<Option<Taken<'_>>, SealError> {
        self.mean = if self.mean == 0 { bytes } else { (7 * self.mean + bytes) / 8 };
        if !self.current.covers(index) {
            if self.mean > MEAN_BYTES_MAX {
                return Ok(None);
            }
            self.refill(index)?;
        }
        let Self { shared, current, .. } = self;
        let at = (index - current.first) as usize;
        let stream = &mut current.stream[at * current.each..][..current.each];
        Ok(Some(Taken { random: current.random[at], stream, keyed: &shared.keyed }))
    }

    /// Moves to the batch that was prepared, if there is one, and requests the next.
    fn refill(&mut self, index: u64) -> Result<(), SealError> {
        let Self { shared, current, mean } = self;
        // some are longer than the mean, and a surplus costs less than a shortage
        let bytes = *mean + *mean / 8;
        let mut next = shared.next();
        match &mut next {
            Some(next) if next.batch.covers(index) => std::mem::swap(&mut next.batch, current),
            _ => current.fill(&shared.keyed, index, bytes)?,
        }
        if let Some(mut next) = next {
            next.order = Some((current.first + current.frames as u64, bytes));
            shared.wanted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").finish_non_exhaustive()
    }
}
