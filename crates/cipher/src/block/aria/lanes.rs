//! ARIA over vectors of bytes, and counter mode of it.
//!
//! A long message is sliced: vector i holds byte i of as many blocks as there are lanes. Then the
//! diffusion layer is XORs alone, and counters need no loading: a message's counters differ in few
//! bytes. A short message stays in rows, a block being 16 lanes: that costs more a block, but one
//! block takes no longer than four.
//!
//! Not here: decryption (`lanes_blocks`), and ARIA without such vectors (`bitsliced`).

use zeroize::optimization_barrier;

use super::diffusion::DIFFUSION;
use super::key_schedule::{ROUNDS_MAX, RoundKeys, Rounds, schedule};
use crate::arch::byte_lanes::{block_order, sixteen, transpose};
use crate::arch::{ByteLanes, Kernel};
use crate::memory::Protected;
use crate::mode::{Counter128, counter_mode};

// The S-boxes (RFC 5794, 2.4.2) as matrix and constant of the affine map that comes after inversion
// in S1 and S2, and before it in their inverses.
const S1: (u64, i32) = (0xf1e3_c78f_1f3e_7cf8, 0x63);
const S2: (u64, i32) = (0xeafc_b7c3_c273_c66f, 0xe2);
const S1_INVERSE: (u64, i32) = (0xa449_9225_4a94_2952, 0x05);
const S2_INVERSE: (u64, i32) = (0x1864_50c7_37d6_bdc9, 0x2c);

/// [`DIFFUSION`] as seven ways to move the bytes of a block.
const MOVES: [[u8; 16]; 7] = {
    let mut moves = [[0; 16]; 7];
    let mut i = 0;
    while i < 16 {
        let mut k = 0;
        while k < 7 {
            moves[k][i] = DIFFUSION[i][k] as u8;
            k += 1;
        }
        i += 1;
    }
    moves
};

/// The last four bytes of a block reversed, so that they count as a little-endian number and back.
const REVERSE_COUNT: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12];

/// Vectors in rows that go together at most.
pub(super) const ROWS_MAX: usize = 4;

/// The last four bytes of a block before the others.
const TO_FRONT: [u8; 16] = [12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// Number i in the last four bytes of block i, little-endian.
const NUMBERS: [[u8; 16]; 4 * ROWS_MAX] = {
    let mut numbers = [[0; 16]; 4 * ROWS_MAX];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i][12] = i as u8;
        i += 1;
    }
    numbers
};

/// The round keys in the order of their use. Zeroed on drop.
pub(super) struct LaneKeys {
    pub(super) rows: RoundKeys,
    /// Each byte four times: vectors are filled with words from memory at no cost.
    sliced: [[u32; 16]; ROUNDS_MAX + 1],
}

impl LaneKeys {
    /// Returns zeros, to be set later.
    pub(super) fn zero() -> Self {
        Self { rows: RoundKeys::zero(), sliced: [[0; 16]; ROUNDS_MAX + 1] }
    }

    /// Lays out the keys in `rows` for sliced blocks too.
    #[inline(always)]
    pub(super) fn slice(&mut self, rounds: usize) {
        for (sliced, row) in self.sliced.iter_mut().zip(&self.rows.0[..=rounds]) {
            for (four, byte) in sliced.iter_mut().zip(row) {
                *four = u32::from_ne_bytes([*byte; 4]);
            }
        }
    }
}

impl Drop for LaneKeys {
    fn drop(&mut self) {
        self.sliced.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// ARIA of `R` rounds: 12, 14 or 16.
pub(super) struct Aria<L, const R: usize> {
    lanes: L,
    keys: LaneKeys,
}

impl<L: ByteLanes, const R: usize> Aria<L, R> {
    /// Sets `key`, of 4 (R - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<dyn Counter128> {
        const { assert!(R <= ROUNDS_MAX && R.is_multiple_of(2)) };
        let mut aria = Protected::with(|| Self { lanes, keys: LaneKeys::zero() });
        lanes.enter(Expand::<R> { key, keys: &mut aria.keys });
        aria.unsize(|aria| aria)
    }
}

impl<L: ByteLanes, const R: usize> Counter128 for Aria<L, R> {
    fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.lanes.enter(EncryptBlock::<R> { keys: &self.keys, block });
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(Encrypt::<R> { keys: &self.keys, blocks });
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        self.lanes.enter(XorKeystream::<R> { keys: &self.keys, counter, data });
    }
}

counter_mode!(128, [L: ByteLanes, const R: usize] Aria<L, R>, |cipher| cipher.lanes.name());

pub(super) struct Expand<'a, const R: usize> {
    pub(super) key: &'a [u8],
    pub(super) keys: &'a mut LaneKeys,
}

impl<L: ByteLanes, const R: usize> Kernel<L> for Expand<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { key, keys } = self;
        schedule(key, R, &LanesRounds(lanes), &mut keys.rows);
        keys.slice(R);
    }
}

/// Encrypts a block in place.
pub(super) struct EncryptBlock<'a, const R: usize> {
    pub(super) keys: &'a LaneKeys,
    pub(super) block: &'a mut [u8; 16],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for EncryptBlock<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let plaintext = *self.block;
        let mut v = [lanes.splat_block(&plaintext)];
        encrypt_rows::<L, R, 1>(lanes, self.keys, &mut v);
        self.block.fill(0);
        lanes.xor_partial(v[0], self.block);
    }
}

/// Encrypts blocks in place, each by itself.
pub(super) struct Encrypt<'a, const R: usize> {
    pub(super) keys: &'a LaneKeys,
    pub(super) blocks: &'a mut [[u8; 16]],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for Encrypt<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(16 * L::BYTES);
        for batch in &mut batches {
            encrypt_batch::<L, R>(lanes, keys, batch);
        }
        let rest = batches.into_remainder();
        if rest.is_empty() {
            return;
        }
        const { assert!(16 * L::BYTES <= 1024) };
        // room left over repeats a block: a block of zeros, encrypted, is the key of a hash
        let mut padded = [0; 1024];
        padded.as_chunks_mut().0.fill(*rest.first_chunk::<16>().expect("a whole block"));
        padded[..rest.len()].copy_from_slice(rest);
        match rest.len().div_ceil(L::BYTES) {
            1 => encrypt_few::<L, R, 1>(lanes, keys, &mut padded),
            2 => encrypt_few::<L, R, 2>(lanes, keys, &mut padded),
            3 | ROWS_MAX => encrypt_few::<L, R, ROWS_MAX>(lanes, keys, &mut padded),
            _ => encrypt_batch::<L, R>(lanes, keys, &mut padded),
        }
        rest.copy_from_slice(&padded[..rest.len()]);
        padded.fill(0);
        optimization_barrier(&padded);
    }
}

/// Encrypts the first sixteen vectors of `data`, sliced.
#[inline(always)]
fn encrypt_batch<L: ByteLanes, const R: usize>(lanes: L, keys: &LaneKeys, data: &mut [u8]) {
    let v = sixteen!(I, lanes.load(&data[I * L::BYTES..]));
    let v = transpose(lanes, encrypt_sliced::<L, R>(lanes, keys, transpose(lanes, v)));
    for (vector, bytes) in v.into_iter().zip(data.chunks_exact_mut(L::BYTES)) {
        lanes.store(vector, bytes);
    }
}

/// Encrypts the first `N` vectors of `data`, in rows.
#[inline(always)]
fn encrypt_few<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    data: &mut [u8],
) {
    let mut v = [lanes.splat(0); N];
    for (vector, bytes) in v.iter_mut().zip(data.chunks_exact(L::BYTES)) {
        *vector = lanes.load(bytes);
    }
    encrypt_rows::<L, R, N>(lanes, keys, &mut v);
    for (vector, bytes) in v.into_iter().zip(data.chunks_exact_mut(L::BYTES)) {
        lanes.store(vector, bytes);
    }
}

/// XORs `data` with the key stream that `counter` begins.
pub(super) struct XorKeystream<'a, const R: usize> {
    pub(super) keys: &'a LaneKeys,
    pub(super) counter: &'a [u8; 16],
    pub(super) data: &'a mut [u8],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for XorKeystream<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, data, .. } = self;
        let mut counter = *self.counter;
        let mut batches = data.chunks_exact_mut(16 * L::BYTES);
        for batch in &mut batches {
            let stream = sliced_keystream::<L, R>(lanes, keys, &counter);
            for (vector, stream) in batch.chunks_exact_mut(L::BYTES).zip(stream) {
                lanes.store(lanes.xor(lanes.load(vector), stream), vector);
            }
            let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
            *low = u32::from_be_bytes(*low).wrapping_add(L::BYTES as u32).to_be_bytes();
        }
        let rest = batches.into_remainder();
        match rest.len().div_ceil(L::BYTES) {
            0 => (),
            1 => xor_rows::<L, R, 1>(lanes, keys, &counter, rest),
            2 => xor_rows::<L, R, 2>(lanes, keys, &counter, rest),
            3 | ROWS_MAX => xor_rows::<L, R, ROWS_MAX>(lanes, keys, &counter, rest),
            _ => xor_rest(lanes, &sliced_keystream::<L, R>(lanes, keys, &counter), rest),
        }
    }
}

/// XORs `rest`, no longer than `stream`, with it.
#[inline(always)]
pub(super) fn xor_rest<L: ByteLanes>(lanes: L, stream: &[L::Vector], rest: &mut [u8]) {
    for (vector, stream) in rest.chunks_mut(L::BYTES).zip(stream) {
        if vector.len() == L::BYTES {
            lanes.store(lanes.xor(lanes.load(vector), *stream), vector);
        } else {
            lanes.xor_partial(*stream, vector);
        }
    }
}

/// Key stream of `BYTES` blocks from `counter` on, in the order of memory.
#[inline(always)]
fn sliced_keystream<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    counter: &[u8; 16],
) -> [L::Vector; 16] {
    keystream_beside::<L, R>(lanes, keys, counter, &mut ())
}

/// As [`sliced_keystream`], with the steps of `beside` between the rounds.
#[inline(always)]
pub(super) fn keystream_beside<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    counter: &[u8; 16],
    beside: &mut impl Beside<L>,
) -> [L::Vector; 16] {
    transpose(lanes, encrypt_beside::<L, R>(lanes, keys, sliced_counters(lanes, counter), beside))
}

/// Counter blocks from `counter` on, sliced, in the order that [`transpose`] requires.
#[inline(always)]
fn sliced_counters<L: ByteLanes>(lanes: L, counter: &[u8; 16]) -> [L::Vector; 16] {
    let mut x = sixteen!(I, lanes.splat(counter[I]));
    let low = counter.last_chunk().expect("four of sixteen bytes");
    [x[15], x[14], x[13], x[12]] = sliced_numbers(lanes, u32::from_be_bytes(*low));
    x
}

/// The blocks of XCTR from `number` on, sliced as [`sliced_counters`].
#[inline(always)]
pub(super) fn sliced_xctr<L: ByteLanes>(
    lanes: L,
    first: &[u8; 16],
    number: u32,
) -> [L::Vector; 16] {
    let mut x = sixteen!(I, lanes.splat(first[I]));
    let numbers = sliced_numbers(lanes, number);
    for (x, number) in x.iter_mut().zip(numbers) {
        *x = lanes.xor(*x, number);
    }
    x
}

/// The numbers of blocks from `number` on, sliced, the lowest byte first.
#[inline(always)]
fn sliced_numbers<L: ByteLanes>(lanes: L, number: u32) -> [L::Vector; 4] {
    let order = lanes.load(const { &block_order(L::GROUPS) });
    let bytes @ [low, ..] = number.to_le_bytes();
    let mut x = bytes.map(|byte| lanes.splat(byte));
    x[0] = lanes.add8(x[0], order);
    // The lowest byte wraps once at most. From there on the bytes above it belong to the next
    // number.
    if usize::from(low) + L::BYTES > 256 {
        let [_, a, b, c] = bytes;
        let [_, next_a, next_b, next_c] = number.wrapping_add(1 << 8).to_le_bytes();
        let wraps_at = 0_u8.wrapping_sub(low);
        x[1] = lanes.choose_below(order, wraps_at, a, next_a);
        x[2] = lanes.choose_below(order, wraps_at, b, next_b);
        x[3] = lanes.choose_below(order, wraps_at, c, next_c);
    }
    x
}

/// Encrypts sliced blocks.
#[inline(always)]
pub(super) fn encrypt_sliced<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    x: [L::Vector; 16],
) -> [L::Vector; 16] {
    encrypt_beside::<L, R>(lanes, keys, x, &mut ())
}

/// Work that goes on while blocks are encrypted and has nothing to do with them: the CPU runs both
/// side by side where their instructions alternate.
pub(super) trait Beside<L> {
    /// Does a part of it. Called sixteen times or more a batch; may do nothing.
    fn step(&mut self, lanes: L);
}

impl<L> Beside<L> for () {
    #[inline(always)]
    fn step(&mut self, _lanes: L) {}
}

/// As [`encrypt_sliced`], with the steps of `beside` between the rounds.
#[inline(always)]
fn encrypt_beside<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    x: [L::Vector; 16],
    beside: &mut impl Beside<L>,
) -> [L::Vector; 16] {
    let mut x = add_sliced(lanes, x, &keys.sliced[0]);
    let mut r = 1;
    while r < R - 1 {
        x = diffuse_sliced(lanes, substitute_sliced::<L, true>(lanes, x), &keys.sliced[r]);
        beside.step(lanes);
        x = diffuse_sliced(lanes, substitute_sliced::<L, false>(lanes, x), &keys.sliced[r + 1]);
        beside.step(lanes);
        if R < ROUNDS_MAX {
            // there are fewer rounds than steps
            beside.step(lanes);
        }
        r += 2;
    }
    x = diffuse_sliced(lanes, substitute_sliced::<L, true>(lanes, x), &keys.sliced[R - 1]);
    beside.step(lanes);
    x = add_sliced(lanes, substitute_sliced::<L, false>(lanes, x), &keys.sliced[R]);
    beside.step(lanes);
    x
}

#[inline(always)]
fn add_sliced<L: ByteLanes>(lanes: L, x: [L::Vector; 16], key: &[u32; 16]) -> [L::Vector; 16] {
    sixteen!(I, lanes.xor(x[I], lanes.splat32(key[I])))
}

/// The substitution layers (RFC 5794, 2.4.2): type 1 in `ODD` rounds, else type 2.
#[inline(always)]
fn substitute_sliced<L: ByteLanes, const ODD: bool>(
    lanes: L,
    x: [L::Vector; 16],
) -> [L::Vector; 16] {
    sixteen!(I, {
        match if ODD { I % 4 } else { (I + 2) % 4 } {
            0 => lanes.invert_affine::<{ S1.0 }, { S1.1 }>(x[I]),
            1 => lanes.invert_affine::<{ S2.0 }, { S2.1 }>(x[I]),
            2 => lanes.affine_invert::<{ S1_INVERSE.0 }, { S1_INVERSE.1 }>(x[I]),
            _ => lanes.affine_invert::<{ S2_INVERSE.0 }, { S2_INVERSE.1 }>(x[I]),
        }
    })
}

/// Applies the diffusion layer and the addition of the next round's key.
///
/// [`DIFFUSION`] in 48 sums instead of 96, found by summing first, again and again, a pair that
/// most outputs share (Paar: Optimized arithmetic for Reed-Solomon encoders, ISIT 1997).
#[rustfmt::skip]
#[inline(always)]
fn diffuse_sliced<L: ByteLanes>(lanes: L, x: [L::Vector; 16], key: &[u32; 16]) -> [L::Vector; 16] {
    macro_rules! sums {
        ($($sum:ident = $a:ident $b:ident;)*) => { $(let $sum = lanes.xor($a, $b);)* };
    }
    macro_rules! outputs {
        ($($i:literal = $a:ident $b:ident;)*) => {
            [$(lanes.xor3($a, $b, lanes.splat32(key[$i]))),*]
        };
    }
    let [x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15] = x;
    sums! {
        s0 = x0 x14; s1 = x11 s0; s2 = x6 x12; s3 = x11 s2;
        s4 = x1 s2; s5 = x10 x15; s6 = x1 s5; s7 = x1 s3;
        s8 = x2 x8; s9 = x5 s8; s10 = x5 s1; s11 = x15 s9;
        s12 = x4 x9; s13 = x3 s12; s14 = x4 s6; s15 = x14 s13;
        s16 = x0 s14; s17 = x7 x13; s18 = x10 s17; s19 = x0 s18;
        s20 = x2 x9; s21 = x9 s11; s22 = x6 x13; s23 = s11 s22;
        s24 = x13 s7; s25 = s20 s7; s26 = s20 s19; s27 = x7 x12;
        s28 = x2 s27; s29 = x3 x8; s30 = x8 s15; s31 = s29 s19;
    }
    outputs! {
        0 = s22 s30; 1 = s27 s21; 2 = s14 s3; 3 = s10 s18;
        4 = s1 s11; 5 = s6 s15; 6 = x12 s26; 7 = s29 s24;
        8 = s17 s16; 9 = s10 s4; 10 = x3 s23; 11 = s15 s28;
        12 = x7 s25; 13 = x6 s31; 14 = s13 s10; 15 = s9 s14;
    }
}

/// XORs `rest`, at most `N` vectors, with the key stream from `counter` on.
#[inline(always)]
fn xor_rows<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    counter: &[u8; 16],
    rest: &mut [u8],
) {
    let mut v = [lanes.splat_block(counter); N];
    set_counters(lanes, counter, &mut v);
    encrypt_rows::<L, R, N>(lanes, keys, &mut v);
    xor_rest(lanes, &v, rest);
}

/// As [`xor_rows`], with at most `N` - 1 vectors, and encrypts the blocks `first` beside it.
#[inline(always)]
pub(super) fn xor_rows_beside<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    counter: &[u8; 16],
    rest: &mut [u8],
    first: L::Vector,
) -> L::Vector {
    let mut v = [first; N];
    set_counters(lanes, counter, &mut v[1..]);
    encrypt_rows::<L, R, N>(lanes, keys, &mut v);
    xor_rest(lanes, &v[1..], rest);
    v[0]
}

/// Fills `v`, at most [`ROWS_MAX`] vectors, with counter blocks from `counter` on.
#[inline(always)]
fn set_counters<L: ByteLanes>(lanes: L, counter: &[u8; 16], v: &mut [L::Vector]) {
    let numbers = NUMBERS.as_flattened();
    let first = lanes.shuffle(lanes.splat_block(counter), &REVERSE_COUNT);
    for (i, v) in v.iter_mut().enumerate() {
        *v =
            lanes.shuffle(lanes.add32(first, lanes.load(&numbers[i * L::BYTES..])), &REVERSE_COUNT);
    }
}

/// Fills `v`, at most [`ROWS_MAX`] vectors, with the blocks of XCTR from `number` on.
#[inline(always)]
pub(super) fn set_xctr<L: ByteLanes>(lanes: L, first: &[u8; 16], number: u32, v: &mut [L::Vector]) {
    let first = lanes.splat_block(first);
    let mut low = [0; 16];
    low[12..].copy_from_slice(&number.to_le_bytes());
    for (v, numbers) in v.iter_mut().zip(NUMBERS.as_flattened().chunks_exact(L::BYTES)) {
        let number = lanes.add32(lanes.splat_block(&low), lanes.load(numbers));
        *v = lanes.xor(first, lanes.shuffle(number, &TO_FRONT));
    }
}

/// Encrypts blocks in rows in place.
#[inline(always)]
pub(super) fn encrypt_rows<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    v: &mut [L::Vector; N],
) {
    let keys = &keys.rows.0;
    add_rows(lanes, &keys[0], v);
    let mut r = 1;
    while r < R {
        substitute_rows::<L, true, N>(lanes, v);
        diffuse_rows(lanes, v, &keys[r]);
        substitute_rows::<L, false, N>(lanes, v);
        if r + 1 < R {
            diffuse_rows(lanes, v, &keys[r + 1]);
        }
        r += 2;
    }
    add_rows(lanes, &keys[R], v);
}

#[inline(always)]
fn add_rows<L: ByteLanes, const N: usize>(lanes: L, key: &[u8; 16], v: &mut [L::Vector; N]) {
    for v in v {
        *v = lanes.xor(*v, lanes.splat_block(key));
    }
}

/// As [`substitute_sliced`]: byte 4 i + k of a block takes S-box k.
#[inline(always)]
fn substitute_rows<L: ByteLanes, const ODD: bool, const N: usize>(
    lanes: L,
    v: &mut [L::Vector; N],
) {
    for v in v {
        let s1 = lanes.invert_affine::<{ S1.0 }, { S1.1 }>(*v);
        let s2 = lanes.invert_affine::<{ S2.0 }, { S2.1 }>(*v);
        let s1_inverse = lanes.affine_invert::<{ S1_INVERSE.0 }, { S1_INVERSE.1 }>(*v);
        let s2_inverse = lanes.affine_invert::<{ S2_INVERSE.0 }, { S2_INVERSE.1 }>(*v);
        let forward = lanes.select::<0x5555>(s1, s2);
        let inverse = lanes.select::<0x5555>(s1_inverse, s2_inverse);
        *v = if ODD {
            lanes.select::<0x3333>(forward, inverse)
        } else {
            lanes.select::<0xcccc>(forward, inverse)
        };
    }
}

/// As [`diffuse_sliced`].
#[inline(always)]
fn diffuse_rows<L: ByteLanes, const N: usize>(lanes: L, v: &mut [L::Vector; N], key: &[u8; 16]) {
    for v in v {
        let x = *v;
        let [a, b, c, d, e, f, g] = &MOVES;
        let abc = lanes.xor3(lanes.shuffle(x, a), lanes.shuffle(x, b), lanes.shuffle(x, c));
        let def = lanes.xor3(lanes.shuffle(x, d), lanes.shuffle(x, e), lanes.shuffle(x, f));
        *v = lanes.xor3(abc, def, lanes.xor(lanes.shuffle(x, g), lanes.splat_block(key)));
    }
}

/// `N` vectors of blocks in rows on their way through `R` rounds, one at a step.
pub(super) struct RowRounds<'a, L: ByteLanes, const R: usize, const N: usize> {
    keys: &'a RoundKeys,
    v: [L::Vector; N],
    /// Number of the next round.
    next: usize,
}

impl<'a, L: ByteLanes, const R: usize, const N: usize> RowRounds<'a, L, R, N> {
    /// Returns `blocks`, to be encrypted.
    #[inline(always)]
    pub(super) fn new(lanes: L, keys: &'a LaneKeys, blocks: [L::Vector; N]) -> Self {
        let keys = &keys.rows;
        let mut v = blocks;
        add_rows(lanes, &keys.0[0], &mut v);
        Self { keys, v, next: 1 }
    }

    /// Returns the blocks encrypted, after whatever rounds are left.
    #[inline(always)]
    pub(super) fn finish(mut self, lanes: L) -> [L::Vector; N] {
        while self.next <= R {
            self.step(lanes);
        }
        self.v
    }
}

impl<L: ByteLanes, const R: usize, const N: usize> Beside<L> for RowRounds<'_, L, R, N> {
    #[inline(always)]
    fn step(&mut self, lanes: L) {
        let Self { keys, v, next } = self;
        if *next > R {
            return;
        }
        if *next % 2 == 1 {
            substitute_rows::<L, true, N>(lanes, v);
        } else {
            substitute_rows::<L, false, N>(lanes, v);
        }
        if *next < R {
            diffuse_rows(lanes, v, &keys.0[*next]);
        } else {
            add_rows(lanes, &keys.0[R], v);
        }
        *next += 1;
    }
}

/// The rounds of the key schedule.
pub(super) struct LanesRounds<L>(pub(super) L);

impl<L: ByteLanes> Rounds for LanesRounds<L> {
    #[inline(always)]
    fn round<const ODD: bool>(&self, block: &mut [u8; 16], add: &[u8; 16]) {
        let lanes = self.0;
        let mut v = [lanes.splat_block(block)];
        substitute_rows::<L, ODD, 1>(lanes, &mut v);
        diffuse_rows(lanes, &mut v, add);
        block.fill(0);
        lanes.xor_partial(v[0], block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_are_zeroed() {
        let rows = RoundKeys([[7; 16]; ROUNDS_MAX + 1]);
        let keys = LaneKeys { rows, sliced: [[7; 16]; ROUNDS_MAX + 1] };
        assert!(left_after_drop(keys).iter().all(|byte| *byte == 0));
    }
}
