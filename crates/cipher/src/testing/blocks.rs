//! The suite for whole blocks and for the modes over them, CBC and CMAC.

use super::debug_output::assert_prints_no_key;
use super::misaligned_buffer::Misaligned;
use super::pseudorandom::bytes;
use super::reference;
use super::summary::{Summary, offered_key};
use crate::blocks::Blocks;
use crate::cbc::Cbc;
use crate::cmac::Cmac;
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::testing::vectors::{Case, vectors_of};

/// Sets a key for a block cipher under test.
pub type MakeBlocks<'a> = &'a dyn Fn(&[u8]) -> Result<Protected<dyn Blocks>, Error>;

/// Sets a key for a CBC under test.
pub type MakeCbc<'a> = &'a dyn Fn(&[u8]) -> Result<Cbc, Error>;

/// Sets a key for a CMAC under test.
pub type MakeCmac<'a> = &'a dyn Fn(&[u8]) -> Result<Cmac, Error>;

/// Numbers of blocks around every boundary that an implementation may have: all small numbers, and
/// the numbers around the widest batches.
fn block_counts() -> impl Iterator<Item = usize> {
    let wide = [127, 128, 129, 191, 193, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 1200];
    (0..=70).chain(wide)
}

/// Checks a block cipher: `make` sets a key of `cipher.key_bytes` bytes.
///
/// # Panics
/// At the first failed check, naming it.
pub fn blocks_conformance(cipher: &'static Cipher, make: MakeBlocks) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of(cipher) {
        let Case::Block { plaintext, ciphertext } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, &mut summary) else { continue };
        let blocks = make(&key).expect("a key of the right length");
        let what = format!(
            "{} on {}, {} ({})",
            cipher.name,
            blocks.backend(),
            vector.place,
            vector.source
        );
        let mut data = plaintext.clone();
        assert_eq!(blocks.encrypt(&mut data), Ok(()), "{what}");
        assert_eq!(&data, ciphertext, "{what}: encrypt");
        assert_eq!(blocks.decrypt(&mut data), Ok(()), "{what}");
        assert_eq!(&data, plaintext, "{what}: decrypt");
        summary.vectors += 1;
    }
    let text = bytes("block text", 1200 * cipher.block_bytes);
    for seed in 0..3 {
        let key = bytes(&format!("block key {seed}"), cipher.key_bytes);
        let (blocks, encrypt) =
            (make(&key).expect("a key of the right length"), reference::block_cipher(cipher, &key));
        let mut expected = text.clone();
        expected.chunks_mut(cipher.block_bytes).for_each(encrypt);
        for count in block_counts() {
            let (text, expected) =
                (&text[..count * cipher.block_bytes], &expected[..count * cipher.block_bytes]);
            for offset in [0, 1 + count % 15] {
                let what = format!(
                    "{} on {}, {count} blocks, offset {offset}",
                    cipher.name,
                    blocks.backend()
                );
                let mut buffer = Misaligned::new(text, offset);
                assert_eq!(blocks.encrypt(buffer.data()), Ok(()), "{what}");
                assert!(buffer.data() == expected, "{what}: encrypts otherwise than the reference");
                assert_eq!(blocks.decrypt(buffer.data()), Ok(()), "{what}");
                assert!(buffer.data() == text, "{what}: decrypt does not undo encrypt");
                buffer.check_fence(&what);
                summary.messages += 1;
            }
        }
    }
    blocks_arguments(cipher, make);
    assert!(
        summary.vectors > 0,
        "{}: no vector was of use: {:?}",
        cipher.name,
        summary.not_offered
    );
    summary
}

fn blocks_arguments(cipher: &'static Cipher, make: MakeBlocks) {
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let want = cipher.key_bytes;
        assert_eq!(
            make(&vec![0; found]).err(),
            Some(Error::KeyLength { found, want }),
            "{} key",
            cipher.name
        );
    }
    let key = bytes("printed key", cipher.key_bytes);
    let blocks = make(&key).expect("a key of the right length");
    assert_prints_no_key(&format!("{blocks:?} {blocks:#?}"), &key);
    let block_bytes = cipher.block_bytes;
    assert_eq!(blocks.block_bytes(), block_bytes);
    for found in [1, block_bytes - 1, block_bytes + 1, 100 * block_bytes + 7] {
        let refused = Err(Error::PartialBlock { found, block_bytes });
        let mut data = vec![7; found];
        assert_eq!(blocks.encrypt(&mut data), refused, "{}", cipher.name);
        assert_eq!(blocks.decrypt(&mut data), refused, "{}", cipher.name);
        assert!(data.iter().all(|byte| *byte == 7), "{}: changed data it refused", cipher.name);
    }
}

/// Checks a CBC: `make` sets a key of `cipher.key_bytes` bytes. Not every cipher has vectors; then
/// the reference alone is the measure.
///
/// # Panics
/// At the first failed check, naming it.
pub fn cbc_conformance(cipher: &'static Cipher, make: MakeCbc) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of(cipher) {
        let Case::Cbc { iv, plaintext, ciphertext } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, &mut summary) else { continue };
        let cbc = make(&key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, cbc.backend(), vector.place, vector.source);
        let mut data = plaintext.clone();
        assert_eq!(cbc.encrypt(iv, &mut data), Ok(()), "{what}");
        assert_eq!(&data, ciphertext, "{what}: encrypt");
        assert_eq!(cbc.decrypt(iv, &mut data), Ok(()), "{what}");
        assert_eq!(&data, plaintext, "{what}: decrypt");
        summary.vectors += 1;
    }
    let key = bytes("cbc key", cipher.key_bytes);
    let cbc = make(&key).expect("a key of the right length");
    let (encrypt, text) =
        (reference::block_cipher(cipher, &key), bytes("cbc text", 3000 * cipher.block_bytes));
    let iv = bytes("cbc iv", cipher.block_bytes);
    let mut expected = text.clone();
    reference::cbc(&encrypt, &iv, &mut expected);
    for count in (0..=40).chain([511, 512, 513, 1023, 1024, 1025, 2049, 3000]) {
        let (text, expected) =
            (&text[..count * cipher.block_bytes], &expected[..count * cipher.block_bytes]);
        let what = format!("{} on {}, {count} blocks", cipher.name, cbc.backend());
        let mut buffer = Misaligned::new(text, count % 16);
        assert_eq!(cbc.encrypt(&iv, buffer.data()), Ok(()), "{what}");
        assert!(buffer.data() == expected, "{what}: encrypts otherwise than the reference");
        assert_eq!(cbc.decrypt(&iv, buffer.data()), Ok(()), "{what}");
        assert!(buffer.data() == text, "{what}: decrypt does not undo encrypt");
        buffer.check_fence(&what);
        summary.messages += 1;
    }
    assert_prints_no_key(&format!("{cbc:?} {cbc:#?}"), &key);
    let block_bytes = cipher.block_bytes;
    let mut data = vec![7; 2 * block_bytes + 1];
    let refused = Err(Error::PartialBlock { found: 2 * block_bytes + 1, block_bytes });
    assert_eq!((cbc.encrypt(&iv, &mut data), cbc.decrypt(&iv, &mut data)), (refused, refused));
    for found in [0, block_bytes - 1, block_bytes + 1] {
        let refused = Err(Error::NonceLength { found, want: block_bytes });
        let (iv, data) = (vec![0; found], &mut data[..block_bytes]);
        assert_eq!((cbc.encrypt(&iv, data), cbc.decrypt(&iv, data)), (refused, refused));
    }
    assert!(data.iter().all(|byte| *byte == 7), "{}: changed data it refused", cipher.name);
    summary
}

/// Checks a CMAC: `make` sets a key of `cipher.key_bytes` bytes. Not every cipher has vectors; then
/// the reference alone is the measure.
///
/// # Panics
/// At the first failed check, naming it.
pub fn cmac_conformance(cipher: &'static Cipher, make: MakeCmac) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of(cipher) {
        let Case::Cmac { message, tag, valid } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, &mut summary) else { continue };
        let cmac = make(&key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, cmac.backend(), vector.place, vector.source);
        assert_eq!(&cmac.mac(message).expect(&what) == tag, *valid, "{what}");
        assert_eq!(
            cmac.verify(message, tag),
            if *valid { Ok(()) } else { Err(Error::Authentication) },
            "{what}"
        );
        summary.vectors += 1;
    }
    let key = bytes("cmac key", cipher.key_bytes);
    let cmac = make(&key).expect("a key of the right length");
    let (encrypt, text) = (reference::block_cipher(cipher, &key), bytes("cmac text", 1000));
    for length in (0..=5 * cipher.block_bytes).chain([255, 256, 257, 999, 1000]) {
        let what = format!("{} on {}, {length} bytes", cipher.name, cmac.backend());
        let message = Misaligned::new(&text[..length], length % 16);
        let message = message.shared();
        let mut tag = cmac.mac(message).expect(&what);
        assert_eq!(tag, reference::cmac(&encrypt, cipher.block_bytes, message), "{what}");
        assert_eq!(cmac.verify(message, &tag), Ok(()), "{what}");
        summary.messages += 1;
        let at = length % cipher.block_bytes;
        tag[at] ^= 1 << (length % 8);
        assert_eq!(
            cmac.verify(message, &tag),
            Err(Error::Authentication),
            "{what}: byte {at} of the tag"
        );
        summary.forgeries += 1;
    }
    assert_prints_no_key(&format!("{cmac:?} {cmac:#?}"), &key);
    assert_eq!(cmac.tag_bytes(), cipher.block_bytes);
    summary
}
