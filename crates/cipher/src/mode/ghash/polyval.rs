//! POLYVAL (RFC 8452, 3): the same hash as GHASH over blocks as they are, and without lengths of
//! its own.

use super::{GROUP, LONG, LongPowers, Powers, Products, portable};
use crate::arch::{AesLanes, Kernel, Words, with_aes};
use crate::backend::Backend;
use crate::memory::Protected;
use crate::mode::wipe_stack::{wipe_spilled, wipe_stack};

/// The powers of one hash key, zeroed on drop.
pub(crate) struct PolyvalKey(Protected<dyn Hash>);

impl PolyvalKey {
    /// Sets up `key` for `backend`.
    pub(crate) fn new(key: &[u8; 16], backend: Backend) -> Self {
        Self(with_aes!(
            backend,
            |lanes| {
                let mut keyed =
                    Protected::with(|| LanesKey { lanes, powers: LongPowers(Powers::zero()) });
                lanes.enter(SetPowers { key, powers: &mut keyed.powers.0 });
                wipe_stack::<4096>();
                keyed.unsize(|keyed| keyed)
            },
            |words| portable::Key::of_unit(words, u128::from_le_bytes(*key)).unsize(|key| key)
        ))
    }

    /// Returns the hash whose state was `state`, zeros at first, after `parts`, whole blocks each.
    pub(crate) fn absorb(&self, state: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        self.0.absorb(state, parts)
    }
}

/// POLYVAL under one key, by one instruction set.
trait Hash: Send + Sync {
    fn absorb(&self, state: [u8; 16], parts: &[&[u8]]) -> [u8; 16];
}

/// A hash key for vectors with carry-less multiplication.
struct LanesKey<L> {
    lanes: L,
    powers: LongPowers,
}

/// Makes the powers of a hash key.
pub(crate) struct SetPowers<'a> {
    pub(crate) key: &'a [u8; 16],
    pub(crate) powers: &'a mut Powers<LONG>,
}

impl<L: AesLanes> Kernel<L> for SetPowers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.powers.set_all(lanes, lanes.splat(self.key));
    }
}

/// Takes parts into a hash: [`PolyvalKey::absorb`] by powers at hand.
pub(crate) struct AbsorbParts<'a> {
    pub(crate) powers: &'a Powers<LONG>,
    pub(crate) state: [u8; 16],
    pub(crate) parts: &'a [&'a [u8]],
}

impl<L: AesLanes> Kernel<L> for AbsorbParts<'_> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        let mut hash = lanes.first(&self.state);
        for part in self.parts {
            debug_assert!(part.len().is_multiple_of(16));
            let (sums, rest) = absorb_lanes(lanes, self.powers, hash, part);
            hash = sums;
            for group in rest.chunks(16 * GROUP) {
                hash = absorb(lanes, self.powers, hash, group);
            }
        }
        lanes.to_block(hash)
    }
}

/// Takes groups of `part` into the hash, each lane by itself: the sums in the lanes belong to the
/// blocks in the same lanes of what is left, which is a vector or more if any group was taken. To
/// add the lanes up for each group would make the next one wait for it.
#[inline(always)]
fn absorb_lanes<'a, L: AesLanes>(
    lanes: L,
    powers: &Powers<LONG>,
    hash: L::Vector,
    part: &'a [u8],
) -> (L::Vector, &'a [u8]) {
    let (mut sums, mut part) = (hash, part);
    while part.len() >= 16 * GROUP + L::BYTES {
        let (group, rest) = part.split_at(16 * GROUP);
        let mut products = Products::zero(lanes);
        for i in 1..GROUP / L::BLOCKS {
            let blocks = lanes.load(&group[i * L::BYTES..]);
            products.add_in_lanes(lanes, blocks, powers, GROUP - i * L::BLOCKS);
        }
        let blocks = lanes.xor(lanes.load(group), sums);
        products.add_in_lanes(lanes, blocks, powers, GROUP);
        sums = products.reduce(lanes);
        part = rest;
    }
    (sums, part)
}

/// Takes a group of blocks, 1 to [`GROUP`], into the hash. The hash so far goes in with the first
/// vector, which comes last: it may just be ready by then.
#[inline(always)]
fn absorb<L: AesLanes>(
    lanes: L,
    powers: &Powers<LONG>,
    hash: L::Vector,
    group: &[u8],
) -> L::Vector {
    let mut products = Products::zero(lanes);
    let blocks = group.len() / 16;
    let (first, rest) = group.split_at(group.len().min(L::BYTES));
    let mut exponent = blocks.wrapping_sub(L::BLOCKS);
    let mut vectors = rest.chunks_exact(L::BYTES);
    for vector in &mut vectors {
        products.add(lanes, lanes.load(vector), powers, exponent);
        exponent = exponent.wrapping_sub(L::BLOCKS);
    }
    let partial = vectors.remainder();
    if !partial.is_empty() {
        products.add(lanes, lanes.load_partial(partial), powers, exponent);
    }
    let first = if first.len() == L::BYTES { lanes.load(first) } else { lanes.load_partial(first) };
    products.add(lanes, lanes.xor(first, hash), powers, blocks);
    products.hash(lanes)
}

impl<L: AesLanes> Hash for LanesKey<L> {
    fn absorb(&self, state: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        let hash = self.lanes.enter(AbsorbParts { powers: &self.powers.0, state, parts });
        wipe_spilled(self.lanes);
        hash
    }
}

impl<W: Words + Send + Sync> Hash for portable::Key<W>
where
    W::Word: Send + Sync,
{
    fn absorb(&self, state: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        let blocks = parts.iter().flat_map(|part| part.as_chunks::<16>().0);
        let mut numbers = blocks.map(|block| u128::from_le_bytes(*block));
        let mut hash = u128::from_le_bytes(state);
        loop {
            let mut batch = [0; portable::BATCH];
            let mut count = 0;
            for (place, number) in batch.iter_mut().zip(&mut numbers) {
                *place = number;
                count += 1;
            }
            if count == 0 {
                return hash.to_le_bytes();
            }
            hash = Self::absorb(self, hash, &batch[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8452, appendix A.
    #[test]
    fn published_value() {
        let block = |number: u128| number.to_be_bytes();
        let key = block(0x2562_9347_5892_4276_1d31_f826_ba4b_757b);
        let text =
            [0x4f4f_9566_8c83_dfb6_4017_62bb_2d01_a262, 0xd1a2_4ddd_2721_d006_bbe4_5f20_d3c9_f362]
                .map(block);
        let want = block(0xf7a3_b47b_8461_19fa_e5b7_866c_f5e5_b77e);
        for backend in Backend::available() {
            let key = PolyvalKey::new(&key, backend);
            let hash = |parts: &[&[u8]]| key.absorb([0; 16], parts);
            assert_eq!(hash(&[text.as_flattened()]), want, "{}", backend.name());
            assert_eq!(hash(&[&text[0], &[], &text[1]]), want, "{}", backend.name());
            assert_eq!(key.absorb(hash(&[&text[0]]), &[&text[1]]), want, "{}", backend.name());
        }
    }
}
