//! ARIA with 128, 192 and 256-bit keys (RFC 5794): many blocks at a time, for counter modes and for
//! whole blocks both ways. Decryption is encryption under another key schedule (2.3), so it takes
//! the same paths.
//!
//! All four S-boxes are affine maps around the inversion of AES's field, so no backend keeps them
//! in tables: vectors of bytes have instructions for it (`lanes`), and without them ARIA is
//! bitsliced (`bitsliced`). Both take the same time whatever the key and the data.
//!
//! Here are the rows of the table and the functions that set a key.

mod bitsliced;
mod diffusion;
mod gcm;
mod key_schedule;
mod lanes;
mod lanes_blocks;

use crate::arch::with_bytes;
use crate::backend::Backend;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::aead::Aead;
use crate::mode::gcm::Gcm;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;

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
        hctr2: None,
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
        "aria-cmac-wycheproof.txt",
        "aria-hctr2.txt"
    ),
};

/// The rows of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[
    Cipher { name: "aria-128", id: 3, key_bytes: 16, ..ARIA_256 },
    Cipher { name: "aria-192", id: 15, key_bytes: 24, ..ARIA_256 },
    ARIA_256,
];

/// Sets up ARIA for counter modes under a `key` of 16, 24 or 32 bytes. The key schedule is zeroed
/// on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_counter(
    key: &[u8],
    backend: Backend,
) -> Result<Protected<dyn Counter128>, Error> {
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

/// Sets up ARIA-GCM (SP 800-38D) with 12-byte nonces and 16-byte tags under a `key` of 16, 24 or 32
/// bytes. Everything derived from the key is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_gcm(key: &[u8], backend: Backend) -> Result<Protected<dyn Aead>, Error> {
    let rounds = rounds(key)?;
    // With narrow vectors the key stream takes so much longer than its hash that computing both
    // side by side gains nothing.
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

/// Sets up ARIA for whole blocks, both ways, under a `key` of 16, 24 or 32 bytes. The key schedules
/// are zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aria_block(
    key: &[u8],
    backend: Backend,
) -> Result<Protected<dyn BlockCipher<16>>, Error> {
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

/// Returns the number of rounds under `key` (RFC 5794, 2.2).
fn rounds(key: &[u8]) -> Result<usize, Error> {
    match key.len() {
        16 => Ok(12),
        24 => Ok(14),
        32 => Ok(16),
        found => Err(Error::KeyLength { found, want: 32 }),
    }
}

#[cfg(test)]
mod tests {
    use cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::*;
    use crate::testing::bytes;

    /// Returns the `aria` crate, which shares no code with this one: one block at a time, S-boxes
    /// in tables.
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
                assert_eq!(
                    block,
                    want.to_be_bytes(),
                    "{} with {key_bytes} bytes of key",
                    backend.name()
                );
                aria_block(&key, backend).unwrap().decrypt_blocks(std::slice::from_mut(&mut block));
                assert_eq!(
                    block,
                    plaintext,
                    "{} back with {key_bytes} bytes of key",
                    backend.name()
                );
            }
        }
    }

    #[test]
    fn every_backend_agrees_with_the_reference_on_every_length_of_keystream() {
        const LENGTH_MAX: usize = 2300;
        for key_bytes in [16, 24, 32] {
            let key = bytes("aria key", key_bytes);
            let reference = reference(&key);
            for first in [
                0_u32,
                0x0000_00fe,
                0xffff_ffff,
                0xffff_ffc0,
                0xffff_ffde,
                0x00ff_fff7,
                0x1234_ff81,
            ] {
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
                    for length in (0..=LENGTH_MAX).filter(|length| *length < 600 || length % 16 < 2)
                    {
                        // Each length at another alignment, between bytes that must stay.
                        let start = length % 67;
                        let mut buffer = vec![0xa5; LENGTH_MAX + 70];
                        aria.xor_keystream32(&counter, &mut buffer[start..start + length]);
                        let place =
                            format!("{}, {length} bytes from counter {first:#x}", backend.name());
                        let (data, key) = (&buffer[start..start + length], &stream[..length]);
                        assert!(
                            data.iter().zip(key).all(|(byte, key)| byte ^ key == 0xa5),
                            "{place}"
                        );
                        let outside = buffer[..start].iter().chain(&buffer[start + length..]);
                        assert!(
                            outside.into_iter().all(|byte| *byte == 0xa5),
                            "{place}: wrote outside"
                        );
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
