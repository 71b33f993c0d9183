//! The keys on a server as a person manages them: make, list, show, rotate, revoke, destroy,
//! import, export, check.
//!
//! Not here: how a key is found (`family`), a key as a source for sealing (`source`), and the
//! protocol (`operation`).

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use sealstone_cipher::Cipher;
use zeroize::Zeroizing;

use crate::kmip::KmipError;
use crate::kmip::address::Address;
use crate::kmip::attribute::{Attributes, KeyKind, cipher_in};
use crate::kmip::check::{Check, check};
use crate::kmip::client::{Client, Connection};
use crate::kmip::enumeration::{ObjectType, Operation, RevocationReason, State, UsageMask};
use crate::kmip::family::{
    Family, KeyVersion, by_name, exact, named, resolve, split_version, versioned,
};
use crate::kmip::material::get;
use crate::kmip::operation::{
    Activate, Create, Destroy, GetAttributes, Locate, Query, Register, Rekey, Revoke,
};
use crate::{KeyError, KeyRef, check_key_id};

/// Most objects that are listed.
const LISTED_MAX: i32 = 10_000;

/// A key server, or several that hold the same keys. Holds no connection and no key.
#[derive(Debug)]
pub struct Keyring {
    client: Client,
}

/// A key that was just made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Unique identifier of the object.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Number of the version, from 1.
    pub version: u32,
    /// Its generator, and how it got onto the server.
    pub origin: Origin,
}

/// Place where a key was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// By the server (Create).
    Server,
    /// By the server, in place of the version before (Re-key).
    Replaced,
    /// Here, since the server cannot draw keys for this cipher; then registered.
    Drawn,
    /// By somebody else; registered.
    Imported,
}

impl Keyring {
    /// Reads the address `url`, and the certificates it names. Does not connect yet.
    ///
    /// # Errors
    /// [`KmipError::Address`], [`KmipError::Read`], [`KmipError::File`].
    pub fn open(url: &str) -> Result<Self, KmipError> {
        Ok(Self { client: Client::new(Address::parse(url)?)? })
    }

    /// Returns the client, for single operations.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the address it was opened from.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.client.address()
    }

    /// Makes a key named `name` for `cipher` and makes it Active.
    /// The server generates it; if the server reports that it cannot, the key is generated here and
    /// registered.
    ///
    /// # Errors
    /// [`KmipError::NameTaken`]; [`KmipError::NotPossible`] for an impossible name;
    /// everything that a server can do wrong. No Active key is left behind after an error.
    pub fn create(&self, name: &str, cipher: &Cipher) -> Result<NewKey, KmipError> {
        let attempted = format!("make key {name}");
        let kind = self.new_kind(&attempted, name, cipher)?;
        let mut connection = self.client.connection(attempted);
        free(&mut connection, name)?;
        self.make(&mut connection, name, 1, kind, KEK)
    }

    /// Registers the key `material` under the name `name` for `cipher`, and makes it
    /// Active.
    ///
    /// # Errors
    /// As [`Keyring::create`]; [`KmipError::NotPossible`] too where `material` has not the length
    /// that `cipher` takes.
    pub fn import(
        &self,
        name: &str,
        cipher: &Cipher,
        material: &[u8],
    ) -> Result<NewKey, KmipError> {
        let attempted = format!("import key {name}");
        let kind = self.new_kind(&attempted, name, cipher)?;
        let bits = material.len() * 8;
        if bits < 8 * cipher.key_bytes || !cipher.takes_key_bits(bits) {
            let needs = format!("{} needs {}", cipher.name, kind.length_bits);
            let found = format!("the key has {bits} bits, and {needs}");
            return Err(KmipError::NotPossible {
                attempted,
                found,
                next: "give a key of that length".into(),
            });
        }
        let mut connection = self.client.connection(attempted);
        free(&mut connection, name)?;
        let attributes = described(name, KeyKind { length_bits: bits as i32, ..kind }, KEK);
        let id = connection.call(&Register { attributes, material })?;
        activate(&mut connection, &id)?;
        Ok(NewKey { id, name: name.to_owned(), version: 1, origin: Origin::Imported })
    }

    /// Returns every symmetric key and secret data that the server shows to this client.
    ///
    /// # Errors
    /// Everything that a server can do wrong.
    pub fn list(&self) -> Result<Vec<Attributes>, KmipError> {
        let mut connection = self.client.connection("list the keys");
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for kind in [ObjectType::SYMMETRIC_KEY, ObjectType::SECRET_DATA] {
            let like = Attributes { object_type: Some(kind), ..Attributes::default() };
            for id in connection.call(&Locate { like, items_max: LISTED_MAX })? {
                if !seen.insert(id.clone()) {
                    continue;
                }
                match connection.call(&GetAttributes { id }) {
                    Ok(attributes) => found.push(attributes),
                    // destroyed between the two questions
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(found)
    }

    /// Returns the key `key`, a unique identifier or a name, in all its versions.
    ///
    /// # Errors
    /// [`KmipError::NoKey`], [`KmipError::Ambiguous`], and everything that a server can do wrong.
    pub fn show(&self, key: &str) -> Result<Family, KmipError> {
        resolve(&mut self.client.connection(format!("find key {key}")), key)
    }

    /// Makes a new version of `key` for the same cipher, and makes it Active: by the server's own
    /// Re-key if it has that, otherwise as `NAME/n`. The older versions are unchanged.
    ///
    /// # Errors
    /// As [`Keyring::show`] and [`Keyring::create`]; [`KmipError::NotPossible`] for a key without a
    /// name on a server without Re-key. After an error the older versions are as before, and no new
    /// one is Active.
    pub fn rotate(&self, key: &str) -> Result<NewKey, KmipError> {
        let attempted = format!("rotate key {key}");
        let mut connection = self.client.connection(attempted.as_str());
        let mut family = resolve(&mut connection, key)?;
        let old = family.current().unwrap_or(family.newest()).clone();
        let symmetric = old.attributes.object_type == Some(ObjectType::SYMMETRIC_KEY);
        let active = old.attributes.state == Some(State::ACTIVE);
        if symmetric && active && connection.call(&Query)?.operations.contains(&Operation::REKEY) {
            let id = connection.call(&Rekey { id: old.id })?;
            let attributes = connection.call(&GetAttributes { id: id.clone() })?;
            if attributes.state != Some(State::ACTIVE) {
                // not destroyed when that fails: it has the name now, and leads to the key before
                // it
                made_active(&mut connection, &id).map_err(|cause| KmipError::NotActivated {
                    id: id.clone(),
                    cause: Box::new(cause),
                    left: "stays on the server, Pre-Active",
                })?;
            }
            let name = attributes.names.first().cloned().unwrap_or_else(|| id.clone());
            return Ok(NewKey {
                id,
                name,
                version: family.newest().version + 1,
                origin: Origin::Replaced,
            });
        }
        let base = match old.attributes.names.first() {
            Some(name) => split_version(name).0.to_owned(),
            None => {
                return Err(KmipError::NotPossible {
                    attempted,
                    found: format!(
                        "it has no name, and {} does not replace keys itself",
                        connection.server()
                    ),
                    next: "make a key with a name with sealstone keys new, and use that".into(),
                });
            }
        };
        if base != key {
            family = by_name(&mut connection, &base)?.unwrap_or(family);
        }
        let number = family.newest().version + 1;
        let name = versioned(&base, number);
        free(&mut connection, &name)?;
        let kind = match (symmetric, old.attributes.algorithm, old.attributes.length_bits) {
            (true, Some(algorithm), Some(length_bits)) => {
                KeyKind { algorithm: Some(algorithm), length_bits }
            }
            _ => self.kind_of_secret(&attempted, &mut connection, &old)?,
        };
        self.make(&mut connection, &name, number, kind, old.attributes.usage_mask.unwrap_or(KEK))
    }

    /// Makes the Pre-Active object `key` Active.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal.
    pub fn activate(&self, key: &str) -> Result<(), KmipError> {
        let mut connection = self.client.connection(format!("activate key {key}"));
        let id = exact(&mut connection, key)?.id;
        made_active(&mut connection, &id)
    }

    /// Revokes the one object `key`: it becomes Compromised if the reason is a compromise,
    /// otherwise Deactivated.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal.
    pub fn revoke(&self, key: &str, reason: RevocationReason) -> Result<(), KmipError> {
        let mut connection = self.client.connection(format!("revoke key {key}"));
        let id = exact(&mut connection, key)?.id;
        let compromised =
            matches!(reason, RevocationReason::KEY_COMPROMISE | RevocationReason::CA_COMPROMISE);
        let now = || {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
        };
        connection.call(&Revoke { id, reason, compromised_since: compromised.then(now) })
    }

    /// Returns the object of version `version` of the key `name`, if it may be deactivated: call
    /// this before checking that nothing is still under it.
    ///
    /// # Errors
    /// [`KeyError::MissingVersion`], [`KeyError::Newest`], and as [`Keyring::show`].
    pub fn retirable(&self, name: &str, version: u32) -> Result<KeyRef, KeyError> {
        let family = self.show(name)?;
        let place = format!("key server {}", self.address().servers[0]);
        let Some(found) = family.versions.iter().find(|found| found.version == version) else {
            let available = family.versions.iter().map(|found| found.version).collect();
            return Err(KeyError::MissingVersion {
                wanted: KeyRef { id: name.to_owned(), version },
                place,
                available,
            });
        };
        let key = KeyRef { id: found.id.clone(), version };
        if family.current().is_none_or(|current| current.version <= version) {
            return Err(KeyError::Newest { key, place });
        }
        Ok(key)
    }

    /// Destroys the one object `key`. Its material is lost for good.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal: an Active key must be revoked first.
    pub fn destroy(&self, key: &str) -> Result<(), KmipError> {
        let mut connection = self.client.connection(format!("destroy key {key}"));
        let id = exact(&mut connection, key)?.id;
        connection.call(&Destroy { id })
    }

    /// Returns the material of the one object `key`, whatever its state, and the server's
    /// attributes of it.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal.
    pub fn export(&self, key: &str) -> Result<(Attributes, Zeroizing<Vec<u8>>), KmipError> {
        let mut connection = self.client.connection(format!("export key {key}"));
        let found = exact(&mut connection, key)?;
        let material = get(&mut connection, &found.id)?;
        Ok((found.attributes, material.bytes))
    }

    /// Queries each server for its version, its maker and the key of the address, and gets that
    /// key.
    #[must_use]
    pub fn check(&self) -> Check {
        check(&self.client)
    }

    /// Returns the kind of key for a new key `name` of `cipher`.
    fn new_kind(&self, attempted: &str, name: &str, cipher: &Cipher) -> Result<KeyKind, KmipError> {
        let not_possible = |found: String, next: String| {
            Err(KmipError::NotPossible { attempted: attempted.to_owned(), found, next })
        };
        if let Err(error) = check_key_id(name) {
            return not_possible(error.to_string(), "choose another name".into());
        }
        if split_version(name).1.is_some() {
            let found =
                format!("{name} is how a later version of {} is named", split_version(name).0);
            return not_possible(found, "choose another name, or rotate that key".into());
        }
        let kind = KeyKind::of_cipher(cipher);
        if kind.algorithm.is_none() && cipher_in(name) != Some(cipher) {
            let found = format!("KMIP has no code for {}, so the name must say it", cipher.name);
            return not_possible(found, format!("name it {name}-{}", cipher.name));
        }
        Ok(kind)
    }

    /// Returns the kind of a new version of secret data: as long as the old one is.
    fn kind_of_secret(
        &self,
        attempted: &str,
        connection: &mut Connection,
        old: &KeyVersion,
    ) -> Result<KeyKind, KmipError> {
        match old.attributes.cipher().map(KeyKind::of_cipher) {
            Some(kind) => Ok(KeyKind { algorithm: None, ..kind }),
            None => Err(KmipError::NotPossible {
                attempted: attempted.to_owned(),
                found: format!("{} does not say for which cipher it is", connection.server()),
                next: "make a key with sealstone keys new, and rotate to that".into(),
            }),
        }
    }

    /// Makes one Active key.
    fn make(
        &self,
        connection: &mut Connection,
        name: &str,
        version: u32,
        kind: KeyKind,
        usage_mask: UsageMask,
    ) -> Result<NewKey, KmipError> {
        let created = match kind.algorithm {
            Some(_) => {
                match connection.call(&Create { attributes: described(name, kind, usage_mask) }) {
                    Ok(id) => Some(id),
                    Err(error) if error.is_inability() => None,
                    Err(error) => return Err(error),
                }
            }
            None => None,
        };
        let (id, origin) = match created {
            Some(id) => (id, Origin::Server),
            None => {
                let mut material = Zeroizing::new(vec![0; kind.length_bits as usize / 8]);
                getrandom::fill(&mut material)
                    .map_err(|source| KmipError::Random(source.to_string()))?;
                let attributes = described(name, kind, usage_mask);
                (connection.call(&Register { attributes, material: &material })?, Origin::Drawn)
            }
        };
        activate(connection, &id)?;
        Ok(NewKey { id, name: name.to_owned(), version, origin })
    }
}

/// Permitted uses of keys made here.
const KEK: UsageMask = UsageMask::KEK;

/// Returns the attributes of a new key, for the server.
fn described(name: &str, kind: KeyKind, usage_mask: UsageMask) -> Attributes {
    Attributes {
        names: vec![name.to_owned()],
        algorithm: kind.algorithm,
        length_bits: kind.algorithm.map(|_| kind.length_bits),
        usage_mask: Some(usage_mask),
        ..Attributes::default()
    }
}

/// Makes the new key `id` Active, or removes it again.
fn activate(connection: &mut Connection, id: &str) -> Result<(), KmipError> {
    let Err(cause) = made_active(connection, id) else { return Ok(()) };
    let left = match connection.call(&Destroy { id: id.to_owned() }) {
        Ok(()) => "was destroyed again",
        Err(_) => "may be left on the server",
    };
    Err(KmipError::NotActivated { id: id.to_owned(), cause: Box::new(cause), left })
}

/// Makes the object `id` Active. If the answer was lost, its state shows whether it was done.
fn made_active(connection: &mut Connection, id: &str) -> Result<(), KmipError> {
    let Err(cause) = connection.call(&Activate { id: id.to_owned() }) else { return Ok(()) };
    match connection.call(&GetAttributes { id: id.to_owned() }) {
        Ok(attributes) if attributes.state == Some(State::ACTIVE) => Ok(()),
        _ => Err(cause),
    }
}

/// Refuses a name that an object has already.
fn free(connection: &mut Connection, name: &str) -> Result<(), KmipError> {
    match named(connection, name)?.into_iter().next() {
        None => Ok(()),
        Some(taken) => {
            let id = taken.unique_identifier.unwrap_or_default();
            Err(KmipError::NameTaken { name: name.to_owned(), server: connection.server(), id })
        }
    }
}
