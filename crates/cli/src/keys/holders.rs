//! `sealstone keys passwd` and `keys holder`: the holders of a key file and their passphrases.

use std::path::Path;

use anyhow::bail;
use sealstone_keys::{Cost, Protect, source};

use super::key_answers::show;
use crate::flags::{HolderCommand, HolderFlags, TokenFlags};
use crate::key_source;
use crate::message::{Answer, say};
use crate::path::quoted;

/// The protection that a key file is to get.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    /// File with the passphrase, or the PIN of the token.
    pub(super) passphrase_file: Option<&'a Path>,
    /// True if it is to have none.
    pub(super) no_passphrase: bool,
    /// The token, if one is to protect it.
    pub(super) token: &'a TokenFlags,
}

/// Changes the passphrase of the key file at `path`, gives it a first one, takes it off, or has a
/// token protect it.
pub(super) fn passwd(
    path: &Path,
    new: New<'_>,
    flags: &HolderFlags,
    json: bool,
) -> anyhow::Result<Answer> {
    let New { passphrase_file: new_passphrase_file, no_passphrase, token } = new;
    key_file_only(path)?;
    let key = key_source::open_file(path, flags)?;
    let file = path.display();
    let had_one = key.summary().is_protected();
    if let Some(address) = &token.token {
        let pin = key_source::new_pin(new_passphrase_file, address)?;
        let makes_key = token.new_token_key;
        key.set_protection(Protect::Token { address, pin: &pin, makes_key })?;
        say(&format!(
            "key {} of token {} protects key file {file} from now on; processes that have it open \
             need the PIN at their next start\n\
             copies of the old file open as they did, forever: destroy them, make new ones and, if \
             others may have the key, {}",
            address.key_name(),
            address.token_name(),
            rotating(path)
        ));
        return show(&key.summary(), json);
    }
    let new = if no_passphrase {
        None
    } else {
        let whose = flags
            .holder
            .as_ref()
            .map_or_else(|| format!("for {file}"), |name| format!("of {name} for {file}"));
        Some(key_source::other_passphrase(new_passphrase_file, &whose)?)
    };
    if new.is_none() && !had_one {
        say(&format!("key file {file} has no passphrase; nothing was changed"));
        return show(&key.summary(), json);
    }
    key.set_protection(
        new.as_ref().map_or(Protect::Nothing, |passphrase| {
            Protect::Passphrase(passphrase, Cost::default())
        }),
    )?;
    if new.is_none() {
        say(&format!(
            "warning: key file {file} no longer has a passphrase: anyone who reads it has the key"
        ));
    } else {
        let copies = if had_one {
            "copies of the old file open with the old passphrase, forever"
        } else {
            "copies of the old file open without a passphrase, forever"
        };
        say(&format!(
            "key file {file} has a new passphrase; processes that have it open need that at their \
             next start\n\
             {copies}: destroy them, make new ones and, if others may know {}, {}",
            if had_one { "that passphrase" } else { "the key" },
            rotating(path)
        ));
    }
    show(&key.summary(), json)
}

/// Adds or removes a holder.
pub(super) fn run(command: &HolderCommand) -> anyhow::Result<Answer> {
    match command {
        HolderCommand::Add { key: path, name, new_passphrase_file, first, passphrase, json } => {
            key_file_only(path)?;
            let key = key_source::open_file(path, passphrase)?;
            let (file, named) =
                (path.display(), key.summary().holders.iter().all(|holder| holder.name.is_some()));
            let whose = format!("of {name} for {file}");
            let new = key_source::other_passphrase(new_passphrase_file.as_deref(), &whose)?;
            key.add_holder(name, &new, Cost::default(), first)?;
            if !named {
                say(&format!(
                    "the passphrase that {file} had is now that of holder {first}; earlier \
                     versions of sealstone do not open the file any more"
                ));
            }
            say(&format!("{name} opens key file {file} from now on, with a separate passphrase"));
            show(&key.summary(), *json)
        }
        HolderCommand::Remove { key: path, name, passphrase, json } => {
            key_file_only(path)?;
            let key = key_source::open_file(path, passphrase)?;
            key.remove_holder(name)?;
            say(&format!(
                "{name} is no holder of key file {} any more; copies of the old file, and the \
                 versions in it, remain open to {name}: destroy the copies, make new ones, and {}",
                path.display(),
                rotating(path)
            ));
            show(&key.summary(), *json)
        }
    }
}

/// Describes the steps to take once somebody has the key who should not.
fn rotating(path: &Path) -> String {
    let path = quoted(path);
    format!(
        "rotate the key: sealstone keys rotate {path}, then sealstone rest rotate DIR --key {path}"
    )
}

/// Refuses the address of a key server, for what only key files have.
fn key_file_only(path: &Path) -> anyhow::Result<()> {
    if path.to_str().is_some_and(source::is_kmip) {
        bail!(
            "{} names a key server, and only key files have passphrases\ngive a key file",
            path.display()
        );
    }
    Ok(())
}
