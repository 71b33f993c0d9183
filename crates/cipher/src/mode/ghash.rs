//! GHASH (SP 800-38D, 6.4): the universal hash of GCM, over associated data, ciphertext and their
//! lengths.
//!
//! Blocks are taken with their bytes reversed and multiplied by H·x in the field of POLYVAL (RFC
//! 8452, appendix A, shows the two to be the same function). There a product of two 128-bit numbers
//! needs no shift, and it is reduced by two multiplications with one constant. Several blocks are
//! multiplied by descending powers of H, and their sum is reduced once (Gueron, Kounavis: Intel
//! carry-less multiplication and its use for GCM, 2010).

mod field;
pub(crate) mod polyval;
mod portable;

use std::sync::OnceLock;

use self::field::MODULUS;
pub(crate) use self::field::lengths;
use crate::arch::{AesLanes, Kernel, Words, with_aes};
use crate::backend::Backend;
use crate::memory::Protected;
use crate::mode::wipe_stack::{wipe_spilled, wipe_stack};

/// The powers of one hash key, zeroed on drop.
pub(crate) struct GhashKey(Protected<dyn Hash>);

impl GhashKey {
    /// Sets up `h`, the encryption of the zero block, for `backend`.
    pub(crate) fn new(h: &[u8; 16], backend: Backend) -> Self {
        Self(with_aes!(
            backend,
            |lanes| {
                let mut key = Protected::with(|| LanesKey {
                    lanes,
                    short: Powers::zero(),
                    long: OnceLock::new(),
                });
                lanes.enter(SetPowers { h, powers: &mut key.short });
                key.unsize(|key| key)
            },
            |words| portable::Key::protected(words, h).unsize(|key| key)
        ))
    }

    /// GHASH of `associated` and `ciphertext` (any length, each padded with zeros to whole blocks)
    /// and a last block with both lengths: the encryption of the first counter block masks it to
    /// make the tag (SP 800-38D, 7.1, step 5).
    pub(crate) fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        self.0.tag_input(associated, ciphertext)
    }
}

/// GHASH under one key, by one instruction set.
trait Hash: Send + Sync {
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16];
}

/// Vectors multiplied before their sum is reduced.
pub(crate) const BATCH: usize = 8;

/// Blocks multiplied before their sum is reduced, where nothing else goes on: each reduction waits
/// for the one before it.
const GROUP: usize = 32;

/// Blocks of associated data that go with the first group of data.
const WITH_GROUP: usize = 2;

/// Slots of [`Powers`] for messages of any length: one unused; the powers for a group, with
/// [`WITH_GROUP`] blocks before it and the lengths behind it; a vector of zeros.
pub(crate) const LONG: usize = 1 + WITH_GROUP + GROUP + 1 + 4;

/// Slots of [`Powers`] for short messages: as many powers as are made in three steps, and a vector
/// of zeros.
pub(crate) const SHORT: usize = 12;

/// Bytes of data, and of associated data, that [`SHORT`] slots are enough for: with the lengths all
/// that they have.
pub(crate) const SHORT_BYTES: usize = 16 * (SHORT - 4 - 1);

/// Powers of H in descending order, H last, then zeros: blocks that are multiplied by them in order
/// end with H. A vector may be loaded from any power on. Kept in protected memory alone, which is
/// zeroed.
#[repr(C)]
pub(crate) struct Powers<const SLOTS: usize> {
    powers: [[u8; 16]; SLOTS],
    /// The sum of each power's halves, in both halves: Karatsuba's third factor.
    sums: [[u8; 16]; SLOTS],
}

/// Powers for messages of any length, such that H^n is at a multiple of 64 bytes.
#[repr(C, align(64))]
pub(crate) struct LongPowers(pub(crate) Powers<LONG>);

impl<const SLOTS: usize> Powers<SLOTS> {
    /// Returns zeros, to be set by [`Powers::set_all`].
    pub(crate) fn zero() -> Self {
        Self { powers: [[0; 16]; SLOTS], sums: [[0; 16]; SLOTS] }
    }

    /// Returns the position at which H^`exponent` starts.
    #[inline(always)]
    fn at(exponent: usize) -> usize {
        SLOTS - 4 - exponent
    }

    /// Sets the powers of H, given as [`field_key_in_lanes`] makes it, in every lane.
    #[inline(always)]
    pub(crate) fn set_all<L: AesLanes>(&mut self, lanes: L, unit: L::Vector) {
        const { assert!(matches!(L::BLOCKS, 1 | 2 | 4) && matches!(SLOTS, SHORT | LONG)) };
        // Each power in every lane; the power of a vector's first lane comes last.
        let (mut vector, mut top) = (unit, unit);
        if L::BLOCKS >= 2 {
            top = multiply(lanes, unit, unit);
            vector = lanes.prepend(top, unit);
        }
        if L::BLOCKS == 4 {
            let third = multiply(lanes, top, unit);
            top = multiply(lanes, top, top);
            vector = lanes.prepend(top, lanes.prepend(third, vector));
        }
        self.set(lanes, L::BLOCKS, vector);
        // With all powers up to n known, n more come from them by multiplying with H^n: no long
        // chain.
        let batch = if SLOTS == LONG { GROUP } else { SHORT - 4 };
        let mut known = L::BLOCKS;
        while known < batch {
            for exponent in (L::BLOCKS..=known).step_by(L::BLOCKS) {
                let product = multiply(lanes, self.get(lanes, exponent).value, top);
                self.set(lanes, known + exponent, product);
            }
            known *= 2;
            top = multiply(lanes, top, top);
        }
        if SLOTS == LONG {
            let mut highest = self.get(lanes, known).value;
            for exponent in known + 1..=WITH_GROUP + GROUP + 1 {
                top = multiply(lanes, top, unit);
                highest = lanes.prepend(top, highest);
                self.set(lanes, exponent, highest);
            }
        }
    }

    /// H itself, in every lane.
    #[inline(always)]
    pub(crate) fn unit<L: AesLanes>(&self, lanes: L) -> L::Vector {
        lanes.splat(&self.powers[Self::at(1)])
    }

    /// H^`exponent` in the first lane of a vector, and lower powers in the others.
    #[inline(always)]
    fn get<L: AesLanes>(&self, lanes: L, exponent: usize) -> Factor<L> {
        let at = Self::at(exponent);
        let (powers, sums) = (&self.powers[at..], &self.sums[at..]);
        Factor { value: lanes.load(powers.as_flattened()), sum: lanes.load(sums.as_flattened()) }
    }

    /// Sets H^`exponent` in the first lane of a vector and lower powers in the others.
    #[inline(always)]
    fn set<L: AesLanes>(&mut self, lanes: L, exponent: usize, powers: L::Vector) {
        let at = Self::at(exponent);
        lanes.store(powers, self.powers[at..].as_flattened_mut());
        lanes.store(
            lanes.xor(powers, lanes.swap_halves(powers)),
            self.sums[at..].as_flattened_mut(),
        );
    }
}

/// Computes [`field_key`](field::field_key) in the registers of `lanes`, which leaves nothing in
/// memory: `h` and the result are in every lane.
#[inline(always)]
pub(crate) fn field_key_in_lanes<L: AesLanes>(lanes: L, h: L::Vector) -> L::Vector {
    let h = lanes.reverse_bytes(h);
    let x = lanes.splat(&(2 << 64 | 2_u128).to_le_bytes());
    // Each half times x; a bit that leaves the low one belongs to the high one.
    let (low, high) = (lanes.multiply_low(h, x), lanes.multiply_high(h, x));
    let carry = lanes.high_to_low(high);
    let modulus_high = lanes.splat(&(MODULUS >> 64).to_le_bytes());
    const { assert!(MODULUS as u64 == 1) };
    let reduced = lanes.xor(carry, lanes.low_to_high(lanes.multiply_low(carry, modulus_high)));
    lanes.xor(lanes.xor(low, lanes.low_to_high(high)), reduced)
}

/// A vector to multiply with.
struct Factor<L: AesLanes> {
    value: L::Vector,
    /// The sum of the halves, in both halves.
    sum: L::Vector,
}

struct SetPowers<'a> {
    h: &'a [u8; 16],
    powers: &'a mut Powers<SHORT>,
}

impl<L: AesLanes> Kernel<L> for SetPowers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.powers.set_all(lanes, field_key_in_lanes(lanes, lanes.splat(self.h)));
    }
}

struct Lengthen<'a> {
    short: &'a Powers<SHORT>,
    long: &'a mut Powers<LONG>,
}

impl<L: AesLanes> Kernel<L> for Lengthen<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.long.set_all(lanes, self.short.unit(lanes));
    }
}

/// A sum of products, not yet reduced: one a lane.
///
/// Three multiplications a product instead of four (Karatsuba): carry-less multipliers are fewer
/// than AES units.
pub(crate) struct Products<L: AesLanes> {
    low: L::Vector,
    /// (low + high) times (low + high).
    both: L::Vector,
    high: L::Vector,
}

impl<L: AesLanes> Products<L> {
    /// Returns the empty sum.
    #[inline(always)]
    pub(crate) fn zero(lanes: L) -> Self {
        Self { low: lanes.zero(), both: lanes.zero(), high: lanes.zero() }
    }

    /// Adds the products of `a` and the powers from H^`exponent` downwards.
    #[inline(always)]
    pub(crate) fn add<const SLOTS: usize>(
        &mut self,
        lanes: L,
        a: L::Vector,
        powers: &Powers<SLOTS>,
        exponent: usize,
    ) {
        self.add_product(lanes, a, &powers.get(lanes, exponent));
    }

    /// Adds the products of `a` and H^`exponent`, the same in every lane.
    #[inline(always)]
    fn add_in_lanes<const SLOTS: usize>(
        &mut self,
        lanes: L,
        a: L::Vector,
        powers: &Powers<SLOTS>,
        exponent: usize,
    ) {
        let at = Powers::<SLOTS>::at(exponent);
        let (value, sum) = (lanes.splat(&powers.powers[at]), lanes.splat(&powers.sums[at]));
        self.add_product(lanes, a, &Factor { value, sum });
    }

    #[inline(always)]
    fn add_product(&mut self, lanes: L, a: L::Vector, b: &Factor<L>) {
        let sum = lanes.xor(a, lanes.swap_halves(a));
        self.low = lanes.xor(self.low, lanes.multiply_low(a, b.value));
        self.high = lanes.xor(self.high, lanes.multiply_high(a, b.value));
        self.both = lanes.xor(self.both, lanes.multiply_low(sum, b.sum));
    }

    /// Reduces each lane: the sum times x^-128, modulo the field's polynomial.
    #[inline(always)]
    fn reduce(self, lanes: L) -> L::Vector {
        let middle = lanes.xor(self.both, lanes.xor(self.low, self.high));
        let low = lanes.xor(self.low, lanes.low_to_high(middle));
        let high = lanes.xor(self.high, lanes.high_to_low(middle));
        // x^-64 = x^64 + x^63 + x^62 + x^57, so a low half times this, added one half up, makes
        // itself vanish.
        let inverse = lanes.splat(&(MODULUS >> 64).to_le_bytes());
        let once = lanes.xor(lanes.swap_halves(low), lanes.multiply_low(low, inverse));
        let twice = lanes.xor(lanes.swap_halves(once), lanes.multiply_low(once, inverse));
        lanes.xor(high, twice)
    }

    /// Returns the hash: all lanes reduced and added, in the first lane.
    #[inline(always)]
    pub(crate) fn hash(self, lanes: L) -> L::Vector {
        lanes.fold(self.reduce(lanes))
    }
}

#[inline(always)]
fn multiply<L: AesLanes>(lanes: L, a: L::Vector, b: L::Vector) -> L::Vector {
    let mut product = Products::zero(lanes);
    product.add_product(lanes, a, &Factor { value: b, sum: lanes.xor(b, lanes.swap_halves(b)) });
    product.reduce(lanes)
}

impl<const SLOTS: usize> Powers<SLOTS> {
    /// Takes whole batches into the hash, where there are powers for a batch; returns the rest.
    #[inline(always)]
    fn absorb_batches<'a, L: AesLanes>(
        &self,
        lanes: L,
        hash: L::Vector,
        bytes: &'a [u8],
    ) -> (L::Vector, &'a [u8]) {
        if SLOTS == SHORT {
            return (hash, bytes);
        }
        let mut hash = hash;
        let mut batches = bytes.chunks_exact(BATCH * L::BYTES);
        for batch in &mut batches {
            hash = absorb_batch(lanes, self, hash, batch);
        }
        (hash, batches.remainder())
    }
}

/// Takes the whole blocks of one batch, `BATCH * L::BYTES` bytes, into the hash.
#[inline(always)]
pub(crate) fn absorb_batch<L: AesLanes, const SLOTS: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    hash: L::Vector,
    bytes: &[u8],
) -> L::Vector {
    let mut products = Products::zero(lanes);
    let mut carried = hash;
    for (i, vector) in bytes.chunks_exact(L::BYTES).enumerate() {
        let blocks = lanes.xor(lanes.reverse_bytes(lanes.load(vector)), carried);
        carried = lanes.zero();
        products.add(lanes, blocks, powers, (BATCH - i) * L::BLOCKS);
    }
    products.hash(lanes)
}

/// Takes `bytes`, any length that the powers are enough for, padded with zeros to whole blocks,
/// into the hash.
#[inline(always)]
pub(crate) fn absorb<L: AesLanes, const SLOTS: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    hash: L::Vector,
    bytes: &[u8],
) -> L::Vector {
    let (hash, rest) = powers.absorb_batches(lanes, hash, bytes);
    if rest.is_empty() {
        return hash;
    }
    let mut products = Products::zero(lanes);
    add_rest(lanes, powers, &mut products, hash, rest, 0);
    products.hash(lanes)
}

/// Adds `rest`, not empty, to `products`, such that `after` more blocks can follow, for all of
/// which there are powers; the hash so far goes in with the first block.
#[inline(always)]
fn add_rest<L: AesLanes, const SLOTS: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    products: &mut Products<L>,
    hash: L::Vector,
    rest: &[u8],
    after: usize,
) {
    let mut exponent = rest.len().div_ceil(16) + after;
    let mut carried = hash;
    let mut vectors = rest.chunks_exact(L::BYTES);
    for vector in &mut vectors {
        products.add(
            lanes,
            lanes.xor(lanes.reverse_bytes(lanes.load(vector)), carried),
            powers,
            exponent,
        );
        carried = lanes.zero();
        exponent -= L::BLOCKS;
    }
    let partial = vectors.remainder();
    if !partial.is_empty() {
        let blocks = lanes.reverse_bytes(lanes.load_partial(partial));
        products.add(lanes, lanes.xor(blocks, carried), powers, exponent);
    }
}

/// Adds a group to `products`, such that `AFTER` more blocks can follow. The hash so far goes in
/// with the first vector, which comes last: it may just be ready by then.
#[inline(always)]
fn add_group<L: AesLanes, const SLOTS: usize, const AFTER: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    products: &mut Products<L>,
    hash: L::Vector,
    group: &[u8; 16 * GROUP],
) {
    let blocks = |i: usize| lanes.reverse_bytes(lanes.load(&group[i * L::BYTES..]));
    for i in 1..GROUP / L::BLOCKS {
        products.add(lanes, blocks(i), powers, GROUP + AFTER - i * L::BLOCKS);
    }
    products.add(lanes, lanes.xor(blocks(0), hash), powers, GROUP + AFTER);
}

/// Takes `rest` (at most a batch) and the block of lengths, and gives GHASH as bytes.
#[inline(always)]
pub(crate) fn finish<L: AesLanes, const SLOTS: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    hash: L::Vector,
    rest: &[u8],
    lengths: u128,
) -> L::Vector {
    let mut products = Products::zero(lanes);
    let mut last = lanes.first(&lengths.to_le_bytes());
    if rest.is_empty() {
        last = lanes.xor(last, hash);
    } else {
        add_rest(lanes, powers, &mut products, hash, rest, 1);
    }
    products.add(lanes, last, powers, 1);
    lanes.reverse_bytes(products.hash(lanes))
}

/// GHASH, as bytes, of `associated`, any length, and no data.
#[inline(always)]
pub(crate) fn hash_head<L: AesLanes, const SLOTS: usize>(
    lanes: L,
    powers: &Powers<SLOTS>,
    associated: &[u8],
) -> L::Vector {
    // the lengths go together with the last batch
    let batches = associated.len().saturating_sub(1) / (BATCH * L::BYTES);
    let (whole, rest) = associated.split_at(batches * BATCH * L::BYTES);
    let hash = absorb(lanes, powers, lanes.zero(), whole);
    finish(lanes, powers, hash, rest, lengths(associated, 0))
}

/// A hash key for vectors with carry-less multiplication.
struct LanesKey<L> {
    lanes: L,
    short: Powers<SHORT>,
    /// Made with the first long message.
    long: OnceLock<Protected<LongPowers>>,
}

/// Hashes a message: [`GhashKey::tag_input`] by powers at hand.
pub(crate) struct TagInput<'a, const SLOTS: usize> {
    pub(crate) powers: &'a Powers<SLOTS>,
    pub(crate) associated: &'a [u8],
    pub(crate) ciphertext: &'a [u8],
}

impl<L: AesLanes, const SLOTS: usize> Kernel<L> for TagInput<'_, SLOTS> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        let Self { powers, associated, ciphertext } = self;
        let lengths = lengths(associated, ciphertext.len());
        let (mut hash, mut products) = (lanes.zero(), Products::zero(lanes));
        let group_bytes = if SLOTS == LONG { 16 * GROUP } else { SHORT_BYTES };
        let (mut group, mut rest) = ciphertext.split_at(ciphertext.len().min(group_bytes));
        if SLOTS == SHORT || associated.len() > 16 * WITH_GROUP {
            hash = absorb(lanes, powers, hash, associated);
        } else if !associated.is_empty() {
            let after = group.len().div_ceil(16) + usize::from(rest.is_empty());
            add_rest(lanes, powers, &mut products, hash, associated, after);
        }
        while !rest.is_empty() {
            match group.first_chunk() {
                Some(group) if SLOTS == LONG => {
                    add_group::<L, SLOTS, 0>(lanes, powers, &mut products, hash, group);
                }
                _ => add_rest(lanes, powers, &mut products, hash, group, 0),
            }
            (hash, products) = (products.hash(lanes), Products::zero(lanes));
            (group, rest) = rest.split_at(rest.len().min(group_bytes));
        }
        let mut last = lanes.first(&lengths.to_le_bytes());
        match group.first_chunk() {
            Some(group) if SLOTS == LONG => {
                add_group::<L, SLOTS, 1>(lanes, powers, &mut products, hash, group);
            }
            _ if group.is_empty() => last = lanes.xor(last, hash),
            _ => add_rest(lanes, powers, &mut products, hash, group, 1),
        }
        products.add(lanes, last, powers, 1);
        lanes.to_block(lanes.reverse_bytes(products.hash(lanes)))
    }
}

impl<L: AesLanes> Hash for LanesKey<L> {
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let (lanes, short) = (self.lanes, &self.short);
        let hash = if associated.len().max(ciphertext.len()) <= SHORT_BYTES {
            lanes.enter(TagInput { powers: short, associated, ciphertext })
        } else {
            let long = self.long.get_or_init(|| {
                let mut long = Protected::with(|| LongPowers(Powers::zero()));
                lanes.enter(Lengthen { short, long: &mut long.0 });
                wipe_stack::<4096>();
                long
            });
            lanes.enter(TagInput { powers: &long.0, associated, ciphertext })
        };
        wipe_spilled(lanes);
        hash
    }
}

impl<W: Words + Send + Sync> Hash for portable::Key<W>
where
    W::Word: Send + Sync,
{
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let hash = self.absorb_bytes(self.absorb_bytes(0, associated), ciphertext);
        self.absorb(hash, &[lengths(associated, ciphertext.len())]).to_be_bytes()
    }
}

#[cfg(test)]
pub(crate) mod reference {
    //! GHASH as SP 800-38D writes it, bit by bit.

    /// Applies algorithm 1: the product of two blocks.
    fn multiply(x: u128, y: u128) -> u128 {
        let (mut z, mut v) = (0, y);
        for i in 0..128 {
            if x >> (127 - i) & 1 == 1 {
                z ^= v;
            }
            v = if v & 1 == 1 { v >> 1 ^ 0xe1 << 120 } else { v >> 1 };
        }
        z
    }

    /// Applies algorithm 2 to the input of section 7.1.
    pub(crate) fn tag_input(h: &[u8; 16], associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let h = u128::from_be_bytes(*h);
        let mut y = 0;
        for part in [associated, ciphertext] {
            for piece in part.chunks(16) {
                let mut block = [0; 16];
                block[..piece.len()].copy_from_slice(piece);
                y = multiply(y ^ u128::from_be_bytes(block), h);
            }
        }
        let lengths = ((associated.len() as u128 * 8) << 64) | (ciphertext.len() as u128 * 8);
        multiply(y ^ lengths, h).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a splitmix64 stream: repeatable, and good enough to fill buffers.
    fn bytes(seed: u64, n: usize) -> Vec<u8> {
        let mut state = seed;
        let mut out = Vec::with_capacity(n + 8);
        while out.len() < n {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            out.extend_from_slice(&(z ^ z >> 31).to_le_bytes());
        }
        out.truncate(n);
        out
    }

    #[test]
    fn every_backend_agrees_with_the_reference_on_every_length() {
        for backend in Backend::available() {
            for (h, round) in
                [[0; 16], [0xff; 16], *bytes(1, 16).first_chunk().unwrap()].into_iter().zip(0_u64..)
            {
                let key = GhashKey::new(&h, backend);
                for n in 0..=1100 {
                    let (associated, ciphertext) =
                        (bytes(round, n % 67), bytes(round + n as u64, n));
                    assert_eq!(
                        key.tag_input(&associated, &ciphertext),
                        reference::tag_input(&h, &associated, &ciphertext),
                        "{} with {n} bytes",
                        backend.name()
                    );
                }
                let (associated, ciphertext) = (bytes(8, 1234), vec![0xff; 777]);
                let want = reference::tag_input(&h, &associated, &ciphertext);
                assert_eq!(key.tag_input(&associated, &ciphertext), want, "{}", backend.name());
            }
        }
    }

    /// GCM specification (McGrew, Viega), test case 2: H, one block of ciphertext, and GHASH of
    /// them.
    #[test]
    fn published_value() {
        let h = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128.to_be_bytes();
        let ciphertext = 0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78_u128.to_be_bytes();
        let want = 0xf38c_bb1a_d692_23dc_c345_7ae5_b6b0_f885_u128.to_be_bytes();
        for backend in Backend::available() {
            assert_eq!(
                GhashKey::new(&h, backend).tag_input(&[], &ciphertext),
                want,
                "{}",
                backend.name()
            );
        }
    }
}
