//! Blowfish (Schneier, FSE 1993), by the `blowfish` crate: key-dependent table look-ups, so not constant time, on
//! every backend. Setting a key costs 521 block encryptions.

use cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

use super::{BlockCipher, BlockEncrypt};
use crate::aead::Error;
use crate::backend::Backend;
use crate::mode::Counter64;
use crate::mode::ctr::BlockCounter;

/// Sets a 16-byte `key`.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed(key: &[u8], _backend: Backend) -> Result<Box<dyn Counter64>, Error> {
    check(key)?;
    Ok(Box::new(BlockCounter(Blowfish::new(key)?)))
}

/// Sets a 16-byte `key` for whole blocks, both ways.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], _backend: Backend) -> Result<Box<dyn BlockCipher<8>>, Error> {
    check(key)?;
    Ok(Box::new(Blowfish::new(key)?))
}

fn check(key: &[u8]) -> Result<(), Error> {
    if key.len() == 16 { Ok(()) } else { Err(Error::KeyLength { found: key.len(), want: 16 }) }
}

/// A keyed Blowfish, big-endian words as its author published, zeroed on drop.
struct Blowfish(blowfish::Blowfish);

impl Blowfish {
    /// Expands `key`, 4 to 56 bytes: the table of ciphers offers 16, published vectors have others.
    fn new(key: &[u8]) -> Result<Self, Error> {
        match blowfish::Blowfish::new_from_slice(key) {
            Ok(schedule) => Ok(Self(schedule)),
            Err(_) => Err(Error::KeyLength { found: key.len(), want: 16 }),
        }
    }
}

impl BlockEncrypt<8> for Blowfish {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

impl BlockCipher<8> for Blowfish {
    fn backend(&self) -> &'static str {
        "portable"
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vectors::{Case, vectors};

    /// All published vectors, whatever their key length.
    #[test]
    fn published_vectors_of_every_key_length() {
        let mut lengths = std::collections::BTreeSet::new();
        for vector in vectors().iter().filter(|vector| vector.cipher == "blowfish") {
            let Case::Block { plaintext, ciphertext } = &vector.case else { continue };
            let mut blocks = plaintext.clone();
            let blowfish = Blowfish::new(&vector.key).unwrap();
            BlockEncrypt::encrypt_blocks(&blowfish, blocks.as_chunks_mut().0);
            assert_eq!(&blocks, ciphertext, "{}", vector.place);
            blowfish.decrypt_blocks(blocks.as_chunks_mut().0);
            assert_eq!(&blocks, plaintext, "{}", vector.place);
            lengths.insert(vector.key.len());
        }
        assert!((4..=24).all(|length| lengths.contains(&length)), "{lengths:?}");
    }

    /// Compiles only while the crate's zeroing is switched on.
    #[test]
    fn schedules_are_zeroed_on_drop() {
        fn zeroed<T: zeroize::ZeroizeOnDrop>() {}
        zeroed::<blowfish::Blowfish>();
    }
}
