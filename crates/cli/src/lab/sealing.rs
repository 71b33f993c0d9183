//! Settings with which the members of a new lab seal their data: cipher, key, and the key server
//! that the key may come from.

use std::path::Path;

use anyhow::bail;
use sealstone_cipher::{Cipher, DEFAULT_CIPHER, Provider};
use sealstone_keys::{KeyError, KeyFile, absolute_source, absolute_text, source};
use sealstone_message::Unknown;
use sealstone_servers::{Lab, PYKMIP_SERVER, PyKmip, PyKmipOptions, Server, Settings, state};
use sealstone_store::EngineError;
use sealstone_stores::at_rest::SealedServer;
use sealstone_stores::sealed_server;
use sealstone_volume::attachment;

use crate::flags::{LabSeal, LabSealing};
use crate::key_source;
use crate::message::say;
use crate::sealed_server::sealing as sealing_of;

/// Size of the device of a volume, unless another is named: more than a trial fills.
const VOLUME_BYTES: u64 = 10 << 30;

/// Returns whether any of the flags is given.
pub(super) fn is_asked_for(sealing: &LabSealing) -> bool {
    let LabSealing { key, kmip, seal, size, flags } = sealing;
    key.is_some()
        || *kmip
        || seal.is_some()
        || size.is_some()
        || flags.cipher.is_some()
        || flags.accel.is_some()
        || flags.extension.is_some()
        || flags.opening.passphrase_file.is_some()
        || flags.opening.module.module.is_some()
}

/// Returns the cipher that is named, if one is.
///
/// # Errors
/// A name without a cipher.
pub(super) fn cipher(sealing: &LabSealing) -> Result<Option<&'static Cipher>, Unknown> {
    sealing.flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()
}

/// Returns the settings that make each member of `server` seal its files, if the lab in `dir` must
/// be sealed and is so by its servers. A key server that it needs is started and joins `lab`, and
/// so does a volume.
pub(super) fn settings(
    lab: &mut Lab,
    dir: &Path,
    server: &Server,
    sealing: &LabSealing,
    cipher: Option<&'static Cipher>,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    if !is_asked_for(sealing) {
        return Ok(Vec::new());
    }
    if lab.has_volume() {
        bail!(
            "the lab in {} has a sealed volume, and what joins it is on that\nleave out how to \
             seal, or choose another directory",
            dir.display()
        );
    }
    match sealed_server(server.name).filter(|_| sealing.seal != Some(LabSeal::Volume)) {
        Some(way) => settings_of(lab, dir, way, sealing, cipher),
        None => {
            volume(lab, dir, server, sealing, cipher)?;
            Ok(Vec::new())
        }
    }
}

/// Returns the settings that make each member of `server` seal its own files.
fn settings_of(
    lab: &mut Lab,
    dir: &Path,
    server: &dyn SealedServer,
    sealing: &LabSealing,
    cipher: Option<&'static Cipher>,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    if sealing.size.is_some() {
        bail!("--size is that of a volume\nleave it out, or add --seal volume");
    }
    let key = key(lab, dir, sealing, cipher, || {
        server.find_library(sealing.flags.extension.as_deref()).map(drop)
    })?;
    let sealing = sealing_of(server, &key, &sealing.flags, cipher, false)?;
    server.settings(&sealing).map_err(anyhow::Error::from_boxed)
}

/// Makes a volume for the servers that are started in `lab` from now on.
fn volume(
    lab: &mut Lab,
    dir: &Path,
    server: &Server,
    sealing: &LabSealing,
    cipher: Option<&'static Cipher>,
) -> anyhow::Result<()> {
    let LabSealing { seal, size, flags, .. } = sealing;
    if *seal == Some(LabSeal::Own) {
        bail!("{} does not seal its files\nchoose --seal volume", server.name);
    }
    if flags.extension.is_some() {
        bail!(
            "--extension is a library that a server loads, and a volume needs none\nleave it out"
        );
    }
    if let Some(lack) = attachment::lack() {
        bail!("cannot make a sealed volume on this machine: {lack}");
    }
    let key = key(lab, dir, sealing, cipher, || Ok(()))?;
    let mut settings = Settings::default();
    settings.set("sealstone", std::env::current_exe()?.to_string_lossy());
    settings.set("key", absolute_source(&key)?);
    settings.set("size", size.unwrap_or(VOLUME_BYTES).to_string());
    let mut set = |name, value: Option<String>| {
        value.into_iter().for_each(|value| settings.set(name, value));
    };
    set("cipher", cipher.map(|cipher| cipher.name.to_owned()));
    set("accel", flags.accel.clone());
    let passphrase_file = source::passphrase_file(flags.opening.passphrase_file.as_deref());
    let passphrase_file = passphrase_file.map(|path| absolute_text(&path)).transpose()?;
    set("passphrase-file", passphrase_file);
    set("module", flags.opening.module.module.clone());
    Ok(lab.start_volume(&settings)?)
}

/// Returns the source of the key that is asked for, or of a new one, in a file or on a key server
/// that joins `lab`.
///
/// - `check`: refuses what would make a new key of no use
fn key(
    lab: &mut Lab,
    dir: &Path,
    sealing: &LabSealing,
    cipher: Option<&'static Cipher>,
    check: impl FnOnce() -> Result<(), EngineError>,
) -> anyhow::Result<String> {
    let LabSealing { key, kmip, .. } = sealing;
    if let Some(key) = key {
        return Ok(key.clone());
    }
    if !*kmip && cipher.is_none() {
        bail!(
            "no cipher and no key to seal with\nname a cipher with --cipher, or a key with --key \
             or --kmip"
        );
    }
    check().map_err(anyhow::Error::from_boxed)?;
    state::check_free(dir)?;
    if *kmip {
        return key_server(lab, dir, cipher.unwrap_or(DEFAULT_CIPHER));
    }
    new_key(dir, key_source::provider(sealing.flags.opening.module.module.as_deref())?)
}

/// Makes the key file of a lab, with a key that `generator` draws, or finds that of an earlier
/// attempt.
fn new_key(dir: &Path, generator: Provider) -> anyhow::Result<String> {
    let file = dir.join("lab.key");
    if !file.exists() {
        if let Err(error) = std::fs::create_dir_all(dir) {
            bail!(
                "cannot create directory {}: {error}\nchoose a writable directory",
                dir.display()
            );
        }
        KeyFile::create_by(generator, &file, "lab")?;
        say(&format!("made key lab in {}", file.display()));
    }
    Ok(absolute_text(&file)?)
}

/// Starts a key server in `dir` and makes a key for `cipher` in it. Returns the key source.
fn key_server(lab: &mut Lab, dir: &Path, cipher: &Cipher) -> anyhow::Result<String> {
    if cfg!(not(feature = "kmip")) {
        return Err(KeyError::NoKmip { spec: "--kmip".into() }.into());
    }
    let key = format!("lab-{}", cipher.name);
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
fn make_key(address: &str, spec: &str, key: &str, cipher: &Cipher) -> anyhow::Result<()> {
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
fn make_key(_: &str, spec: &str, _: &str, _: &Cipher) -> anyhow::Result<()> {
    Err(KeyError::NoKmip { spec: spec.into() }.into())
}
