//! State of the round function before a tweak, kept for the first few shapes of values that a key
//! meets: it depends only on radix, length and length of the tweak, and saves each value one block
//! in eleven.
//!
//! It is secret, so it is kept in the memory for keys.

use std::sync::OnceLock;

use crate::mode::wipe_stack::wipe_stack;

/// Shapes whose state is kept: more than a column has.
const KEPT: usize = 8;
/// Bytes of stack that computing a state may leave something in.
const STACK_OF_STATE: usize = 4096;

/// States of blocks of `N` bytes, each made on first use.
pub(super) struct Heads<const N: usize>([OnceLock<Head<N>>; KEPT]);

struct Head<const N: usize> {
    length: usize,
    tweak_bytes: usize,
    state: [u8; N],
}

impl<const N: usize> Heads<N> {
    /// Returns no states yet.
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }

    /// The state for values of `length` numerals and tweaks of `tweak_bytes` bytes, as `compute`
    /// has it; nothing where other shapes came first.
    #[inline(always)]
    pub(super) fn get(
        &self,
        length: usize,
        tweak_bytes: usize,
        compute: &dyn Fn(&mut [u8; N]),
    ) -> Option<&[u8; N]> {
        for place in &self.0 {
            let head = match place.get() {
                Some(head) => head,
                None => Self::keep(place, length, tweak_bytes, compute),
            };
            if head.length == length && head.tweak_bytes == tweak_bytes {
                return Some(&head.state);
            }
        }
        None
    }

    /// Returns the content of `place`, which was empty: another thread may have been quicker to
    /// fill it.
    #[cold]
    #[inline(never)]
    fn keep<'a>(
        place: &'a OnceLock<Head<N>>,
        length: usize,
        tweak_bytes: usize,
        compute: &dyn Fn(&mut [u8; N]),
    ) -> &'a Head<N> {
        let head = place.get_or_init(|| {
            let mut head = Head { length, tweak_bytes, state: [0; N] };
            compute(&mut head.state);
            head
        });
        wipe_stack::<STACK_OF_STATE>();
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_has_its_own_state_until_the_room_is_full() {
        let heads = Heads::<16>::new();
        let get = |shape: usize| {
            let compute = |state: &mut [u8; 16]| state.fill(shape as u8);
            heads.get(shape / 2, shape % 2, &compute).copied()
        };
        for _ in 0..2 {
            for shape in 0..KEPT {
                assert_eq!(get(shape), Some([shape as u8; 16]));
            }
            assert_eq!(get(KEPT), None);
        }
    }
}
