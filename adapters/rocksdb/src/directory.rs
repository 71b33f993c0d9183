//! What a directory holds before a store is opened in it, and what went wrong when opening failed, in words for the
//! person who has to act. Not here: checking what is sealed (`rest`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sealstone_bench::store::StoreError;
use sealstone_cipher::registry::Cipher;
use sealstone_seal::{HEADER_BYTES, inspect, is_sealed};

use crate::ffi::{Code, Error};

/// Checks that a store of `cipher` (none: unsealed) may be opened or made in `dir`.
///
/// # Errors
/// A directory that is not a store, or whose store is sealed otherwise.
pub(crate) fn check(dir: &Path, cipher: Option<&'static Cipher>) -> Result<(), StoreError> {
    let shown = dir.display();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return told(format!("{shown} is a file, not a directory\ngive an empty or new directory"));
        }
        Err(error) => return told(format!("cannot read directory {shown}: {error}\n{}", next_step(&error))),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| StoreError(format!("cannot read directory {shown}: {error}")))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    if !names.iter().any(|name| name == "CURRENT") {
        return match names.iter().find(|name| !is_ours(name)) {
            Some(name) => told(format!(
                "{shown} is not a RocksDB store: it holds {name} and has no file CURRENT\n\
                 give an empty or new directory"
            )),
            None => Ok(()),
        };
    }
    let current = dir.join("CURRENT");
    let mut header = Vec::new();
    File::open(&current)
        .and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut header))
        .map_err(|error| StoreError(format!("cannot read {}: {error}\n{}", current.display(), next_step(&error))))?;
    match (cipher, is_sealed(&header)) {
        (None, true) => told(format!(
            "the store in {shown} is sealed, but was to be opened without encryption\n\
             name its cipher and give its key, or take another directory; `sealstone rest status {shown}` says more"
        )),
        (Some(cipher), false) => told(format!(
            "the store in {shown} is not sealed, but was to be opened with {}\n\
             open it without encryption, or take another directory; nothing was written",
            cipher.name
        )),
        (Some(cipher), true) => match inspect(&header) {
            Ok(info) if info.cipher.id != cipher.id => told(format!(
                "the store in {shown} is sealed with {}, but was to be opened with {}\n\
                 name the cipher it has, or take another directory",
                info.cipher.name, cipher.name
            )),
            // what is wrong with the header, opening the file tells best
            _ => Ok(()),
        },
        (None, false) => Ok(()),
    }
}

/// Whether RocksDB makes files of this name before `CURRENT` exists, so that a directory with nothing else is a store
/// whose making was interrupted.
fn is_ours(name: &str) -> bool {
    const MADE_EARLY: [&str; 5] = ["LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"];
    MADE_EARLY.iter().any(|prefix| name.starts_with(prefix)) || name.ends_with(".dbtmp") || name.ends_with(".log")
}

/// Turns what RocksDB said about the store in `dir` into a message with the next step. `attempt` is what was being
/// done: `open`, `read`, `write`.
pub(crate) fn explain(attempt: &str, dir: &Path, error: &Error) -> StoreError {
    let shown = dir.display();
    let text = error.text.as_str();
    let message = if text.contains("LOCK: ") && (text.contains("lock") || text.contains("Resource temporarily")) {
        format!("the store in {shown} is in use by another process\nend that process first, or take another directory")
    } else if error.code == Code::NoSpace || text.contains("No space left") {
        format!(
            "cannot {attempt} the store in {shown}: no space left on the device ({text})\n\
             make room, or take a directory on another device; nothing that was acknowledged is lost"
        )
    } else if text.contains("Permission denied") {
        format!("cannot {attempt} the store in {shown}: {text}\ngive this user access, or take another directory")
    } else {
        format!("cannot {attempt} the store in {shown}: {text}")
    };
    StoreError(message)
}

fn next_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "give this user access, or take another directory",
        _ => "check the device, or take another directory",
    }
}

fn told<T>(message: String) -> Result<T, StoreError> {
    Err(StoreError(message))
}
