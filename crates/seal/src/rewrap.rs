//! Puts the header of a sealed file under another key-encryption key: the data key is wrapped anew, and nothing else of
//! the file changes. Not here: writing the new bytes into the file (`adapters/*`).

use sealstone_cipher::backend::Backend;
use sealstone_keys::{KeyRef, KeySource, Secret, check_key_id};
use subtle::ConstantTimeEq;

use crate::SealError;
use crate::file::{fill_random, unwrap, wrap};
use crate::header::{self, HEADER_BYTES, HeaderInfo, REWRAPPED, REWRAPPED_BYTES, SALT_BYTES};

/// What is to be written over the header of a file to put it under another key.
///
/// One stretch within the first sector, which ends before the record of what was synced: the writer of a log may be
/// rewriting that at the same time. Aligned so that it lies in one page of memory, from which the operating system
/// copies it as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(256))]
pub struct Rewrapped {
    /// The bytes.
    pub bytes: [u8; REWRAPPED_BYTES],
    /// Where they belong, in stored bytes from the beginning of the file.
    pub offset: u64,
}

/// Wraps the data key of an existing file under the key `to`. File id, data key, cipher, layout and data stay; the salt
/// is drawn anew.
///
/// - `keys`: must hold the key that the header names
/// - `to`: the key that the file is to be under, and its secret
/// - `header`: the first [`HEADER_BYTES`] bytes of the file, or more
///
/// Returns nothing if the header names that key already. What is returned was opened again before, since the header
/// holds the only copy of the data key.
///
/// # Errors
/// Those of [`crate::SealedFile::open`]: also when `header` was read while another process re-wrapped it, and is a mixture.
/// [`SealError::Random`].
pub fn rewrap(
    keys: &dyn KeySource,
    to: (&KeyRef, &Secret),
    backend: Backend,
    header: &[u8],
) -> Result<Option<Rewrapped>, SealError> {
    let old = header::parse(header)?;
    let (key, kek) = to;
    if old.info.key == *key {
        return Ok(None);
    }
    check_key_id(&key.id)?;
    let dek = unwrap(keys, &old, backend)?;
    let mut salt = [0; SALT_BYTES];
    fill_random(&mut salt)?;
    let info = HeaderInfo { key: key.clone(), ..old.info };
    let new = wrap(&info, &salt, kek, &dek, backend)?;

    // as the file will be once they are written
    let mut whole = *header.first_chunk::<HEADER_BYTES>().expect("a header that was parsed");
    whole[REWRAPPED].copy_from_slice(&new[REWRAPPED]);
    let again = unwrap(&OneKey { key, kek }, &header::parse(&whole)?, backend)?;
    if !bool::from(again.as_bytes().ct_eq(dek.as_bytes())) {
        return Err(SealError::Damaged { found: "its data key does not survive being wrapped again".into() });
    }
    let bytes = new[REWRAPPED].try_into().expect("a range of that length");
    Ok(Some(Rewrapped { bytes, offset: REWRAPPED.start as u64 }))
}

/// The key that was just used, for the check.
struct OneKey<'a> {
    key: &'a KeyRef,
    kek: &'a Secret,
}

impl KeySource for OneKey<'_> {
    fn current(&self) -> Result<(KeyRef, Secret), sealstone_keys::KeyError> {
        Ok((self.key.clone(), Secret::from_bytes(self.kek.as_bytes())))
    }

    fn get(&self, _: &KeyRef) -> Result<Secret, sealstone_keys::KeyError> {
        Ok(Secret::from_bytes(self.kek.as_bytes()))
    }

    fn describe(&self) -> String {
        "the key it is to be under".into()
    }
}
