//! Overwrites the stack that calls leave behind.
//!
//! Not here: memory that keys are kept in ([`crate::memory`]), and the tests of what is left (`left_on_stack`).

use zeroize::optimization_barrier;

/// Overwrites `BYTES` bytes of stack below the caller's frame, where what was called before kept what it found no
/// register for.
#[inline(never)]
pub(crate) fn wipe_stack<const BYTES: usize>() {
    let room = [0_u8; BYTES];
    optimization_barrier(&room);
}
