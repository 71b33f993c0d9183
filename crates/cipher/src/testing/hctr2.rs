//! The suite for HCTR2: known answers, lengths around every boundary, tweaks of every length around
//! a block, changed bits, and refused arguments, against a plain reference.

use super::debug_output::assert_prints_no_key;
use super::misaligned_buffer::Misaligned;
use super::pseudorandom::bytes;
use super::reference;
use super::summary::{Summary, offered_key};
use super::vectors::{Case, vectors_of};
use crate::error::Error;
use crate::facts::Cipher;
use crate::hctr2::Hctr2;

/// Sets a key for HCTR2 under test.
pub type MakeHctr2<'a> = &'a dyn Fn(&[u8]) -> Result<Hctr2, Error>;

/// Checks HCTR2 over `cipher`: `make` sets a key of `cipher.key_bytes` bytes. Not every cipher has
/// vectors; then the reference alone is the measure.
///
/// # Panics
/// At the first failed check, naming it.
pub fn hctr2_conformance(cipher: &'static Cipher, make: MakeHctr2) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of(cipher) {
        let Case::Hctr2 { tweak, plaintext, ciphertext } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, &mut summary) else { continue };
        let keyed = make(&key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, keyed.backend(), vector.place, vector.source);
        let mut data = plaintext.clone();
        reference::hctr2(&reference::block_cipher(cipher, &key), tweak, &mut data);
        assert_eq!(&data, ciphertext, "{what}: the reference");
        compare(&keyed, tweak, plaintext, ciphertext, 0, &what);
        summary.vectors += 1;
    }
    let key = bytes("wide key", cipher.key_bytes);
    let keyed = make(&key).expect("a key of the right length");
    let encrypt = reference::block_cipher(cipher, &key);
    let text = bytes("wide text", 17_000);
    // around blocks, vectors of them, groups of the hash, groups and a vector behind the first
    // block, and the part of a stream made at once
    let around = [64, 128, 256, 512, 576, 1024, 1088, 2048, 4096, 16_384];
    let around = around.into_iter().flat_map(|length| length - 17..=length + 17);
    let lengths = (16..=100).chain(around).chain([16_354, 17_000]);
    let tweak_bytes = [0, 1, 15, 16, 17, 31, 32, 33, 255, 600];
    for (i, length) in lengths.enumerate() {
        let tweak = bytes(&format!("wide tweak {i}"), tweak_bytes[i % tweak_bytes.len()]);
        let what = format!("{} on {}, {length} bytes", cipher.name, keyed.backend());
        let mut sealed = text[..length].to_vec();
        reference::hctr2(&encrypt, &tweak, &mut sealed);
        compare(&keyed, &tweak, &text[..length], &sealed, i % 16, &what);
        summary.messages += 1;
    }
    changes(&keyed, &text[..80], &mut summary);
    arguments(cipher, make, &keyed);
    assert_prints_no_key(&format!("{keyed:?} {keyed:#?}"), &key);
    summary
}

fn compare(
    keyed: &Hctr2,
    tweak: &[u8],
    plaintext: &[u8],
    ciphertext: &[u8],
    offset: usize,
    what: &str,
) {
    let tweak = Misaligned::new(tweak, offset / 2);
    let mut buffer = Misaligned::new(plaintext, offset);
    assert_eq!(keyed.encrypt(tweak.shared(), buffer.data()), Ok(()), "{what}");
    assert!(buffer.data() == ciphertext, "{what}: encrypt");
    assert_eq!(keyed.decrypt(tweak.shared(), buffer.data()), Ok(()), "{what}");
    assert!(buffer.data() == plaintext, "{what}: decrypt");
    buffer.check_fence(what);
}

/// One bit that changes, in the text or the tweak, changes every block on the other side.
fn changes(keyed: &Hctr2, text: &[u8], summary: &mut Summary) {
    let tweak = [3; 20];
    let crypt = |tweak: &[u8], text: &[u8], is_encrypted: bool| {
        let mut data = text.to_vec();
        let done = match is_encrypted {
            true => keyed.encrypt(tweak, &mut data),
            false => keyed.decrypt(tweak, &mut data),
        };
        done.expect("long enough");
        data
    };
    for is_encrypted in [true, false] {
        let before = crypt(&tweak, text, is_encrypted);
        let mut differs = |tweak: &[u8], text: &[u8], what: &dyn Fn() -> String| {
            let after = crypt(tweak, text, is_encrypted);
            let mut pairs = before.chunks(16).zip(after.chunks(16));
            assert!(pairs.all(|(before, after)| before != after), "{}", what());
            // it is no forgery: nothing refuses it
            summary.messages += 1;
        };
        for at in 0..text.len() {
            let mut changed = text.to_vec();
            changed[at] ^= 1 << (at % 8);
            differs(&tweak, &changed, &|| format!("byte {at}"));
        }
        for at in 0..tweak.len() {
            let mut changed = tweak;
            changed[at] ^= 1 << (at % 8);
            differs(&changed, text, &|| format!("byte {at} of the tweak"));
        }
        differs(&[&tweak[..], &[0]].concat(), text, &|| "a zero more in the tweak".into());
    }
}

fn arguments(cipher: &'static Cipher, make: MakeHctr2, keyed: &Hctr2) {
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let refused = Error::KeyLength { found, want: cipher.key_bytes };
        assert_eq!(make(&vec![0; found]).err(), Some(refused), "{} key", cipher.name);
    }
    for found in 0..16 {
        let refused = Err(Error::MessageTooShort { found, least: 16 });
        let mut data = vec![7; found];
        assert_eq!(keyed.encrypt(b"", &mut data), refused);
        assert_eq!(keyed.decrypt(b"", &mut data), refused);
        assert!(data.iter().all(|byte| *byte == 7), "{}: changed what it refused", cipher.name);
    }
}
