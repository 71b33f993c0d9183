//! Servers that are set against each other: plain, under MariaDB's own encryption, and under our
//! plug-in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sealstone_keys::KeyFile;
use sealstone_mariadb::{ServerOptions, file_key_management};

/// Encryption of a server's files.
#[derive(Clone, Debug)]
pub(crate) enum Variant {
    Plain,
    /// By what the server brings itself, with the algorithm of that name.
    Server(&'static str),
    /// By our plug-in, with a cipher, and a backend if one is asked for.
    Ours(String, Option<String>),
}

/// The rival that ours is set against.
pub(crate) const RIVAL: &str = "AES_CTR";

/// Returns all of them: the plain one, the rivals, our ciphers, and our first cipher without the
/// CPU's instructions.
pub(crate) fn all(ciphers: &[String]) -> Vec<Variant> {
    let rivals = [RIVAL, "AES_CBC"].map(Variant::Server);
    let ours = ciphers.iter().map(|cipher| Variant::Ours(cipher.clone(), None));
    let portable =
        ciphers.first().map(|cipher| Variant::Ours(cipher.clone(), Some("portable".into())));
    [Variant::Plain].into_iter().chain(rivals).chain(ours).chain(portable).collect()
}

impl Variant {
    /// Returns its name in tables.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Plain => "plain".into(),
            Self::Server(algorithm) => (*algorithm).into(),
            Self::Ours(cipher, accel) => [Some(cipher), accel.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    /// Returns the arguments of its server; keys are made in `dir`, where they are not yet.
    pub(crate) fn arguments(&self, dir: &Path, plugin: Option<&Path>) -> Result<Vec<String>> {
        match self {
            Self::Plain => Ok(Vec::new()),
            Self::Server(algorithm) => {
                let keys = dir.join("server.keys");
                if !keys.exists() {
                    file_key_management::write_keys(&keys)?;
                }
                Ok(file_key_management::arguments(&keys, algorithm))
            }
            Self::Ours(cipher, accel) => {
                let key = dir.join("our.key");
                if !key.exists() {
                    KeyFile::create(&key, "measured")?;
                }
                let plugin: PathBuf =
                    plugin.context("--plugin names our plug-in")?.canonicalize()?;
                let options = ServerOptions {
                    plugin,
                    key: key.to_string_lossy().into_owned(),
                    cipher: Some(cipher.clone()),
                    accel: accel.clone(),
                    module: None,
                    passphrase_file: None,
                };
                Ok(options.arguments()?)
            }
        }
    }
}
