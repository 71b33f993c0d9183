//! SEED with a 128-bit key (RFC 4269, TTAS.KO-12.0004/R1; ISO/IEC 18033-3), as many blocks at a time as a vector has
//! words.
//!
//! Both S-boxes are affine maps around inversion in GF(2^8), so no backend keeps them in tables: vectors of bytes have
//! instructions for it (`lanes`), and without them SEED is bitsliced (`bitsliced`). Both take the same time whatever the
//! key and the data.

mod bitsliced;
mod lanes;

use zeroize::{Zeroizing, optimization_barrier};

use crate::arch::{Lanes, with_bytes};
use crate::backend::Backend;
use crate::block::{BlockCipher, SetKey};
use crate::error::Error;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::testing::{evidence, reference};

/// The row of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[Cipher {
    name: "seed-128",
    id: 7,
    block_bytes: 16,
    key_bytes: 16,
    other_key_bits: None,
    mode: Mode::Gcm,
    standing: Standing::National,
    source: "RFC 4269",
    fips: false,
    kcmvp: true,
    limits: GCM_LIMITS,
    caveat: None,
    constant_time: true,
    kmip: Some(Kmip { algorithm: 0x2a, bits_without_parity: None }),
    set_key: SetKey::Block128 { counter, gcm: None, block, has_instructions: |_| false },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::seed,
        "seed.txt",
        "seed-ctr.txt",
        "seed-gcm.txt",
        "seed-gcm-wycheproof.txt",
        "seed-cbc.txt"
    ),
}];

/// SEED for counter modes under `key` of 16 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter128>, Error> {
    let key = checked(key)?;
    Ok(with_bytes!(backend, |lanes| lanes::keyed(lanes, key).unsize(|seed| seed), |plain| bitsliced::keyed(plain, key)
        .unsize(|seed| seed)))
}

/// SEED for whole blocks, both ways, under `key` of 16 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<16>>, Error> {
    let key = checked(key)?;
    Ok(with_bytes!(backend, |lanes| lanes::keyed(lanes, key).unsize(|seed| seed), |plain| bitsliced::keyed(plain, key)
        .unsize(|seed| seed)))
}

fn checked(key: &[u8]) -> Result<&[u8; 16], Error> {
    key.try_into().map_err(|_| Error::KeyLength { found: key.len(), want: 16 })
}

const ROUNDS: usize = 16;

/// The constants KC of the key schedule (RFC 4269, 2.5): the golden ratio, rotated by one bit each round.
const GOLDEN: u32 = 0x9e37_79b9;

/// The masks m0 to m3 of the function G (RFC 4269, 2.4).
const MASKS: [u8; 4] = [0xfc, 0xf3, 0xcf, 0x3f];

/// Of each round's key the first word and the sum of both, which meet the halves' second words alone. Zeroed on drop.
struct RoundKeys([[u32; 2]; ROUNDS]);

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// The function G of a single word, in constant time.
trait Mix {
    fn mix(&self, word: u32) -> u32;
}

/// Expands `key` as RFC 4269, 2.5 does.
#[inline(always)]
fn schedule(key: &[u8; 16], with: &impl Mix, keys: &mut RoundKeys) {
    let mut left = Zeroizing::new(u64::from_be_bytes(*key.first_chunk().expect("8 of 16")));
    let mut right = Zeroizing::new(u64::from_be_bytes(*key.last_chunk().expect("8 of 16")));
    for (round, key) in keys.0.iter_mut().enumerate() {
        let constant = GOLDEN.rotate_left(round as u32);
        let (a, b) = ((*left >> 32) as u32, *left as u32);
        let (c, d) = ((*right >> 32) as u32, *right as u32);
        key[0] = with.mix(a.wrapping_add(c).wrapping_sub(constant));
        key[1] = key[0] ^ with.mix(b.wrapping_sub(d).wrapping_add(constant));
        if round % 2 == 0 {
            *left = left.rotate_right(8);
        } else {
            *right = right.rotate_left(8);
        }
    }
}

/// The second half of the function G (RFC 4269, 2.4), for the bytes `y` behind the S-boxes: each byte of the result is
/// the sum of all four of its word, of each without two bits.
#[inline(always)]
fn mix_masked<L: Lanes>(lanes: L, y: L::Vector) -> L::Vector {
    const fn mask(even: usize, odd: usize) -> u32 {
        u32::from_le_bytes([MASKS[even], MASKS[odd], MASKS[even], MASKS[odd]])
    }
    // Byte i takes byte i + k under mask 2 i + k. For k and for k + 2 the masks of even and odd bytes are exchanged, so
    // that what comes from k = 2 and k = 3 can be summed before a rotation by two bytes.
    let next = lanes.rotate32::<24>(y);
    let near = lanes.and(y, lanes.splat32(const { mask(0, 2) }));
    let near = lanes.xor_masked(near, next, lanes.splat32(const { mask(1, 3) }));
    let far = lanes.and(y, lanes.splat32(const { mask(2, 0) }));
    let far = lanes.xor_masked(far, next, lanes.splat32(const { mask(3, 1) }));
    lanes.xor(near, lanes.rotate32::<16>(far))
}
