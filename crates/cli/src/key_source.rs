//! The key source that a command was given, and the passphrase of a key file: from a file, or asked for on the
//! terminal; never from the command line, which every user of the machine can read.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use sealstone_keys::file::KeyFile;
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{KeyError, KeySource, Passphrase};

/// Opens the key source `spec`; the passphrase of a key file that has one comes from the file `passphrase_file`, from
/// the file that the environment names, or from the terminal.
pub(crate) fn open(spec: &str, passphrase_file: Option<&Path>) -> anyhow::Result<Arc<dyn KeySource>> {
    Ok(source::open(spec, &ask(passphrase_file))?)
}

/// As [`open`], for what only key files can do.
pub(crate) fn open_file(path: &Path, passphrase_file: Option<&Path>) -> anyhow::Result<KeyFile> {
    Ok(KeyFile::open_with(path, &ask(passphrase_file))?)
}

/// Returns the passphrase of an existing key file.
fn ask(passphrase_file: Option<&Path>) -> impl Fn(&Path) -> Result<Passphrase, KeyError> {
    let named = source::passphrase_file(passphrase_file);
    move |key_file| match &named {
        Some(file) => Passphrase::from_file(file),
        None if std::io::stdin().is_terminal() => prompt(&format!("passphrase of {}: ", key_file.display())),
        None => Err(KeyError::NoPassphrase { path: key_file.to_owned() }),
    }
}

/// The passphrase for a key file that is to be made: the one in the file that is named, or one that is asked for twice
/// if `protect`; else none.
pub(crate) fn new_passphrase(
    protect: bool,
    passphrase_file: Option<&Path>,
    key_file: &Path,
) -> anyhow::Result<Option<Passphrase>> {
    if let Some(file) = source::passphrase_file(passphrase_file) {
        return Ok(Some(Passphrase::from_file(file)?));
    }
    if !protect {
        return Ok(None);
    }
    if !std::io::stdin().is_terminal() {
        anyhow::bail!(
            "no passphrase for {}: there is no terminal to ask on\n\
             name a file that holds one with --passphrase-file or in {PASSPHRASE_VARIABLE}",
            key_file.display()
        );
    }
    let first = prompt(&format!("new passphrase of {}: ", key_file.display()))?;
    if !first.is(&prompt("once more: ")?) {
        anyhow::bail!("the two passphrases differ\ntry again; no key file was made");
    }
    Ok(Some(first))
}

fn prompt(text: &str) -> Result<Passphrase, KeyError> {
    let place = "the terminal";
    let bad = |error: std::io::Error| KeyError::BadPassphrase { place: place.into(), found: error.to_string() };
    Passphrase::new(rpassword::prompt_password(text).map_err(bad)?.into_bytes(), place)
}
