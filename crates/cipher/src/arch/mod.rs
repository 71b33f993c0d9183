//! Instruction sets and the memory that keys are kept in: the only place with CPU intrinsics and calls of the system
//! and, with them, `unsafe`.
//!
//! An instruction set is a token type ([`Portable`] and, on x86-64, `Aesni`, `Avx2`, `Avx512`). A token is made only
//! after the CPU was asked, so whoever holds one may call its instructions; that is what every `unsafe` block below
//! relies on. Algorithms are written elsewhere, once, over the traits of this module:
//!
//! - [`AesLanes`]: vectors of 128-bit blocks with AES rounds and carry-less products;
//! - [`Lanes`]: vectors of bytes and 32-bit words with logic, additions and rotations;
//! - [`ByteLanes`]: those with affine maps and inversion in GF(2^8) as well;
//! - [`TableLanes`]: those with look-ups in tables of 256 bytes;
//! - [`Words`]: the 128-bit words of plain logic that bitsliced ciphers are made of;
//! - [`Planes`]: words as wide as the registers, each bit a lane of its own, for ciphers computed as circuits.
//!
//! A cipher sets its key up through [`with_every`], [`with_aes`], [`with_bytes`] or [`with_tables`]: each takes an
//! expression and evaluates it with the token of the backend, whose type the expression may be generic over.
//!
//! A new instruction set is one file that implements the traits, one line in [`lines`], one in the `Isa` table and one in
//! `with_token`; no cipher file names an instruction set. `memory` is by itself.
//!
//! Not here: any cipher or mode.
#![allow(unsafe_code)]

pub(crate) mod byte_lanes;
#[cfg(all(any(test, feature = "testing"), target_os = "linux", not(miri)))]
pub mod forked;
mod lanes;
#[cfg(any(test, feature = "testing"))]
pub mod memcheck;
pub(crate) mod memory;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
pub(crate) mod own_stack;
#[cfg(all(any(test, feature = "testing"), unix, not(miri)))]
pub(crate) mod page_end;
mod planes;
mod portable;
mod set_up;
pub(crate) mod table_lanes;
pub(crate) mod tsc;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::LazyLock;

pub(crate) use byte_lanes::ByteLanes;
pub(crate) use lanes::Lanes;
#[cfg(test)]
pub(crate) use planes::Arrays;
pub(crate) use planes::Planes;
pub(crate) use portable::Portable;
pub(crate) use set_up::{with_aes, with_bytes, with_every, with_tables, with_token};
pub(crate) use table_lanes::TableLanes;

/// An algorithm to run with the instructions of `L`.
///
/// `run` and all it calls is compiled for these instructions only where it is inlined, so it and its callees carry
/// `#[inline(always)]`, and it must not use closures that might stay calls.
pub(crate) trait Kernel<L> {
    /// What it computes.
    type Output;

    /// Runs it.
    fn run(self, lanes: L) -> Self::Output;
}

/// Vectors of [`AesLanes::BLOCKS`] 128-bit blocks, each an independent lane, and the instructions for AES and
/// carry-less multiplication on them. The value is the proof that the CPU has them.
///
/// Bytes of a lane are numbered as in memory. As a 128-bit number a lane is little-endian: byte 0 is the least
/// significant one.
pub(crate) trait AesLanes: Copy + Send + Sync + 'static {
    /// A vector in registers.
    type Vector: Copy;

    /// Blocks in a vector.
    const BLOCKS: usize;
    /// Bytes in a vector.
    const BYTES: usize = 16 * Self::BLOCKS;

    /// The name of the backend.
    fn name(self) -> &'static str;

    /// Runs `kernel`, compiled for these instructions.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// All zero.
    fn zero(self) -> Self::Vector;
    /// `block` in every lane.
    fn splat(self, block: &[u8; 16]) -> Self::Vector;
    /// `block` in the first lane, zero in the others.
    fn first(self, block: &[u8; 16]) -> Self::Vector;
    /// The first lane.
    fn to_block(self, v: Self::Vector) -> [u8; 16];
    /// The first `BYTES` bytes of `bytes`, which must hold as many.
    fn load(self, bytes: &[u8]) -> Self::Vector;
    /// Writes `v` to the first `BYTES` bytes of `bytes`, which must hold as many.
    fn store(self, v: Self::Vector, bytes: &mut [u8]);
    /// All of `bytes`, at most `BYTES`, followed by zeros.
    fn load_partial(self, bytes: &[u8]) -> Self::Vector;
    /// Fills `bytes`, at most `BYTES`, with the first bytes of `v`.
    fn store_partial(self, v: Self::Vector, bytes: &mut [u8]);
    /// The first `bytes` bytes of `v`, at most `BYTES`, followed by zeros.
    fn keep(self, v: Self::Vector, bytes: usize) -> Self::Vector;

    /// Exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Exclusive or of all lanes, in the first lane; the others hold zeros.
    fn fold(self, v: Self::Vector) -> Self::Vector;
    /// The first lane of `first`, then the lanes of `rest` but its last one.
    fn prepend(self, first: Self::Vector, rest: Self::Vector) -> Self::Vector;
    /// Each lane with its 16 bytes in reverse order.
    fn reverse_bytes(self, v: Self::Vector) -> Self::Vector;
    /// Byte i of each lane from byte `order[i]` of that lane, below 16; zero where that is 0x80.
    fn shuffle_bytes(self, v: Self::Vector, order: &[u8; 16]) -> Self::Vector;
    /// Each lane with its 64-bit halves exchanged.
    fn swap_halves(self, v: Self::Vector) -> Self::Vector;
    /// Each lane shifted up by 64 bits: the low half becomes the high half.
    fn low_to_high(self, v: Self::Vector) -> Self::Vector;
    /// Each lane shifted down by 64 bits: the high half becomes the low half.
    fn high_to_low(self, v: Self::Vector) -> Self::Vector;

    /// Counters from `block` on, one a lane, whose last four bytes are a little-endian number so that they can count.
    fn counters(self, block: &[u8; 16]) -> Self::Vector;
    /// Counters `by` further, modulo 2^32.
    fn count(self, counters: Self::Vector, by: u32) -> Self::Vector;
    /// Counter blocks as SP 800-38D has them: the last four bytes big-endian.
    fn counter_blocks(self, counters: Self::Vector) -> Self::Vector;

    /// One AES round: SubBytes, ShiftRows, MixColumns, AddRoundKey (FIPS 197, 5.1).
    fn aes_round(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// The last AES round, without MixColumns.
    fn aes_last_round(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// One round of the equivalent inverse cipher: InvShiftRows, InvSubBytes, InvMixColumns, AddRoundKey (FIPS 197,
    /// 5.3.5).
    fn aes_round_back(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// The last round of the equivalent inverse cipher, without InvMixColumns.
    fn aes_last_round_back(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;

    /// Carry-less product of the low halves.
    fn multiply_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Carry-less product of the high halves.
    fn multiply_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
}

/// Logic on words of any width.
pub(crate) trait Logic: Copy {
    /// A word in registers.
    type Word: Copy;

    /// Exclusive or.
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// And.
    fn and(self, a: Self::Word, b: Self::Word) -> Self::Word;
}

/// Words of 128 bits for bitsliced ciphers: four rows of four bytes, row 0 first.
pub(crate) trait Words: Logic {
    /// From its four rows, each little-endian.
    fn rows(self, rows: [u32; 4]) -> Self::Word;
    /// From 16 bytes, row by row.
    fn load(self, bytes: &[u8; 16]) -> Self::Word;
    /// To 16 bytes, row by row.
    fn store(self, w: Self::Word, bytes: &mut [u8; 16]);
    /// Rows 0 of both multiplied into rows 0 and 1, rows 2 into rows 2 and 3: two products of 64 bits.
    fn multiply(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Each byte shifted left by `N` bits within its 64-bit half; what crosses a byte is the caller's to mask.
    fn shift_left<const N: i32>(self, w: Self::Word) -> Self::Word;
    /// Each byte shifted right by `N` bits within its 64-bit half; what crosses a byte is the caller's to mask.
    fn shift_right<const N: i32>(self, w: Self::Word) -> Self::Word;
    /// Row r takes row r + 1 modulo 4.
    fn rotate_rows_1(self, w: Self::Word) -> Self::Word;
    /// Row r takes row r + 2 modulo 4.
    fn rotate_rows_2(self, w: Self::Word) -> Self::Word;
    /// Rows 0 and 3 exchanged.
    fn exchange_outer_rows(self, w: Self::Word) -> Self::Word;
    /// Each row rotated right by 8 bits: byte c takes byte c + 1 modulo 4.
    fn rotate_columns_1(self, w: Self::Word) -> Self::Word;
    /// Each row rotated by 16 bits: byte c takes byte c + 2 modulo 4.
    fn rotate_columns_2(self, w: Self::Word) -> Self::Word;
    /// Each row rotated right by 24 bits: byte c takes byte c + 3 modulo 4.
    fn rotate_columns_3(self, w: Self::Word) -> Self::Word;
    /// Rows 1 and 3 rotated by 16 bits, rows 0 and 2 as they were.
    fn rotate_odd_rows_2(self, w: Self::Word) -> Self::Word;
    /// Rows and columns of the 4 x 4 bytes exchanged.
    fn transpose(self, w: Self::Word) -> Self::Word;
}

/// One instruction set that this CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// What the compiler takes for granted on every CPU of this architecture.
    Portable(Portable),
    /// 128-bit AES and carry-less multiplication, SSE encoding.
    #[cfg(target_arch = "x86_64")]
    Aesni(x86_64::Aesni),
    /// The same in AVX encoding, and 256-bit integer vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    /// 512-bit vectors with AES, carry-less multiplication and GFNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
}

impl Isa {
    /// The name of the backend.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable(token) => token.name(),
            #[cfg(target_arch = "x86_64")]
            Self::Aesni(token) => AesLanes::name(token),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => AesLanes::name(token),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => AesLanes::name(token),
        }
    }
}

/// One line of the table of instruction sets.
pub(crate) struct Line {
    /// The name of the backend.
    pub(crate) name: &'static str,
    /// The features it needs and this CPU lacks.
    pub(crate) missing: Vec<&'static str>,
    /// The token, where nothing is missing.
    pub(crate) isa: Option<Isa>,
}

impl Line {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no detected set on this architecture yet"))]
    fn new(name: &'static str, detected: Result<Isa, Vec<&'static str>>) -> Self {
        match detected {
            Ok(isa) => Self { name, missing: Vec::new(), isa: Some(isa) },
            Err(missing) => Self { name, missing, isa: None },
        }
    }
}

/// All instruction sets by name, slowest first; the CPU is asked once.
pub(crate) fn lines() -> &'static [Line] {
    static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
        let portable = Line { name: Portable.name(), missing: Vec::new(), isa: Some(Isa::Portable(Portable)) };
        #[cfg(target_arch = "x86_64")]
        let detected = x86_64::lines();
        #[cfg(not(target_arch = "x86_64"))]
        let detected = [];
        [portable].into_iter().chain(detected).collect()
    });
    &LINES
}

/// The features of this CPU that the instruction sets above are made of.
pub(crate) fn cpu_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    return x86_64::cpu_features();
    #[cfg(not(target_arch = "x86_64"))]
    return Vec::new();
}

/// What `value` leaves in its memory when dropped. For types without padding, whose drop frees nothing.
#[cfg(test)]
pub(crate) fn left_after_drop<T>(value: T) -> Vec<u8> {
    let mut place = std::mem::ManuallyDrop::new(value);
    let start: *mut T = &mut *place;
    // SAFETY: the value is dropped here and nowhere else. Its memory stays, and the caller promises that all of it
    // is initialised and owns nothing.
    unsafe {
        std::ptr::drop_in_place(start);
        std::slice::from_raw_parts(start.cast::<u8>(), size_of::<T>()).to_vec()
    }
}
