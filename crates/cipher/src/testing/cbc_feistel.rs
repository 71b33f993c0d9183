//! The suite for CBC with a Feistel network at the end: lengths around every boundary, whole and in
//! pieces, against a plain reference; messages that have ended, and refused arguments.

use super::debug_output::assert_prints_no_key;
use super::misaligned_buffer::Misaligned;
use super::pseudorandom::bytes;
use super::reference;
use super::summary::Summary;
use crate::cbc_feistel::CbcFeistel;
use crate::error::Error;
use crate::facts::Cipher;

/// Sets the keys for CBC with a Feistel network under test.
pub type MakeCbcFeistel<'a> = &'a dyn Fn([&[u8]; 2]) -> Result<CbcFeistel, Error>;

/// Checks CBC with a Feistel network over `cipher`: `make` sets keys of `cipher.key_bytes` bytes.
/// There are no published vectors; docs/formats.md has an example of a second implementation.
///
/// # Panics
/// At the first failed check, naming it.
pub fn cbc_feistel_conformance(cipher: &'static Cipher, make: MakeCbcFeistel) -> Summary {
    let mut summary = Summary::default();
    let keys = ["blocks key", "ends key"].map(|name| bytes(name, cipher.key_bytes));
    let keyed = make([&keys[0], &keys[1]]).expect("keys of the right length");
    let [blocks, ends] = keys.each_ref().map(|key| reference::block_cipher(cipher, key));
    let text = bytes("chained text", 8300);
    let around = [256, 1024, 4096, 8192];
    let around = around.into_iter().flat_map(|length| length - 17..=length + 17);
    for (i, length) in (0..=100).chain(around).chain([8300]).enumerate() {
        let nonce = bytes(&format!("chained nonce {i}"), 16);
        let nonce = nonce.first_chunk().expect("a block");
        let what = format!("{} on {}, {length} bytes", cipher.name, keyed.backend());
        let mut wanted = text[..length].to_vec();
        reference::cbc_feistel([&blocks, &ends], nonce, &mut wanted);
        for (encrypted, decrypted) in [(usize::MAX, 16), (16, usize::MAX), (48, 256)] {
            let mut buffer = Misaligned::new(&text[..length], i % 16);
            let mut chain = keyed.begin(nonce).expect(&what);
            for piece in buffer.data().chunks_mut(encrypted) {
                assert_eq!(keyed.encrypt(&mut chain, piece), Ok(()), "{what}");
            }
            assert!(buffer.data() == wanted, "{what}: encrypt");
            let mut chain = keyed.begin(nonce).expect(&what);
            for piece in buffer.data().chunks_mut(decrypted) {
                assert_eq!(keyed.decrypt(&mut chain, piece), Ok(()), "{what}");
            }
            assert!(buffer.data() == &text[..length], "{what}: decrypt");
            buffer.check_fence(&what);
        }
        summary.messages += 1;
    }
    arguments(cipher, make, &keyed);
    for key in &keys {
        assert_prints_no_key(&format!("{keyed:?} {keyed:#?}"), key);
    }
    summary
}

fn arguments(cipher: &'static Cipher, make: MakeCbcFeistel, keyed: &CbcFeistel) {
    let right = vec![7; cipher.key_bytes];
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let wrong = vec![7; found];
        let refused = Error::KeyLength { found, want: cipher.key_bytes };
        for keys in [[&wrong[..], &right], [&right, &wrong]] {
            assert_eq!(make(keys).err(), Some(refused), "{} key", cipher.name);
        }
    }
    // a piece that is no whole blocks ends the message
    let mut chain = keyed.begin(&[1; 16]).expect("a message");
    assert_eq!(keyed.encrypt(&mut chain, &mut [1; 32]), Ok(()));
    assert_eq!(keyed.encrypt(&mut chain, &mut [2; 5]), Ok(()));
    assert_eq!(keyed.encrypt(&mut chain, &mut []), Ok(()));
    let mut piece = [3; 16];
    assert_eq!(keyed.encrypt(&mut chain, &mut piece), Err(Error::AfterEnd));
    assert_eq!(keyed.decrypt(&mut chain, &mut piece[..1]), Err(Error::AfterEnd));
    assert_eq!(piece, [3; 16], "{}: changed what it refused", cipher.name);
}
