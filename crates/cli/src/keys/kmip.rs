//! `sealstone keys` for keys on a key server: the same commands, in the server's terms. Not here: the check, which treats
//! every source alike, and key files.

use std::path::PathBuf;

use anyhow::bail;
use sealstone_cipher::registry::DEFAULT_CIPHER;
use sealstone_keys::kmip::enumeration::RevocationReason;
use sealstone_keys::kmip::keyring::{Family, NewKey, Origin};
use sealstone_keys::kmip::{Keyring, KmipSource};
use sealstone_keys::{KeyError, KeySource};
use sealstone_stores::retire::check_unused;
use serde_json::{Value, json};

use crate::message::say;

/// Makes the key that the address names, or `id`.
pub(super) fn new(spec: &str, id: Option<&str>, cipher: Option<&str>) -> anyhow::Result<Family> {
    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    let Some(name) = id.map(str::to_owned).or_else(|| keyring.address().key_id.clone()) else {
        bail!("no name for the new key\nwrite it after the server, kmip://HOST/NAME, or give --id NAME");
    };
    let made = keyring.create(&name, cipher.unwrap_or(DEFAULT_CIPHER)).map_err(KeyError::from)?;
    announce(&made);
    Ok(keyring.show(&name).map_err(KeyError::from)?)
}

/// Every key on the server that sealing could use.
pub(super) fn list(spec: &str) -> anyhow::Result<Vec<Value>> {
    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    let found = keyring.list().map_err(KeyError::from)?;
    Ok(found
        .iter()
        .map(|key| {
            json!({
                "source": spec, "id": key.unique_identifier, "names": key.names, "cipher": key.cipher(),
                "state": key.state.map(|state| state.to_string()),
            })
        })
        .collect())
}

/// The versions of the key that the address names.
pub(super) fn show(spec: &str) -> anyhow::Result<Family> {
    let (keyring, name) = open(spec)?;
    Ok(keyring.show(&name).map_err(KeyError::from)?)
}

/// Adds a version on the server.
pub(super) fn rotate(spec: &str) -> anyhow::Result<Family> {
    let (keyring, name) = open(spec)?;
    let made = keyring.rotate(&name).map_err(KeyError::from)?;
    announce(&made);
    say(&format!(
        "processes that are running take it when they are started again; then bring what is there under it with: \
         sealstone rest rotate DIR --key '{spec}'"
    ));
    Ok(keyring.show(&made.name).map_err(KeyError::from)?)
}

/// Deactivates an old version on the server, once nothing in `stores` is under it.
pub(super) fn retire(spec: &str, version: u32, stores: &[PathBuf]) -> anyhow::Result<Family> {
    let (keyring, name) = open(spec)?;
    let key = keyring.retirable(&name, version)?;
    let secret = || KmipSource::open(spec)?.get(&key);
    let checked = check_unused(&key, &secret, stores, spec)?;
    keyring.revoke(&key.id, RevocationReason::SUPERSEDED).map_err(KeyError::from)?;
    say(&match stores {
        [] => format!("key {key} is deactivated; no store was looked at"),
        _ => format!("key {key} is deactivated; none of {checked} sealed files is under it"),
    });
    say("it opens old backups until it is destroyed on the server");
    Ok(keyring.show(&name).map_err(KeyError::from)?)
}

fn open(spec: &str) -> anyhow::Result<(Keyring, String)> {
    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    let name = keyring.address().key().map_err(KeyError::from)?.to_owned();
    Ok((keyring, name))
}

fn announce(made: &NewKey) {
    let NewKey { id, name, version, origin } = made;
    let how = match origin {
        Origin::Server => "drawn by the server",
        Origin::Replaced => "drawn by the server in place of the one before",
        Origin::Drawn => "drawn here and registered, since the server cannot draw it",
        Origin::Imported => "registered",
    };
    say(&format!("made key {name} version {version} ({id}), {how}"));
}
