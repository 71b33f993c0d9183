//! HIGHT with a 128-bit key (Hong et al., CHES 2006, LNCS 4249; TTAS.KO-12.0040; ISO/IEC 18033-3):
//! additions, rotations and exclusive ors of bytes, on as many blocks at a time as a vector has
//! bytes. No table and no branch depends on key or data, so it is constant time on every backend.
//!
//! The paper writes a block as P7 to P0 and a key as MK15 to MK0; byte i in memory is Pi and MKi
//! here, as in KISA's reference code and its vectors.

use zeroize::optimization_barrier;

use super::byte_sliced::{ByteCipher, ByteSliced};
use super::key_length::sized;
use crate::arch::{Lanes, with_every};
use crate::backend::Backend;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Standing};
use crate::limits::BLOCK64_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter64;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;

/// The row of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[Cipher {
    name: "hight",
    id: 11,
    block_bytes: 8,
    key_bytes: 16,
    other_key_bits: None,
    mode: Mode::CtrMac,
    standing: Standing::National,
    source: "ISO/IEC 18033-3",
    fips: false,
    kcmvp: true,
    limits: BLOCK64_LIMITS,
    caveat: Some("64-bit blocks (Sweet32): never a gigabyte under one key"),
    constant_time: true,
    kmip: None,
    set_key: SetKey::Block64 { counter, block },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::hight,
        "hight.txt",
        "hight-ctr.txt",
        "hight-ctr-mac.txt",
        "hight-cbc.txt",
        "hight-cmac.txt"
    ),
}];

/// Sets up HIGHT for counter mode under `key` of 16 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter64>, Error> {
    let key = sized(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|hight| hight)))
}

/// Sets up HIGHT for whole blocks, both ways, under `key` of 16 bytes. The key schedule is zeroed
/// on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<8>>, Error> {
    let key = sized(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|hight| hight)))
}

/// Sets the key in place, so that no copy stays behind.
fn keyed<L: Lanes>(lanes: L, key: &[u8; 16]) -> Protected<ByteSliced<L, Hight>> {
    let mut hight = Protected::with(|| ByteSliced {
        lanes,
        cipher: Hight { whitening: [[0; 4]; 2], keys: [[0; 4]; ROUNDS] },
    });
    hight.cipher.expand(key);
    hight
}

const ROUNDS: usize = 32;

/// The constants of the key schedule: seven bits of a sequence that shifts by one (x^7 + x^3 + 1).
const DELTA: [u8; 4 * ROUNDS] = {
    let mut delta = [0; 4 * ROUNDS];
    let mut register = 0x5a_u8;
    let mut i = 0;
    while i < delta.len() {
        delta[i] = register;
        let next = (register >> 3 ^ register) & 1;
        register = register >> 1 | next << 6;
        i += 1;
    }
    delta
};

/// HIGHT under one key. The key is zeroed on drop.
struct Hight {
    /// The whitening keys before the rounds and after them, each as often as a word has bytes.
    whitening: [[u32; 4]; 2],
    /// The four subkeys of each round in the same form, as vectors are filled with words from
    /// memory at no cost.
    keys: [[u32; 4]; ROUNDS],
}

/// Returns `byte` in each byte of a word.
fn four_times(byte: u8) -> u32 {
    u32::from_ne_bytes([byte; 4])
}

impl Hight {
    fn expand(&mut self, key: &[u8; 16]) {
        for i in 0..4 {
            self.whitening[0][i] = four_times(key[12 + i]);
            self.whitening[1][i] = four_times(key[i]);
        }
        for (round, keys) in self.keys.iter_mut().enumerate() {
            for (j, subkey) in keys.iter_mut().enumerate() {
                let number = 4 * round + j;
                // sixteen subkeys use each byte of the key once, eight by eight, turned by one each
                // time
                let (turn, half, place) = (number / 16, number % 16 / 8 * 8, number % 8);
                let byte = key[half + (place + 8 - turn) % 8];
                *subkey = four_times(byte.wrapping_add(DELTA[number]));
            }
        }
    }
}

impl Drop for Hight {
    fn drop(&mut self) {
        self.whitening.as_flattened_mut().fill(0);
        self.keys.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

impl<L: Lanes> ByteCipher<L> for Hight {
    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for x in &mut *blocks {
            let [p0, p1, p2, p3, p4, p5, p6, p7] = *x;
            let [x0, x2, x4, x6] = whiten(lanes, [p0, p2, p4, p6], &self.whitening[0]);
            *x = [x0, p1, x2, p3, x4, p5, x6, p7];
        }
        for key in &self.keys {
            for x in &mut *blocks {
                let [x0, x1, x2, x3, x4, x5, x6, x7] = round(lanes, *x, key);
                *x = [x7, x0, x1, x2, x3, x4, x5, x6];
            }
        }
        for x in blocks {
            // the last round does not turn
            let [x7, x0, x1, x2, x3, x4, x5, x6] = *x;
            let [x0, x2, x4, x6] = whiten(lanes, [x0, x2, x4, x6], &self.whitening[1]);
            *x = [x0, x1, x2, x3, x4, x5, x6, x7];
        }
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for x in &mut *blocks {
            let [c0, c1, c2, c3, c4, c5, c6, c7] = *x;
            let [x0, x2, x4, x6] = whiten_back(lanes, [c0, c2, c4, c6], &self.whitening[1]);
            *x = [c7, x0, c1, x2, c3, x4, c5, x6];
        }
        for key in self.keys.iter().rev() {
            for x in &mut *blocks {
                let [x7, x0, x1, x2, x3, x4, x5, x6] = *x;
                *x = round_back(lanes, [x0, x1, x2, x3, x4, x5, x6, x7], key);
            }
        }
        for x in blocks {
            let [x0, x1, x2, x3, x4, x5, x6, x7] = *x;
            let [x0, x2, x4, x6] = whiten_back(lanes, [x0, x2, x4, x6], &self.whitening[0]);
            *x = [x0, x1, x2, x3, x4, x5, x6, x7];
        }
    }
}

#[inline(always)]
fn whiten<L: Lanes>(lanes: L, [a, b, c, d]: [L::Vector; 4], key: &[u32; 4]) -> [L::Vector; 4] {
    let [k0, k1, k2, k3] = splat(lanes, key);
    [lanes.add8(a, k0), lanes.xor(b, k1), lanes.add8(c, k2), lanes.xor(d, k3)]
}

#[inline(always)]
fn whiten_back<L: Lanes>(lanes: L, [a, b, c, d]: [L::Vector; 4], key: &[u32; 4]) -> [L::Vector; 4] {
    let [k0, k1, k2, k3] = splat(lanes, key);
    [lanes.sub8(a, k0), lanes.xor(b, k1), lanes.sub8(c, k2), lanes.xor(d, k3)]
}

/// A round before its bytes turn.
#[inline(always)]
fn round<L: Lanes>(
    lanes: L,
    [x0, x1, x2, x3, x4, x5, x6, x7]: [L::Vector; 8],
    key: &[u32; 4],
) -> [L::Vector; 8] {
    let [k0, k1, k2, k3] = splat(lanes, key);
    [
        x0,
        lanes.add8(x1, lanes.xor(f1(lanes, x0), k0)),
        x2,
        lanes.xor(x3, lanes.add8(f0(lanes, x2), k1)),
        x4,
        lanes.add8(x5, lanes.xor(f1(lanes, x4), k2)),
        x6,
        lanes.xor(x7, lanes.add8(f0(lanes, x6), k3)),
    ]
}

#[inline(always)]
fn round_back<L: Lanes>(
    lanes: L,
    [x0, x1, x2, x3, x4, x5, x6, x7]: [L::Vector; 8],
    key: &[u32; 4],
) -> [L::Vector; 8] {
    let [k0, k1, k2, k3] = splat(lanes, key);
    [
        x0,
        lanes.sub8(x1, lanes.xor(f1(lanes, x0), k0)),
        x2,
        lanes.xor(x3, lanes.add8(f0(lanes, x2), k1)),
        x4,
        lanes.sub8(x5, lanes.xor(f1(lanes, x4), k2)),
        x6,
        lanes.xor(x7, lanes.add8(f0(lanes, x6), k3)),
    ]
}

#[inline(always)]
fn f0<L: Lanes>(lanes: L, x: L::Vector) -> L::Vector {
    lanes.three_rotations8::<1, 2, 7>(x)
}

#[inline(always)]
fn f1<L: Lanes>(lanes: L, x: L::Vector) -> L::Vector {
    lanes.three_rotations8::<3, 4, 6>(x)
}

#[inline(always)]
fn splat<L: Lanes>(lanes: L, key: &[u32; 4]) -> [L::Vector; 4] {
    [lanes.splat32(key[0]), lanes.splat32(key[1]), lanes.splat32(key[2]), lanes.splat32(key[3])]
}
