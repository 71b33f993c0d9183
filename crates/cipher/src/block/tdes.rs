//! Triple DES with three keys (FIPS 46-3; SP 800-67r2, TDEA keying option 1) for counter mode and for whole blocks both
//! ways. Single DES and two-key variants are not offered.
//!
//! Bitsliced (Biham, A fast new DES implementation in software, FSE 1997): plane i holds bit i of as many blocks as a
//! register has bits, S-boxes are circuits, and all permutations are a matter of which plane is taken. No table and no
//! branch depends on key or data, so it is constant time on every backend. A pass costs the same for one block as for
//! all that fit: about what a table-driven Triple DES takes for five to twelve blocks, by backend and rival. Where vectors
//! can look up whole tables, short messages take these instead (`bytes`).
//!
//! - The final permutation of one DES and the initial one of the next cancel out, so 48 rounds follow each other.
//! - Counters are made as planes; only the key stream is transposed, in 64 x 64 bits. Whole blocks are transposed on the
//!   way in, too, and decrypted by the round keys in reverse.
//!
//! Bits are numbered from 0 here, in the standard's order; its tables count from 1.

mod blocks;
mod bytes;
mod s_boxes;

use zeroize::optimization_barrier;

use crate::arch::{Kernel, Planes, with_every, with_tables};
use crate::backend::Backend;
use crate::block::SetKey;
use crate::block::by_length::ByLength;
use crate::error::Error;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::TDES_LIMITS;
use crate::memory::Protected;
use crate::mode::{Counter64, counter_mode};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::testing::{evidence, reference};
use bytes::ByteKeys;
use s_boxes::s_box;

pub(crate) use blocks::block;

/// The row of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[Cipher {
    name: "3des",
    id: 5,
    block_bytes: 8,
    key_bytes: 24,
    other_key_bits: None,
    mode: Mode::CtrMac,
    standing: Standing::Legacy,
    source: "SP 800-67r2",
    fips: false,
    kcmvp: false,
    limits: TDES_LIMITS,
    caveat: Some("NIST disallows it for new encryption since 2024; at most 8 MiB under one key"),
    constant_time: true,
    kmip: Some(Kmip { algorithm: 0x02, bits_without_parity: Some(168) }),
    set_key: SetKey::Block64 { counter: keyed, block },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::tdes,
        "3des.txt",
        "3des-ctr.txt",
        "3des-ctr-mac.txt",
        "3des-cbc.txt",
        "3des-cmac.txt"
    ),
}];

/// Sets `key`: 24 bytes, K1 then K2 then K3. The lowest bit of each byte (DES's parity) is ignored.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter64>, Error> {
    let key = checked(key)?;
    let circuits = with_every!(backend, |planes| circuits(planes, key));
    Ok(with_tables!(
        backend,
        |lanes| {
            let short: Protected<dyn Counter64> = ByteKeys::protected(lanes, key).unsize(|short| short);
            by_length(short, circuits).unsize(|both| both)
        },
        else circuits
    ))
}

fn checked(key: &[u8]) -> Result<&[u8; 24], Error> {
    key.try_into().map_err(|_| Error::KeyLength { found: key.len(), want: 24 })
}

/// The circuits, keyed in place so that no copy stays behind.
fn circuits<P: Planes>(planes: P, key: &[u8; 24]) -> Protected<dyn Counter64> {
    let mut tdes = Protected::with(|| Tdes { planes, keys: RoundKeys::zero() });
    tdes.keys.expand(key);
    tdes.unsize(|tdes| tdes)
}

/// What a pass of the circuits takes on vectors with look-ups, in bytes.
const BATCH_BYTES: usize = 4096;

/// From how many bytes on a pass of the circuits takes no longer than look-ups.
const CIRCUIT_BYTES_MIN: usize = 2048;

/// The circuits, and look-ups in vectors for short messages.
fn by_length<T: ?Sized>(short: Protected<T>, long: Protected<T>) -> Protected<ByLength<T>> {
    Protected::with(|| ByLength { short, long, batch_bytes: BATCH_BYTES, worth_bytes: CIRCUIT_BYTES_MIN })
}

/// Rounds of three times DES.
const ROUNDS: usize = 48;

/// The initial permutation IP.
const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48, 40, 32,
    24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21, 13, 5, 63, 55, 47,
    39, 31, 23, 15, 7,
];

/// The permutation P after the S-boxes.
const AFTER_S_BOXES: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4,
    25,
];

/// Permuted choice 1: the 28 bits of C, then of D.
const KEY_CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, 63, 55,
    47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

/// Permuted choice 2: the 48 bits of a round key.
const KEY_CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37, 47, 55, 30,
    40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

/// How far C and D have rotated left at each of the sixteen rounds.
const KEY_ROTATION: [usize; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 15, 17, 19, 21, 23, 25, 27, 28];

/// `SCHEDULE[r][i]` is the bit of the 64-bit key that is bit i of round key r.
const SCHEDULE: [[u8; 48]; 16] = {
    let mut schedule = [[0; 48]; 16];
    let mut r = 0;
    while r < 16 {
        let mut i = 0;
        while i < 48 {
            let chosen = KEY_CHOICE_2[i] as usize - 1;
            let half = chosen / 28 * 28;
            schedule[r][i] = KEY_CHOICE_1[half + (chosen - half + KEY_ROTATION[r]) % 28] - 1;
            i += 1;
        }
        r += 1;
    }
    schedule
};

/// `TO_STATE[i]` is where the initial permutation takes bit i of a block from; the final permutation is its inverse.
const TO_STATE: [usize; 64] = {
    let mut from = [0; 64];
    let mut i = 0;
    while i < 64 {
        from[i] = INITIAL[i] as usize - 1;
        i += 1;
    }
    from
};

/// `ROW[k]` is the plane of the state after the last round that becomes bit k of a block in memory, where bits of a
/// byte count from the least significant one. The 45 exchanges leave the halves on the other side than the permutation
/// expects them.
const ROW: [usize; 64] = {
    let mut rows = [0; 64];
    let mut i = 0;
    while i < 64 {
        let bit = TO_STATE[i];
        rows[bit / 8 * 8 + 7 - bit % 8] = (i + 32) % 64;
        i += 1;
    }
    rows
};

/// `S_BOX_TARGET[i]` is where P takes output bit i of the S-boxes.
const S_BOX_TARGET: [usize; 32] = {
    let mut to = [0; 32];
    let mut i = 0;
    while i < 32 {
        to[AFTER_S_BOXES[i] as usize - 1] = i;
        i += 1;
    }
    to
};

/// The keys of all rounds in the order of their use, each bit a word of zeros or ones. Zeroed on drop.
struct RoundKeys([[u64; 48]; ROUNDS]);

impl RoundKeys {
    /// To be set by `expand`.
    fn zero() -> Self {
        Self([[0; 48]; ROUNDS])
    }

    /// Encryption under K1, decryption under K2, encryption under K3.
    fn expand(&mut self, key: &[u8; 24]) {
        let (keys, _) = key.as_chunks::<8>();
        let (thirds, _) = self.0.as_chunks_mut::<16>();
        let mut masks = [0; 64];
        for (n, (rounds, key)) in thirds.iter_mut().zip(keys).enumerate() {
            let key = u64::from_be_bytes(*key);
            for (i, mask) in (0..64).zip(&mut masks) {
                *mask = 0_u64.wrapping_sub(key >> (63 - i) & 1);
            }
            for (r, bits) in SCHEDULE.iter().enumerate() {
                let round = &mut rounds[if n == 1 { 15 - r } else { r }];
                for (word, bit) in round.iter_mut().zip(bits) {
                    *word = masks[usize::from(bit % 64)];
                }
            }
        }
        masks.fill(0);
        optimization_barrier(&masks);
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// A keyed Triple DES.
struct Tdes<P> {
    planes: P,
    keys: RoundKeys,
}

impl<P: Planes> Counter64 for Tdes<P> {
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]) {
        self.planes.enter_planes(XorKeystream { keys: &self.keys, counter, data });
    }
}

counter_mode!(64, [P: Planes] Tdes<P>, |cipher| cipher.planes.backend());

struct XorKeystream<'a> {
    keys: &'a RoundKeys,
    counter: u64,
    data: &'a mut [u8],
}

impl<P: Planes> Kernel<P> for XorKeystream<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, planes: P) {
        let mut counter = self.counter;
        let mut state = [[planes.splat(0); 32]; 2];
        let mut rows = [planes.splat(0); 64];
        for piece in self.data.chunks_mut(64 * P::BYTES) {
            count(planes, counter, &mut state);
            rounds::<P, false>(planes, self.keys, &mut state);
            transpose_and_xor(planes, state.as_flattened(), &mut rows, piece);
            counter = counter.wrapping_add(64 * P::WORDS as u64);
        }
        state.as_flattened_mut().fill(planes.splat(0));
        optimization_barrier(&state);
        rows.fill(planes.splat(0));
        optimization_barrier(&rows);
    }
}

/// Bit j of the numbers of all lanes as plane j, in bytes. Lane i of word w has number `words` * i + w, so that blocks
/// come out of the transposition in their order.
const fn lane_numbers(words: usize) -> [[u8; 64]; 9] {
    assert!(words.is_power_of_two() && words <= 8);
    let mut planes = [[0; 64]; 9];
    let mut j = 0;
    while j < 9 {
        let mut byte = 0;
        while byte < 8 * words {
            let mut bit = 0;
            while bit < 8 {
                let number = words * (byte % 8 * 8 + bit) + byte / 8;
                planes[j][byte] |= ((number >> j & 1) as u8) << bit;
                bit += 1;
            }
            byte += 1;
        }
        j += 1;
    }
    planes
}

/// Sets `state` to the blocks from `counter` on, big-endian, behind the initial permutation.
#[inline(always)]
fn count<P: Planes>(planes: P, counter: u64, state: &mut [[P::Plane; 32]; 2]) {
    let lanes = const { &lane_numbers(P::WORDS) };
    let mut bits = [planes.splat(0); 64];
    let mut carry = planes.splat(0);
    for (j, plane) in bits.iter_mut().enumerate() {
        let first = planes.splat(0_u64.wrapping_sub(counter >> j & 1));
        if j < (64 * P::WORDS).ilog2() as usize {
            let lane = planes.load(&lanes[j]);
            let sum = planes.xor(first, lane);
            *plane = planes.xor(sum, carry);
            carry = planes.or(planes.and(first, lane), planes.and(sum, carry));
        } else {
            *plane = planes.xor(first, carry);
            carry = planes.and(first, carry);
        }
    }
    for (plane, bit) in state.as_flattened_mut().iter_mut().zip(TO_STATE) {
        *plane = bits[63 - bit];
    }
}

/// The 48 rounds, with the keys in reverse where it goes `BACK`.
#[inline(always)]
fn rounds<P: Planes, const BACK: bool>(planes: P, keys: &RoundKeys, state: &mut [[P::Plane; 32]; 2]) {
    let [left, right] = state;
    let (mut left, mut right) = (left, right);
    for r in 0..ROUNDS {
        round(planes, &keys.0[if BACK { ROUNDS - 1 - r } else { r }], left, right);
        // DES ends without the exchange of halves.
        if r % 16 != 15 {
            std::mem::swap(&mut left, &mut right);
        }
    }
}

/// XORs `left` with the cipher function of `right` and `key`.
#[inline(always)]
fn round<P: Planes>(planes: P, key: &[u64; 48], left: &mut [P::Plane; 32], right: &[P::Plane; 32]) {
    macro_rules! input {
        // The selection E: each S-box takes its four bits and one neighbour on each side.
        ($n:literal, $i:literal) => {
            planes.xor(right[(4 * $n + $i + 31) % 32], planes.splat(key[6 * $n + $i]))
        };
    }
    macro_rules! apply_s_boxes {
        ($($n:literal)*) => {
            $({
                let input = [input!($n, 0), input!($n, 1), input!($n, 2), input!($n, 3), input!($n, 4), input!($n, 5)];
                let [a, b, c, d] = s_box::<$n, P>(planes, input);
                let targets = const { [4 * $n, 4 * $n + 1, 4 * $n + 2, 4 * $n + 3] };
                left[S_BOX_TARGET[targets[0]]] = planes.xor(left[S_BOX_TARGET[targets[0]]], a);
                left[S_BOX_TARGET[targets[1]]] = planes.xor(left[S_BOX_TARGET[targets[1]]], b);
                left[S_BOX_TARGET[targets[2]]] = planes.xor(left[S_BOX_TARGET[targets[2]]], c);
                left[S_BOX_TARGET[targets[3]]] = planes.xor(left[S_BOX_TARGET[targets[3]]], d);
            })*
        };
    }
    apply_s_boxes!(0 1 2 3 4 5 6 7);
}

/// Exchanges `rows[a]` and `rows[b]` where they lie on the wrong side of the diagonal of 2 `N` x 2 `N` bits; `mask` has
/// the lower `N` bits of each 2 `N`.
macro_rules! exchange {
    ($planes:ident, $rows:ident, $n:literal, $mask:literal, $($a:literal $b:literal),*) => {
        let mask = $planes.splat($mask);
        $({
            let (a, b) = ($rows[$a], $rows[$b]);
            let wrong = $planes.and($planes.xor($planes.shift_right::<$n>(a), b), mask);
            $rows[$b] = $planes.xor(b, wrong);
            $rows[$a] = $planes.xor(a, $planes.shift_left::<$n>(wrong));
        })*
    };
}

/// XORs `data`, at most all blocks, with the blocks whose bits are `state` after the last round. `rows` is room to work
/// in.
#[inline(always)]
fn transpose_and_xor<P: Planes>(planes: P, state: &[P::Plane], rows: &mut [P::Plane; 64], data: &mut [u8]) {
    // Eight rows at a time stay in registers: first every eighth row, by whole bytes, then eight in a row.
    for k in 0..8 {
        let mut v = [planes.splat(0); 8];
        for (i, row) in v.iter_mut().enumerate() {
            *row = state[ROW[8 * i + k]];
        }
        exchange!(planes, v, 32, 0x0000_0000_ffff_ffff, 0 4, 1 5, 2 6, 3 7);
        exchange!(planes, v, 16, 0x0000_ffff_0000_ffff, 0 2, 1 3, 4 6, 5 7);
        exchange!(planes, v, 8, 0x00ff_00ff_00ff_00ff, 0 1, 2 3, 4 5, 6 7);
        for (i, row) in v.iter().enumerate() {
            rows[8 * i + k] = *row;
        }
    }
    let (eights, _) = rows.as_chunks::<8>();
    for (eight, piece) in eights.iter().zip(data.chunks_mut(8 * P::BYTES)) {
        let mut v = *eight;
        exchange!(planes, v, 4, 0x0f0f_0f0f_0f0f_0f0f, 0 4, 1 5, 2 6, 3 7);
        exchange!(planes, v, 2, 0x3333_3333_3333_3333, 0 2, 1 3, 4 6, 5 7);
        exchange!(planes, v, 1, 0x5555_5555_5555_5555, 0 1, 2 3, 4 5, 6 7);
        for (row, part) in v.into_iter().zip(piece.chunks_mut(P::BYTES)) {
            if part.len() == P::BYTES {
                planes.store(planes.xor(planes.load(part), row), part);
            } else {
                let mut stream = [0; 64];
                planes.store(row, &mut stream);
                for (byte, key) in part.iter_mut().zip(&stream) {
                    *byte ^= key;
                }
                stream.fill(0);
                optimization_barrier(&stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::*;
    use crate::arch::{Arrays, left_after_drop};
    use crate::testing::bytes;

    /// Against the `des` crate, on every backend and on arrays: many keys, counters that carry, lengths up to beyond a
    /// pass.
    #[test]
    fn key_stream_equals_that_of_the_des_crate() {
        for seed in 0..40_u64 {
            let key = bytes(&format!("3des key {seed}"), 24);
            let counter = match seed % 4 {
                0 => u64::MAX - 17 * seed,
                1 => u64::from(u32::MAX) - 5 * seed,
                2 => 0x00ff_ffff_ffff_ff00 - seed,
                _ => u64::from_be_bytes(bytes(&format!("3des counter {seed}"), 8).try_into().unwrap()),
            };
            let theirs = des::TdesEde3::new_from_slice(&key).unwrap();
            let mut stream = Vec::new();
            for i in 0..600 {
                let mut block = Array(counter.wrapping_add(i).to_be_bytes());
                theirs.encrypt_block(&mut block);
                stream.extend_from_slice(&block);
            }
            let mut ours = vec![circuits(Arrays, key[..].try_into().unwrap())];
            ours.extend(Backend::available().into_iter().map(|backend| keyed(&key, backend).unwrap()));
            for ours in ours {
                for length in (seed as usize * 13 % 120..stream.len()).step_by(121).chain([4095, 4096, 4097]) {
                    let text = bytes("3des text", length);
                    let mut data = text.clone();
                    ours.xor_keystream64(counter, &mut data);
                    let want: Vec<u8> = text.iter().zip(&stream).map(|(byte, key)| byte ^ key).collect();
                    assert!(data == want, "{}, seed {seed}, {length} bytes", ours.backend());
                }
            }
        }
    }

    /// Parity bits do not matter, every other bit of the key does.
    #[test]
    fn parity_is_ignored() {
        let key = bytes("3des parity", 24);
        let stream_of = |key: &[u8]| {
            let mut stream = [0; 8];
            keyed(key, Backend::portable()).unwrap().xor_keystream64(7, &mut stream);
            stream
        };
        for bit in 0..192 {
            let mut other = key.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(stream_of(&other) == stream_of(&key), bit % 8 == 0, "bit {bit}");
        }
    }

    #[test]
    fn backends_say_their_names() {
        for backend in Backend::available() {
            assert_eq!(keyed(&[1; 24], backend).unwrap().backend(), backend.name());
        }
    }

    #[test]
    fn keys_leave_nothing_behind() {
        let mut keys = RoundKeys::zero();
        keys.expand(&[0x5a; 24]);
        assert!(keys.0.as_flattened().contains(&u64::MAX));
        assert!(left_after_drop(keys).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn wrong_lengths_are_errors() {
        for backend in Backend::available() {
            for found in [0, 8, 16, 23, 25] {
                assert_eq!(keyed(&vec![1; found], backend).err(), Some(Error::KeyLength { found, want: 24 }));
            }
        }
    }
}
