//! `sealstone keys` for keys on a key server: the same commands, in the server's terms. Not here: the check, which treats
//! every source alike, and key files.

use std::path::PathBuf;

use anyhow::bail;
use sealstone_keys::kmip::enumeration::{RevocationReason, State};
use sealstone_keys::kmip::keyring::{Family, KeyVersion, NewKey, Origin};
use sealstone_keys::kmip::{Keyring, KmipSource};
use sealstone_keys::{KeyError, KeyRef, KeySource};
use serde_json::{Value, json};

use super::{SCHEMA, still_protected};
use crate::message::{Answer, print, print_json, say};
use crate::table::Table;
use crate::terminal;

/// Cipher that a new key is for when nobody says which.
const CIPHER: &str = "aes-256";

/// Makes the key that the address names, or `id`.
pub(super) fn new(spec: &str, id: Option<&str>, cipher: Option<&str>, json: bool) -> anyhow::Result<Answer> {
    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    let Some(name) = id.map(str::to_owned).or_else(|| keyring.address().key_id.clone()) else {
        bail!("no name for the new key\nwrite it after the server, kmip://HOST/NAME, or give --id NAME");
    };
    let made = keyring.create(&name, cipher.unwrap_or(CIPHER)).map_err(KeyError::from)?;
    tell(&made);
    show_family(&keyring.show(&name).map_err(KeyError::from)?, json)
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
pub(super) fn show(spec: &str, json: bool) -> anyhow::Result<Answer> {
    let (keyring, name) = open(spec)?;
    show_family(&keyring.show(&name).map_err(KeyError::from)?, json)
}

/// Adds a version on the server.
pub(super) fn rotate(spec: &str, json: bool) -> anyhow::Result<Answer> {
    let (keyring, name) = open(spec)?;
    let made = keyring.rotate(&name).map_err(KeyError::from)?;
    tell(&made);
    say(&format!(
        "processes that are running take it when they are started again; then bring what is there under it with: \
         sealstone rest rotate DIR --key '{spec}'"
    ));
    show_family(&keyring.show(&made.name).map_err(KeyError::from)?, json)
}

/// Deactivates an old version on the server, once nothing in `stores` is under it.
pub(super) fn retire(spec: &str, version: u32, stores: &[PathBuf], json: bool) -> anyhow::Result<Answer> {
    let (keyring, name) = open(spec)?;
    let family = keyring.show(&name).map_err(KeyError::from)?;
    let server = keyring.address().servers[0].to_string();
    let Some(found) = family.versions.iter().find(|found| found.version == version) else {
        return Err(KeyError::MissingVersion {
            wanted: KeyRef { id: name, version },
            place: format!("key server {server}"),
            available: family.versions.iter().map(|found| found.version).collect(),
        }
        .into());
    };
    let key = KeyRef { id: found.id.clone(), version };
    if family.current().is_none_or(|current| current.version <= version) {
        return Err(KeyError::Newest { key, place: format!("key server {server}") }.into());
    }
    let secret = || KmipSource::open(spec)?.get(&key);
    let checked = still_protected(&key, &secret, stores, spec)?;
    keyring.revoke(&found.id, RevocationReason::SUPERSEDED).map_err(KeyError::from)?;
    say(&match stores {
        [] => format!("key {key} is deactivated; no store was looked at"),
        _ => format!("key {key} is deactivated; none of {checked} sealed files is under it"),
    });
    say("it opens old backups until it is destroyed on the server");
    show_family(&keyring.show(&name).map_err(KeyError::from)?, json)
}

fn open(spec: &str) -> anyhow::Result<(Keyring, String)> {
    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    let Some(name) = keyring.address().key_id.clone() else {
        bail!("{spec} names no key\nwrite it after the server, kmip://HOST/KEY, or as key_id in the file");
    };
    Ok((keyring, name))
}

fn tell(made: &NewKey) {
    let NewKey { id, name, version, origin } = made;
    let how = match origin {
        Origin::Server => "drawn by the server",
        Origin::Replaced => "drawn by the server in place of the one before",
        Origin::Drawn => "drawn here and registered, since the server cannot draw it",
        Origin::Imported => "registered",
    };
    say(&format!("made key {name} version {version} ({id}), {how}"));
}

fn show_family(family: &Family, json: bool) -> anyhow::Result<Answer> {
    let state =
        |version: &KeyVersion| version.attributes.state.map_or("unknown".into(), |state: State| state.to_string());
    let cipher = |version: &KeyVersion| version.attributes.cipher();
    if json {
        let versions: Vec<Value> = family
            .versions
            .iter()
            .map(|version| {
                json!({"version": version.version, "id": version.id, "state": state(version), "cipher": cipher(version)})
            })
            .collect();
        print_json(&json!({"schema": SCHEMA, "key": family.key, "versions": versions}))?;
        return Ok(Answer::Done);
    }
    let mut table = Table::new(["KEY", ">VERSION", "STATE", "CIPHER", "ID ON THE SERVER"]);
    for version in &family.versions {
        table.row([
            family.key.clone(),
            version.version.to_string(),
            state(version),
            cipher(version).unwrap_or_else(|| "-".into()),
            version.id.clone(),
        ]);
    }
    print(&table.render(terminal::stdout()))?;
    Ok(Answer::Done)
}
