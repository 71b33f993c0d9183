//! Repetition of operations that run into others.

use std::thread;
use std::time::Duration;

/// Number of times that such an operation is tried before that is an error.
pub(crate) const ATTEMPTS: u32 = 1000;
/// Longest wait before the next attempt.
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// Waits before attempt number `attempt` is repeated, `step` for each attempt so far.
pub(crate) fn pause(attempt: u32, step: Duration) {
    thread::sleep(PAUSE_MAX.min(step * attempt));
}
