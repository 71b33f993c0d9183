//! Puts the header of a sealed file under another key-encryption key: the data key is rewrapped,
//! and nothing else in the file changes.

use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, KeySource, Secret, check_key_id};
use subtle::ConstantTimeEq;

use crate::SealError;
use crate::file::{check_module, unwrap, unwrap_any, wrap};
use crate::header::{self, HeaderInfo, SALT_BYTES, SLOT_BYTES, SLOT_STRIDE};
use crate::random::fill_random;

/// Bytes to write over each copy of the header of a file to put it under another key.
///
/// At most one sector for each copy. The copies must be written in order, and each must be on
/// stable storage before the next one is begun: then one of them is whole at any time.
///
/// Aligned so that it is within one page of memory, from which the operating system copies it as a
/// whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(512))]
#[non_exhaustive]
pub struct Rewrapped {
    bytes: [u8; SLOT_BYTES],
    /// Offsets at which to write the bytes, in stored bytes from the beginning of the file: one for
    /// each copy, in the order of writing.
    pub offsets: [u64; 2],
}

impl Rewrapped {
    /// Returns the bytes, the same for every copy.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Wraps the data key of an existing file under the key `to`. File id, data key, cipher, layout and
/// data stay; the salt is drawn again.
///
/// - `keys`: must hold a key that the header names
/// - `to`: the new key of the file, and its secret
/// - `header`: the first [`crate::HEADER_BYTES`] bytes of the file, or all of a shorter file
///
/// Returns nothing if every copy of the header is whole and names that key already. A returned
/// header was first opened again, since the header holds the only copies of the data key.
///
/// # Errors
/// Errors of [`crate::SealedFile::open`]: also when `header` was read while another process
/// re-wrapped it, and is a mixture. [`SealError::Random`]; [`SealError::OtherModule`] if a module
/// made the file, and `keys` are not used in it.
pub fn rewrap(
    keys: &dyn KeySource,
    to: (&KeyRef, &Secret),
    backend: Backend,
    header: &[u8],
) -> Result<Option<Rewrapped>, SealError> {
    let copies = header::parse(header)?;
    let (key, kek) = to;
    let provider = keys.provider(backend);
    let wrapping = copies.iter().map(|copy| copy.info.wrapping).max().expect("at least one copy");
    let current = |copy: &header::Parts| copy.info.key == *key && copy.info.wrapping == wrapping;
    let own = OneKey { key, kek };
    // either may be damaged
    let whole = |copy: &header::Parts| unwrap(&own, copy, provider).is_ok();
    if copies.len() == 2 && copies.iter().all(|copy| current(copy) && whole(copy)) {
        return Ok(None);
    }
    check_key_id(&key.id)?;
    let (old, dek) = unwrap_any(keys, copies, provider)?;
    check_module(&old.info, provider)?;
    let mut salt = [0; SALT_BYTES];
    fill_random(provider, &mut salt)?;
    let info = HeaderInfo { key: key.clone(), wrapping: wrapping.wrapping_add(1), ..old.info };
    let bytes = wrap(&info, &salt, kek, &dek, provider)?;

    let again = header::parse(&header::area(&bytes))?;
    let again = unwrap(&own, &again[0], provider)?;
    if !bool::from(again.as_bytes().ct_eq(dek.as_bytes())) {
        return Err(SealError::Damaged {
            found: "its data key does not survive being wrapped again".into(),
        });
    }
    // the copy that opened is written last
    let offsets = if old.offset == 0 { [SLOT_STRIDE as u64, 0] } else { [0, SLOT_STRIDE as u64] };
    Ok(Some(Rewrapped { bytes, offsets }))
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
        "the key being rotated to".into()
    }
}
