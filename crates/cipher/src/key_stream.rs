//! Authenticated encryption whose key stream is made before the message is there: for callers that
//! seal under a lock while others wait, such as the writer of a log. Only an XOR and a hash remain
//! to be done under the lock.

use std::fmt;

use crate::error::Error;
use crate::facts::Cipher;
use crate::mode::SetKey;
use crate::mode::gcm::Gcm;
use crate::provider::Provider;

/// A key in GCM (SP 800-38D) for messages whose nonce is known in advance. One object serves many
/// threads at once; its key is zeroed on drop.
///
/// Its messages are the same as those of [`crate::aead::aead`]: each opens what the other sealed.
/// The caller owns nonce uniqueness, as there; a key stream that was made and not used uses up no
/// nonce.
///
/// ```
/// use sealstone_cipher::{aead, Ahead, Backend, cipher};
///
/// let (cipher, key, nonce) = (cipher("aria-256")?, [7; 32], [0; 12]);
/// let ahead = Ahead::new(cipher, &key, Backend::auto())?.expect("it has blocks of 128 bits");
/// let mut stream = [0; 16 + 64];
/// ahead.key_stream(&nonce, &mut stream);
/// // later
/// let mut data = *b"a record of some log";
/// let tag = ahead.seal(&nonce, b"record 0", &mut data, &mut stream)?;
/// aead(cipher, &key, Backend::auto())?.open(&nonce, b"record 0", &mut data, &tag)?;
/// assert_eq!(&data, b"a record of some log");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ahead(Gcm);

impl Ahead {
    /// Sets `key` (`cipher.key_bytes` long). None for ciphers of 64-bit blocks: their nonce is a
    /// counter of blocks, so it is only known after the messages before it. None for modules, which
    /// give out no key stream of GCM.
    ///
    /// # Errors
    /// `Error::KeyLength`.
    pub fn new(
        cipher: &'static Cipher,
        key: &[u8],
        provider: impl Into<Provider>,
    ) -> Result<Option<Self>, Error> {
        cipher.check_key(key)?;
        let Ok(backend) = provider.into().own_only("key stream made ahead") else {
            return Ok(None);
        };
        Ok(match cipher.set_key {
            SetKey::Block128 { counter, .. } => {
                Some(Self(Gcm::new(cipher.limits, counter(key, backend)?, backend)))
            }
            SetKey::Block64 { .. } => None,
        })
    }

    /// Returns whether a short message is sealed sooner with key stream that is there already. This
    /// does not hold with the processor's instructions for AES: there encryption hides behind the
    /// hash, and a key stream only adds the work of storing and fetching it.
    #[must_use]
    pub fn pays(cipher: &'static Cipher, provider: impl Into<Provider>) -> bool {
        match (cipher.set_key, provider.into()) {
            (SetKey::Block128 { has_instructions, .. }, Provider::Own(backend)) => {
                !has_instructions(backend)
            }
            (SetKey::Block64 { .. }, _) | (_, Provider::Module(_)) => false,
        }
    }

    /// Fills `stream` with the beginning of the key stream of the message with `nonce`: 16 bytes
    /// that mask its tag, then a byte for each of its data. It is as secret as the data.
    ///
    /// # Panics
    /// Unless `stream` is a multiple of 16 bytes long, and not empty.
    pub fn key_stream(&self, nonce: &[u8; 12], stream: &mut [u8]) {
        assert!(
            !stream.is_empty() && stream.len().is_multiple_of(16),
            "a key stream is made of whole blocks"
        );
        self.0.fill_stream(nonce, stream);
    }

    /// Encrypts `data` in place and returns the 16-byte tag over `associated` and the ciphertext.
    ///
    /// - `stream`: what [`Ahead::key_stream`] made for the same nonce; zeros afterwards. If the
    ///   data is longer, the missing part is made now
    ///
    /// # Errors
    /// `Error::MessageTooLong`; `data` and `stream` are untouched.
    ///
    /// # Panics
    /// As [`Ahead::key_stream`].
    pub fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        stream: &mut [u8],
    ) -> Result<[u8; 16], Error> {
        assert!(
            !stream.is_empty() && stream.len().is_multiple_of(16),
            "a key stream is made of whole blocks"
        );
        let tag = self.0.seal_with(nonce, associated, data, stream)?;
        stream.fill(0);
        Ok(tag)
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aead::aead;
    use crate::backend::Backend;
    use crate::registry::ciphers;
    use crate::testing::bytes;

    /// The messages are those of the AEAD, whatever length of key stream was there.
    #[test]
    fn it_seals_what_the_aead_seals() {
        let mut with_64_bit_blocks = 0;
        for cipher in ciphers() {
            let key = bytes("key", cipher.key_bytes);
            for backend in Backend::available() {
                let Some(ahead) = Ahead::new(cipher, &key, backend).unwrap() else {
                    with_64_bit_blocks += 1;
                    continue;
                };
                let keyed = aead(cipher, &key, backend).unwrap();
                for (n, length) in
                    [0, 1, 15, 16, 17, 100, 1008, 1009, 1100, 4096, 70_000].into_iter().enumerate()
                {
                    for stream_bytes in [16, 32, 1024, 1120, 4128] {
                        let nonce = [n as u8; 12];
                        let (mut data, mut want) = (bytes("data", length), bytes("data", length));
                        let mut stream = vec![0x55; stream_bytes];
                        ahead.key_stream(&nonce, &mut stream);
                        let tag =
                            ahead.seal(&nonce, b"some place", &mut data, &mut stream).unwrap();
                        let want_tag = keyed.seal(&nonce, b"some place", &mut want).unwrap();
                        assert_eq!(
                            (tag, data),
                            (want_tag, want),
                            "{} {length} {stream_bytes}",
                            cipher.name
                        );
                        assert!(stream.iter().all(|byte| *byte == 0));
                    }
                }
            }
        }
        assert!(with_64_bit_blocks > 0);
    }

    #[test]
    fn it_pays_where_sealing_takes_long() {
        let pays = |name, backend| Ahead::pays(crate::registry::cipher(name).unwrap(), backend);
        for backend in Backend::available() {
            let has_aes = backend != Backend::portable();
            assert_eq!(pays("aes-256", backend), !has_aes, "{}", backend.name());
            assert!(pays("aria-256", backend) && pays("seed-128", backend));
            assert!(!pays("3des", backend), "there is none to make");
        }
    }

    #[test]
    fn keys_and_streams_have_their_lengths() {
        let cipher = crate::registry::cipher("aes-128").unwrap();
        assert!(matches!(
            Ahead::new(cipher, &[1; 15], Backend::auto()),
            Err(Error::KeyLength { found: 15, want: 16 })
        ));
        let ahead = Ahead::new(cipher, &[1; 16], Backend::auto()).unwrap().unwrap();
        for bytes in [0, 15, 17] {
            let make = || ahead.key_stream(&[3; 12], &mut vec![0; bytes]);
            assert!(
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).is_err(),
                "{bytes} bytes"
            );
        }
    }
}
