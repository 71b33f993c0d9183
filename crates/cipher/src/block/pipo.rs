//! PIPO-64/128 and PIPO-64/256 (Kim et al., ICISC 2020, LNCS 12593): a bitsliced S-layer of eleven
//! nonlinear operations and rotations of bytes, on as many blocks at a time as a vector has bytes.
//! No table and no branch depends on key or data, so it is constant time on every backend.
//!
//! The paper writes a block as X\[7\] to X\[0\]; byte i in memory is X\[i\] here, as in its
//! reference code.

use zeroize::optimization_barrier;

use super::byte_sliced::{ByteCipher, ByteSliced};
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

/// The row that the others of this cipher are made from.
const PIPO_256: Cipher = Cipher {
    name: "pipo-256",
    id: 13,
    block_bytes: 8,
    key_bytes: 32,
    other_key_bits: None,
    mode: Mode::CtrMac,
    standing: Standing::Experimental,
    source: "Kim et al., ICISC 2020",
    fips: false,
    kcmvp: false,
    limits: BLOCK64_LIMITS,
    caveat: Some("a research design: no standard, little analysis so far; 64-bit blocks (Sweet32)"),
    constant_time: true,
    kmip: None,
    set_key: SetKey::Block64 { counter, block },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::pipo,
        "pipo.txt",
        "pipo-ctr.txt",
        "pipo-ctr-mac.txt",
        "pipo-ff1.txt"
    ),
};

/// The rows of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] =
    &[Cipher { name: "pipo-128", id: 12, key_bytes: 16, ..PIPO_256 }, PIPO_256];

/// PIPO for counter mode under `key` of 16 or 32 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter64>, Error> {
    check(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|pipo| pipo)))
}

/// PIPO for whole blocks, both ways, under `key` of 16 or 32 bytes. The key schedule is zeroed on
/// drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<8>>, Error> {
    check(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|pipo| pipo)))
}

fn check(key: &[u8]) -> Result<(), Error> {
    match key.len() {
        16 | 32 => Ok(()),
        found => Err(Error::KeyLength { found, want: 32 }),
    }
}

/// Sets the key in place, so that no copy stays behind.
fn keyed<L: Lanes>(lanes: L, key: &[u8]) -> Protected<ByteSliced<L, Pipo>> {
    let mut pipo = Protected::with(|| ByteSliced {
        lanes,
        cipher: Pipo { keys: [[0; 8]; ROUNDS_MAX + 1], rounds: 0 },
    });
    pipo.cipher.expand(key);
    pipo
}

/// The most rounds: with a 256-bit key.
const ROUNDS_MAX: usize = 17;

/// PIPO under one key. The key is zeroed on drop.
struct Pipo {
    /// The round keys, each byte as often as a word has bytes: vectors are filled with words from
    /// memory at no cost.
    keys: [[u32; 8]; ROUNDS_MAX + 1],
    /// 13 or 17.
    rounds: usize,
}

impl Pipo {
    /// Sets `key` of 16 or 32 bytes: round key i is one of its 64-bit words, alternately, plus i.
    fn expand(&mut self, key: &[u8]) {
        self.rounds = if key.len() == 16 { 13 } else { 17 };
        let (words, _) = key.as_chunks::<8>();
        for (i, (keys, word)) in
            self.keys[..=self.rounds].iter_mut().zip(words.iter().cycle()).enumerate()
        {
            for (key, byte) in keys.iter_mut().zip(word) {
                *key = u32::from_ne_bytes([*byte; 4]);
            }
            keys[0] ^= u32::from_ne_bytes([i as u8; 4]);
        }
    }
}

impl Drop for Pipo {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

impl<L: Lanes> ByteCipher<L> for Pipo {
    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for x in &mut *blocks {
            *x = add(lanes, *x, &self.keys[0]);
        }
        for key in &self.keys[1..=self.rounds] {
            for x in &mut *blocks {
                *x = add(lanes, rotate(lanes, substitute(lanes, *x)), key);
            }
        }
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for key in self.keys[1..=self.rounds].iter().rev() {
            for x in &mut *blocks {
                *x = substitute_back(lanes, rotate_back(lanes, add(lanes, *x, key)));
            }
        }
        for x in blocks {
            *x = add(lanes, *x, &self.keys[0]);
        }
    }
}

#[inline(always)]
fn add<L: Lanes>(lanes: L, x: [L::Vector; 8], key: &[u32; 8]) -> [L::Vector; 8] {
    let [x0, x1, x2, x3, x4, x5, x6, x7] = x;
    [
        lanes.xor(x0, lanes.splat32(key[0])),
        lanes.xor(x1, lanes.splat32(key[1])),
        lanes.xor(x2, lanes.splat32(key[2])),
        lanes.xor(x3, lanes.splat32(key[3])),
        lanes.xor(x4, lanes.splat32(key[4])),
        lanes.xor(x5, lanes.splat32(key[5])),
        lanes.xor(x6, lanes.splat32(key[6])),
        lanes.xor(x7, lanes.splat32(key[7])),
    ]
}

/// Applies the R-layer.
#[inline(always)]
fn rotate<L: Lanes>(lanes: L, [x0, x1, x2, x3, x4, x5, x6, x7]: [L::Vector; 8]) -> [L::Vector; 8] {
    [
        x0,
        lanes.rotate8::<7>(x1),
        lanes.rotate8::<4>(x2),
        lanes.rotate8::<3>(x3),
        lanes.rotate8::<6>(x4),
        lanes.rotate8::<5>(x5),
        lanes.rotate8::<1>(x6),
        lanes.rotate8::<2>(x7),
    ]
}

#[inline(always)]
fn rotate_back<L: Lanes>(
    lanes: L,
    [x0, x1, x2, x3, x4, x5, x6, x7]: [L::Vector; 8],
) -> [L::Vector; 8] {
    [
        x0,
        lanes.rotate8::<1>(x1),
        lanes.rotate8::<4>(x2),
        lanes.rotate8::<5>(x3),
        lanes.rotate8::<2>(x4),
        lanes.rotate8::<3>(x5),
        lanes.rotate8::<7>(x6),
        lanes.rotate8::<6>(x7),
    ]
}

/// Applies the S-layer (paper, figure 3): S-boxes of five and of three bits, joined, and one of
/// five bits again.
#[inline(always)]
fn substitute<L: Lanes>(lanes: L, x: [L::Vector; 8]) -> [L::Vector; 8] {
    let [mut x0, mut x1, mut x2, mut x3, mut x4, mut x5, mut x6, mut x7] = x;
    x5 = lanes.xor(x5, lanes.and(x7, x6));
    x4 = lanes.xor(x4, lanes.and(x3, x5));
    x7 = lanes.xor(x7, x4);
    x6 = lanes.xor(x6, x3);
    x3 = lanes.xor(x3, lanes.or(x4, x5));
    x5 = lanes.xor(x5, x7);
    x4 = lanes.xor(x4, lanes.and(x5, x6));

    x2 = lanes.xor(x2, lanes.and(x1, x0));
    x0 = lanes.xor(x0, lanes.or(x2, x1));
    x1 = lanes.xor(x1, lanes.or(x2, x0));
    x2 = lanes.xor(x2, lanes.splat(0xff));

    x7 = lanes.xor(x7, x1);
    x3 = lanes.xor(x3, x2);
    x4 = lanes.xor(x4, x0);

    let (mut t0, mut t1, mut t2) = (x7, x3, x4);
    x6 = lanes.xor(x6, lanes.and(t0, x5));
    t0 = lanes.xor(t0, x6);
    x6 = lanes.xor(x6, lanes.or(t2, t1));
    t1 = lanes.xor(t1, x5);
    x5 = lanes.xor(x5, lanes.or(x6, t2));
    t2 = lanes.xor(t2, lanes.and(t1, t0));
    [x7, lanes.xor(x0, t1), lanes.xor(x2, t0), x6, x5, x4, x3, lanes.xor(x1, t2)]
}

#[inline(always)]
fn substitute_back<L: Lanes>(lanes: L, y: [L::Vector; 8]) -> [L::Vector; 8] {
    let [y0, y1, y2, y3, y4, y5, y6, y7] = y;
    // the second S-box of five bits leaves three of them as they were
    let (mut x7, mut x3, mut x4) = (y0, y6, y5);
    let mut x5 = lanes.xor(y4, lanes.or(y3, x4));
    let before = lanes.xor(y3, lanes.or(x4, x3));
    let (t0, t1) = (lanes.xor(x7, before), lanes.xor(x3, x5));
    let t2 = lanes.xor(x4, lanes.and(t1, t0));
    let mut x6 = lanes.xor(before, lanes.and(x7, x5));
    let (mut x0, mut x1, mut x2) = (lanes.xor(y1, t1), lanes.xor(y7, t2), lanes.xor(y2, t0));

    x4 = lanes.xor(x4, x0);
    x3 = lanes.xor(x3, x2);
    x7 = lanes.xor(x7, x1);

    x2 = lanes.xor(x2, lanes.splat(0xff));
    x1 = lanes.xor(x1, lanes.or(x2, x0));
    x0 = lanes.xor(x0, lanes.or(x2, x1));
    x2 = lanes.xor(x2, lanes.and(x1, x0));

    x4 = lanes.xor(x4, lanes.and(x5, x6));
    x5 = lanes.xor(x5, x7);
    x3 = lanes.xor(x3, lanes.or(x4, x5));
    x6 = lanes.xor(x6, x3);
    x7 = lanes.xor(x7, x4);
    x4 = lanes.xor(x4, lanes.and(x3, x5));
    x5 = lanes.xor(x5, lanes.and(x7, x6));
    [x0, x1, x2, x3, x4, x5, x6, x7]
}
