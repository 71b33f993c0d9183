//! AES with 128, 192 and 256-bit keys (FIPS 197): many blocks at a time, for counter mode, GCM and
//! whole blocks both ways.
//!
//! AES instructions, where the CPU has them, compute the rounds over vectors of its width (`lanes`,
//! `gcm`); elsewhere AES is bitsliced (`bitsliced`). Both take the same time whatever the key and
//! the data.
//!
//! Here are the rows of the table and the functions that set a key.

mod bitsliced;
mod bitsliced_gcm;
mod gcm;
mod hctr2;
mod key_schedule;
mod lanes;
mod lanes_blocks;
mod lanes_value;
#[cfg(test)]
pub(crate) mod reference;
pub(super) mod s_box;

use super::key_length::check_as_of_aes;
use crate::arch::with_aes;
use crate::backend::Backend;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::aead::Aead;
use crate::mode::hctr2::in_turn;
use crate::mode::wide_block::XctrAndPolyval;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;

/// The row that the others of this cipher are made from.
const AES_256: Cipher = Cipher {
    name: "aes-256",
    id: 2,
    block_bytes: 16,
    key_bytes: 32,
    other_key_bits: None,
    mode: Mode::Gcm,
    standing: Standing::Standard,
    source: "FIPS 197",
    fips: true,
    kcmvp: false,
    limits: GCM_LIMITS,
    caveat: None,
    constant_time: true,
    kmip: Some(Kmip { algorithm: 0x03, bits_without_parity: None }),
    set_key: SetKey::Block128 {
        counter: aes_counter,
        gcm: Some(aes_gcm),
        hctr2: Some(aes_hctr2),
        block: aes_block,
        has_instructions,
    },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        crate::reference::aes,
        "aes.txt",
        "aes-192.txt",
        "aes-ctr.txt",
        "aes-gcm.txt",
        "aes-cbc.txt",
        "aes-cbc-cs1.txt",
        "aes-cmac.txt",
        "aes-ff1.txt",
        "aes-hctr2.txt"
    ),
};

/// The rows of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[
    Cipher { name: "aes-128", id: 1, key_bytes: 16, ..AES_256 },
    Cipher { name: "aes-192", id: 14, key_bytes: 24, ..AES_256 },
    AES_256,
];

/// Sets up AES for counter modes under `key` of 16, 24 or 32 bytes. The key schedule is zeroed on
/// drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aes_counter(
    key: &[u8],
    backend: Backend,
) -> Result<Protected<dyn Counter128>, Error> {
    check_as_of_aes(key)?;
    Ok(with_aes!(
        backend,
        |aes| match key.len() {
            16 => lanes::Aes::<_, 10>::protected(aes, key),
            24 => lanes::Aes::<_, 12>::protected(aes, key),
            _ => lanes::Aes::<_, 14>::protected(aes, key),
        },
        |plain| bitsliced::Aes::protected(plain, key).unsize(|aes| aes)
    ))
}

/// Sets up AES for whole blocks, both ways, under `key` of 16, 24 or 32 bytes. The key schedules
/// are zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aes_block(
    key: &[u8],
    backend: Backend,
) -> Result<Protected<dyn BlockCipher<16>>, Error> {
    check_as_of_aes(key)?;
    Ok(with_aes!(
        backend,
        |aes| match key.len() {
            16 => lanes_blocks::AesBlocks::<_, 10>::protected(aes, key).unsize(|aes| aes),
            24 => lanes_blocks::AesBlocks::<_, 12>::protected(aes, key).unsize(|aes| aes),
            _ => lanes_blocks::AesBlocks::<_, 14>::protected(aes, key).unsize(|aes| aes),
        },
        |plain| bitsliced::Aes::protected(plain, key).unsize(|aes| aes)
    ))
}

/// Sets up AES-GCM (SP 800-38D) with 12-byte nonces and 16-byte tags under `key` of 16, 24 or 32
/// bytes. Everything derived from the key is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn aes_gcm(key: &[u8], backend: Backend) -> Result<Protected<dyn Aead>, Error> {
    check_as_of_aes(key)?;
    Ok(with_aes!(
        backend,
        |aes| match key.len() {
            16 => gcm::AesGcm::<_, 10>::protected(aes, key),
            24 => gcm::AesGcm::<_, 12>::protected(aes, key),
            _ => gcm::AesGcm::<_, 14>::protected(aes, key),
        },
        |plain| bitsliced_gcm::BitslicedGcm::protected(
            bitsliced::Aes::protected(plain, key),
            backend,
            GCM_LIMITS
        )
    ))
}

/// Sets up AES and POLYVAL for HCTR2 under `key` of 16, 24 or 32 bytes. Everything derived from the
/// key is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
fn aes_hctr2(key: &[u8], backend: Backend) -> Result<Protected<dyn XctrAndPolyval>, Error> {
    check_as_of_aes(key)?;
    Ok(with_aes!(
        backend,
        |aes| match key.len() {
            16 => hctr2::AesHctr2::<_, 10>::protected(aes, key),
            24 => hctr2::AesHctr2::<_, 12>::protected(aes, key),
            _ => hctr2::AesHctr2::<_, 14>::protected(aes, key),
        },
        |_plain| in_turn(aes_block(key, backend)?, backend)
    ))
}

/// Returns whether `backend` has instructions for AES.
pub(crate) fn has_instructions(backend: Backend) -> bool {
    with_aes!(backend, |_aes| true, |_plain| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH_MAX: usize = 1100;

    fn pattern(seed: u8, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 167 + i / 256).to_le_bytes()[0] ^ seed.wrapping_mul(59)).collect()
    }

    /// Returns a counter block whose last 32 bits are `count`.
    fn counter(count: u32) -> [u8; 16] {
        let mut counter = *pattern(3, 16).first_chunk().unwrap();
        *counter.last_chunk_mut().unwrap() = count.to_be_bytes();
        counter
    }

    fn keys() -> impl Iterator<Item = Vec<u8>> {
        [16, 24, 32].into_iter().map(|bytes| pattern(7, bytes))
    }

    /// FIPS 197, appendix C.
    #[test]
    fn published_blocks() {
        let plaintext: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
        for (key_bytes, want) in [
            (16, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128),
            (24, 0xdda9_7ca4_864c_dfe0_6eaf_70a0_ec0d_7191),
            (32, 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089),
        ] {
            let key: Vec<u8> = (0..key_bytes).collect();
            assert_eq!(
                reference::Aes::new(&key).encrypt(plaintext),
                want.to_be_bytes(),
                "reference"
            );
            for backend in Backend::available() {
                let mut block = plaintext;
                aes_counter(&key, backend).unwrap().encrypt_block(&mut block);
                assert_eq!(
                    block,
                    want.to_be_bytes(),
                    "{} with {key_bytes} bytes of key",
                    backend.name()
                );
                aes_block(&key, backend).unwrap().decrypt_blocks(std::slice::from_mut(&mut block));
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
        for key in keys() {
            let reference = reference::Aes::new(&key);
            for count in [0, 0x0000_00fe, 0xffff_ffff, 0xffff_fff0, 0xffff_ffde, 0x00ff_fff7] {
                let stream = reference.keystream(counter(count), LENGTH_MAX);
                for backend in Backend::available() {
                    let aes = aes_counter(&key, backend).unwrap();
                    assert_eq!(aes.backend(), backend.name());
                    for bytes in 0..=LENGTH_MAX {
                        // Each length at another alignment, between bytes that must stay.
                        let mut buffer = vec![0xa5; LENGTH_MAX + 70];
                        let start = bytes % 67;
                        let plaintext = pattern(bytes as u8, bytes);
                        buffer[start..start + bytes].copy_from_slice(&plaintext);
                        aes.xor_keystream32(&counter(count), &mut buffer[start..start + bytes]);
                        let want: Vec<u8> =
                            plaintext.iter().zip(&stream).map(|(byte, key)| byte ^ key).collect();
                        let place =
                            format!("{}, {bytes} bytes from counter {count:#x}", backend.name());
                        assert_eq!(buffer[start..start + bytes], want, "{place}");
                        let outside = buffer[..start].iter().chain(&buffer[start + bytes..]);
                        assert!(
                            outside.into_iter().all(|byte| *byte == 0xa5),
                            "{place}: wrote outside"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_backend_seals_and_opens_every_length_as_the_reference_does() {
        let nonce = *counter(0).first_chunk::<12>().unwrap();
        for key in keys() {
            let reference = reference::Aes::new(&key);
            let stream = reference.keystream(counter(1), 16 + LENGTH_MAX);
            let gcms: Vec<_> = Backend::available()
                .into_iter()
                .map(|backend| aes_gcm(&key, backend).unwrap())
                .collect();
            for bytes in 0..=LENGTH_MAX {
                let associated = pattern(9, [0, 1, 13, 16, 29, 32, 130, 600][bytes % 8]);
                let plaintext = pattern(bytes as u8, bytes);
                let (ciphertext, tag) = reference.seal(&stream, &associated, &plaintext);
                for gcm in &gcms {
                    let place = format!("{}, {bytes} bytes", gcm.backend());
                    let mut buffer = vec![0xa5; LENGTH_MAX + 70];
                    let start = bytes % 67;
                    let data = &mut buffer[start..start + bytes];
                    data.copy_from_slice(&plaintext);
                    assert_eq!(gcm.seal(&nonce, &associated, data), Ok(tag), "{place}");
                    assert_eq!(data, ciphertext, "{place}");
                    assert_eq!(gcm.open(&nonce, &associated, data, &tag), Ok(()), "{place}");
                    assert_eq!(data, plaintext, "{place}");
                    data.copy_from_slice(&ciphertext);
                    let mut wrong = tag;
                    wrong[bytes % 16] ^= 1 << (bytes % 8);
                    assert_eq!(
                        gcm.open(&nonce, &associated, data, &wrong),
                        Err(Error::Authentication),
                        "{place}"
                    );
                    assert!(data.iter().all(|byte| *byte == 0), "{place}: left data behind");
                    let outside = buffer[..start].iter().chain(&buffer[start + bytes..]);
                    assert!(
                        outside.into_iter().all(|byte| *byte == 0xa5),
                        "{place}: wrote outside"
                    );
                }
            }
        }
    }

    #[test]
    fn long_messages_agree() {
        let nonce = *counter(0).first_chunk::<12>().unwrap();
        let key = pattern(7, 32);
        let reference = reference::Aes::new(&key);
        for bytes in [4096, 16384, 16385, 33_001] {
            let stream = reference.keystream(counter(1), 16 + bytes);
            let (ciphertext, tag) = reference.seal(&stream, b"page 1", &pattern(1, bytes));
            for backend in Backend::available() {
                let gcm = aes_gcm(&key, backend).unwrap();
                let mut data = pattern(1, bytes);
                assert_eq!(
                    gcm.seal(&nonce, b"page 1", &mut data),
                    Ok(tag),
                    "{} {bytes}",
                    backend.name()
                );
                assert!(data == ciphertext, "{} {bytes}", backend.name());
                assert_eq!(
                    gcm.open(&nonce, b"page 1", &mut data, &tag),
                    Ok(()),
                    "{} {bytes}",
                    backend.name()
                );
                assert!(data == pattern(1, bytes), "{} {bytes}", backend.name());
            }
        }
    }

    #[test]
    fn wrong_lengths_are_errors() {
        for backend in Backend::available() {
            for found in [0, 15, 17, 31, 33] {
                let want = Error::KeyLength { found, want: 32 };
                assert_eq!(aes_counter(&vec![1; found], backend).err(), Some(want));
                assert_eq!(aes_gcm(&vec![1; found], backend).err(), Some(want));
                assert_eq!(aes_block(&vec![1; found], backend).err(), Some(want));
            }
            let gcm = aes_gcm(&[1; 16], backend).unwrap();
            let mut data = [7; 40];
            assert_eq!(
                gcm.seal(&[0; 11], &[], &mut data),
                Err(Error::NonceLength { found: 11, want: 12 })
            );
            assert_eq!(data, [7; 40]);
            assert_eq!(
                gcm.open(&[0; 13], &[], &mut data, &[0; 16]),
                Err(Error::NonceLength { found: 13, want: 12 })
            );
            assert_eq!(data, [0; 40]);
        }
    }
}
