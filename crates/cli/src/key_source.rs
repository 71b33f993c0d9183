//! The key source of a command, and the passphrase of a key file: from a file, or from the
//! terminal; never from the command line, which every user of the machine can read.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_cipher::module::title;
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{KeyError, KeyFile, KeySource, Passphrase, TokenAddress, did_you_mean};

use crate::audit_log;
use crate::flags::{HolderFlags, OpeningFlags, SealedStore};

/// The passphrase of a key source, and the module that uses its keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening<'a> {
    /// File with the passphrase of a key file that has one.
    pub(crate) passphrase_file: Option<&'a Path>,
    /// Holder whose passphrase it is; each is tried if it is absent.
    pub(crate) holder: Option<&'a str>,
    /// Name of the cryptographic module that the key is used in.
    pub(crate) module: Option<&'a str>,
}

impl<'a> From<&'a OpeningFlags> for Opening<'a> {
    fn from(flags: &'a OpeningFlags) -> Self {
        let OpeningFlags { passphrase_file, module } = flags;
        let passphrase_file = passphrase_file.as_deref();
        Self { passphrase_file, holder: None, module: module.module.as_deref() }
    }
}

/// Opens the key source `spec`; the passphrase of a key file that has one comes from the file that
/// is named, from the file that the environment names, or from the terminal.
pub(crate) fn open<'a>(
    spec: &str,
    opening: impl Into<Opening<'a>>,
) -> anyhow::Result<Arc<dyn KeySource>> {
    let Opening { passphrase_file, holder, module } = opening.into();
    let module = module.map(sealstone_modules::load).transpose()?;
    let keys = source::open(spec, &ask(passphrase_file, holder), module)?;
    if audit_log::is_on() {
        // a key server would be asked for the newest version, and its secret
        let file = KeyFile::inspect(spec).ok().filter(|_| !source::is_kmip(spec));
        let newest = file.and_then(|file| Some(file.versions.last()?.0));
        audit_log::key(&keys.name()?, newest);
        if let Some(module) = module {
            audit_log::module(&title(module));
        }
    }
    Ok(keys)
}

/// As [`open`], for new sealed data: a key that does not exist yet can be made.
pub(crate) fn open_to_seal<'a>(
    spec: &str,
    opening: impl Into<Opening<'a>>,
) -> anyhow::Result<Arc<dyn KeySource>> {
    open(spec, opening).map_err(|error| match error.downcast() {
        Ok(KeyError::NoFile { path, nearest }) => anyhow::anyhow!(
            "no key file at {}{}\n{} with: sealstone keys new {}",
            path.display(),
            did_you_mean(nearest.as_deref()),
            if nearest.is_some() { "name that one, or make a new one" } else { "make one" },
            path.display()
        ),
        Ok(other) => other.into(),
        Err(other) => other,
    })
}

/// Returns who computes with a new key: the module of that name, or this program.
pub(crate) fn provider(module: Option<&str>) -> anyhow::Result<Provider> {
    Ok(match module {
        Some(name) => {
            let module = sealstone_modules::load(name)?;
            audit_log::module(&title(module));
            Provider::Module(module)
        }
        None => Provider::own(),
    })
}

/// Opens what opens `store`.
pub(crate) fn of_store(store: &SealedStore) -> anyhow::Result<Arc<dyn KeySource>> {
    open(&store.key, &store.opening)
}

/// As [`open`], for what only key files can do.
pub(crate) fn open_file(path: &Path, flags: &HolderFlags) -> anyhow::Result<KeyFile> {
    let HolderFlags { passphrase_file, holder } = flags;
    let key = KeyFile::open_with(path, &ask(passphrase_file.as_deref(), holder.as_deref()))?;
    audit_log::key(key.id(), key.versions().last().map(|(version, _)| version));
    Ok(key)
}

/// Returns the PIN of the token that `address` names, which protects key files already or is to
/// protect a new one: from the file that is named, from the file that the environment names, or
/// from the terminal.
pub(crate) fn pin(named: Option<&Path>, address: &TokenAddress) -> anyhow::Result<Passphrase> {
    match source::passphrase_file(named) {
        Some(file) => Ok(Passphrase::from_file(file)?),
        None => asked_pin(
            address,
            &format!(
                "name a file that holds it with --passphrase-file or in {PASSPHRASE_VARIABLE}"
            ),
        ),
    }
}

/// As [`pin`], for a file that has another passphrase now: that one may be in the environment.
pub(crate) fn new_pin(named: Option<&Path>, address: &TokenAddress) -> anyhow::Result<Passphrase> {
    match named {
        Some(file) => Ok(Passphrase::from_file(file)?),
        None => asked_pin(address, "name a file that holds it with --new-passphrase-file"),
    }
}

fn asked_pin(address: &TokenAddress, missing: &str) -> anyhow::Result<Passphrase> {
    let token = address.token_name();
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("no PIN of token {token}: there is no terminal to ask on\n{missing}");
    }
    Ok(prompt(&format!("PIN of token {token}: "))?)
}

/// Returns the passphrase of an existing key file, or the PIN of the token that protects it.
fn ask(
    passphrase_file: Option<&Path>,
    holder: Option<&str>,
) -> impl Fn(&Path) -> Result<Passphrase, KeyError> {
    let (named, holder) = (source::passphrase_file(passphrase_file), holder.map(String::from));
    move |key_file| {
        let whose = holder
            .as_ref()
            .map_or_else(|| "passphrase".into(), |holder| format!("passphrase of {holder}"));
        let token = KeyFile::inspect(key_file).ok().and_then(|summary| summary.token);
        let whose = match &token {
            Some(token) => &format!("PIN of token {}", token.token_name()),
            None => &whose,
        };
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
