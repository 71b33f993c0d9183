//! GHASH (SP 800-38D, 6.4): the universal hash of GCM, over associated data, ciphertext and their lengths.
//!
//! Blocks are taken with their bytes reversed and multiplied by H·x in the field of POLYVAL (RFC 8452, appendix A,
//! shows the two to be the same function). There a product of two 128-bit numbers needs no shift, and it is reduced
//! by two multiplications with one constant. Several blocks are multiplied by descending powers of H, and their sum
//! is reduced once (Gueron, Kounavis: Intel carry-less multiplication and its use for GCM, 2010).
//!
//! Not here: counter mode and tags, which make GCM of it.

mod portable;

use zeroize::optimization_barrier;

use crate::arch::{AesLanes, AesSetup, Kernel, Portable};
use crate::backend::Backend;

/// The powers of one hash key, zeroed on drop.
pub(crate) struct GhashKey(Box<dyn Hash>);

impl GhashKey {
    /// Sets up `h`, the encryption of the zero block, for `backend`.
    pub(crate) fn new(h: &[u8; 16], backend: Backend) -> Self {
        struct Setup<'a>(&'a [u8; 16]);
        impl AesSetup for Setup<'_> {
            type Output = Box<dyn Hash>;

            fn with_aes<L: AesLanes>(self, lanes: L) -> Box<dyn Hash> {
                let mut key = Box::new(LanesKey { lanes, powers: Powers::zero() });
                lanes.enter(SetPowers { h: self.0, powers: &mut key.powers });
                key
            }

            fn without_aes(self, words: Portable) -> Box<dyn Hash> {
                portable::Key::boxed(words, self.0)
            }
        }
        Self(backend.0.set_up_aes(Setup(h)))
    }

    /// GHASH of `associated` and `ciphertext` (any length, each padded with zeros to whole blocks) and a last block
    /// with both lengths: what the encryption of the first counter block masks to make the tag (SP 800-38D, 7.1,
    /// step 5).
    pub(crate) fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        self.0.tag_input(associated, ciphertext)
    }
}

/// GHASH under one key, by one instruction set.
trait Hash: Send + Sync {
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16];
}

/// The last block: both lengths in bits, 64-bit big-endian, as a number of the field.
#[inline(always)]
pub(crate) fn lengths(associated: &[u8], ciphertext_bytes: usize) -> u128 {
    u128::from(associated.len() as u64 * 8) << 64 | u128::from(ciphertext_bytes as u64 * 8)
}

/// `h` in the field of POLYVAL: bytes reversed, times x.
#[inline(always)]
fn field_key(h: &[u8; 16]) -> u128 {
    let h = u128::from_be_bytes(*h);
    let carry = 0_u128.wrapping_sub(h >> 127);
    h << 1 ^ carry & MODULUS
}

/// x^128 + x^127 + x^126 + x^121 + 1, less its highest term.
const MODULUS: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// Vectors multiplied before their sum is reduced.
pub(crate) const BATCH: usize = 8;

/// Blocks in [`Powers`]: a vector that is empty but for H^(n + 1), n = 32 being the most blocks of a batch; n powers;
/// a vector of zeros.
const SLOTS: usize = 40;

/// H^(n + 1), H^n .. H for batches of n blocks, in descending order, then zeros: blocks that are multiplied by them
/// in order end with H. A vector may be loaded from any power on. H^n lies at a multiple of 64 bytes.
#[repr(C, align(64))]
pub(crate) struct Powers {
    powers: [u8; 16 * SLOTS],
    /// The sum of each power's halves, in both halves: Karatsuba's third factor.
    sums: [u8; 16 * SLOTS],
}

impl Powers {
    /// To be set by [`set_powers`].
    pub(crate) fn zero() -> Self {
        Self { powers: [0; 16 * SLOTS], sums: [0; 16 * SLOTS] }
    }

    /// Where H^`exponent` starts.
    #[inline(always)]
    fn at(exponent: usize) -> usize {
        16 * (SLOTS - 4 - exponent)
    }

    /// H^`exponent` in the first lane of a vector, and lower powers in the others.
    #[inline(always)]
    fn get<L: AesLanes>(&self, lanes: L, exponent: usize) -> Factor<L> {
        let at = Self::at(exponent);
        Factor { value: lanes.load(&self.powers[at..]), sum: lanes.load(&self.sums[at..]) }
    }

    /// Sets H^`exponent` in the first lane of a vector and lower powers in the others.
    #[inline(always)]
    fn set<L: AesLanes>(&mut self, lanes: L, exponent: usize, powers: L::Vector) {
        let at = Self::at(exponent);
        lanes.store(powers, &mut self.powers[at..]);
        lanes.store(lanes.xor(powers, lanes.swap_halves(powers)), &mut self.sums[at..]);
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.powers.fill(0);
        self.sums.fill(0);
        optimization_barrier(self);
    }
}

/// A vector to multiply with.
struct Factor<L: AesLanes> {
    value: L::Vector,
    /// The sum of the halves, in both halves.
    sum: L::Vector,
}

struct SetPowers<'a> {
    h: &'a [u8; 16],
    powers: &'a mut Powers,
}

impl<L: AesLanes> Kernel<L> for SetPowers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        set_powers(lanes, self.h, self.powers);
    }
}

/// Computes the powers of `h`.
#[inline(always)]
pub(crate) fn set_powers<L: AesLanes>(lanes: L, h: &[u8; 16], powers: &mut Powers) {
    let unit = lanes.splat(&field_key(h).to_le_bytes());
    // The first vector: in rising order, so that what a store leaves after its power is overwritten or zero.
    let mut top = unit;
    powers.set(lanes, 1, lanes.keep(unit, 16));
    for exponent in 2..=L::BLOCKS {
        top = multiply(lanes, top, unit);
        let lower = powers.get(lanes, exponent - 1).value;
        powers.set(lanes, exponent, lanes.prepend(top, lower));
    }
    // With all powers up to n known, n more come from them by multiplying with H^n: no long chain.
    let mut known = L::BLOCKS;
    while known < BATCH * L::BLOCKS {
        for exponent in (L::BLOCKS..=known).step_by(L::BLOCKS) {
            let product = multiply(lanes, powers.get(lanes, exponent).value, top);
            powers.set(lanes, known + exponent, product);
        }
        known *= 2;
        top = lanes.splat(powers.powers[Powers::at(known)..].first_chunk().expect("a block"));
    }
    let next = multiply(lanes, top, unit);
    let lower = powers.get(lanes, known).value;
    powers.set(lanes, known + 1, lanes.prepend(next, lower));
}

/// A sum of products, not yet reduced: one a lane.
///
/// Three multiplications a product instead of four (Karatsuba): carry-less multipliers are fewer than AES units.
pub(crate) struct Products<L: AesLanes> {
    low: L::Vector,
    /// (low + high) times (low + high).
    both: L::Vector,
    high: L::Vector,
}

impl<L: AesLanes> Products<L> {
    /// The empty sum.
    #[inline(always)]
    pub(crate) fn zero(lanes: L) -> Self {
        Self { low: lanes.zero(), both: lanes.zero(), high: lanes.zero() }
    }

    /// Adds the products of `a` and the powers from H^`exponent` downwards.
    #[inline(always)]
    pub(crate) fn add(&mut self, lanes: L, a: L::Vector, powers: &Powers, exponent: usize) {
        self.add_product(lanes, a, &powers.get(lanes, exponent));
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
        // x^-64 = x^64 + x^63 + x^62 + x^57, so a low half times this, added one half up, makes itself vanish.
        let inverse = lanes.splat(&(MODULUS >> 64).to_le_bytes());
        let once = lanes.xor(lanes.swap_halves(low), lanes.multiply_low(low, inverse));
        let twice = lanes.xor(lanes.swap_halves(once), lanes.multiply_low(once, inverse));
        lanes.xor(high, twice)
    }

    /// The hash: all lanes reduced and added, in the first lane.
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

/// Takes the whole blocks of one batch, `BATCH * L::BYTES` bytes, into the hash.
#[inline(always)]
pub(crate) fn absorb_batch<L: AesLanes>(lanes: L, powers: &Powers, hash: L::Vector, bytes: &[u8]) -> L::Vector {
    let mut products = Products::zero(lanes);
    let mut carried = hash;
    for (i, vector) in bytes.chunks_exact(L::BYTES).enumerate() {
        let blocks = lanes.xor(lanes.reverse_bytes(lanes.load(vector)), carried);
        carried = lanes.zero();
        products.add(lanes, blocks, powers, (BATCH - i) * L::BLOCKS);
    }
    products.hash(lanes)
}

/// Takes `bytes`, any length, padded with zeros to whole blocks, into the hash.
#[inline(always)]
pub(crate) fn absorb<L: AesLanes>(lanes: L, powers: &Powers, hash: L::Vector, bytes: &[u8]) -> L::Vector {
    let mut hash = hash;
    let mut batches = bytes.chunks_exact(BATCH * L::BYTES);
    for batch in &mut batches {
        hash = absorb_batch(lanes, powers, hash, batch);
    }
    let rest = batches.remainder();
    if rest.is_empty() {
        return hash;
    }
    let mut products = Products::zero(lanes);
    add_rest(lanes, powers, &mut products, hash, rest, 0);
    products.hash(lanes)
}

/// Adds `rest`, not empty and at most a batch, to `products`, such that `after` more blocks, at most one, can follow; the
/// hash so far goes in with the first block.
#[inline(always)]
fn add_rest<L: AesLanes>(
    lanes: L,
    powers: &Powers,
    products: &mut Products<L>,
    hash: L::Vector,
    rest: &[u8],
    after: usize,
) {
    let mut exponent = rest.len().div_ceil(16) + after;
    let mut carried = hash;
    let mut vectors = rest.chunks_exact(L::BYTES);
    for vector in &mut vectors {
        products.add(lanes, lanes.xor(lanes.reverse_bytes(lanes.load(vector)), carried), powers, exponent);
        carried = lanes.zero();
        exponent -= L::BLOCKS;
    }
    let partial = vectors.remainder();
    if !partial.is_empty() {
        let blocks = lanes.reverse_bytes(lanes.load_partial(partial));
        products.add(lanes, lanes.xor(blocks, carried), powers, exponent);
    }
}

/// Takes `rest` (at most a batch) and the block of lengths, and gives GHASH as bytes.
#[inline(always)]
pub(crate) fn finish<L: AesLanes>(lanes: L, powers: &Powers, hash: L::Vector, rest: &[u8], lengths: u128) -> L::Vector {
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
pub(crate) fn hash_head<L: AesLanes>(lanes: L, powers: &Powers, associated: &[u8]) -> L::Vector {
    // the lengths go together with the last batch
    let batches = associated.len().saturating_sub(1) / (BATCH * L::BYTES);
    let (whole, rest) = associated.split_at(batches * BATCH * L::BYTES);
    let hash = absorb(lanes, powers, lanes.zero(), whole);
    finish(lanes, powers, hash, rest, lengths(associated, 0))
}

/// A hash key for vectors with carry-less multiplication.
struct LanesKey<L> {
    lanes: L,
    powers: Powers,
}

struct TagInput<'a> {
    powers: &'a Powers,
    associated: &'a [u8],
    ciphertext: &'a [u8],
}

impl<L: AesLanes> Kernel<L> for TagInput<'_> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        let mut hash = absorb(lanes, self.powers, lanes.zero(), self.associated);
        let mut batches = self.ciphertext.chunks_exact(BATCH * L::BYTES);
        for batch in &mut batches {
            hash = absorb_batch(lanes, self.powers, hash, batch);
        }
        let lengths = lengths(self.associated, self.ciphertext.len());
        lanes.to_block(finish(lanes, self.powers, hash, batches.remainder(), lengths))
    }
}

impl<L: AesLanes> Hash for LanesKey<L> {
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        self.lanes.enter(TagInput { powers: &self.powers, associated, ciphertext })
    }
}

#[cfg(test)]
pub(crate) mod reference {
    //! GHASH as SP 800-38D writes it, bit by bit.

    /// Algorithm 1: the product of two blocks.
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

    /// Algorithm 2 over what section 7.1 feeds it.
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
    use crate::arch::left_after_drop;

    /// A splitmix64 stream: repeatable, and good enough to fill buffers.
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
            for (h, round) in [[0; 16], [0xff; 16], *bytes(1, 16).first_chunk().unwrap()].into_iter().zip(0_u64..) {
                let key = GhashKey::new(&h, backend);
                for n in 0..=1100 {
                    let (associated, ciphertext) = (bytes(round, n % 67), bytes(round + n as u64, n));
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

    /// GCM specification (McGrew, Viega), test case 2: H, one block of ciphertext, and GHASH of them.
    #[test]
    fn published_value() {
        let h = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128.to_be_bytes();
        let ciphertext = 0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78_u128.to_be_bytes();
        let want = 0xf38c_bb1a_d692_23dc_c345_7ae5_b6b0_f885_u128.to_be_bytes();
        for backend in Backend::available() {
            assert_eq!(GhashKey::new(&h, backend).tag_input(&[], &ciphertext), want, "{}", backend.name());
        }
    }

    #[test]
    fn powers_are_zeroed() {
        let powers = Powers { powers: [7; 16 * SLOTS], sums: [7; 16 * SLOTS] };
        assert!(left_after_drop(powers).iter().all(|byte| *byte == 0));
        let key = *portable::Key::boxed(Portable, &[7; 16]);
        assert!(left_after_drop(key).iter().all(|byte| *byte == 0));
    }
}
