//! Counter mode plus an independent MAC: the AEAD for 64-bit blocks, for which GCM is not defined.
//!
//! Our design; docs/formats.md repeats it for other implementers. From the given key come two
//! subkeys by BLAKE3 in key-derivation mode, one context string a cipher and purpose. Data is
//! encrypted in counter mode from the nonce on; the tag is keyed BLAKE3, cut to 16 bytes, over
//!
//! `nonce (8) ‖ length of associated data (8, little-endian) ‖
//! length of ciphertext (8, little-endian) ‖ associated data ‖ ciphertext`
//!
//! Both lengths come first, at fixed width, so no two inputs run together. The MAC covers the
//! ciphertext (encrypt-then-MAC), so forged data is refused before anything is decrypted. BLAKE3
//! derives the subkeys because it makes the MAC already: HKDF would bring in a second hash function
//! for the same promise.

use zeroize::{Zeroize, optimization_barrier};

use super::Counter64;
use super::aead::{Aead, Part, PartError};
use super::run::check_parts;
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::Protected;

/// The longest key of a cipher with 64-bit blocks, in bytes.
const CIPHER_KEY_BYTES_MAX: usize = 32;

/// The key of one cipher in this mode.
pub(crate) struct CtrMac {
    cipher: Protected<dyn Counter64>,
    /// Zeroed with the memory that all of this is in.
    mac_key: [u8; blake3::KEY_LEN],
    limits: Limits,
}

impl CtrMac {
    /// Derives both subkeys of the cipher `name` from `key`, and sets the block cipher's by
    /// `keyed`.
    ///
    /// # Errors
    /// The error of `keyed`.
    pub(crate) fn protected(
        name: &str,
        limits: Limits,
        key: &[u8],
        keyed: impl FnOnce(&[u8]) -> Result<Protected<dyn Counter64>, Error>,
    ) -> Result<Protected<dyn Aead>, Error> {
        let mut cipher_key = Protected::with(|| [0; CIPHER_KEY_BYTES_MAX]);
        let cipher_key = &mut cipher_key[..key.len()];
        derive(name, "cipher key", key, cipher_key);
        let cipher = keyed(cipher_key)?;
        let mut mode = Protected::with(|| Self { cipher, mac_key: [0; blake3::KEY_LEN], limits });
        derive(name, "mac key", key, &mut mode.mac_key);
        Ok(mode.unsize(|mode| mode))
    }

    fn tag(&self, nonce: [u8; 8], associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let mut mac = blake3::Hasher::new_keyed(&self.mac_key);
        mac.update(&nonce);
        mac.update(&(associated.len() as u64).to_le_bytes());
        mac.update(&(ciphertext.len() as u64).to_le_bytes());
        mac.update(associated);
        mac.update(ciphertext);
        let hash = mac.finalize();
        mac.zeroize();
        let (tag, _) = hash.as_bytes().split_first_chunk().expect("32 bytes hold 16");
        *tag
    }

    /// Checks the tag of a whole message, of which a part is wanted.
    fn check(&self, part: &Part<'_>) -> Result<(), Error> {
        let nonce = nonce_of(part.context.nonce)?;
        self.check_length(part.sealed)?;
        let expected = self.tag(nonce, part.context.associated, part.sealed);
        if is_tag(&expected, part.tag) { Ok(()) } else { Err(Error::Authentication) }
    }

    /// XORs `data` with the key stream from the block `counter` on, less its first `before` bytes.
    fn decrypt_from(&self, counter: u64, before: usize, data: &mut [u8]) {
        if before == 0 {
            self.cipher.xor_keystream64(counter, data);
            return;
        }
        let mut head = Head([0; HEAD_BYTES]);
        let (first, rest) = data.split_at_mut(data.len().min(HEAD_BYTES - before));
        let end = before + first.len();
        head.0[before..end].copy_from_slice(first);
        self.cipher.xor_keystream64(counter, &mut head.0[..end]);
        first.copy_from_slice(&head.0[before..end]);
        if !rest.is_empty() {
            self.cipher.xor_keystream64(counter.wrapping_add(HEAD_BYTES as u64 / 8), rest);
        }
    }

    fn check_length(&self, data: &[u8]) -> Result<(), Error> {
        let (found, limit) = (data.len() as u64, self.limits.message_bytes);
        if found > limit { Err(Error::MessageTooLong { found, limit }) } else { Ok(()) }
    }
}

/// Bytes at the beginning of a stretch that are decrypted in a buffer of their own if it begins
/// within a block: a multiple of every batch that a backend makes at once, since a few blocks alone
/// take as long as many.
const HEAD_BYTES: usize = 1024;

/// Beginning of a stretch, after bytes of key stream that belong before it. Zeroed on drop.
struct Head([u8; HEAD_BYTES]);

impl Drop for Head {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(self);
    }
}

/// Fills `subkey` from `key`, bound to the cipher and the purpose.
fn derive(name: &str, purpose: &str, key: &[u8], subkey: &mut [u8]) {
    let mut kdf =
        blake3::Hasher::new_derive_key(&format!("sealstone 2026-11 ctr+mac v1 {name} {purpose}"));
    kdf.update(key);
    let mut output = kdf.finalize_xof();
    output.fill(subkey);
    output.zeroize();
    kdf.zeroize();
}

fn nonce_of(nonce: &[u8]) -> Result<[u8; 8], Error> {
    nonce.try_into().map_err(|_| Error::NonceLength { found: nonce.len(), want: 8 })
}

impl Aead for CtrMac {
    fn nonce_bytes(&self) -> usize {
        8
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        self.cipher.backend()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let nonce = nonce_of(nonce)?;
        self.check_length(data)?;
        self.cipher.xor_keystream64(u64::from_be_bytes(nonce), data);
        Ok(self.tag(nonce, associated, data))
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        // A wrong length is the caller's error and reported as such; it depends on no secret.
        let checked = nonce_of(nonce).and_then(|nonce| self.check_length(data).map(|()| nonce));
        let nonce = checked.inspect_err(|_| data.zeroize())?;
        let expected = self.tag(nonce, associated, data);
        if is_tag(&expected, tag) {
            self.cipher.xor_keystream64(u64::from_be_bytes(nonce), data);
            Ok(())
        } else {
            data.zeroize();
            Err(Error::Authentication)
        }
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        check_parts(parts, out);
        for (index, part) in parts.iter().enumerate() {
            if let Err(error) = self.check(part) {
                out.zeroize();
                return Err(PartError { index, error });
            }
        }
        let (mut parts, mut rest) = (parts, out);
        while let Some(run) = Run::of(parts) {
            let (this, after) = rest.split_at_mut(run.bytes);
            let mut to = &mut *this;
            for part in &parts[..run.parts] {
                let (now, later) = to.split_at_mut(part.bytes);
                now.copy_from_slice(&part.sealed[part.skip..][..part.bytes]);
                to = later;
            }
            self.decrypt_from(run.counter, run.before, this);
            (parts, rest) = (&parts[run.parts..], after);
        }
        Ok(())
    }
}

/// Stretches that one key stream without a gap decrypts, as pages that follow each other have it.
struct Run {
    /// Number of parts.
    parts: usize,
    /// Number of bytes in their stretches.
    bytes: usize,
    /// Counter block of the first byte.
    counter: u64,
    /// Bytes of key stream that the block has before it.
    before: usize,
}

impl Run {
    /// Returns the longest that `parts`, whose nonces have 8 bytes, begin with; None without parts.
    fn of(parts: &[Part<'_>]) -> Option<Self> {
        let (first, more) = parts.split_first()?;
        let nonce = |part: &Part<'_>| nonce_of(part.context.nonce).map_or(0, u64::from_be_bytes);
        let mut run = Self {
            parts: 1,
            bytes: first.bytes,
            counter: nonce(first).wrapping_add((first.skip / 8) as u64),
            before: first.skip % 8,
        };
        for part in more {
            let at = run.before + run.bytes;
            let follows = at.is_multiple_of(8)
                && part.skip == 0
                && nonce(part) == run.counter.wrapping_add((at / 8) as u64);
            if !follows {
                break;
            }
            (run.parts, run.bytes) = (run.parts + 1, run.bytes + part.bytes);
        }
        Some(run)
    }
}
