//! A key on a server in all its versions, and how it is found: by its unique identifier, or by its
//! name.
//!
//! The later versions of a key are named `NAME/2`, `NAME/3` and so on, or, if the server replaces
//! keys itself (Re-key), are linked to the previous one. A version is found by its name alone, so
//! nothing is kept here.

use std::collections::HashSet;

use super::KmipError;
use super::attribute::Attributes;
use super::client::Connection;
use super::enumeration::State;
use super::operation::{GetAttributes, Locate};

/// Number of consecutive missing versions that are skipped, such as destroyed versions that the
/// server forgot.
pub(crate) const VERSION_GAP_MAX: u32 = 16;

/// Longest chain of replaced keys that is followed.
const CHAIN_MAX: usize = 1_000;

/// One version of a key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyVersion {
    /// Unique identifier of the object.
    pub id: String,
    /// Number of the version, from 1.
    pub version: u32,
    /// Attributes that the server reports for it.
    pub attributes: Attributes,
}

impl KeyVersion {
    /// Returns the state of the key.
    pub(crate) fn state(&self, key: &str, server: &str) -> Result<State, KmipError> {
        self.attributes.state.ok_or_else(|| KmipError::Unusable {
            key: key.to_owned(),
            server: server.to_owned(),
            found: "the server does not say in which state it is".into(),
        })
    }
}

/// A key in all its versions, ascending; at least one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Family {
    /// Unique identifier or name by which it was requested.
    pub key: String,
    /// True if `key` is a unique identifier, and so the key is this one object alone.
    pub by_id: bool,
    /// The versions, ascending.
    pub versions: Vec<KeyVersion>,
}

impl Family {
    /// Returns the newest Active version: the version that protects new data.
    #[must_use]
    pub fn current(&self) -> Option<&KeyVersion> {
        self.versions.iter().rev().find(|version| version.attributes.state == Some(State::ACTIVE))
    }

    /// Returns the newest version, whatever its state.
    #[must_use]
    pub fn newest(&self) -> &KeyVersion {
        self.versions.last().expect("a family has a version")
    }
}

/// Returns every object that has the name `name`.
pub(crate) fn named(connection: &mut Connection, name: &str) -> Result<Vec<Attributes>, KmipError> {
    let like = Attributes { names: vec![name.to_owned()], ..Attributes::default() };
    let mut found = Vec::new();
    for id in connection.call(&Locate { like, items_max: 100 })? {
        match connection.call(&GetAttributes { id }) {
            // some servers take a name for a pattern
            Ok(attributes) if attributes.names.iter().any(|own| own == name) => {
                found.push(attributes)
            }
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the one object named `name`, if any. Where several have the name, the only Active one is
/// meant.
fn one_named(connection: &mut Connection, name: &str) -> Result<Option<Attributes>, KmipError> {
    let mut found = named(connection, name)?;
    if found.len() > 1 {
        let active: Vec<_> =
            found.iter().filter(|one| one.state == Some(State::ACTIVE)).cloned().collect();
        if active.len() != 1 {
            let ids = found.into_iter().filter_map(|one| one.unique_identifier).collect();
            return Err(KmipError::Ambiguous {
                key: name.to_owned(),
                server: connection.server(),
                ids,
            });
        }
        found = active;
    }
    Ok(found.pop())
}

/// Returns the object with the unique identifier `key`; if there is none, the server's refusal.
pub(crate) fn by_id(
    connection: &mut Connection,
    key: &str,
) -> Result<Result<KeyVersion, KmipError>, KmipError> {
    match connection.call(&GetAttributes { id: key.to_owned() }) {
        Ok(attributes) => Ok(Ok(KeyVersion { id: key.to_owned(), version: 1, attributes })),
        Err(refused) if refused.is_not_found() => Ok(Err(refused)),
        Err(error) => Err(error),
    }
}

/// Returns the error for a key that was found neither by identifier, which the server `refused`,
/// nor by name.
fn not_found(connection: &Connection, key: &str, refused: KmipError) -> KmipError {
    if refused.is_missing() {
        KmipError::NoKey { key: key.to_owned(), server: connection.server() }
    } else {
        refused
    }
}

/// Returns the one object that has `key` as unique identifier or as name.
pub(crate) fn exact(connection: &mut Connection, key: &str) -> Result<KeyVersion, KmipError> {
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

/// Returns the key `key` in all its versions: by unique identifier first, then by name.
pub(crate) fn resolve(connection: &mut Connection, key: &str) -> Result<Family, KmipError> {
    let refused = match by_id(connection, key)? {
        Ok(found) => return Ok(Family { key: key.to_owned(), by_id: true, versions: vec![found] }),
        Err(refused) => refused,
    };
    match by_name(connection, key)? {
        Some(family) => Ok(family),
        None => Err(not_found(connection, key, refused)),
    }
}

/// Returns the key named `name` in all its versions; where `name` is that of a later version, that
/// version alone.
pub(crate) fn by_name(
    connection: &mut Connection,
    name: &str,
) -> Result<Option<Family>, KmipError> {
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

/// Adds the object with `attributes`, named as version `number`, and the objects it replaced, in
/// order: they lost their name to it, and count as versions before it.
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

/// Returns the name of version `number` of the key `base`.
pub(crate) fn versioned(base: &str, number: u32) -> String {
    if number == 1 { base.to_owned() } else { format!("{base}/{number}") }
}

/// Returns a name and, if it is that of a later version, its number.
pub(crate) fn split_version(name: &str) -> (&str, Option<u32>) {
    let split = name.rsplit_once('/').and_then(|(base, digits)| {
        let number = digits
            .parse()
            .ok()
            .filter(|number: &u32| *number >= 2 && *digits == number.to_string())?;
        (!base.is_empty()).then_some((base, number))
    });
    split.map_or((name, None), |(base, number)| (base, Some(number)))
}

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
        let versions = vec![
            version(1, State::DEACTIVATED),
            version(2, State::ACTIVE),
            version(3, State::PRE_ACTIVE),
        ];
        let family = Family { key: "orders".into(), by_id: false, versions };
        assert_eq!(family.current().unwrap().version, 2);
        assert_eq!(family.newest().version, 3);
    }
}
