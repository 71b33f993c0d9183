#![forbid(unsafe_code)]
//! Keys: what a secret is, where it comes from, and how one secret becomes many.
//!
//! A key-encryption key (KEK) comes from a [`KeySource`] and wraps the data key (DEK) of one sealed
//! file; see `docs/formats.md` for the chain. [`source::open`] opens whatever source a user names:
//! a [`KeyFile`], or a key of a server, whose protocol is in [`kmip`] and whose keys a `Keyring`
//! manages (feature `kmip`). An [`EphemeralKey`] is gone when the program ends; [`subkey`] makes
//! many of one.
//!
//! Not here: ciphers (`sealstone-cipher`) and sealed formats (`sealstone-seal`).
#![doc = include_str!("../README.md")]

mod absolute_path;
mod ephemeral;
mod error;
mod file;
mod hkdf;
mod hmac;
mod in_module;
mod key_ref;
#[cfg(feature = "kmip")]
mod key_server;
pub mod kmip;
mod passphrase;
mod random;
mod secret;
pub mod source;
mod token;

pub use absolute_path::{
    AbsoluteError, path as absolute_path, source as absolute_source, text as absolute_text,
};
pub use ephemeral::EphemeralKey;
pub use error::{KeyError, did_you_mean};
pub use file::{
    HOLDERS_MAX, Holder, KeyFile, Protect, Summary as KeyFileSummary, in_directory as key_files_in,
    new_id as new_key_id,
};
pub use hkdf::{SUBKEY_BYTES_MAX, subkey};
pub use hmac::HmacSha256;
pub use in_module::InModule;
pub use key_ref::{KEY_ID_BYTES_MAX, KeyRef};
#[cfg(feature = "kmip")]
pub use key_server::{
    Keyring, KmipSource, NewKey, Note, Origin as KeyOrigin, quoted as quoted_note,
};
pub use passphrase::{Ask, Cost, PASSPHRASE_BYTES_MAX, Passphrase};
pub use random::fill_random;
pub use secret::Secret;
pub use token::{TokenAddress, TokenError};

use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Cipher, Provider};

/// A source of key-encryption keys: a key file, a key server.
pub trait KeySource: Send + Sync {
    /// The key under which new files are wrapped, and its name. Called for every file that is made,
    /// so that a new version of a rotated key is used at once.
    ///
    /// # Errors
    /// Whatever prevents the source from answering.
    fn current(&self) -> Result<(KeyRef, Secret), KeyError>;

    /// The secret of exactly the key `key`, which may be an older version.
    ///
    /// # Errors
    /// [`KeyError::OtherKey`] and [`KeyError::MissingVersion`] say what the source has instead.
    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError>;

    /// Every version that opens data, ascending, the current one among them: for programs that must
    /// not ask again later.
    ///
    /// # Errors
    /// As [`KeySource::current`] and [`KeySource::get`]; a version that must no longer be used is
    /// left out.
    fn all(&self) -> Result<Vec<(KeyRef, Secret)>, KeyError> {
        Ok(vec![self.current()?])
    }

    /// Returns the name of the key over all its versions: the id of a key file, or the name
    /// requested from a key server.
    ///
    /// # Errors
    /// As [`KeySource::current`].
    fn name(&self) -> Result<String, KeyError> {
        Ok(self.current()?.0.id)
    }

    /// Returns the name under which [`KeySource::get`] finds version `version` of this key. A key
    /// server has a name of its own for each version.
    ///
    /// # Errors
    /// [`KeyError::MissingVersion`] where the source can detect that there is none; as
    /// [`KeySource::name`].
    fn version(&self, version: u32) -> Result<KeyRef, KeyError> {
        Ok(KeyRef { id: self.name()?, version })
    }

    /// Returns the time at which `key` was made, as in RFC 3339 (`2026-01-31T09:00:00Z`), where the
    /// source has it.
    fn made_at(&self, _key: &KeyRef) -> Option<String> {
        None
    }

    /// Returns the location of this source, for messages: `key file /etc/sealstone.key`.
    fn describe(&self) -> String;

    /// Returns the cipher that the current key is for, if the source itself records it: a key
    /// server does, by the key's attributes. Choosing such a key chooses the cipher.
    fn cipher(&self) -> Option<&'static Cipher> {
        None
    }

    /// Returns the cryptographic module that these keys are used in, if they must be used in one
    /// ([`InModule`]): it makes every subkey and random byte and seals everything under them.
    fn module(&self) -> Option<&'static dyn Module> {
        None
    }

    /// Returns who computes with these keys: their module, or else this project on `backend`.
    fn provider(&self, backend: Backend) -> Provider {
        self.module().map_or(Provider::Own(backend), Provider::Module)
    }
}

/// Checks whether `id` may name a key: 1 to [`KEY_ID_BYTES_MAX`] bytes of letters, digits and `- _
/// . : /`, not `://`.
///
/// The set is narrow because ids are printed, typed on command lines and written into headers: what
/// may be an address with a password in it is no id.
///
/// # Errors
/// [`KeyError::BadId`] states what is wrong with it.
pub fn check_key_id(id: &str) -> Result<(), KeyError> {
    let bad = |found: String| Err(KeyError::BadId { found });
    if id.is_empty() {
        return bad("it is empty".into());
    }
    if id.len() > KEY_ID_BYTES_MAX {
        return bad(format!("it has {} bytes, at most {KEY_ID_BYTES_MAX} are allowed", id.len()));
    }
    if id.contains("://") {
        return bad("it is an address; take the name of the data, such as orders".into());
    }
    match id.chars().find(|c| !c.is_alphanumeric() && !"-_.:/".contains(*c)) {
        Some(other) => {
            bad(format!("it holds {other:?}; letters, digits and - _ . : / are allowed"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_ref_reads_as_a_phrase() {
        let key = KeyRef { id: "orders".into(), version: 3 };
        assert_eq!(key.to_string(), "orders version 3");
    }

    #[test]
    fn key_ids_are_printable_and_fit_the_header() {
        for good in ["a", "orders-2025", "hsm1/db:7.seoul", "한국", &"k".repeat(64)] {
            check_key_id(good).unwrap();
        }
        let address = "kmip://me:secret/k";
        for bad in [
            "",
            address,
            "me@host",
            "two words",
            "line\nbreak",
            "quo\"te",
            "back\\slash",
            "\u{1b}[31m",
            &"k".repeat(65),
        ] {
            assert!(matches!(check_key_id(bad), Err(KeyError::BadId { .. })), "{bad:?}");
        }
    }
}
