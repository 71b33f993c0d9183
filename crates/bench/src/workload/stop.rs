//! The error that the user requested an end while workloads were being made, which takes minutes
//! for large data sets.

use std::sync::atomic::{AtomicBool, Ordering};

/// The work was given up; nothing was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Checks for a stop; long computations call it often.
///
/// # Errors
/// Once `stop` is set.
#[inline]
pub(super) fn go_on(stop: &AtomicBool) -> Result<(), Stopped> {
    if stop.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
}
