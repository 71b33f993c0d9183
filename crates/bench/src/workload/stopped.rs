//! That the user asked for an end while workloads were being made, which takes minutes for large
//! data sets.

use std::sync::atomic::{AtomicBool, Ordering};

/// The work was given up; nothing was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Asked often, by whatever takes long.
///
/// # Errors
/// Once `stop` is set.
#[inline]
pub(super) fn go_on(stop: &AtomicBool) -> Result<(), Stopped> {
    if stop.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
}
