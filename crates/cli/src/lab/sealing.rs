//! Settings with which the members of a new lab seal their data: cipher, key, and the key server
//! that the key may come from. Not here: their use by a server (`sealstone_stores::at_rest`), keys
//! on other servers (`keys`).

use std::path::Path;

use anyhow::bail;
use sealstone_cipher::DEFAULT_CIPHER;
use sealstone_keys::{KeyError, KeyFile, absolute_text};
use sealstone_servers::{Lab, PYKMIP_SERVER, PyKmip, PyKmipOptions, state};
use sealstone_stores::at_rest::SealedServer;

use crate::flags::LabSealing;
use crate::message::say;
use crate::sealed_server;

/// Returns whether any of the flags is given.
pub(super) fn is_asked_for(sealing: &LabSealing) -> bool {
    let LabSealing { key, kmip, flags } = sealing;
    key.is_some()
        || *kmip
        || flags.cipher.is_some()
        || flags.accel.is_some()
        || flags.extension.is_some()
        || flags.passphrase.passphrase_file.is_some()
}

/// Refuses the name of a cipher that does not exist.
pub(super) fn check(sealing: &LabSealing) -> anyhow::Result<()> {
    sealing.flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    Ok(())
}

/// Returns the settings that make each member of `server` seal its files, if the lab in `dir` must
/// be sealed. A key server that it needs is started and joins `lab`.
pub(super) fn settings(
    lab: &mut Lab,
    dir: &Path,
    server: &dyn SealedServer,
    sealing: &LabSealing,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let LabSealing { key, kmip, flags } = sealing;
    let key = if let Some(key) = key {
        key.clone()
    } else if *kmip || flags.cipher.is_some() {
        // reported before the key is made
        server.find_library(flags.extension.as_deref()).map_err(anyhow::Error::from_boxed)?;
        state::check_free(dir)?;
        if *kmip {
            key_server(lab, dir, flags.cipher.as_deref().unwrap_or(DEFAULT_CIPHER))?
        } else {
            new_key(dir)?
        }
    } else if flags.extension.is_some() || flags.accel.is_some() {
        bail!(
            "no cipher and no key to seal with\nname a cipher with --cipher, or a key with --key \
             or --kmip"
        );
    } else {
        return Ok(Vec::new());
    };
    let sealing = sealed_server::sealing(server, &key, flags, false)?;
    server.settings(&sealing).map_err(anyhow::Error::from_boxed)
}

/// Makes the key file of a lab, or finds that of an earlier attempt.
fn new_key(dir: &Path) -> anyhow::Result<String> {
    let file = dir.join("lab.key");
    if !file.exists() {
        if let Err(error) = std::fs::create_dir_all(dir) {
            bail!(
                "cannot create directory {}: {error}\nchoose a writable directory",
                dir.display()
            );
        }
        KeyFile::create(&file, "lab")?;
        say(&format!("made key lab in {}", file.display()));
    }
    Ok(absolute_text(&file)?)
}

/// Starts a key server in `dir` and makes a key for `cipher` in it. Returns the key source.
fn key_server(lab: &mut Lab, dir: &Path, cipher: &str) -> anyhow::Result<String> {
    if cfg!(not(feature = "kmip")) {
        return Err(KeyError::NoKmip { spec: "--kmip".into() }.into());
    }
    let key = format!("lab-{cipher}");
    let server = PyKmip::start(
        dir,
        PyKmipOptions { key_id: Some(key.clone()), ..PyKmipOptions::default() },
    )?;
    let spec = format!("kmip:{}", absolute_text(&server.address_file())?);
    let address = server.address();
    lab.adopt(&PYKMIP_SERVER, Box::new(server));
    make_key(&address, &spec, &key, cipher)?;
    Ok(spec)
}

#[cfg(feature = "kmip")]
fn make_key(address: &str, spec: &str, key: &str, cipher: &str) -> anyhow::Result<()> {
    use sealstone_keys::Keyring;
    use sealstone_keys::kmip::KmipError;

    let keyring = Keyring::open(spec).map_err(KeyError::from)?;
    match keyring.create(key, cipher) {
        Ok(_) => say(&format!("made key {key} on the key server at {address}")),
        // made by an earlier attempt
        Err(KmipError::NameTaken { .. }) => {}
        Err(error) => return Err(KeyError::from(error).into()),
    }
    Ok(())
}

#[cfg(not(feature = "kmip"))]
fn make_key(_: &str, spec: &str, _: &str, _: &str) -> anyhow::Result<()> {
    Err(KeyError::NoKmip { spec: spec.into() }.into())
}
