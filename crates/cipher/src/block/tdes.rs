//! Triple DES with three keys (FIPS 46-3; SP 800-67r2, TDEA keying option 1) for counter mode and
//! for whole blocks both ways. Single DES and two-key variants are not offered.
//!
//! Bitsliced (Biham, A fast new DES implementation in software, FSE 1997): plane i holds bit i of
//! as many blocks as a register has bits, S-boxes are circuits, and a permutation only decides
//! which plane is taken. No table and no branch depends on key or data, so it is constant time on
//! every backend. A pass costs the same for one block as for all that fit: about the cost of five
//! to twelve blocks of a table-driven Triple DES, by backend and rival. Where vectors can look up
//! whole tables, short messages use those instead (`bytes`).
//!
//! - The final permutation of one DES and the initial one of the next cancel out, so 48 rounds
//!   follow each other.
//! - Counters are made as planes; only the key stream is transposed, in 64 x 64 bits. Whole blocks
//!   are transposed on the way in, too, and decrypted by the round keys in reverse.
//!
//! Bits are numbered from 0 here, in the standard's order; its tables count from 1.
//!
//! Here are the row of the table and the functions that set a key.

mod blocks;
mod bytes;
mod counter;
mod key_schedule;
mod permutations;
mod rounds;
mod s_boxes;

use super::key_length::sized;
use crate::arch::{with_every, with_tables};
use crate::backend::Backend;
use crate::block::by_length::ByLength;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::TDES_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter64;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;
use bytes::ByteKeys;

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
    let key = sized(key)?;
    let circuits = with_every!(backend, |planes| counter::circuits(planes, key));
    Ok(with_tables!(
        backend,
        |lanes| {
            let short = ByteKeys::protected(lanes, key);
            let short: Protected<dyn Counter64> = short.unsize(|short| short);
            by_length(short, circuits).unsize(|both| both)
        },
        else circuits
    ))
}

/// Sets `key` as [`keyed`] does, for whole blocks, both ways.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<8>>, Error> {
    let key = sized(key)?;
    let circuits = with_every!(backend, |planes| blocks::circuits(planes, key));
    Ok(with_tables!(
        backend,
        |lanes| {
            let short = ByteKeys::protected(lanes, key);
            let short: Protected<dyn BlockCipher<8>> = short.unsize(|short| short);
            by_length(short, circuits).unsize(|both| both)
        },
        else circuits
    ))
}

/// Number of bytes that a pass of the circuits takes on vectors with look-ups.
const BATCH_BYTES: usize = 4096;

/// From how many bytes on a pass of the circuits takes no longer than look-ups.
const CIRCUIT_BYTES_MIN: usize = 2048;

/// Returns the circuits, and look-ups in vectors for short messages.
fn by_length<T: ?Sized>(short: Protected<T>, long: Protected<T>) -> Protected<ByLength<T>> {
    Protected::with(|| ByLength {
        short,
        long,
        batch_bytes: BATCH_BYTES,
        worth_bytes: CIRCUIT_BYTES_MIN,
    })
}

#[cfg(test)]
mod tests {
    use cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::counter::circuits;
    use super::*;
    use crate::arch::Arrays;
    use crate::testing::bytes;

    /// Against the `des` crate, on every backend and on arrays: many keys, counters that carry,
    /// lengths up to beyond a pass.
    #[test]
    fn key_stream_equals_that_of_the_des_crate() {
        for seed in 0..40_u64 {
            let key = bytes(&format!("3des key {seed}"), 24);
            let counter = match seed % 4 {
                0 => u64::MAX - 17 * seed,
                1 => u64::from(u32::MAX) - 5 * seed,
                2 => 0x00ff_ffff_ffff_ff00 - seed,
                _ => u64::from_be_bytes(
                    bytes(&format!("3des counter {seed}"), 8).try_into().unwrap(),
                ),
            };
            let theirs = des::TdesEde3::new_from_slice(&key).unwrap();
            let mut stream = Vec::new();
            for i in 0..600 {
                let mut block = Array(counter.wrapping_add(i).to_be_bytes());
                theirs.encrypt_block(&mut block);
                stream.extend_from_slice(&block);
            }
            let mut ours = vec![circuits(Arrays, key[..].try_into().unwrap())];
            ours.extend(
                Backend::available().into_iter().map(|backend| keyed(&key, backend).unwrap()),
            );
            for ours in ours {
                for length in
                    (seed as usize * 13 % 120..stream.len()).step_by(121).chain([4095, 4096, 4097])
                {
                    let text = bytes("3des text", length);
                    let mut data = text.clone();
                    ours.xor_keystream64(counter, &mut data);
                    let want: Vec<u8> =
                        text.iter().zip(&stream).map(|(byte, key)| byte ^ key).collect();
                    assert!(data == want, "{}, seed {seed}, {length} bytes", ours.backend());
                }
            }
        }
    }

    /// Parity bits do not matter; every other bit of the key does.
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
    fn wrong_lengths_are_errors() {
        for backend in Backend::available() {
            for found in [0, 8, 16, 23, 25] {
                assert_eq!(
                    keyed(&vec![1; found], backend).err(),
                    Some(Error::KeyLength { found, want: 24 })
                );
            }
        }
    }
}
