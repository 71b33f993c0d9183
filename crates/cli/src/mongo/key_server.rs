//! The key server of a lab, and the key that its members take. Not here: how the server runs (`sealstone_stores`), keys on
//! other servers (`keys`).

use std::path::Path;

use sealstone_keys::KeyError;
use sealstone_stores::mongodb::lab::{KeyServer, KeyServerStatus};

/// Starts a key server in the directory `dir` of a new lab and makes a key for `cipher` in it. Gives the key source, too.
/// The server ends with the value.
pub(super) fn start(dir: &Path, cipher: &str) -> anyhow::Result<(KeyServer, String)> {
    if cfg!(not(feature = "kmip")) {
        return Err(KeyError::NoKmip { spec: "--kmip".into() }.into());
    }
    let key = format!("lab-{cipher}");
    let server = KeyServer::start(dir, &key)?;
    let spec = format!("kmip:{}", super::in_text(server.address_file())?);
    make_key(&server, &spec, &key, cipher)?;
    Ok((server, spec))
}

#[cfg(feature = "kmip")]
fn make_key(server: &KeyServer, spec: &str, key: &str, cipher: &str) -> anyhow::Result<()> {
    use sealstone_keys::kmip::{Keyring, KmipError};

    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    match keyring.create(key, cipher) {
        Ok(_) => crate::message::say(&format!("made key {key} on the key server at {}", server.address())),
        // made by an attempt before
        Err(KmipError::NameTaken { .. }) => {}
        Err(error) => return Err(KeyError::from(error).into()),
    }
    Ok(())
}

#[cfg(not(feature = "kmip"))]
fn make_key(_: &KeyServer, spec: &str, _: &str, _: &str) -> anyhow::Result<()> {
    Err(KeyError::NoKmip { spec: spec.into() }.into())
}

/// How it stands, in words.
pub(super) fn line(status: &KeyServerStatus) -> String {
    let process = status.pid.map_or("down".to_string(), |pid| format!("process {pid}"));
    format!("key server {}: {process}; its key: kmip:{}\n", status.address, status.address_file.display())
}
