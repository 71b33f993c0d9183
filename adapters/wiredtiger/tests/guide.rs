//! The messages that the guide explains match the program's, word by word.

use std::path::PathBuf;

use sealstone_cipher::cipher;
use sealstone_keys::kmip::KmipError;
use sealstone_keys::{KeyError, KeyRef};
use sealstone_message::Unknown;
use sealstone_seal::Fingerprint;
use sealstone_seal::engine_page::{EnginePageError, FORMAT_VERSION};
use sealstone_wiredtiger::{ExtensionError, JournalError, SeriesError, SettingsError, Version};

const GUIDE: &str = include_str!("../../../docs/guide/mongodb.md");

/// Placeholder for something that differs from case to case: as a text, and as a number.
const TEXT: &str = "<text>";
const NUMBER: u32 = 7_654_321;

fn text() -> String {
    TEXT.into()
}

fn path() -> PathBuf {
    TEXT.into()
}

fn key() -> KeyRef {
    KeyRef { id: TEXT.into(), version: NUMBER }
}

/// Returns the first line of a message, with `…` for what differs.
fn pattern(error: &dyn std::error::Error) -> String {
    let fingerprint = Fingerprint([0x5A; 8]).to_string();
    let first = error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut pattern = first.replace(&key().to_string(), "…");
    for differs in
        [&format!("{TEXT:?}"), TEXT, &NUMBER.to_string(), &fingerprint, "aria-256", "aes-256"]
    {
        pattern = pattern.replace(differs, "…");
    }
    pattern
}

fn denied() -> std::io::Error {
    std::io::Error::other(TEXT)
}

/// Returns every message of the table, in its order.
fn messages() -> Vec<String> {
    let mode = pattern(&KeyError::Permissions { path: path(), mode: 0o644 }).replace("0644", "…");
    let key_errors = [
        KeyError::NoFile { path: path(), nearest: None },
        KeyError::Io { action: "read", path: path(), source: denied() },
        KeyError::Owner { path: path(), owner: NUMBER, user: NUMBER },
    ];
    let versions = Version { major: NUMBER, minor: NUMBER, patch: NUMBER };
    let fingerprint = Fingerprint([0x5A; 8]);
    let aria = cipher("aria-256").unwrap().name;
    let mut all: Vec<String> = key_errors.iter().map(|error| pattern(error)).collect();
    all.push(mode);
    let servers = vec![text()];
    let failed = sealstone_cipher::Error::Module { module: TEXT, doing: TEXT };
    let rest: Vec<Box<dyn std::error::Error>> = vec![
        Box::new(ExtensionError::NoPassphrase { key_file: path() }),
        Box::new(KeyError::WrongPassphrase { path: path() }),
        Box::new(KmipError::Unreachable { attempted: text(), servers }),
        Box::new(ExtensionError::OtherKeyId { wanted: text(), held: text(), place: text() }),
        Box::new(ExtensionError::NoKeyId { held: text() }),
        Box::new(ExtensionError::SecretKey),
        Box::new(EnginePageError::OtherKey {
            key: key(),
            place: text(),
            fingerprint,
            own: fingerprint,
        }),
        Box::new(EnginePageError::MissingVersion {
            version: NUMBER,
            fingerprint,
            place: text(),
            held: text(),
        }),
        Box::new(EnginePageError::OtherCipher { found: aria, wanted: "aes-256" }),
        Box::new(EnginePageError::NotSealed { bytes: NUMBER as usize }),
        Box::new(ExtensionError::NoCipher { place: text() }),
        Box::new(SettingsError::Unknown(Unknown::new("setting", TEXT, []))),
        Box::new(SeriesError::UnknownVersion { found: versions }),
        Box::new(SeriesError::NoVersion),
        Box::new(ExtensionError::TooLate { code: NUMBER as i32 }),
        Box::new(ExtensionError::ConfigFile { path: path() }),
        Box::new(JournalError::Record { path: path(), at: NUMBER.into(), found: text() }),
        Box::new(JournalError::NoAccount { path: path() }),
        Box::new(JournalError::Account { path: path(), error: EnginePageError::Random(text()) }),
        Box::new(JournalError::Page { path: path(), error: EnginePageError::Module(failed) }),
        Box::new(JournalError::Missing { path: path(), synced: NUMBER.into() }),
        Box::new(JournalError::Cut {
            path: path(),
            end: NUMBER.into(),
            behind: TEXT,
            synced: NUMBER.into(),
        }),
        Box::new(EnginePageError::Changed {
            bytes: NUMBER as usize,
            key: key(),
            place: text(),
            cipher: aria,
        }),
        Box::new(EnginePageError::UnsupportedVersion { found: FORMAT_VERSION }),
    ];
    all.extend(rest.iter().map(|error| pattern(&**error)));
    all
}

/// Returns the messages in the first column of the table.
fn explained() -> Vec<String> {
    let (_, section) = GUIDE.split_once("\n## If it does not start\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another one");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(message, _)| message.to_owned()).collect()
}

#[test]
fn every_message_of_the_guide_is_one_of_the_program() {
    let explained = explained();
    let messages = messages();
    for (message, guide) in messages.iter().zip(&explained) {
        // the system's error follows a colon; the versions of a format and of WiredTiger are
        // replaced here
        let message = message
            .replace("….….…", "…")
            .replace(&format!("version {FORMAT_VERSION}"), "version …");
        let message = message.split(": no randomness").next().unwrap_or(&message).to_owned();
        let ends =
            [message.clone(), message.trim_end_matches(": …").to_owned(), format!("{message}: …")];
        assert!(ends.contains(guide), "the guide has\n  {guide}\nand the program\n  {message}");
    }
    assert_eq!(explained.len(), messages.len());
}
