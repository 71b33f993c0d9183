//! Overwrites the stack that calls leave behind.

use zeroize::optimization_barrier;

use crate::arch::{AesLanes, Kernel};

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

/// Overwrites what a kernel of AES or of a hash may have spilled: its frame has up to some twenty
/// vectors, whatever the number of registers. A compiler that makes larger ones fails the tests of
/// what is left on the stack.
#[inline(always)]
pub(crate) fn wipe_spilled<L: AesLanes>(lanes: L) {
    match L::BLOCKS {
        1 => wipe_stack::<1024>(),
        2 => wipe_stack::<1536>(),
        _ => lanes.enter(WipeStack::<1280>),
    }
}

#[inline(always)]
fn overwrite<const BYTES: usize>() {
    let room = [0_u8; BYTES];
    optimization_barrier(&room);
}
