//! ARIA with 128, 192 and 256-bit keys (RFC 5794): many blocks at a time, for counter modes and for whole blocks both
//! ways. Decryption is encryption under another key schedule (2.3), so it takes the same paths.
//!
//! All four S-boxes are affine maps around the inversion of AES's field, so no backend keeps them in tables: vectors of
//! bytes have instructions for it (`lanes`), and without them ARIA is bitsliced (`bitsliced`). Both take the same time
//! whatever the key and the data.

pub(super) mod bitsliced;
mod gcm;
mod lanes;
mod lanes_blocks;

use zeroize::{Zeroizing, optimization_barrier};

use crate::arch::with_bytes;
use crate::backend::Backend;
use crate::block::{BlockCipher, SetKey};
use crate::error::Error;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::aead::Aead;
use crate::mode::gcm::Gcm;
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::testing::{evidence, reference};

/// The row that the others of this cipher are made from.
const ARIA_256: Cipher = Cipher {
    name: "aria-256",
    id: 4,
    block_bytes: 16,
    key_bytes: 32,
    other_key_bits: None,
    mode: Mode::Gcm,
    standing: Standing::National,
    source: "RFC 5794, KS X 1213",
    fips: false,
    kcmvp: true,
    limits: GCM_LIMITS,
    caveat: None,
    constant_time: true,
    kmip: Some(Kmip { algorithm: 0x29, bits_without_parity: None }),
    set_key: SetKey::Block128 {
        counter: aria_counter,
        gcm: Some(aria_gcm),
        block: aria_block,
        has_instructions: |_| false,
    },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::aria,
        "aria.txt",
        "aria-192.txt",
        "aria-ctr.txt",
        "aria-gcm.txt",
        "aria-gcm-wycheproof.txt",
        "aria-cbc.txt",
        "aria-cmac-wycheproof.txt"
    ),
};

/// The rows of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[
    Cipher { name: "aria-128", id: 3, key_bytes: 16, ..ARIA_256 },
    Cipher { name: "aria-192", id: 15, key_bytes: 24, ..ARIA_256 },
    ARIA_256,
];

/// ARIA for counter modes under a `key` of 16, 24 or 32 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter128>, Error> {
    let rounds = rounds(key)?;
    Ok(with_bytes!(
        backend,
        |bytes| match rounds {
            12 => lanes::Aria::<_, 12>::protected(bytes, key),
            14 => lanes::Aria::<_, 14>::protected(bytes, key),
            _ => lanes::Aria::<_, 16>::protected(bytes, key),
        },
        |plain| bitsliced::Aria::protected(plain, key, rounds).unsize(|aria| aria)
    ))
}

/// ARIA-GCM (SP 800-38D) with 12-byte nonces and 16-byte tags under a `key` of 16, 24 or 32 bytes. All that is derived
/// from the key is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_gcm(key: &[u8], backend: Backend) -> Result<Protected<dyn Aead>, Error> {
    let rounds = rounds(key)?;
    // With narrow vectors the key stream takes so much longer than its hash that nothing is won side by side.
    Ok(with_bytes!(
        backend,
        wide |bytes| match rounds {
            12 => gcm::AriaGcm::<_, 12>::protected(bytes, GCM_LIMITS, key),
            14 => gcm::AriaGcm::<_, 14>::protected(bytes, GCM_LIMITS, key),
            _ => gcm::AriaGcm::<_, 16>::protected(bytes, GCM_LIMITS, key),
        },
        else Gcm::protected(GCM_LIMITS, aria_counter(key, backend)?, backend)
    ))
}

/// ARIA for whole blocks, both ways, under a `key` of 16, 24 or 32 bytes. The key schedules are zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<16>>, Error> {
    let rounds = rounds(key)?;
    Ok(with_bytes!(
        backend,
        |bytes| match rounds {
            12 => lanes_blocks::AriaBlocks::<_, 12>::protected(bytes, key).unsize(|aria| aria),
            14 => lanes_blocks::AriaBlocks::<_, 14>::protected(bytes, key).unsize(|aria| aria),
            _ => lanes_blocks::AriaBlocks::<_, 16>::protected(bytes, key).unsize(|aria| aria),
        },
        |plain| bitsliced::AriaBlocks::protected(plain, key, rounds).unsize(|aria| aria)
    ))
}

/// The number of rounds under `key` (RFC 5794, 2.2).
fn rounds(key: &[u8]) -> Result<usize, Error> {
    match key.len() {
        16 => Ok(12),
        24 => Ok(14),
        32 => Ok(16),
        found => Err(Error::KeyLength { found, want: 32 }),
    }
}

/// The most rounds: those of a 256-bit key.
const ROUNDS_MAX: usize = 16;

/// The diffusion layer A (RFC 5794, 2.4.3): output i is the sum of these seven inputs.
///
/// The first is its own; each of the pairs that follow serves two outputs of the same four.
const DIFFUSION: [[usize; 7]; 16] = [
    [3, 4, 6, 8, 9, 13, 14],
    [2, 5, 7, 8, 9, 12, 15],
    [1, 4, 6, 10, 11, 12, 15],
    [0, 5, 7, 10, 11, 13, 14],
    [5, 0, 2, 8, 11, 14, 15],
    [4, 1, 3, 9, 10, 14, 15],
    [7, 0, 2, 9, 10, 12, 13],
    [6, 1, 3, 8, 11, 12, 13],
    [10, 0, 1, 4, 7, 13, 15],
    [11, 0, 1, 5, 6, 12, 14],
    [8, 2, 3, 5, 6, 13, 15],
    [9, 2, 3, 4, 7, 12, 14],
    [12, 1, 2, 6, 7, 9, 11],
    [13, 0, 3, 6, 7, 8, 10],
    [14, 0, 3, 4, 5, 9, 11],
    [15, 1, 2, 4, 5, 8, 10],
];

/// The round keys ek1 and on, zeroed on drop.
struct RoundKeys([[u8; 16]; ROUNDS_MAX + 1]);

impl RoundKeys {
    fn zero() -> Self {
        Self([[0; 16]; ROUNDS_MAX + 1])
    }
}

/// Makes of the keys of encryption in `rounds` rounds those of decryption (RFC 5794, 2.2): in reverse order, all but the
/// first and the last through the diffusion layer.
fn reverse(keys: &mut RoundKeys, rounds: usize) {
    let keys = &mut keys.0[..=rounds];
    keys.reverse();
    for key in &mut keys[1..rounds] {
        let plain = Zeroizing::new(*key);
        for (byte, from) in key.iter_mut().zip(DIFFUSION) {
            *byte = from.into_iter().fold(0, |sum, i| sum ^ plain[i]);
        }
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Rounds of a single block, in constant time.
trait Rounds {
    /// The substitution layer of an `ODD` (type 1) or even round, the diffusion layer, and `add`.
    fn round<const ODD: bool>(&self, block: &mut [u8; 16], add: &[u8; 16]);
}

/// The constants C1, C2, C3 (RFC 5794, 2.2).
const SCHEDULE: [u128; 3] = [
    0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0,
    0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0,
    0xdb92_371d_2126_e970_0324_9775_04e8_c90e,
];

/// Expands `key`, of 4 (`rounds` - 8) bytes, as RFC 5794, 2.2 does.
#[inline(always)]
fn schedule(key: &[u8], rounds: usize, with: &impl Rounds, keys: &mut RoundKeys) {
    assert_eq!(key.len(), 4 * (rounds - 8), "a key of {rounds} rounds");
    let mut padded = Zeroizing::new([0; 32]);
    padded[..key.len()].copy_from_slice(key);
    let (left, right): (&[u8; 16], &[u8; 16]) =
        (padded.first_chunk().expect("16 of 32"), padded.last_chunk().expect("16 of 32"));
    let first = rounds / 2 - 6;
    let constant = |i: usize| SCHEDULE[(first + i) % 3];

    // W0 to W3; each round adds its key, CK1 to CK3, before the substitution.
    let mut block = Zeroizing::new(*left);
    let mut w = Zeroizing::new([u128::from_be_bytes(*left), 0, 0, 0]);
    *block = (w[0] ^ constant(0)).to_be_bytes();
    with.round::<true>(&mut block, right);
    w[1] = u128::from_be_bytes(*block);
    *block = (w[1] ^ constant(1)).to_be_bytes();
    with.round::<false>(&mut block, left);
    w[2] = u128::from_be_bytes(*block);
    *block = (w[2] ^ constant(2)).to_be_bytes();
    with.round::<true>(&mut block, &w[1].to_be_bytes());
    w[3] = u128::from_be_bytes(*block);

    let rotations = [19_u32, 31, 128 - 61, 128 - 31, 128 - 19];
    for (i, key) in keys.0[..=rounds].iter_mut().enumerate() {
        // Four at a time: W0 and W1, W1 and W2, W2 and W3, W3 and W0; the second is rotated, but W0 in the last.
        let (plain, rotated) = if i % 4 == 3 { (3, 0) } else { (i % 4, i % 4 + 1) };
        *key = (w[plain] ^ w[rotated].rotate_right(rotations[i / 4])).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::*;
    use crate::testing::bytes;

    /// The `aria` crate, which shares no code with this one: one block at a time, S-boxes in tables.
    fn reference(key: &[u8]) -> impl Fn([u8; 16]) -> [u8; 16] {
        let short = aria::Aria128::new_from_slice(key).ok();
        let middle = aria::Aria192::new_from_slice(key).ok();
        let long = aria::Aria256::new_from_slice(key).ok();
        move |block| {
            let mut block = Array::from(block);
            match (&short, &middle, &long) {
                (Some(aria), _, _) => aria.encrypt_block(&mut block),
                (_, Some(aria), _) => aria.encrypt_block(&mut block),
                (_, _, Some(aria)) => aria.encrypt_block(&mut block),
                _ => panic!("a key of 16, 24 or 32 bytes"),
            }
            block.into()
        }
    }

    /// RFC 5794, appendix A.
    #[test]
    fn published_blocks() {
        let plaintext: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
        for (key_bytes, want) in [
            (16, 0xd718_fbd6_ab64_4c73_9da9_5f3b_e645_1778_u128),
            (24, 0x2644_9c18_05db_e7aa_25a4_68ce_263a_9e79),
            (32, 0xf92b_d7c7_9fb7_2e2f_2b8f_80c1_972d_24fc),
        ] {
            let key: Vec<u8> = (0..key_bytes).collect();
            for backend in Backend::available() {
                let mut block = plaintext;
                aria_counter(&key, backend).unwrap().encrypt_block(&mut block);
                assert_eq!(block, want.to_be_bytes(), "{} with {key_bytes} bytes of key", backend.name());
                aria_block(&key, backend).unwrap().decrypt_blocks(std::slice::from_mut(&mut block));
                assert_eq!(block, plaintext, "{} back with {key_bytes} bytes of key", backend.name());
            }
        }
    }

    #[test]
    fn every_backend_agrees_with_the_reference_on_every_length_of_keystream() {
        const LENGTH_MAX: usize = 2300;
        for key_bytes in [16, 24, 32] {
            let key = bytes("aria key", key_bytes);
            let reference = reference(&key);
            for first in [0_u32, 0x0000_00fe, 0xffff_ffff, 0xffff_ffc0, 0xffff_ffde, 0x00ff_fff7, 0x1234_ff81] {
                let mut counter: [u8; 16] = bytes("aria counter", 16).try_into().unwrap();
                let mut stream = Vec::new();
                for i in 0..LENGTH_MAX as u32 / 16 + 1 {
                    *counter.last_chunk_mut().unwrap() = first.wrapping_add(i).to_be_bytes();
                    stream.extend(reference(counter));
                }
                *counter.last_chunk_mut().unwrap() = first.to_be_bytes();
                for backend in Backend::available() {
                    let aria = aria_counter(&key, backend).unwrap();
                    assert_eq!(aria.backend(), backend.name());
                    for length in (0..=LENGTH_MAX).filter(|length| *length < 600 || length % 16 < 2) {
                        // Each length at another alignment, between bytes that must stay.
                        let start = length % 67;
                        let mut buffer = vec![0xa5; LENGTH_MAX + 70];
                        aria.xor_keystream32(&counter, &mut buffer[start..start + length]);
                        let place = format!("{}, {length} bytes from counter {first:#x}", backend.name());
                        let (data, key) = (&buffer[start..start + length], &stream[..length]);
                        assert!(data.iter().zip(key).all(|(byte, key)| byte ^ key == 0xa5), "{place}");
                        let outside = buffer[..start].iter().chain(&buffer[start + length..]);
                        assert!(outside.into_iter().all(|byte| *byte == 0xa5), "{place}: wrote outside");
                    }
                }
            }
        }
    }

    /// Every byte value meets every S-box in every place, and every key bit counts.
    #[test]
    fn every_backend_agrees_with_the_reference_on_many_keys() {
        for seed in 0..500 {
            let key = bytes(&format!("aria key {seed}"), [16, 24, 32][seed % 3]);
            let block: [u8; 16] = bytes(&format!("aria block {seed}"), 16).try_into().unwrap();
            let want = reference(&key)(block);
            for backend in Backend::available() {
                let mut found = block;
                aria_counter(&key, backend).unwrap().encrypt_block(&mut found);
                assert_eq!(found, want, "{} with key {seed}", backend.name());
            }
        }
    }

    #[test]
    fn wrong_lengths_are_errors() {
        for backend in Backend::available() {
            for found in [0, 15, 17, 23, 25, 31, 33] {
                let want = Error::KeyLength { found, want: 32 };
                assert_eq!(aria_counter(&vec![1; found], backend).err(), Some(want));
                assert_eq!(aria_block(&vec![1; found], backend).err(), Some(want));
            }
        }
    }
}
