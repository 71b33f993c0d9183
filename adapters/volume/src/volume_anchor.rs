//! The anchor of a volume: the generation of its newest root, recorded outside of it. Not here:
//! anchors themselves (`sealstone_anchor`).

use std::sync::{Arc, Mutex, PoisonError};

use sealstone_anchor::{Anchor, Mark};
use sealstone_seal::SealError;

use crate::error::Failure;

/// The anchor of an open volume, if it has one.
pub(crate) struct Anchored {
    anchor: Option<Arc<dyn Anchor>>,
    volume: [u8; 16],
    /// Generation that was recorded last; none before the first.
    recorded: Mutex<Option<u64>>,
}

/// Returns the mark of a volume whose newest root is `generation`.
pub(crate) fn mark(volume: [u8; 16], generation: u64) -> Mark {
    Mark { store: volume, generation, changes: 0 }
}

/// Refuses a volume that is older than `anchor` recorded; returns what that was.
///
/// # Errors
/// [`SealError::Older`]; [`Failure::Anchor`] if it cannot be read.
pub(crate) fn check(anchor: &dyn Anchor, found: &Mark) -> Result<Option<Mark>, Failure> {
    let newest = anchor.read()?;
    let shortfall = newest.and_then(|newest| newest.shortfall(Some(found)).zip(Some(newest)));
    let Some((found, newest)) = shortfall else { return Ok(newest) };
    Err(SealError::Older { anchor: anchor.describe(), newest: newest.age(), found }.into())
}

impl Anchored {
    /// Returns the anchor of the volume whose root of `generation` was found, unless that is older
    /// than the anchor recorded.
    ///
    /// # Errors
    /// As [`check`].
    pub(crate) fn open(
        anchor: Option<Arc<dyn Anchor>>,
        volume: [u8; 16],
        generation: u64,
    ) -> Result<Self, Failure> {
        let found = mark(volume, generation);
        let newest = anchor.as_ref().map_or(Ok(None), |anchor| check(&**anchor, &found))?;
        let recorded = Mutex::new(newest.map(|newest| newest.generation));
        Ok(Self { anchor, volume, recorded })
    }

    /// Records `generation`, whose root is on stable storage.
    ///
    /// # Errors
    /// [`Failure::Anchor`]: it may be recorded or not, and is to be tried again.
    pub(crate) fn record(&self, generation: u64) -> Result<(), Failure> {
        let Some(anchor) = &self.anchor else { return Ok(()) };
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if *recorded != Some(generation) {
            anchor.write(&mark(self.volume, generation))?;
            *recorded = Some(generation);
        }
        Ok(())
    }

    /// Returns the generation that was recorded last, if there is an anchor.
    pub(crate) fn recorded(&self) -> Option<u64> {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether there is an anchor that does not have `generation`.
    pub(crate) fn is_behind(&self, generation: u64) -> bool {
        self.anchor.is_some() && self.recorded() != Some(generation)
    }
}
