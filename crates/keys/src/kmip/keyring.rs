//! The keys on a server as a person manages them: make, list, show, rotate, revoke, destroy, import, export, check.
//!
//! A key has a name; its later versions are named `NAME/2`, `NAME/3` and so on, or, if the server replaces keys itself
//! (Re-key), are linked to the previous one. A version is found by its name alone, so nothing is kept here.
//!
//! Not here: a key as a source for sealing (`source`), and the protocol (`operation`).

use std::collections::HashSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use zeroize::Zeroizing;

use super::KmipError;
use super::address::Address;
use super::attribute::{Attributes, KeyKind, cipher_in, row};
use super::client::{Client, Connection};
use super::enumeration::{ObjectType, Operation, RevocationReason, State, UsageMask};
use super::message::Version;
use super::operation::{
    Activate, Create, Destroy, Get, GetAttributes, Locate, Material, Query, Register, Rekey, Revoke,
};
use crate::{KeyError, KeyRef, check_key_id};

/// Fewest bits of key material that are accepted, in bits: the strength of 3DES, the weakest cipher here.
pub const KEY_BITS_MIN: usize = 112;

/// How many missing versions in a row are looked past, such as destroyed ones that the server forgot.
pub const VERSION_GAP_MAX: u32 = 16;

/// Most objects that are listed.
const LISTED_MAX: i32 = 10_000;

/// Longest chain of replaced keys that is followed.
const CHAIN_MAX: usize = 1_000;

/// A key server, or several that hold the same keys. Holds no connection and no key.
#[derive(Debug)]
pub struct Keyring {
    client: Client,
}

/// One version of a key.
#[derive(Clone, Debug)]
pub struct KeyVersion {
    /// Unique identifier of the object.
    pub id: String,
    /// Number of the version, from 1.
    pub version: u32,
    /// What the server says about it.
    pub attributes: Attributes,
}

impl KeyVersion {
    /// State of the key.
    pub(super) fn state(&self, key: &str, server: &str) -> Result<State, KmipError> {
        self.attributes.state.ok_or_else(|| KmipError::Unusable {
            key: key.to_owned(),
            server: server.to_owned(),
            found: "the server does not say in which state it is".into(),
        })
    }
}

/// A key in all its versions, ascending; at least one.
#[derive(Clone, Debug)]
pub struct Family {
    /// Unique identifier or name by which it was asked for.
    pub key: String,
    /// Whether `key` is a unique identifier, and so the key this one object alone.
    pub by_id: bool,
    /// The versions, ascending.
    pub versions: Vec<KeyVersion>,
}

impl Family {
    /// The newest Active version: the one that protects new data.
    #[must_use]
    pub fn current(&self) -> Option<&KeyVersion> {
        self.versions.iter().rev().find(|version| version.attributes.state == Some(State::ACTIVE))
    }

    /// The newest version, whatever its state.
    #[must_use]
    pub fn newest(&self) -> &KeyVersion {
        self.versions.last().expect("a family has a version")
    }
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
    /// Who drew it, and how it got onto the server.
    pub origin: Origin,
}

/// Where a key was generated.
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

/// What every server said when it was asked, in the order of the address.
#[derive(Debug)]
pub struct Check {
    /// One entry a server.
    pub servers: Vec<ServerCheck>,
}

impl Check {
    /// Whether every server answered, has the key, and gave it out.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.servers
            .iter()
            .all(|server| server.outcome.as_ref().is_ok_and(|found| found.key.as_ref().is_none_or(Result::is_ok)))
    }
}

/// What one server said.
#[derive(Debug)]
pub struct ServerCheck {
    /// Host and port.
    pub server: String,
    /// What it said, or why it said nothing.
    pub outcome: Result<ServerFound, KmipError>,
}

/// A server that answers.
#[derive(Debug)]
pub struct ServerFound {
    /// Version of the protocol that it speaks.
    pub version: Version,
    /// Who made it, if it says so.
    pub vendor: Option<String>,
    /// Whether it replaces keys itself.
    pub can_rekey: bool,
    /// From the first packet to the first answer, in milliseconds: connecting, TLS, versions, and one query.
    pub answer_ms: f64,
    /// The key; `None` if the address names none.
    pub key: Option<Result<KeyFound, KmipError>>,
}

/// A key that is there and was given out.
#[derive(Debug)]
pub struct KeyFound {
    /// The version that protects new data.
    pub current: KeyVersion,
    /// How many versions there are.
    pub versions: usize,
    /// Length of the key material, in bits.
    pub material_bits: usize,
    /// Name of our cipher that it is for, if its attributes say so.
    pub cipher: Option<String>,
    /// Finding it and getting it, in milliseconds.
    pub get_ms: f64,
}

impl Keyring {
    /// Reads the address `url`, and the certificates it names. Does not connect yet.
    ///
    /// # Errors
    /// [`KmipError::Address`], [`KmipError::Read`], [`KmipError::File`].
    pub fn open(url: &str) -> Result<Self, KmipError> {
        Ok(Self { client: Client::new(Address::parse(url)?)? })
    }

    /// The client, for single operations.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The address it was opened from.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.client.address()
    }

    /// Makes a key named `name` for our cipher `cipher`, such as `aria-256`, and makes it Active. The server generates
    /// it; if it says that it cannot, the key is generated here and registered.
    ///
    /// # Errors
    /// [`KmipError::NameTaken`]; [`KmipError::NotPossible`] for an impossible name or cipher; everything that a server
    /// can do wrong. No Active key is left behind after an error.
    pub fn create(&self, name: &str, cipher: &str) -> Result<NewKey, KmipError> {
        let attempted = format!("make key {name}");
        let kind = self.new_kind(&attempted, name, cipher)?;
        let mut connection = self.client.connection(attempted);
        free(&mut connection, name)?;
        self.make(&mut connection, name, 1, kind, KEK)
    }

    /// Registers the key `material` under the name `name` for our cipher `cipher`, and makes it Active.
    ///
    /// # Errors
    /// As [`Keyring::create`]; [`KmipError::NotPossible`] too where `material` is shorter than [`KEY_BITS_MIN`].
    pub fn import(&self, name: &str, cipher: &str, material: &[u8]) -> Result<NewKey, KmipError> {
        let attempted = format!("import key {name}");
        let kind = self.new_kind(&attempted, name, cipher)?;
        let bits = material.len() * 8;
        let fits = row(cipher).is_some_and(|row| bits >= 8 * row.key_bytes && row.takes_key_bits(bits));
        if !fits {
            let found = format!("the key has {bits} bits, and {cipher} needs {}", kind.length_bits);
            return Err(KmipError::NotPossible { attempted, found, next: "give a key of that length".into() });
        }
        let mut connection = self.client.connection(attempted);
        free(&mut connection, name)?;
        let attributes = described(name, KeyKind { length_bits: bits as i32, ..kind }, KEK);
        let id = connection.call(&Register { attributes, material })?;
        activate(&mut connection, &id)?;
        Ok(NewKey { id, name: name.to_owned(), version: 1, origin: Origin::Imported })
    }

    /// Every symmetric key and secret data that the server shows to this client.
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

    /// The key `key`, a unique identifier or a name, in all its versions.
    ///
    /// # Errors
    /// [`KmipError::NoKey`], [`KmipError::Ambiguous`], and everything that a server can do wrong.
    pub fn show(&self, key: &str) -> Result<Family, KmipError> {
        resolve(&mut self.client.connection(format!("find key {key}")), key)
    }

    /// Makes a new version of `key` for the same cipher, and makes it Active: by the server's own Re-key if it has
    /// that, otherwise as `NAME/n`. The older versions are unchanged.
    ///
    /// # Errors
    /// As [`Keyring::show`] and [`Keyring::create`]; [`KmipError::NotPossible`] for a key without a name on a server
    /// without Re-key. After an error the older versions are as before, and no new one is Active.
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
                // not destroyed when that fails: it has the name now, and leads to the key before it
                made_active(&mut connection, &id).map_err(|cause| KmipError::NotActivated {
                    id: id.clone(),
                    cause: Box::new(cause),
                    left: "stays on the server, Pre-Active",
                })?;
            }
            let name = attributes.names.first().cloned().unwrap_or_else(|| id.clone());
            return Ok(NewKey { id, name, version: family.newest().version + 1, origin: Origin::Replaced });
        }
        let base = match old.attributes.names.first() {
            Some(name) => split_version(name).0.to_owned(),
            None => {
                return Err(KmipError::NotPossible {
                    attempted,
                    found: format!("it has no name, and {} does not replace keys itself", connection.server()),
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
            (true, Some(algorithm), Some(length_bits)) => KeyKind { algorithm: Some(algorithm), length_bits },
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

    /// Revokes the one object `key`: it becomes Compromised if the reason is a compromise, otherwise Deactivated.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal.
    pub fn revoke(&self, key: &str, reason: RevocationReason) -> Result<(), KmipError> {
        let mut connection = self.client.connection(format!("revoke key {key}"));
        let id = exact(&mut connection, key)?.id;
        let compromised = matches!(reason, RevocationReason::KEY_COMPROMISE | RevocationReason::CA_COMPROMISE);
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        connection.call(&Revoke { id, reason, compromised_since: compromised.then(now) })
    }

    /// The object of version `version` of the key `name`, if it may be deactivated: ask before looking whether anything
    /// is still under it.
    ///
    /// # Errors
    /// [`KeyError::MissingVersion`], [`KeyError::Newest`], and as [`Keyring::show`].
    pub fn retirable(&self, name: &str, version: u32) -> Result<KeyRef, KeyError> {
        let family = self.show(name)?;
        let place = format!("key server {}", self.address().servers[0]);
        let Some(found) = family.versions.iter().find(|found| found.version == version) else {
            let available = family.versions.iter().map(|found| found.version).collect();
            return Err(KeyError::MissingVersion { wanted: KeyRef { id: name.to_owned(), version }, place, available });
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

    /// The material of the one object `key`, whatever its state, and what the server says about it.
    ///
    /// # Errors
    /// As [`Keyring::show`], and the server's refusal.
    pub fn export(&self, key: &str) -> Result<(Attributes, Zeroizing<Vec<u8>>), KmipError> {
        let mut connection = self.client.connection(format!("export key {key}"));
        let found = exact(&mut connection, key)?;
        let material = get(&mut connection, &found.id)?;
        Ok((found.attributes, material.bytes))
    }

    /// Asks each server for its version, its maker and the key of the address, and gets that key.
    #[must_use]
    pub fn check(&self) -> Check {
        let one = |server: usize| ServerCheck {
            server: self.address().servers[server].to_string(),
            outcome: self.check_server(server),
        };
        Check { servers: (0..self.address().servers.len()).map(one).collect() }
    }

    fn check_server(&self, server: usize) -> Result<ServerFound, KmipError> {
        let start = Instant::now();
        let mut connection = self.client.connection_to(server, "check the server");
        let abilities = connection.call(&Query)?;
        let answer_ms = start.elapsed().as_secs_f64() * 1e3;
        let version = connection.version().expect("it just answered");
        let key = self.address().key_id.as_deref().map(|key| check_key(&mut connection, key));
        let can_rekey = abilities.operations.contains(&Operation::REKEY);
        Ok(ServerFound { version, vendor: abilities.vendor, can_rekey, answer_ms, key })
    }

    /// The kind of key for a new key `name` of `cipher`.
    fn new_kind(&self, attempted: &str, name: &str, cipher: &str) -> Result<KeyKind, KmipError> {
        let not_possible =
            |found: String, next: String| Err(KmipError::NotPossible { attempted: attempted.to_owned(), found, next });
        if let Err(error) = check_key_id(name) {
            return not_possible(error.to_string(), "choose another name".into());
        }
        if split_version(name).1.is_some() {
            let found = format!("{name} is how a later version of {} is named", split_version(name).0);
            return not_possible(found, "choose another name, or rotate that key".into());
        }
        let Some(kind) = KeyKind::of_cipher(cipher) else {
            let next = "sealstone ciphers lists them".into();
            return not_possible(format!("there is no cipher {cipher}"), next);
        };
        if kind.algorithm.is_none() && cipher_in(name) != Some(cipher) {
            let found = format!("KMIP has no code for {cipher}, so the name must say it");
            return not_possible(found, format!("name it {name}-{cipher}"));
        }
        Ok(kind)
    }

    /// The kind of a new version of secret data: as long as the old one is.
    fn kind_of_secret(
        &self,
        attempted: &str,
        connection: &mut Connection,
        old: &KeyVersion,
    ) -> Result<KeyKind, KmipError> {
        match old.attributes.cipher().and_then(|cipher| KeyKind::of_cipher(&cipher)) {
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
            Some(_) => match connection.call(&Create { attributes: described(name, kind, usage_mask) }) {
                Ok(id) => Some(id),
                Err(error) if error.is_inability() => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let (id, origin) = match created {
            Some(id) => (id, Origin::Server),
            None => {
                let mut material = Zeroizing::new(vec![0; kind.length_bits as usize / 8]);
                getrandom::fill(&mut material).map_err(|source| KmipError::Random(source.to_string()))?;
                let attributes = described(name, kind, usage_mask);
                (connection.call(&Register { attributes, material: &material })?, Origin::Drawn)
            }
        };
        activate(connection, &id)?;
        Ok(NewKey { id, name: name.to_owned(), version, origin })
    }
}

/// What keys made here may be used for.
const KEK: UsageMask = UsageMask::KEK;

/// The attributes of a new key, for the server.
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

/// Every object that has the name `name`.
pub(super) fn named(connection: &mut Connection, name: &str) -> Result<Vec<Attributes>, KmipError> {
    let like = Attributes { names: vec![name.to_owned()], ..Attributes::default() };
    let mut found = Vec::new();
    for id in connection.call(&Locate { like, items_max: 100 })? {
        match connection.call(&GetAttributes { id }) {
            // some servers take a name for a pattern
            Ok(attributes) if attributes.names.iter().any(|own| own == name) => found.push(attributes),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The one object named `name`, if any. Where several have the name, the only Active one is meant.
fn one_named(connection: &mut Connection, name: &str) -> Result<Option<Attributes>, KmipError> {
    let mut found = named(connection, name)?;
    if found.len() > 1 {
        let active: Vec<_> = found.iter().filter(|one| one.state == Some(State::ACTIVE)).cloned().collect();
        if active.len() != 1 {
            let ids = found.into_iter().filter_map(|one| one.unique_identifier).collect();
            return Err(KmipError::Ambiguous { key: name.to_owned(), server: connection.server(), ids });
        }
        found = active;
    }
    Ok(found.pop())
}

/// The object with the unique identifier `key`; if there is none, the server's refusal.
pub(super) fn by_id(connection: &mut Connection, key: &str) -> Result<Result<KeyVersion, KmipError>, KmipError> {
    match connection.call(&GetAttributes { id: key.to_owned() }) {
        Ok(attributes) => Ok(Ok(KeyVersion { id: key.to_owned(), version: 1, attributes })),
        Err(refused) if refused.is_not_found() => Ok(Err(refused)),
        Err(error) => Err(error),
    }
}

/// The error for a key that was found neither by identifier, which the server `refused`, nor by name.
fn not_found(connection: &Connection, key: &str, refused: KmipError) -> KmipError {
    if refused.is_missing() { KmipError::NoKey { key: key.to_owned(), server: connection.server() } } else { refused }
}

/// The one object that has `key` as unique identifier or as name.
fn exact(connection: &mut Connection, key: &str) -> Result<KeyVersion, KmipError> {
    let refused = match by_id(connection, key)? {
        Ok(found) => return Ok(found),
        Err(refused) => refused,
    };
    match one_named(connection, key)? {
        Some(attributes) => {
            let id = attributes.unique_identifier.clone().unwrap_or_default();
            Ok(KeyVersion { id, version: split_version(key).1.unwrap_or(1), attributes })
        }
        None => Err(not_found(connection, key, refused)),
    }
}

/// The key `key` in all its versions: by unique identifier first, then by name.
pub(super) fn resolve(connection: &mut Connection, key: &str) -> Result<Family, KmipError> {
    let refused = match by_id(connection, key)? {
        Ok(found) => return Ok(Family { key: key.to_owned(), by_id: true, versions: vec![found] }),
        Err(refused) => refused,
    };
    match by_name(connection, key)? {
        Some(family) => Ok(family),
        None => Err(not_found(connection, key, refused)),
    }
}

/// The key named `name` in all its versions; where `name` is that of a later version, that version alone.
fn by_name(connection: &mut Connection, name: &str) -> Result<Option<Family>, KmipError> {
    let mut versions = Vec::new();
    if let Some(number) = split_version(name).1 {
        if let Some(attributes) = one_named(connection, name)? {
            add_chain(connection, &mut versions, number, attributes)?;
        }
    } else {
        let (mut number, mut missing) = (1, 0);
        while missing <= VERSION_GAP_MAX {
            match one_named(connection, &versioned(name, number))? {
                Some(attributes) => {
                    add_chain(connection, &mut versions, number, attributes)?;
                    missing = 0;
                }
                None => missing += 1,
            }
            number += 1;
        }
    }
    versions.sort_by_key(|version: &KeyVersion| version.version);
    let family = Family { key: name.to_owned(), by_id: false, versions };
    Ok((!family.versions.is_empty()).then_some(family))
}

/// Adds the object with `attributes`, named as version `number`, and those it replaced, in order: they lost their name
/// to it, and count as versions before it.
fn add_chain(
    connection: &mut Connection,
    versions: &mut Vec<KeyVersion>,
    number: u32,
    attributes: Attributes,
) -> Result<(), KmipError> {
    let mut chain = vec![attributes];
    let mut seen: HashSet<String> = HashSet::new();
    let mut forgotten = 0;
    while let Some(id) = chain.last().and_then(|last| last.replaced.clone()) {
        if chain.len() >= CHAIN_MAX || !seen.insert(id.clone()) {
            break;
        }
        match connection.call(&GetAttributes { id }) {
            Ok(attributes) => chain.push(attributes),
            Err(error) if error.is_not_found() => {
                forgotten = 1;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    for (at, attributes) in chain.into_iter().rev().enumerate() {
        let id = attributes.unique_identifier.clone().unwrap_or_default();
        versions.push(KeyVersion { id, version: number + forgotten + at as u32, attributes });
    }
    Ok(())
}

/// The name of version `number` of the key `base`.
fn versioned(base: &str, number: u32) -> String {
    if number == 1 { base.to_owned() } else { format!("{base}/{number}") }
}

/// A name and, if it is that of a later version, its number.
fn split_version(name: &str) -> (&str, Option<u32>) {
    let split = name.rsplit_once('/').and_then(|(base, digits)| {
        let number = digits.parse().ok().filter(|number: &u32| *number >= 2 && *digits == number.to_string())?;
        (!base.is_empty()).then_some((base, number))
    });
    split.map_or((name, None), |(base, number)| (base, Some(number)))
}

/// Gets the material of the object `id`, of any length.
pub(super) fn get(connection: &mut Connection, id: &str) -> Result<Material, KmipError> {
    let unusable = |connection: &Connection, found: String| KmipError::Unusable {
        key: id.to_owned(),
        server: connection.server(),
        found,
    };
    let material = connection.call(&Get { id: id.to_owned() })?;
    if material.id != id {
        return Err(unusable(connection, format!("the server gave {:?} instead", material.id)));
    }
    if material.bytes.len() * 8 < KEY_BITS_MIN {
        let found = format!("it has {} bits, and at least {KEY_BITS_MIN} are needed", material.bytes.len() * 8);
        return Err(unusable(connection, found));
    }
    Ok(material)
}

fn check_key(connection: &mut Connection, key: &str) -> Result<KeyFound, KmipError> {
    let start = Instant::now();
    let family = resolve(connection, key)?;
    let Some(current) = family.current() else {
        let newest = family.newest();
        let server = connection.server();
        let state = newest.state(key, &server)?;
        return Err(KmipError::WrongState { key: key.to_owned(), server, state, wanted: PROTECT });
    };
    let material = get(connection, &current.id)?;
    Ok(KeyFound {
        current: current.clone(),
        versions: family.versions.len(),
        material_bits: material.bytes.len() * 8,
        cipher: current.attributes.cipher(),
        get_ms: start.elapsed().as_secs_f64() * 1e3,
    })
}

/// What only an Active key may be used for.
pub(super) const PROTECT: &str = "protect new data";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_versions_are_taken_apart_as_they_are_put_together() {
        assert_eq!(versioned("orders", 1), "orders");
        assert_eq!(split_version(&versioned("orders", 12)), ("orders", Some(12)));
        for name in ["orders", "orders/1", "orders/02", "orders/x", "/2", "orders/"] {
            assert_eq!(split_version(name), (name, None));
        }
        assert_eq!(split_version("a/b/3"), ("a/b", Some(3)));
    }

    #[test]
    fn the_newest_active_version_is_current() {
        let version = |version: u32, state| KeyVersion {
            id: version.to_string(),
            version,
            attributes: Attributes { state: Some(state), ..Attributes::default() },
        };
        let versions = vec![version(1, State::DEACTIVATED), version(2, State::ACTIVE), version(3, State::PRE_ACTIVE)];
        let family = Family { key: "orders".into(), by_id: false, versions };
        assert_eq!(family.current().unwrap().version, 2);
        assert_eq!(family.newest().version, 3);
    }
}
