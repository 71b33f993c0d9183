//! A few bytes sealed with AES-256-GCM under a subkey, as a key file contains them.

use sealstone_cipher::{Aead, Provider, aead, cipher, memory};
use zeroize::Zeroizing;

use crate::{KeyError, Secret, fill_random, subkey};

/// Length of the nonce, in bytes.
pub(super) const NONCE_BYTES: usize = 12;
/// Length of the tag, in bytes.
pub(super) const TAG_BYTES: usize = 16;

/// Bytes that do not open with this key, in this place.
#[derive(Debug)]
pub(super) struct NotOpened;

/// `N` bytes, sealed.
#[derive(Clone, Debug)]
pub(super) struct Sealed<const N: usize> {
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) bytes: [u8; N],
    pub(super) tag: [u8; TAG_BYTES],
}

/// Identification of the subkey of a key that seals: its purpose, and what it is bound to.
pub(super) type Purpose<'a> = (&'a str, &'a [&'a [u8]]);

impl<const N: usize> Sealed<N> {
    /// Seals `plain` under the subkey of `key` for `purpose`, with a fresh nonce, bound to
    /// `associated`.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub(super) fn seal(
        plain: &[u8; N],
        key: &Secret,
        purpose: Purpose<'_>,
        associated: &[u8],
    ) -> Result<Self, KeyError> {
        let mut nonce = [0; NONCE_BYTES];
        fill_random(Provider::own(), &mut nonce)?;
        let mut sealed = Zeroizing::new(*plain);
        let tag = sealer(key, purpose)
            .seal(&nonce, associated, sealed.as_mut_slice())
            .expect("a nonce and a message of fixed length");
        Ok(Self { nonce, bytes: *sealed, tag })
    }

    /// Opens into `out`, which contains nothing of use after an error.
    pub(super) fn open(
        &self,
        key: &Secret,
        purpose: Purpose<'_>,
        associated: &[u8],
        out: &mut [u8; N],
    ) -> Result<(), NotOpened> {
        out.copy_from_slice(&self.bytes);
        sealer(key, purpose).open(&self.nonce, associated, out, &self.tag).map_err(|_| NotOpened)
    }
}

fn sealer(key: &Secret, (purpose, context): Purpose<'_>) -> memory::Protected<dyn Aead> {
    let mut own = Zeroizing::new([0; 32]);
    // a key file in a module has no passphrase, and so nothing sealed
    let provider = Provider::own();
    subkey(provider, key.as_bytes(), purpose, context, own.as_mut_slice())
        .expect("our own derivation takes everything");
    let aes = cipher("aes-256").expect("in the table");
    aead(aes, own.as_slice(), provider).expect("a key of the cipher's length")
}

/// Returns `list` as one text that no other list has: each preceded by its length.
pub(super) fn parts(list: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in list {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part);
    }
    out
}
