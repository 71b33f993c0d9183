//! The suite for CBC with ciphertext stealing: known answers, lengths around every boundary,
//! against a plain reference; initialisation vectors, and refused arguments.

use super::debug_output::assert_prints_no_key;
use super::misaligned_buffer::Misaligned;
use super::pseudorandom::bytes;
use super::reference;
use super::summary::{Summary, offered_key};
use super::vectors::{Case, vectors_of};
use crate::cbc_cs1::CbcCs1;
use crate::error::Error;
use crate::facts::Cipher;

/// Sets a key for CBC-CS1 under test.
pub type MakeCbcCs1<'a> = &'a dyn Fn(&[u8]) -> Result<CbcCs1, Error>;

/// Checks CBC-CS1 over `cipher`: `make` sets a key of `cipher.key_bytes` bytes. Not every cipher
/// has vectors; then the reference alone is the measure.
///
/// # Panics
/// At the first failed check, naming it.
pub fn cbc_cs1_conformance(cipher: &'static Cipher, make: MakeCbcCs1) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of(cipher) {
        let Case::CbcCs1 { iv, plaintext, ciphertext } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, &mut summary) else { continue };
        let keyed = make(&key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, keyed.backend(), vector.place, vector.source);
        let iv = iv.first_chunk().expect("a block");
        let mut data = plaintext.clone();
        reference::cbc_cs1(&reference::block_cipher(cipher, &key), iv, &mut data);
        assert_eq!(&data, ciphertext, "{what}: the reference");
        compare(&keyed, iv, plaintext, ciphertext, 0, &what);
        summary.vectors += 1;
    }
    let key = bytes("stealing key", cipher.key_bytes);
    let keyed = make(&key).expect("a key of the right length");
    let encrypt = reference::block_cipher(cipher, &key);
    let text = bytes("stealing text", 17_000);
    // around blocks, vectors of them, and the batches of CBC
    let around = [256, 1024, 4096, 8192, 16_384];
    let around = around.into_iter().flat_map(|length| length - 17..=length + 17);
    for (i, length) in (16..=100).chain(around).chain([16_354, 17_000]).enumerate() {
        let nonce = bytes(&format!("stealing nonce {i}"), 16);
        let nonce = nonce.first_chunk().expect("a block");
        let what = format!("{} on {}, {length} bytes", cipher.name, keyed.backend());
        let iv = keyed.iv(nonce).expect(&what);
        let mut wanted = *nonce;
        encrypt(&mut wanted);
        assert_eq!(iv, wanted, "{what}: the initialisation vector");
        let mut sealed = text[..length].to_vec();
        reference::cbc_cs1(&encrypt, &iv, &mut sealed);
        compare(&keyed, &iv, &text[..length], &sealed, i % 16, &what);
        summary.messages += 1;
    }
    arguments(cipher, make, &keyed);
    assert_prints_no_key(&format!("{keyed:?} {keyed:#?}"), &key);
    summary
}

fn compare(
    keyed: &CbcCs1,
    iv: &[u8; 16],
    plaintext: &[u8],
    ciphertext: &[u8],
    offset: usize,
    what: &str,
) {
    let mut buffer = Misaligned::new(plaintext, offset);
    assert_eq!(keyed.encrypt(iv, buffer.data()), Ok(()), "{what}");
    assert!(buffer.data() == ciphertext, "{what}: encrypt");
    assert_eq!(keyed.decrypt(iv, buffer.data()), Ok(()), "{what}");
    assert!(buffer.data() == plaintext, "{what}: decrypt");
    buffer.check_fence(what);
}

fn arguments(cipher: &'static Cipher, make: MakeCbcCs1, keyed: &CbcCs1) {
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let refused = Error::KeyLength { found, want: cipher.key_bytes };
        assert_eq!(make(&vec![0; found]).err(), Some(refused), "{} key", cipher.name);
    }
    for found in 0..16 {
        let refused = Err(Error::MessageTooShort { found, least: 16 });
        let mut data = vec![7; found];
        assert_eq!(keyed.encrypt(&[0; 16], &mut data), refused);
        assert_eq!(keyed.decrypt(&[0; 16], &mut data), refused);
        assert!(data.iter().all(|byte| *byte == 7), "{}: changed what it refused", cipher.name);
    }
}
