//! AES for one value of FF1: the rounds of `lanes` on vectors of one block, with everything else on
//! the value's critical path around them, so that nothing goes through memory between two blocks.

use super::lanes::{FirstBlocks, Schedule, last_round, round};
use crate::arch::{AesLanes, Kernel, Products};
use crate::mode::ff1_value::one_value::{LastBlock, OneValue};

/// Bytes of stack that [`CryptValue`] may leave something in that there was no register for: 400
/// and less, more where it was built for debugging.
pub(super) const STACK_OF_VALUE: usize = if cfg!(debug_assertions) { 2048 } else { 1024 };

/// Seals or opens `value`.
pub(super) struct CryptValue<'a, W, const R: usize, const SEAL: bool, const LONG: bool> {
    pub(super) keys: FirstBlocks<'a, W>,
    pub(super) value: OneValue<'a, 16>,
}

impl<L: Products, W: AesLanes, const R: usize, const SEAL: bool, const LONG: bool> Kernel<L>
    for CryptValue<'_, W, R, SEAL, LONG>
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, value } = self;
        let state = lanes.xor(lanes.first(value.state), lanes.load_partial(value.tail));
        let whitened = lanes.xor(state, keys.get(lanes, 0));
        value.crypt::<SEAL, LONG>(&Rounds::<_, _, R> { lanes, keys, whitened });
    }
}

/// AES of `R` rounds of a block that is added to `whitened`: the common part of all such blocks,
/// and the first round key.
struct Rounds<'a, L: AesLanes, W, const R: usize> {
    lanes: L,
    keys: FirstBlocks<'a, W>,
    whitened: L::Vector,
}

impl<L: Products, W: AesLanes, const R: usize> LastBlock for Rounds<'_, L, W, R> {
    type Lanes = L;

    #[inline(always)]
    fn lanes(&self) -> L {
        self.lanes
    }

    #[inline(always)]
    fn encrypt(&self, end: u128, number: L::Vector) -> L::Vector {
        let Self { lanes, keys, whitened } = self;
        let whitened = lanes.xor(*whitened, lanes.first(&end.to_be_bytes()));
        let mut v = [lanes.xor(whitened, number)];
        for r in 1..R {
            round(*lanes, keys, r, &mut v);
        }
        last_round::<L, R, 1>(*lanes, keys, &mut v);
        v[0]
    }
}
