//! The key source of a command, and the passphrase of a key file: from a file, or from the
//! terminal; never from the command line, which every user of the machine can read.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{KeyError, KeyFile, KeySource, Passphrase, did_you_mean};

use crate::flags::{HolderFlags, SealedStore};

/// Opens the key source `spec`; the passphrase of a key file that has one comes from the file
/// `passphrase_file`, from the file that the environment names, or from the terminal.
pub(crate) fn open(
    spec: &str,
    passphrase_file: Option<&Path>,
) -> anyhow::Result<Arc<dyn KeySource>> {
    open_for(spec, passphrase_file, None)
}

/// As [`open`], for new sealed data: a key that does not exist yet can be made.
pub(crate) fn open_to_seal(
    spec: &str,
    passphrase_file: Option<&Path>,
) -> anyhow::Result<Arc<dyn KeySource>> {
    source::open(spec, &ask(passphrase_file, None)).map_err(|error| match error {
        KeyError::NoFile { path, nearest } => anyhow::anyhow!(
            "no key file at {}{}\nmake one with: sealstone keys new {}",
            path.display(),
            did_you_mean(nearest.as_deref()),
            path.display()
        ),
        other => other.into(),
    })
}

/// Opens what opens `store`.
pub(crate) fn of_store(store: &SealedStore) -> anyhow::Result<Arc<dyn KeySource>> {
    open(&store.key, store.passphrase.passphrase_file.as_deref())
}

/// As [`open`], with the passphrase of `holder`.
pub(crate) fn open_for(
    spec: &str,
    passphrase_file: Option<&Path>,
    holder: Option<&str>,
) -> anyhow::Result<Arc<dyn KeySource>> {
    Ok(source::open(spec, &ask(passphrase_file, holder))?)
}

/// As [`open`], for what only key files can do.
pub(crate) fn open_file(path: &Path, flags: &HolderFlags) -> anyhow::Result<KeyFile> {
    let HolderFlags { passphrase_file, holder } = flags;
    Ok(KeyFile::open_with(path, &ask(passphrase_file.as_deref(), holder.as_deref()))?)
}

/// Returns the passphrase of an existing key file.
fn ask(
    passphrase_file: Option<&Path>,
    holder: Option<&str>,
) -> impl Fn(&Path) -> Result<Passphrase, KeyError> {
    let (named, holder) = (source::passphrase_file(passphrase_file), holder.map(String::from));
    move |key_file| {
        let whose = holder
            .as_ref()
            .map_or_else(|| "passphrase".into(), |holder| format!("passphrase of {holder}"));
        let passphrase = match &named {
            Some(file) => Passphrase::from_file(file),
            None if std::io::stdin().is_terminal() => {
                prompt(&format!("{whose} for {}: ", key_file.display()))
            }
            None => Err(KeyError::NoPassphrase { path: key_file.to_owned() }),
        }?;
        Ok(passphrase.of(holder.clone()))
    }
}

/// Returns the passphrase for a new key file: from the named file, or entered twice if `protect`;
/// else none.
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
    let missing =
        format!("name a file that holds one with --passphrase-file or in {PASSPHRASE_VARIABLE}");
    let asked =
        asked_twice(&format!("for {}", key_file.display()), &missing, "no key file was made")?;
    Ok(Some(asked))
}

/// Returns another passphrase for an existing key file: from the named file, or entered twice.
/// `whose` names its owner: `for orders.key`.
pub(crate) fn other_passphrase(
    passphrase_file: Option<&Path>,
    whose: &str,
) -> anyhow::Result<Passphrase> {
    match passphrase_file {
        Some(file) => Ok(Passphrase::from_file(file)?),
        None => asked_twice(
            whose,
            "name a file that holds one with --new-passphrase-file",
            "nothing was changed",
        ),
    }
}

fn asked_twice(whose: &str, missing: &str, outcome: &str) -> anyhow::Result<Passphrase> {
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("no new passphrase {whose}: there is no terminal to ask on\n{missing}");
    }
    let first = prompt(&format!("new passphrase {whose}: "))?;
    if !first.is(&prompt("once more: ")?) {
        anyhow::bail!("the two passphrases differ\ntry again; {outcome}");
    }
    Ok(first)
}

fn prompt(text: &str) -> Result<Passphrase, KeyError> {
    let place = "the terminal";
    let bad = |error: std::io::Error| KeyError::BadPassphrase {
        place: place.into(),
        found: error.to_string(),
    };
    Passphrase::new(rpassword::prompt_password(text).map_err(bad)?.into_bytes(), place)
}
