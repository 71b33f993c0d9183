//! LEA with 128, 192 and 256-bit keys (ISO/IEC 29192-2:2019; Hong et al., WISA 2013, LNCS 8267; KS
//! X 3246): additions, rotations and exclusive ors of 32-bit words, on as many blocks at a time as
//! a vector has words. No table and no branch depends on key or data, so it is constant time on
//! every backend.

use zeroize::optimization_barrier;

use super::key_length::check_as_of_aes;
use super::word_sliced::{WordCipher, WordSliced};
use crate::arch::{Lanes, with_every};
use crate::backend::Backend;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;

/// The row that the others of this cipher are made from.
const LEA_256: Cipher = Cipher {
    name: "lea-256",
    id: 10,
    block_bytes: 16,
    key_bytes: 32,
    other_key_bits: None,
    mode: Mode::Gcm,
    standing: Standing::National,
    source: "KS X 3246",
    fips: false,
    kcmvp: true,
    limits: GCM_LIMITS,
    caveat: None,
    constant_time: true,
    kmip: None,
    set_key: SetKey::Block128 {
        counter,
        gcm: None,
        hctr2: None,
        block,
        has_instructions: |_| false,
    },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::lea,
        "lea.txt",
        "lea-ctr.txt",
        "lea-gcm.txt",
        "lea-cbc.txt",
        "lea-hctr2.txt"
    ),
};

/// The rows of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[
    Cipher { name: "lea-128", id: 8, key_bytes: 16, ..LEA_256 },
    Cipher { name: "lea-192", id: 9, key_bytes: 24, ..LEA_256 },
    LEA_256,
];

/// Sets up LEA for counter modes under `key` of 16, 24 or 32 bytes. The key schedule is zeroed on
/// drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter128>, Error> {
    check_as_of_aes(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|lea| lea)))
}

/// Sets up LEA for whole blocks, both ways, under `key` of 16, 24 or 32 bytes. The key schedule is
/// zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<16>>, Error> {
    check_as_of_aes(key)?;
    Ok(with_every!(backend, |lanes| keyed(lanes, key).unsize(|lea| lea)))
}

/// Sets the key in place, so that no copy stays behind.
fn keyed<L: Lanes>(lanes: L, key: &[u8]) -> Protected<WordSliced<L, Lea>> {
    let mut lea = Protected::with(|| WordSliced {
        lanes,
        cipher: Lea { keys: [[0; 6]; ROUNDS_MAX], rounds: 0 },
    });
    lea.cipher.expand(key);
    lea
}

/// The most rounds: with a 256-bit key.
const ROUNDS_MAX: usize = 32;

/// The constants of the key schedule.
const DELTA: [u32; 8] = [
    0xc3ef_e9db,
    0x4462_6b02,
    0x79e2_7c8a,
    0x78df_30ec,
    0x715e_a49e,
    0xc785_da0a,
    0xe04e_f22a,
    0xe5c4_0957,
];

/// Number of bits by which each word of the key state is rotated.
const KEY_ROTATION: [u32; 6] = [1, 3, 6, 11, 13, 17];

/// LEA under one key. The key is zeroed on drop.
struct Lea {
    /// The six words of each round's key.
    keys: [[u32; 6]; ROUNDS_MAX],
    /// 24, 28 or 32.
    rounds: usize,
}

impl Lea {
    /// Expands `key` of 16, 24 or 32 bytes.
    fn expand(&mut self, key: &[u8]) {
        self.rounds = 16 + key.len() / 2;
        let mut state = [0; 8];
        for (word, bytes) in state.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let keys = &mut self.keys[..self.rounds];
        match key.len() {
            16 => schedule::<4>(&mut state, keys),
            24 => schedule::<6>(&mut state, keys),
            _ => schedule::<8>(&mut state, keys),
        }
        state.fill(0);
        optimization_barrier(&state);
    }
}

/// Writes the round keys from a key of `WORDS` words.
fn schedule<const WORDS: usize>(state: &mut [u32; 8], keys: &mut [[u32; 6]]) {
    for (round, keys) in keys.iter_mut().enumerate() {
        let delta = DELTA[round % WORDS].rotate_left(round as u32);
        // A round moves six words of the state on: all of it, or with 256 bits the next six.
        let first = if WORDS == 8 { 6 * round } else { 0 };
        for (i, key) in keys.iter_mut().enumerate().take(WORDS) {
            let word = &mut state[(first + i) % WORDS];
            *word = word.wrapping_add(delta.rotate_left(i as u32)).rotate_left(KEY_ROTATION[i]);
            *key = *word;
        }
        if WORDS == 4 {
            *keys = [state[0], state[1], state[2], state[1], state[3], state[1]];
        }
    }
}

impl Drop for Lea {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

impl<L: Lanes> WordCipher<L> for Lea {
    const BIG_ENDIAN: bool = false;

    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]) {
        // Four rounds bring each word back to its place, so that no word must be moved.
        let (fours, _) = self.keys[..self.rounds].as_chunks::<4>();
        for [a, b, c, d] in fours {
            for x in &mut *blocks {
                *x = round(lanes, round(lanes, round(lanes, round(lanes, *x, a), b), c), d);
            }
        }
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]) {
        for key in self.keys[..self.rounds].iter().rev() {
            for x in &mut *blocks {
                *x = round_back(lanes, *x, key);
            }
        }
    }
}

#[inline(always)]
fn round<L: Lanes>(lanes: L, [x0, x1, x2, x3]: [L::Vector; 4], key: &[u32; 6]) -> [L::Vector; 4] {
    [
        lanes.rotate32::<9>(lanes.add32(mixed(lanes, x0, key[0]), mixed(lanes, x1, key[1]))),
        lanes.rotate32::<27>(lanes.add32(mixed(lanes, x1, key[2]), mixed(lanes, x2, key[3]))),
        lanes.rotate32::<29>(lanes.add32(mixed(lanes, x2, key[4]), mixed(lanes, x3, key[5]))),
        x0,
    ]
}

#[inline(always)]
fn round_back<L: Lanes>(
    lanes: L,
    [y0, y1, y2, y3]: [L::Vector; 4],
    key: &[u32; 6],
) -> [L::Vector; 4] {
    let x0 = y3;
    let x1 = mixed(lanes, lanes.sub32(lanes.rotate32::<23>(y0), mixed(lanes, x0, key[0])), key[1]);
    let x2 = mixed(lanes, lanes.sub32(lanes.rotate32::<5>(y1), mixed(lanes, x1, key[2])), key[3]);
    let x3 = mixed(lanes, lanes.sub32(lanes.rotate32::<3>(y2), mixed(lanes, x2, key[4])), key[5]);
    [x0, x1, x2, x3]
}

#[inline(always)]
fn mixed<L: Lanes>(lanes: L, x: L::Vector, key: u32) -> L::Vector {
    lanes.xor(x, lanes.splat32(key))
}
