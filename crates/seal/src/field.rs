//! Field records: one value of a table, sealed separately, so that it can be stored wherever a
//! value can. Not here: columns and policies (`sealstone-fields`), and how a record is written as
//! text.
//!
//! A record names its cipher and key, and its tag covers the table, the column and, where the
//! caller names one, the row that it belongs to. `docs/formats.md` has the bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_cipher::memory::{Generation, Protected};
use sealstone_cipher::{Aead, Backend, Cipher, Provider, aead, cipher_by_id};
use sealstone_keys::{KeyRef, KeySource, Secret, check_key_id, subkey};
use zeroize::Zeroizing;

use crate::random::fill_random;
use crate::{SealError, TAG_BYTES};

/// Version of the record's format.
pub(crate) const FIELD_VERSION: u8 = 1;
/// Length of the salt that is drawn for each sealer, in bytes.
const SALT_BYTES: usize = 16;
/// Before the key's id: version, cipher, key version, length of the id.
const FIXED_BYTES: usize = 8;
/// Keyed ciphers that an opener keeps: one for each sealer whose records it met.
const KEPT_MAX: usize = 1024;

/// Returns the length of the record of a value, in bytes.
///
/// - `key_id_bytes`: length of the id of the key
/// - `value_bytes`: length of the value
#[must_use]
pub fn record_bytes(cipher: &Cipher, key_id_bytes: usize, value_bytes: u64) -> u64 {
    (FIXED_BYTES + key_id_bytes + SALT_BYTES + cipher.nonce_bytes() + TAG_BYTES) as u64
        + value_bytes
}

type Keyed = Arc<Protected<dyn Aead>>;

/// Reason why a record cannot be opened, or a value cannot be sealed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// It cannot be a record.
    #[error("not a sealed value: {0}")]
    NotARecord(&'static str),
    /// It was written by a newer program.
    #[error("a sealed value of format version {0}; this program knows version {FIELD_VERSION}")]
    UnsupportedVersion(u8),
    /// It names a cipher that this build lacks.
    #[error("a value sealed with cipher number {0}, which this program does not know")]
    UnknownCipher(u16),
    /// The tag does not fit.
    #[error(
        "the sealed value failed authentication: changed, or moved from another table, column or \
         row"
    )]
    Authentication,
    /// The cipher takes no value as long.
    #[error("a value of {found} bytes; {cipher} takes at most {limit}")]
    TooLong {
        /// Its length, in bytes.
        found: usize,
        /// Name of the cipher.
        cipher: &'static str,
        /// The longest that is taken, in bytes.
        limit: u64,
    },
    /// No key, no randomness, a forked process.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Context to which all records of a column are bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
}

impl FieldPlace {
    /// Returns the key of the records that share `salt`.
    fn keyed(
        &self,
        cipher: &'static Cipher,
        key: &KeyRef,
        secret: &Secret,
        salt: &[u8],
        provider: Provider,
    ) -> Result<Keyed, FieldError> {
        secret.check().map_err(SealError::from)?;
        let mut bytes = Zeroizing::new(vec![0; cipher.key_bytes]);
        let (id, version) = (cipher.id.to_be_bytes(), key.version.to_be_bytes());
        let context =
            [self.table.as_bytes(), self.column.as_bytes(), salt, &id, key.id.as_bytes(), &version];
        subkey(provider, secret.as_bytes(), "field", &context, &mut bytes)
            .and_then(|()| aead(cipher, &bytes, provider))
            .map(Arc::new)
            .map_err(|error| SealError::from(error).into())
    }

    /// Returns the associated data of the record that begins with `head`: all before the
    /// ciphertext.
    fn associated(&self, head: &[u8], row: Option<&[u8]>) -> Vec<u8> {
        let parts = [self.table.as_bytes(), self.column.as_bytes(), row.unwrap_or_default()];
        let mut associated = Vec::with_capacity(
            head.len() + 25 + parts.iter().map(|part| part.len()).sum::<usize>(),
        );
        associated.extend_from_slice(head);
        associated.push(u8::from(row.is_some()));
        for part in parts {
            associated.extend_from_slice(&(part.len() as u64).to_be_bytes());
            associated.extend_from_slice(part);
        }
        associated
    }
}

/// Seals the values of one column. One object serves many threads.
#[derive(Debug)]
pub struct FieldSealer {
    place: FieldPlace,
    cipher: &'static Cipher,
    key: KeyRef,
    secret: Secret,
    provider: Provider,
    made_in: Generation,
    run: Mutex<Run>,
}

/// Values sealed under one key: at most as many as the cipher's limits allow, then another salt
/// makes another key.
#[derive(Debug)]
struct Run {
    salt: [u8; SALT_BYTES],
    keyed: Keyed,
    messages: u64,
    bytes: u64,
    /// Next counter, for ciphers whose nonce is the first counter block.
    counter: u64,
}

impl FieldSealer {
    /// Returns a sealer under `secret`, the secret of `key`. Draws a fresh salt: no two sealers
    /// share a key.
    ///
    /// # Errors
    /// [`FieldError::Seal`]: no randomness, a bad key id, a forked process.
    pub fn new(
        place: FieldPlace,
        cipher: &'static Cipher,
        key: KeyRef,
        secret: Secret,
        provider: impl Into<Provider>,
    ) -> Result<Self, FieldError> {
        let provider = provider.into();
        check_key_id(&key.id).map_err(SealError::from)?;
        let run = Mutex::new(Run::new(&place, cipher, &key, &secret, provider)?);
        Ok(Self { place, cipher, key, secret, provider, made_in: Generation::current(), run })
    }

    /// Appends to `out` the record of `value`, bound to `row` if one is named.
    ///
    /// # Errors
    /// [`FieldError::TooLong`], [`FieldError::Seal`]; `out` is as it was.
    pub fn seal(
        &self,
        row: Option<&[u8]>,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FieldError> {
        self.made_in.check().map_err(SealError::from)?;
        let (start, limit) = (out.len(), self.cipher.limits.message_bytes);
        if value.len() as u64 > limit {
            return Err(FieldError::TooLong {
                found: value.len(),
                cipher: self.cipher.name,
                limit,
            });
        }
        let (keyed, salt, counter) = self.next(value.len() as u64)?;
        let mut nonce = [0; 12];
        let nonce = &mut nonce[..keyed.nonce_bytes()];
        if nonce.len() == 8 {
            nonce.copy_from_slice(&counter.to_be_bytes())
        } else {
            fill_random(self.provider, nonce)?
        }
        out.push(FIELD_VERSION);
        out.extend_from_slice(&self.cipher.id.to_be_bytes());
        out.extend_from_slice(&self.key.version.to_be_bytes());
        out.push(self.key.id.len() as u8);
        out.extend_from_slice(self.key.id.as_bytes());
        out.extend_from_slice(&salt);
        out.extend_from_slice(nonce);
        let associated = self.place.associated(&out[start..], row);
        let data = out.len();
        out.extend_from_slice(value);
        match keyed.seal(nonce, &associated, &mut out[data..]) {
            Ok(tag) => out.extend_from_slice(&tag),
            Err(error) => {
                out[data..].fill(0);
                out.truncate(start);
                return Err(SealError::from(error).into());
            }
        }
        Ok(())
    }

    /// Returns the parameters for sealing the next value, of `bytes` bytes: the keyed cipher, its
    /// salt, and the counter to begin with.
    fn next(&self, bytes: u64) -> Result<(Keyed, [u8; SALT_BYTES], u64), FieldError> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let (limits, block_bytes) = (self.cipher.limits, self.cipher.block_bytes as u64);
        let blocks = bytes.div_ceil(block_bytes).max(1);
        if run.messages + 1 > limits.messages_per_key
            || run.bytes + blocks * block_bytes > limits.bytes_per_key
        {
            *run = Run::new(&self.place, self.cipher, &self.key, &self.secret, self.provider)?;
        }
        let counter = run.counter;
        run.messages += 1;
        run.bytes += blocks * block_bytes;
        run.counter += blocks;
        Ok((run.keyed.clone(), run.salt, counter))
    }
}

impl Run {
    fn new(
        place: &FieldPlace,
        cipher: &'static Cipher,
        key: &KeyRef,
        secret: &Secret,
        provider: Provider,
    ) -> Result<Self, FieldError> {
        let mut salt = [0; SALT_BYTES];
        fill_random(provider, &mut salt)?;
        let keyed = place.keyed(cipher, key, secret, &salt, provider)?;
        Ok(Self { salt, keyed, messages: 0, bytes: 0, counter: 0 })
    }
}

/// Opens the values of one column, under whatever version of the key each was sealed. One object
/// serves many threads.
pub struct FieldOpener {
    place: FieldPlace,
    keys: Arc<dyn KeySource>,
    provider: Provider,
    made_in: Generation,
    /// By the beginning of the record, up to the salt.
    kept: Mutex<HashMap<Vec<u8>, Keyed>>,
}

impl FieldOpener {
    /// Returns an opener that has the keys of `keys`.
    pub fn new(place: FieldPlace, keys: Arc<dyn KeySource>, backend: Backend) -> Self {
        let provider = keys.provider(backend);
        Self {
            place,
            keys,
            provider,
            made_in: Generation::current(),
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// Replaces `record`, a sealed value, by the value, if it was sealed for this column and for
    /// `row`.
    ///
    /// # Errors
    /// Each [`FieldError`]; `record` then holds nothing that was not in it before, or zeros.
    pub fn open(&self, row: Option<&[u8]>, record: &mut Vec<u8>) -> Result<(), FieldError> {
        self.made_in.check().map_err(SealError::from)?;
        let head = Head::of(record)?;
        let keyed = self.keyed(&record[..head.salt_end], &head)?;
        let tag_at = record.len() - TAG_BYTES;
        let tag: [u8; TAG_BYTES] = record[tag_at..].try_into().expect("as long as a tag");
        record.truncate(tag_at);
        let associated = self.place.associated(&record[..head.data], row);
        let (before, data) = record.split_at_mut(head.data);
        let opened = keyed.open(&before[head.salt_end..], &associated, data, &tag);
        opened.map_err(|error| match error {
            sealstone_cipher::Error::Authentication => FieldError::Authentication,
            other => SealError::from(other).into(),
        })?;
        record.drain(..head.data);
        Ok(())
    }

    fn keyed(&self, beginning: &[u8], head: &Head) -> Result<Keyed, FieldError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(beginning) {
            return Ok(known.clone());
        }
        let secret = self.keys.get(&head.key).map_err(SealError::from)?;
        let salt = &beginning[beginning.len() - SALT_BYTES..];
        let keyed = self.place.keyed(head.cipher, &head.key, &secret, salt, self.provider)?;
        let mut kept = lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(beginning.to_vec(), keyed.clone());
        Ok(keyed)
    }
}

impl std::fmt::Debug for FieldOpener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldOpener").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Information that a record gives about itself, not authenticated.
struct Head {
    cipher: &'static Cipher,
    key: KeyRef,
    /// Offset at which the nonce begins.
    salt_end: usize,
    /// Offset at which the ciphertext begins.
    data: usize,
}

impl Head {
    fn of(record: &[u8]) -> Result<Self, FieldError> {
        let short = FieldError::NotARecord("it is too short");
        let Some(fixed) = record.first_chunk::<FIXED_BYTES>() else { return Err(short) };
        if fixed[0] != FIELD_VERSION {
            return Err(FieldError::UnsupportedVersion(fixed[0]));
        }
        let id = u16::from_be_bytes([fixed[1], fixed[2]]);
        let cipher = cipher_by_id(id).ok_or(FieldError::UnknownCipher(id))?;
        let version = u32::from_be_bytes([fixed[3], fixed[4], fixed[5], fixed[6]]);
        let salt = FIXED_BYTES + usize::from(fixed[7]);
        let (salt_end, data) = (salt + SALT_BYTES, salt + SALT_BYTES + cipher.nonce_bytes());
        if record.len() < data + TAG_BYTES {
            return Err(short);
        }
        let id = std::str::from_utf8(&record[FIXED_BYTES..salt])
            .ok()
            .filter(|id| check_key_id(id).is_ok());
        let id = id.ok_or(FieldError::NotARecord("it names no key"))?.to_owned();
        Ok(Self { cipher, key: KeyRef { id, version }, salt_end, data })
    }
}

/// Returns the cipher and key that `record` names, read without any key and so without knowing that
/// it is genuine.
///
/// # Errors
/// [`FieldError::NotARecord`], [`FieldError::UnsupportedVersion`], [`FieldError::UnknownCipher`].
pub fn inspect_field(record: &[u8]) -> Result<(&'static Cipher, KeyRef), FieldError> {
    Head::of(record).map(|head| (head.cipher, head.key))
}

#[cfg(test)]
mod tests {
    use sealstone_cipher::ciphers;
    use sealstone_keys::EphemeralKey;

    use super::*;

    fn place(column: &str) -> FieldPlace {
        FieldPlace { table: "people".into(), column: column.into() }
    }

    fn pair(name: &str) -> (FieldSealer, FieldOpener, Arc<EphemeralKey>) {
        let keys = Arc::new(EphemeralKey::new().unwrap());
        let (key, secret) = keys.current().unwrap();
        let cipher = sealstone_cipher::cipher(name).unwrap();
        let sealer = FieldSealer::new(place("memo"), cipher, key, secret, Backend::auto()).unwrap();
        (sealer, FieldOpener::new(place("memo"), keys.clone(), Backend::auto()), keys)
    }

    fn sealed(sealer: &FieldSealer, row: Option<&[u8]>, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        sealer.seal(row, value, &mut out).unwrap();
        out
    }

    #[test]
    fn what_was_sealed_opens_under_every_cipher() {
        for cipher in ciphers() {
            let (sealer, opener, _) = pair(cipher.name);
            for length in [0, 1, 7, 8, 9, 16, 100, 5000] {
                let value = vec![0x5A; length];
                for row in [None, Some(&b"17"[..]), Some(&b""[..])] {
                    let mut record = sealed(&sealer, row, &value);
                    assert_eq!(record.len(), 8 + 9 + 16 + cipher.nonce_bytes() + length + 16);
                    let (named, key) = inspect_field(&record).unwrap();
                    assert_eq!((named, key.id.as_str(), key.version), (cipher, "ephemeral", 1));
                    opener.open(row, &mut record).unwrap();
                    assert_eq!(record, value, "{}", cipher.name);
                }
            }
            assert_ne!(
                sealed(&sealer, None, b"same"),
                sealed(&sealer, None, b"same"),
                "{}",
                cipher.name
            );
        }
    }

    #[test]
    fn every_changed_byte_and_every_other_place_is_an_error() {
        for name in ["aes-256", "hight"] {
            let (sealer, opener, keys) = pair(name);
            let record = sealed(&sealer, Some(b"17"), b"the value");
            for at in 0..record.len() {
                let mut changed = record.clone();
                changed[at] ^= 1;
                assert!(opener.open(Some(b"17"), &mut changed).is_err(), "{name}, byte {at}");
                assert!(!changed.windows(9).any(|part| part == b"the value"));
            }
            for length in 0..record.len() {
                assert!(
                    opener.open(Some(b"17"), &mut record[..length].to_vec()).is_err(),
                    "{name}, {length} bytes"
                );
            }
            for row in [None, Some(&b"18"[..]), Some(&b""[..])] {
                let error = opener.open(row, &mut record.clone()).unwrap_err();
                assert!(matches!(error, FieldError::Authentication));
            }
            let elsewhere = FieldOpener::new(place("name"), keys, Backend::auto());
            assert!(matches!(
                elsewhere.open(Some(b"17"), &mut record.clone()),
                Err(FieldError::Authentication)
            ));
            let other = FieldOpener::new(
                place("memo"),
                Arc::new(EphemeralKey::new().unwrap()),
                Backend::auto(),
            );
            assert!(matches!(
                other.open(Some(b"17"), &mut record.clone()),
                Err(FieldError::Authentication)
            ));
        }
    }

    /// 3DES may seal 2^20 blocks under a key; the next value has another salt, and all values open.
    #[test]
    fn limits_are_kept_by_another_key() {
        let (sealer, opener, _) = pair("3des");
        let value = vec![1; 3 << 20];
        let records: Vec<Vec<u8>> = (0..3).map(|_| sealed(&sealer, None, &value)).collect();
        let salt = |record: &[u8]| record[17..33].to_vec();
        assert_eq!(salt(&records[0]), salt(&records[1]));
        assert_ne!(salt(&records[1]), salt(&records[2]));
        // the second begins where the first ended
        assert_eq!(records[1][33..41], (3u64 << 17).to_be_bytes());
        for mut record in records {
            opener.open(None, &mut record).unwrap();
            assert_eq!(record, value);
        }
        let too_long = vec![0; (8 << 20) + 1];
        assert!(matches!(
            sealer.seal(None, &too_long, &mut Vec::new()),
            Err(FieldError::TooLong { .. })
        ));
    }
}
