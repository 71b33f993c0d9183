//! `sealstone mongo` and its like: servers with sealed files, their options, and the sealed data in
//! a data directory. Not here: the servers (`sealstone_stores::at_rest`), test servers (`lab`).

mod check;

use std::path::{Path, PathBuf};

use sealstone_cipher::{Backend, Cipher, DEFAULT_CIPHER};
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{KeyFile, absolute_path, absolute_source};
use sealstone_modules::absolute_name;
use sealstone_stores::at_rest::{SealedServer, Sealing};

use crate::flags::{SealedServerAction, SealedServerCommand, SealingFlags};
use crate::key_source::{self, Opening};
use crate::message::{Answer, print_exactly, say};

/// Runs one of the commands.
pub(crate) fn run(command: &SealedServerCommand) -> anyhow::Result<Answer> {
    let server = command.server;
    match &command.action {
        SealedServerAction::Config { data_dir, key, sealing, format } => {
            config(server, data_dir, key, sealing, format)
        }
        SealedServerAction::Check { dir, json } => check::run(server, dir, *json),
    }
}

fn config(
    server: &dyn SealedServer,
    data_dir: &Path,
    key: &str,
    flags: &SealingFlags,
    format: &str,
) -> anyhow::Result<Answer> {
    let data_dir = absolute_path(data_dir)?;
    // a server would report a wrong name by not starting
    let cipher = flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    let sealing = sealing(server, key, flags, cipher, check::is_there(&data_dir))?;
    print_exactly(
        &server.options(&sealing, &data_dir, format).map_err(anyhow::Error::from_boxed)?,
    )?;
    check::remark(server, &data_dir);
    Ok(Answer::Done)
}

/// Returns what `server` is to seal with. The key is opened to check that the settings lead to a
/// key.
///
/// - `named`: the cipher that `flags` name
/// - `sealed`: whether there may be data under that key already
pub(crate) fn sealing(
    server: &dyn SealedServer,
    key: &str,
    flags: &SealingFlags,
    named: Option<&'static Cipher>,
    sealed: bool,
) -> anyhow::Result<Sealing> {
    // reported before a passphrase is asked for, as a wrong cipher is
    if let Some(accel) = flags.accel.as_deref().filter(|name| *name != "auto") {
        Backend::by_name(accel)?;
    }
    let library =
        server.find_library(flags.extension.as_deref()).map_err(anyhow::Error::from_boxed)?;
    let passphrase_file = passphrase_file(flags)?;
    let module = flags.opening.module.module.as_deref().map(absolute_name).transpose()?;
    let opening = Opening {
        passphrase_file: passphrase_file.as_deref(),
        holder: None,
        module: module.as_deref(),
    };
    let keys = if sealed {
        key_source::open(key, opening)?
    } else {
        key_source::open_to_seal(key, opening)?
    };
    let cipher = named.or_else(|| keys.cipher()).unwrap_or(DEFAULT_CIPHER);
    if let Some(caveat) = cipher.caveat {
        say(&format!("{}: {caveat}", cipher.name));
    }
    if passphrase_file.is_none() && !source::is_kmip(key) && KeyFile::inspect(key)?.is_protected() {
        say(&format!(
            "{} cannot ask for the passphrase of {key}: name a file that holds it with \
             --passphrase-file, or in {PASSPHRASE_VARIABLE} of its environment",
            server.product()
        ));
    }
    Ok(Sealing {
        library,
        key: absolute_source(key)?,
        key_id: keys.name()?,
        cipher: Some(cipher),
        accel: flags.accel.clone(),
        module,
        passphrase_file,
    })
}

fn passphrase_file(flags: &SealingFlags) -> anyhow::Result<Option<PathBuf>> {
    let named = source::passphrase_file(flags.opening.passphrase_file.as_deref());
    Ok(named.map(|path| absolute_path(&path)).transpose()?)
}
