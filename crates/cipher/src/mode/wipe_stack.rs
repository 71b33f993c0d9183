//! Overwrites the stack that calls leave behind.

use zeroize::optimization_barrier;

use crate::arch::Kernel;

/// Overwrites `BYTES` bytes of stack below the caller's frame, where earlier calls spilled their
/// registers.
#[inline(never)]
pub(crate) fn wipe_stack<const BYTES: usize>() {
    overwrite::<BYTES>();
}

/// The same as a kernel, after another one of the same instruction set: with wide vectors it takes
/// a few stores instead of a call.
pub(crate) struct WipeStack<const BYTES: usize>;

impl<L, const BYTES: usize> Kernel<L> for WipeStack<BYTES> {
    type Output = ();

    #[inline(always)]
    fn run(self, _lanes: L) {
        overwrite::<BYTES>();
    }
}

#[inline(always)]
fn overwrite<const BYTES: usize>() {
    let room = [0_u8; BYTES];
    optimization_barrier(&room);
}
