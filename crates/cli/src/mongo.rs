//! `sealstone mongo`: MongoDB with its files sealed: the options it is started with, and what is sealed in a data
//! directory. Not here: servers to try it on (`lab`).

mod check;
mod prometheus;

use std::path::{Path, PathBuf};

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry::{self, DEFAULT_CIPHER};
use sealstone_keys::absolute;
use sealstone_keys::file::KeyFile;
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_wiredtiger::engine_options::{EngineOptions, find_extension};
use sealstone_wiredtiger::settings::Settings;

use crate::flags::{MongoCommand, OptionsFormat, SealingFlags};
use crate::key_source;
use crate::message::{Answer, print_exactly, say};

/// Runs one of the commands.
pub(crate) fn run(command: &MongoCommand) -> anyhow::Result<Answer> {
    match command {
        MongoCommand::Config { dbpath, key, sealing, format } => config(dbpath, key, sealing, *format),
        MongoCommand::Check { dir, json, prometheus } => check::run(dir, *json, *prometheus),
    }
}

fn config(dbpath: &Path, key: &str, sealing: &SealingFlags, format: OptionsFormat) -> anyhow::Result<Answer> {
    let dbpath = absolute::path(dbpath)?;
    let options = engine_options(key, sealing, check::is_there(&dbpath))?;
    print_exactly(&match format {
        OptionsFormat::Options => format!("{}\n", options.command_line(&dbpath)?),
        OptionsFormat::Yaml => options.yaml(&dbpath)?,
    })?;
    check::remark(&dbpath);
    Ok(Answer::Done)
}

/// Returns the options that are written for the extension. The key is opened to check that they
/// lead to a key.
///
/// - `sealed`: whether there may be data under that key already
pub(crate) fn engine_options(key: &str, sealing: &SealingFlags, sealed: bool) -> anyhow::Result<EngineOptions> {
    // a server would report a wrong name by not starting; here it is reported before a passphrase is asked for
    sealing.cipher.as_deref().map(registry::cipher).transpose()?;
    if let Some(accel) = sealing.accel.as_deref().filter(|name| *name != "auto") {
        Backend::by_name(accel)?;
    }
    let extension = find_extension(sealing.extension.as_deref())?;
    let passphrase_file = passphrase_file(sealing)?;
    let open = if sealed { key_source::open } else { key_source::open_to_seal };
    let keys = open(key, passphrase_file.as_deref())?;
    let cipher = source::cipher(sealing.cipher.as_deref(), &*keys)?;
    let cipher = cipher.map_or_else(|| registry::cipher(DEFAULT_CIPHER), Ok)?;
    if let Some(caveat) = cipher.caveat {
        say(&format!("{}: {caveat}", cipher.name));
    }
    if passphrase_file.is_none() && !source::is_kmip(key) && KeyFile::inspect(key)?.is_protected() {
        say(&format!(
            "mongod cannot ask for the passphrase of {key}: name a file that holds it with --passphrase-file, or in \
             {PASSPHRASE_VARIABLE} of its environment"
        ));
    }
    let settings = Settings {
        cipher: Some(cipher.name.into()),
        accel: sealing.accel.clone(),
        passphrase_file,
        ..Settings::new(absolute::source(key)?)
    };
    Ok(EngineOptions { extension, key_id: keys.name()?, settings })
}

fn passphrase_file(sealing: &SealingFlags) -> anyhow::Result<Option<PathBuf>> {
    let named = source::passphrase_file(sealing.passphrase.passphrase_file.as_deref());
    Ok(named.map(|path| absolute::path(&path)).transpose()?)
}

pub(crate) fn in_text(path: PathBuf) -> anyhow::Result<String> {
    Ok(absolute::text(&path)?)
}
