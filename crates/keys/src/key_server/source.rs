//! One key of a key server as a [`KeySource`]: found once, kept in memory, never fetched again.
//!
//! Sealed data names the key by the server's unique identifier, so it stays readable when names are
//! moved on the server. The secret is never the key itself but derived from it, `subkey(material,
//! "kmip kek", [unique identifier])`: so a key of any length will do, and other uses of the same
//! key reveal nothing about ours.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use sealstone_cipher::memory::Generation;
use sealstone_cipher::{Cipher, Provider};

use super::keyring::Keyring;
use crate::kmip::KmipError;
use crate::kmip::client::Connection;
use crate::kmip::enumeration::State;
use crate::kmip::family::{Family, resolve};
use crate::kmip::material::{PROTECT, get};
use crate::kmip::operation::GetAttributes;
use crate::{KeyError, KeyRef, KeySource, Secret, check_key_id, subkey};

/// Use that is permitted only for an Active or a Deactivated key.
const OPEN: &str = "open old data";

/// A key on a server. Zeroes what it keeps when dropped; `Debug` shows no key.
pub struct KmipSource {
    keyring: Keyring,
    family: Family,
    cipher: Option<&'static Cipher>,
    /// Derives the secrets.
    provider: Provider,
    /// Secrets by unique identifier. Held for a look-up, never while a server is queried.
    secrets: Mutex<HashMap<String, Secret>>,
    /// In which process the secrets were got.
    opened_in: Generation,
    /// Held while a server is queried, so that a key needed by many at once is requested once.
    asking: Mutex<()>,
}

impl fmt::Debug for KmipSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KmipSource({})", self.describe())
    }
}

impl KmipSource {
    /// Finds the key that `url` names, and gets it if it is Active:
    /// `kmip://host[:5696]/KEY?cert=…&key=…&ca=…`, or `kmip:FILE.toml`.
    ///
    /// KEY is a unique identifier or a name. Of a name's versions the newest Active one is current.
    /// If none is Active, the source still opens, for old data, and [`KeySource::current`] reports
    /// why it has no key.
    ///
    /// # Errors
    /// [`KeyError::Kmip`] with everything that can be wrong with the address, the servers, and the
    /// key.
    pub fn open(url: &str) -> Result<Self, KeyError> {
        Self::open_by(Provider::own(), url)
    }

    /// As [`KmipSource::open`], where `provider` derives our secrets from the server's keys.
    ///
    /// # Errors
    /// As [`KmipSource::open`], and [`KeyError::Cipher`] if a module fails.
    pub(crate) fn open_by(provider: impl Into<Provider>, url: &str) -> Result<Self, KeyError> {
        let provider = provider.into();
        let keyring = Keyring::open(url)?;
        let key = keyring.address().key()?.to_owned();
        let mut connection = keyring.client().connection(format!("get key {key}"));
        let family = resolve(&mut connection, &key)?;
        let mut secrets = HashMap::new();
        let current = family.current();
        if let Some(current) = current {
            secrets.insert(current.id.clone(), secret(&mut connection, &current.id, provider)?);
        }
        let cipher = current.and_then(|current| current.attributes.cipher());
        drop(connection);
        let (secrets, asking, opened_in) =
            (Mutex::new(secrets), Mutex::new(()), Generation::current());
        Ok(Self { keyring, family, cipher, provider, secrets, asking, opened_in })
    }

    /// Returns the secret of the object `id`, if it is kept.
    fn kept(&self, id: &str) -> Result<Option<Secret>, KeyError> {
        // a child does not have the secrets, nor, under TLS, its own connection
        self.opened_in.check()?;
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.get(id).map(Secret::duplicate).transpose()
    }

    /// Returns the key in all its versions, as they were when it was opened.
    #[must_use]
    pub fn family(&self) -> &Family {
        &self.family
    }
}

impl KeySource for KmipSource {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let key = &self.family.key;
        let server = self.keyring.address().place();
        let Some(current) = self.family.current() else {
            let state = self.family.newest().state(key, &server)?;
            return Err(
                KmipError::WrongState { key: key.clone(), server, state, wanted: PROTECT }.into()
            );
        };
        let key = KeyRef { id: current.id.clone(), version: current.version };
        let secret = self.get(&key)?;
        Ok((key, secret))
    }

    /// Returns the secret of the object with the unique identifier `key.id`, got from the server
    /// the first time. The version is for people: an identifier is never given twice.
    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        if let Some(secret) = self.kept(&key.id)? {
            return Ok(secret);
        }
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secret) = self.kept(&key.id)? {
            return Ok(secret);
        }
        let mut connection = self.keyring.client().connection(format!("get key {key}"));
        let attributes = match connection.call(&GetAttributes { id: key.id.clone() }) {
            Ok(attributes) => attributes,
            Err(error) if error.is_missing() => {
                return Err(
                    KmipError::NoKey { key: key.to_string(), server: connection.server() }.into()
                );
            }
            Err(error) => return Err(error.into()),
        };
        let server = connection.server();
        match attributes.state {
            Some(State::ACTIVE | State::DEACTIVATED) => {}
            Some(state) => {
                return Err(KmipError::WrongState {
                    key: key.to_string(),
                    server,
                    state,
                    wanted: OPEN,
                }
                .into());
            }
            None => {
                let found = "the server does not say in which state it is".into();
                return Err(KmipError::Unusable { key: key.to_string(), server, found }.into());
            }
        }
        let got = secret(&mut connection, &key.id, self.provider)?;
        let copy = got.duplicate()?;
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(key.id.clone(), got);
        Ok(copy)
    }

    /// Returns the versions that are Active or Deactivated, each got from the server the first
    /// time.
    fn all(&self) -> Result<Vec<(KeyRef, Secret)>, KeyError> {
        let mut all = Vec::new();
        for version in &self.family.versions {
            if matches!(version.attributes.state, Some(State::ACTIVE | State::DEACTIVATED)) {
                let key = KeyRef { id: version.id.clone(), version: version.version };
                let secret = self.get(&key)?;
                all.push((key, secret));
            }
        }
        Ok(all)
    }

    fn name(&self) -> Result<String, KeyError> {
        Ok(self.family.key.clone())
    }

    fn version(&self, version: u32) -> Result<KeyRef, KeyError> {
        let Family { key, versions, .. } = &self.family;
        match versions.iter().find(|found| found.version == version) {
            Some(found) => Ok(KeyRef { id: found.id.clone(), version }),
            None => Err(KeyError::MissingVersion {
                wanted: KeyRef { id: key.clone(), version },
                place: self.describe(),
                available: versions.iter().map(|found| found.version).collect(),
            }),
        }
    }

    /// Returns the server's Initial Date of the object with the unique identifier `key.id`.
    fn made_at(&self, key: &KeyRef) -> Option<String> {
        let found = self.family.versions.iter().find(|version| version.id == key.id)?;
        let made = Timestamp::from_second(found.attributes.initial_date?).ok()?;
        Some(made.to_string())
    }

    fn describe(&self) -> String {
        format!("KMIP server {}, key {}", self.keyring.address().place(), self.family.key)
    }

    fn cipher(&self) -> Option<&'static Cipher> {
        self.cipher
    }
}

/// Gets the key `id` and derives our secret from it.
fn secret(connection: &mut Connection, id: &str, provider: Provider) -> Result<Secret, KeyError> {
    if let Err(error) = check_key_id(id) {
        return Err(KmipError::Unusable {
            key: id.to_owned(),
            server: connection.server(),
            found: error.to_string(),
        }
        .into());
    }
    let material = get(connection, id)?;
    let mut secret = Secret::zero();
    subkey(provider, &material.bytes, "kmip kek", &[id.as_bytes()], secret.as_bytes_mut())?;
    Ok(secret)
}
