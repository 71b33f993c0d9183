//! The text of a key file, in both formats: format 1 contains the secrets in the clear, format 2 sealed under a
//! passphrase. Every byte is specified in `docs/formats.md`. Not here: files (`file`), stretching passphrases
//! (`passphrase`).

use std::fmt;
use std::path::Path;

use sealstone_cipher::aead::{Aead, aead};
use sealstone_cipher::backend::Backend;
use sealstone_cipher::memory;
use sealstone_cipher::registry;
use serde::Deserialize;
use zeroize::{Zeroize, Zeroizing};

use crate::passphrase::{Cost, SALT_BYTES, Stretched};
use crate::{KeyError, Secret, check_key_id, subkey};

/// Format of key files without a passphrase.
pub const FORMAT_PLAIN: i64 = 1;
/// Format of key files under a passphrase, and the newest that is read.
pub const FORMAT_PROTECTED: i64 = 2;

/// Longest key file that is read: room for more than two hundred versions.
pub(super) const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Length of the nonce of a sealed secret, in bytes.
const NONCE_BYTES: usize = 12;
/// Length of its tag, in bytes.
const TAG_BYTES: usize = 16;

/// One version of the key.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) version: u32,
    pub(super) created: String,
    pub(super) secret: Secret,
}

/// What an opened key file holds.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) id: String,
    /// Ascending by version, never empty.
    pub(super) versions: Vec<Version>,
}

/// What a key file says, its secrets not yet opened.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) protection: Option<Protection>,
    /// Ascending by version, never empty.
    entries: Vec<StoredVersion>,
}

/// How the secrets of a file are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protection {
    pub(super) cost: Cost,
    pub(super) salt: [u8; SALT_BYTES],
}

struct StoredVersion {
    version: u32,
    created: String,
    secret: StoredSecret,
}

enum StoredSecret {
    Plain(Secret),
    Sealed { nonce: [u8; NONCE_BYTES], secret: [u8; Secret::BYTES], tag: [u8; TAG_BYTES] },
}

impl Stored {
    /// Reads the text of the key file at `path`, which is for messages.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, KeyError> {
        let garbled = |line, found: String| KeyError::Garbled { path: path.to_owned(), line, found };
        // the parser's own message quotes the line, which may contain the secret: only its position is passed on
        let place = |error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            garbled(line, "not the contents of a key file".into())
        };
        let head: Head = toml::from_str(text).map_err(place)?;
        let (id, protection, mut entries) = match head.format {
            FORMAT_PLAIN => toml::from_str::<Plain>(text).map_err(place)?.taken_apart(),
            FORMAT_PROTECTED => toml::from_str::<Protected>(text).map_err(place)?.taken_apart(),
            newer if newer > FORMAT_PROTECTED => {
                return Err(KeyError::NewerFormat { path: path.to_owned(), found: newer, known: FORMAT_PROTECTED });
            }
            never => return Err(garbled(None, format!("format {never} was never used"))),
        };
        check_key_id(&id).map_err(|error| garbled(None, error.to_string()))?;
        if let Some(Protection { cost, .. }) = protection {
            cost.check().map_err(|found| garbled(None, found))?;
        }
        entries.sort_by_key(|entry| entry.version);
        if entries.is_empty() {
            return Err(garbled(None, "it holds no key".into()));
        }
        if entries[0].version == 0 {
            return Err(garbled(None, "a key has version 0, versions count from 1".into()));
        }
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].version == pair[1].version) {
            return Err(garbled(None, format!("version {} is listed twice", twice[0].version)));
        }
        Ok(Self { id, protection, entries })
    }

    /// Every version, ascending, with the time it was made.
    pub(super) fn versions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.entries.iter().map(|entry| (entry.version, entry.created.as_str()))
    }

    /// Opens the secrets. `stretched` is the passphrase of a protected file, with the salt and cost that it has.
    pub(super) fn open(self, path: &Path, stretched: Option<&Stretched>) -> Result<Content, KeyError> {
        let list: Vec<u32> = self.entries.iter().map(|entry| entry.version).collect();
        let mut versions = Vec::with_capacity(self.entries.len());
        for StoredVersion { version, created, secret } in self.entries {
            let secret = match secret {
                StoredSecret::Plain(secret) => secret,
                StoredSecret::Sealed { nonce, secret, tag } => {
                    let Some(stretched) = stretched else {
                        return Err(KeyError::NoPassphrase { path: path.to_owned() });
                    };
                    let mut opened = Secret::from_bytes(&secret);
                    sealer(stretched, &self.id, version)
                        .open(&nonce, &associated(&self.id, version, &created, &list), opened.as_bytes_mut(), &tag)
                        .map_err(|_| KeyError::WrongPassphrase { path: path.to_owned() })?;
                    opened
                }
            };
            versions.push(Version { version, created, secret });
        }
        Ok(Content { id: self.id, versions })
    }
}

impl Content {
    /// Adds a version; its number must be new.
    pub(super) fn add(&mut self, version: Version) {
        self.versions.push(version);
        self.versions.sort_by_key(|version| version.version);
    }

    pub(super) fn newest(&self) -> &Version {
        self.versions.last().expect("never empty")
    }

    pub(super) fn find(&self, version: u32) -> Option<&Version> {
        self.versions.iter().find(|found| found.version == version)
    }

    /// The text of the key file at `path`, under the passphrase if one is given, each time with fresh nonces.
    ///
    /// # Errors
    /// [`KeyError::Random`]; [`KeyError::Full`] if it would be too long to be read again.
    pub(super) fn to_text(&self, path: &Path, stretched: Option<&Stretched>) -> Result<Zeroizing<String>, KeyError> {
        // with room for all of it, so that no grown-out copy of a secret stays in memory
        let created_bytes: usize = self.versions.iter().map(|version| version.created.len()).sum();
        let mut text = Zeroizing::new(String::with_capacity(2048 + self.versions.len() * 512 + 6 * created_bytes));
        match stretched {
            None => text.push_str(
                "# Sealstone key file. Whoever reads it can open every file sealed under this key;\n\
                 # without it those files are lost. Keep a copy in a safe place, apart from the data.\n",
            ),
            Some(_) => text.push_str(
                "# Sealstone key file, protected by a passphrase. Without both, every file sealed under\n\
                 # this key is lost. Keep copies in safe places, apart from the data and from each other.\n",
            ),
        }
        let format = if stretched.is_none() { FORMAT_PLAIN } else { FORMAT_PROTECTED };
        text.push_str(&format!("format = {format}\nid = \"{}\"\n", self.id));
        if let Some(Stretched { cost, salt, .. }) = stretched {
            let Cost { memory_kib, passes, lanes } = cost;
            text.push_str("\n[passphrase]\nkdf = \"argon2id\"\n");
            text.push_str(&format!("memory_kib = {memory_kib}\npasses = {passes}\nlanes = {lanes}\n"));
            push_hex(&mut text, "salt", salt);
        }
        let list: Vec<u32> = self.versions.iter().map(|version| version.version).collect();
        for Version { version, created, secret } in &self.versions {
            text.push_str(&format!("\n[[keys]]\nversion = {version}\n"));
            // it may come from a file that a person wrote, with anything in it
            text.push_str(&format!("created = {}\n", toml::Value::String(created.clone())));
            match stretched {
                None => push_hex(&mut text, "secret", secret.as_bytes()),
                Some(stretched) => {
                    let mut nonce = [0; NONCE_BYTES];
                    getrandom::fill(&mut nonce).map_err(|source| KeyError::Random(source.to_string()))?;
                    let mut sealed = Zeroizing::new(*secret.as_bytes());
                    let tag = sealer(stretched, &self.id, *version)
                        .seal(&nonce, &associated(&self.id, *version, created, &list), sealed.as_mut_slice())
                        .expect("a nonce and a message of fixed length");
                    push_hex(&mut text, "nonce", &nonce);
                    push_hex(&mut text, "secret", sealed.as_slice());
                    push_hex(&mut text, "tag", &tag);
                }
            }
        }
        if text.len() as u64 > FILE_BYTES_MAX {
            let path = path.to_owned();
            return Err(KeyError::Full { path, bytes: text.len(), bytes_max: FILE_BYTES_MAX });
        }
        Ok(text)
    }
}

/// The cipher that seals one version's secret.
fn sealer(stretched: &Stretched, id: &str, version: u32) -> memory::Protected<dyn Aead> {
    let mut key = Zeroizing::new([0; 32]);
    subkey(stretched.key.as_bytes(), "key file", &[id.as_bytes(), &version.to_be_bytes()], key.as_mut_slice());
    let aes = registry::cipher("aes-256").expect("in the table");
    aead(aes, key.as_slice(), Backend::auto()).expect("a key of the cipher's length")
}

/// What a sealed secret is bound to: its key, version and time, and which versions the file has, so that none can be
/// removed, put back or moved to another file unnoticed.
fn associated(id: &str, version: u32, created: &str, list: &[u32]) -> Vec<u8> {
    let list: Vec<u8> = list.iter().flat_map(|version| version.to_be_bytes()).collect();
    let mut out = Vec::new();
    for part in [id.as_bytes(), &version.to_be_bytes(), created.as_bytes(), &list] {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part);
    }
    out
}

fn push_hex(text: &mut String, name: &str, bytes: &[u8]) {
    text.push_str(name);
    text.push_str(" = \"");
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits"));
        text.push(char::from_digit(u32::from(byte & 15), 16).expect("four bits"));
    }
    text.push_str("\"\n");
}

/// Id, protection and versions of a file.
type Apart = (String, Option<Protection>, Vec<StoredVersion>);

/// The part that every format has.
#[derive(Deserialize)]
struct Head {
    format: i64,
}

/// Format 1, whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    #[serde(rename = "format")]
    _format: i64,
    id: String,
    #[serde(default)]
    keys: Vec<PlainEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainEntry {
    version: u32,
    created: String,
    secret: Hex<{ Secret::BYTES }>,
}

impl Plain {
    fn taken_apart(self) -> Apart {
        let apart = |PlainEntry { version, created, secret }| StoredVersion {
            version,
            created,
            secret: StoredSecret::Plain(Secret::from_bytes(&secret.0)),
        };
        (self.id, None, self.keys.into_iter().map(apart).collect())
    }
}

/// Format 2, whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Protected {
    #[serde(rename = "format")]
    _format: i64,
    id: String,
    passphrase: PassphraseTable,
    #[serde(default)]
    keys: Vec<ProtectedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PassphraseTable {
    #[serde(rename = "kdf")]
    _kdf: Kdf,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: Hex<SALT_BYTES>,
}

#[derive(Deserialize)]
enum Kdf {
    #[serde(rename = "argon2id")]
    Argon2id,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProtectedEntry {
    version: u32,
    created: String,
    nonce: Hex<NONCE_BYTES>,
    secret: Hex<{ Secret::BYTES }>,
    tag: Hex<TAG_BYTES>,
}

impl Protected {
    fn taken_apart(self) -> Apart {
        let PassphraseTable { memory_kib, passes, lanes, salt, .. } = self.passphrase;
        let protection = Protection { cost: Cost { memory_kib, passes, lanes }, salt: **salt.0 };
        let apart = |ProtectedEntry { version, created, nonce, secret, tag }| StoredVersion {
            version,
            created,
            secret: StoredSecret::Sealed { nonce: **nonce.0, secret: **secret.0, tag: **tag.0 },
        };
        (self.id, Some(protection), self.keys.into_iter().map(apart).collect())
    }
}

/// Bytes as hex digits, decoded straight from the text to a place that is zeroed.
struct Hex<const N: usize>(Box<Zeroizing<[u8; N]>>);

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const N: usize>;
        impl<const N: usize> serde::de::Visitor<'_> for Visitor<N> {
            type Value = Hex<N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} hex digits", 2 * N)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hex<N>, E> {
                from_hex(text).ok_or_else(|| E::custom("not that many hex digits"))
            }
            fn visit_string<E: serde::de::Error>(self, mut text: String) -> Result<Hex<N>, E> {
                let bytes = self.visit_str(&text);
                text.zeroize();
                bytes
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

fn from_hex<const N: usize>(text: &str) -> Option<Hex<N>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = Hex(Box::new(Zeroizing::new([0; N])));
    for (byte, pair) in bytes.0.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(bytes)
}
