//! The text of a key file, in its four formats: format 1 contains the secrets in the clear, format
//! 2 sealed under a passphrase, format 3 under a file key that each of several holders can open
//! with their own passphrase, format 4 sealed by a PKCS #11 token. Every byte is specified in
//! `docs/formats.md`. Not here: files (`file`), stretching passphrases (`passphrase`), the entry of
//! a holder (`holders`), tokens (`token`).

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::Provider;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::hex::{Hex, push_hex};
use super::holders::{self, Holder, IDENTITY_BYTES, Wrapped, X25519_BYTES};
use super::sealed_bytes::{NONCE_BYTES, NotOpened, Purpose, Sealed, TAG_BYTES, parts};
use crate::passphrase::{Cost, SALT_BYTES, Stretched};
use crate::token::{SealedByToken, Token, TokenAddress, TokenError};
use crate::{KeyError, Secret, check_key_id};

/// Format of key files without a passphrase.
pub(crate) const FORMAT_PLAIN: i64 = 1;
/// Format of key files under one passphrase.
pub(crate) const FORMAT_PROTECTED: i64 = 2;
/// Format of key files with several holders.
pub(crate) const FORMAT_HOLDERS: i64 = 3;
/// Format of key files under a key of a token, and the newest that is read.
pub(crate) const FORMAT_TOKEN: i64 = 4;

/// Longest key file that is read: room for more than two hundred versions, or for one hundred and
/// all holders.
pub(super) const FILE_BYTES_MAX: u64 = 64 * 1024;

/// One version of the key.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) version: u32,
    pub(super) created: String,
    pub(super) secret: Secret,
}

/// Contents of an opened key file.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) id: String,
    /// Ascending by version, never empty.
    pub(super) versions: Vec<Version>,
    pub(super) guard: Guard,
}

/// Protection of the secrets of an opened key file, with everything needed to write it again.
#[derive(Debug)]
pub(super) enum Guard {
    /// Nothing but the mode of the file.
    Mode,
    /// One passphrase.
    Passphrase(Arc<Stretched>),
    /// The passphrase of each holder.
    Holders {
        /// The passphrase that opened the file.
        mine: Arc<Stretched>,
        /// In the order of the file, never empty.
        list: Vec<Holder>,
        /// Secret that all of them share.
        membership: Secret,
    },
    /// A key of a token, which seals and opens the secrets itself.
    Token(Arc<Token>),
}

/// Means by which the secrets of a file are opened.
#[derive(Clone, Debug)]
pub(super) enum Opener {
    /// The file alone.
    Nothing,
    /// A passphrase, with the salt and cost of one that the file has.
    Passphrase(Arc<Stretched>),
    /// The token that the file names, with its PIN.
    Token(Arc<Token>),
}

impl Guard {
    /// Returns the means by which the file was opened.
    pub(super) fn opener(&self) -> Opener {
        match self {
            Self::Mode => Opener::Nothing,
            Self::Passphrase(stretched) => Opener::Passphrase(stretched.clone()),
            Self::Holders { mine, .. } => Opener::Passphrase(mine.clone()),
            Self::Token(token) => Opener::Token(token.clone()),
        }
    }
}

/// Contents of a key file whose secrets are not yet opened.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) protection: Protection,
    /// Ascending by version, never empty.
    entries: Vec<StoredVersion>,
}

/// Protection of the secrets of a file.
pub(super) enum Protection {
    Mode,
    Passphrase(Salted),
    Holders(Vec<(Holder, Wrapped)>),
    Token(TokenAddress),
}

/// Parameters with which a passphrase is stretched.
pub(super) type Salted = (Cost, [u8; SALT_BYTES]);

impl Protection {
    /// Returns every passphrase that opens the file: its holder's name if it has one, and what it
    /// is stretched with.
    pub(super) fn passphrases(&self) -> Vec<(Option<&str>, Salted)> {
        match self {
            Self::Mode | Self::Token(_) => Vec::new(),
            Self::Passphrase(salted) => vec![(None, *salted)],
            Self::Holders(list) => list
                .iter()
                .map(|(holder, _)| (Some(holder.name.as_str()), (holder.cost, holder.salt)))
                .collect(),
        }
    }

    /// Returns whether `opener` is a means for this protection.
    pub(super) fn takes(&self, opener: &Opener) -> bool {
        match (self, opener) {
            (Self::Mode, Opener::Nothing) => true,
            // a passphrase that became that of a holder is still the same
            (_, Opener::Passphrase(known)) => {
                self.passphrases().iter().any(|(_, found)| *found == (known.cost, known.salt))
            }
            (Self::Token(address), Opener::Token(token)) => address == token.address(),
            _ => false,
        }
    }
}

struct StoredVersion {
    version: u32,
    created: String,
    secret: StoredSecret,
}

enum StoredSecret {
    Plain(Secret),
    Sealed(Sealed<{ Secret::BYTES }>),
}

impl Stored {
    /// Reads the text of the key file at `path`, which is for messages.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, KeyError> {
        let garbled =
            |line, found: String| KeyError::Garbled { path: path.to_owned(), line, found };
        // the parser's own message quotes the line, which may contain the secret: only its position
        // is passed on
        let place = |error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            garbled(line, "not the contents of a key file".into())
        };
        let head: Head = toml::from_str(text).map_err(place)?;
        let (id, protection, mut entries) = match head.format {
            FORMAT_PLAIN => toml::from_str::<Plain>(text).map_err(place)?.taken_apart(),
            FORMAT_PROTECTED => toml::from_str::<Protected>(text).map_err(place)?.taken_apart(),
            FORMAT_HOLDERS => toml::from_str::<Held>(text).map_err(place)?.taken_apart(),
            FORMAT_TOKEN => toml::from_str::<InToken>(text)
                .map_err(place)?
                .taken_apart()
                .map_err(|found| garbled(None, found.to_string()))?,
            newer if newer > FORMAT_TOKEN => {
                return Err(KeyError::NewerFormat {
                    path: path.to_owned(),
                    found: newer,
                    known: FORMAT_TOKEN,
                });
            }
            never => return Err(garbled(None, format!("format {never} was never used"))),
        };
        check_key_id(&id).map_err(|error| garbled(None, error.to_string()))?;
        match &protection {
            Protection::Mode | Protection::Token(_) => Ok(()),
            Protection::Passphrase((cost, _)) => cost.check(),
            Protection::Holders(list) => holders::check(list.iter().map(|(holder, _)| holder)),
        }
        .map_err(|found| garbled(None, found))?;
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

    /// Returns every version, ascending, with the time it was made.
    pub(super) fn versions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.entries.iter().map(|entry| (entry.version, entry.created.as_str()))
    }

    /// Opens the secrets by `opener`.
    ///
    /// # Errors
    /// [`KeyError::NoPassphrase`] where `opener` is none for this file, and those of each means.
    pub(super) fn open(&self, path: &Path, opener: &Opener) -> Result<Content, KeyError> {
        let no_passphrase = || KeyError::NoPassphrase { path: path.to_owned() };
        let wrong = |_: NotOpened| KeyError::WrongPassphrase { path: path.to_owned() };
        let (guard, versions) = match (&self.protection, opener) {
            (Protection::Mode, _) => {
                let opened = self.opened(None, |_, _, _| Err(no_passphrase()));
                (Guard::Mode, opened?)
            }
            (Protection::Passphrase(_), Opener::Passphrase(stretched)) => {
                let opened = self.opened(None, |entry, associated, out| {
                    entry.open(&self.id, &stretched.key, associated, out).map_err(wrong)
                });
                (Guard::Passphrase(stretched.clone()), opened?)
            }
            (Protection::Holders(list), Opener::Passphrase(mine)) => {
                let found = list.iter().find(|(holder, _)| holder.is(mine)).ok_or(NotOpened);
                let (holder, wrapped) = found.map_err(wrong)?;
                let identity = holder.identity(&self.id, mine).map_err(wrong)?;
                let file_key = holder.unwrap(&self.id, &identity, wrapped).map_err(wrong)?;
                let binding =
                    holders::binding(list.iter().map(|(holder, wrapped)| (holder, wrapped)));
                let opened = self.opened(Some(&binding), |entry, associated, out| {
                    entry.open(&self.id, &file_key, associated, out).map_err(wrong)
                });
                let list = list.iter().map(|(holder, _)| holder.clone()).collect();
                let membership = identity.membership;
                (Guard::Holders { mine: mine.clone(), list, membership }, opened?)
            }
            (Protection::Token(_), Opener::Token(token)) => {
                let key = token.key().map_err(KeyError::of_token(path))?;
                let opened = self.opened(Some(TOKEN_BINDING), |entry, associated, out| {
                    let Sealed { nonce, bytes, tag } = entry.sealed;
                    let sealed = SealedByToken { nonce, bytes, tag };
                    key.open_sealed(&sealed, associated, out).map_err(KeyError::of_token(path))
                });
                (Guard::Token(token.clone()), opened?)
            }
            _ => return Err(no_passphrase()),
        };
        Ok(Content { id: self.id.clone(), versions, guard })
    }

    /// Returns every version, opened by `open` where it is sealed.
    ///
    /// - `binding`: all else that the secrets of this file are bound to
    /// - `open`: called with what is sealed, what that is bound to, and the place for the secret
    fn opened(
        &self,
        binding: Option<&[u8]>,
        open: impl Fn(&SealedEntry, &[u8], &mut [u8; Secret::BYTES]) -> Result<(), KeyError>,
    ) -> Result<Vec<Version>, KeyError> {
        let list: Vec<u32> = self.entries.iter().map(|entry| entry.version).collect();
        let mut versions = Vec::with_capacity(self.entries.len());
        for StoredVersion { version, created, secret } in &self.entries {
            let secret = match secret {
                StoredSecret::Plain(secret) => secret.duplicate()?,
                StoredSecret::Sealed(sealed) => {
                    let associated = associated(&self.id, *version, created, &list, binding);
                    let mut opened = Secret::zero();
                    let entry = SealedEntry { version: *version, sealed: sealed.clone() };
                    open(&entry, &associated, opened.as_bytes_mut())?;
                    opened
                }
            };
            versions.push(Version { version: *version, created: created.clone(), secret });
        }
        Ok(versions)
    }
}

/// The sealed secret of one version.
struct SealedEntry {
    version: u32,
    sealed: Sealed<{ Secret::BYTES }>,
}

impl SealedEntry {
    /// Opens it with `key`, into `out`, which contains nothing of use after an error.
    fn open(
        &self,
        id: &str,
        key: &Secret,
        associated: &[u8],
        out: &mut [u8; Secret::BYTES],
    ) -> Result<(), NotOpened> {
        let context: [&[u8]; 2] = [id.as_bytes(), &self.version.to_be_bytes()];
        self.sealed.open(key, (PURPOSE, &context), associated, out)
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

    /// Returns the text of the key file at `path`, each time with fresh nonces and, if it has
    /// holders, a fresh file key.
    ///
    /// # Errors
    /// [`KeyError::Random`]; [`KeyError::Full`] if it would be too long to be read again;
    /// [`KeyError::Garbled`] if nothing can be wrapped to a holder.
    pub(super) fn to_text(&self, path: &Path) -> Result<Zeroizing<String>, KeyError> {
        // with room for all of it, so that no grown-out copy of a secret stays in memory
        let created_bytes: usize = self.versions.iter().map(|version| version.created.len()).sum();
        let room =
            2048 + holders::HOLDERS_MAX * 1024 + self.versions.len() * 512 + 6 * created_bytes;
        let mut text = Zeroizing::new(String::with_capacity(room));
        let (format, first_lines) = match self.guard {
            Guard::Mode => (FORMAT_PLAIN, LINES_PLAIN),
            Guard::Passphrase(_) => (FORMAT_PROTECTED, LINES_PROTECTED),
            Guard::Holders { .. } => (FORMAT_HOLDERS, LINES_PROTECTED),
            Guard::Token(_) => (FORMAT_TOKEN, LINES_TOKEN),
        };
        text.push_str(first_lines);
        text.push_str(&format!("format = {format}\nid = \"{}\"\n", self.id));
        match &self.guard {
            Guard::Mode => self.push_versions(&mut text, None, |_, secret, _| {
                Ok(Written::Plain(secret.duplicate()?))
            }),
            Guard::Passphrase(stretched) => {
                text.push_str("\n[passphrase]\n");
                push_salted(&mut text, (stretched.cost, stretched.salt));
                self.push_versions(&mut text, None, |version, secret, associated| {
                    self.sealed(&stretched.key, version, secret, associated)
                })
            }
            Guard::Holders { list, membership, .. } => {
                let file_key = Secret::random(Provider::own())?;
                let mut wrapped = Vec::with_capacity(list.len());
                for holder in list {
                    let found = || {
                        format!(
                            "nothing can be wrapped to the public key of holder {}",
                            holder.name
                        )
                    };
                    let garbled =
                        |_| KeyError::Garbled { path: path.to_owned(), line: None, found: found() };
                    wrapped.push(holder.wrap(&self.id, &file_key, membership).map_err(garbled)?);
                }
                list.iter()
                    .zip(&wrapped)
                    .for_each(|(holder, wrapped)| push_holder(&mut text, holder, wrapped));
                let binding = holders::binding(list.iter().zip(&wrapped));
                self.push_versions(&mut text, Some(&binding), |version, secret, associated| {
                    self.sealed(&file_key, version, secret, associated)
                })
            }
            Guard::Token(token) => {
                text.push_str(&format!("\n[token]\nuri = \"{}\"\n", token.address()));
                let key = token.key().map_err(KeyError::of_token(path))?;
                self.push_versions(&mut text, Some(TOKEN_BINDING), |_, secret, associated| {
                    let sealed = key.seal(secret.as_bytes(), associated);
                    let SealedByToken { nonce, bytes, tag } =
                        sealed.map_err(KeyError::of_token(path))?;
                    Ok(Written::Sealed(Sealed { nonce, bytes, tag }))
                })
            }
        }?;
        if text.len() as u64 > FILE_BYTES_MAX {
            let path = path.to_owned();
            return Err(KeyError::Full { path, bytes: text.len(), bytes_max: FILE_BYTES_MAX });
        }
        Ok(text)
    }

    /// Seals a secret under `key`.
    fn sealed(
        &self,
        key: &Secret,
        version: u32,
        secret: &Secret,
        associated: &[u8],
    ) -> Result<Written, KeyError> {
        let context: [&[u8]; 2] = [self.id.as_bytes(), &version.to_be_bytes()];
        let purpose: Purpose<'_> = (PURPOSE, &context);
        Ok(Written::Sealed(Sealed::seal(secret.as_bytes(), key, purpose, associated)?))
    }

    /// Adds the versions to `text`, each as `written` makes it of the number, the secret, and what
    /// it is to be bound to.
    fn push_versions(
        &self,
        text: &mut String,
        binding: Option<&[u8]>,
        written: impl Fn(u32, &Secret, &[u8]) -> Result<Written, KeyError>,
    ) -> Result<(), KeyError> {
        let list: Vec<u32> = self.versions.iter().map(|version| version.version).collect();
        for Version { version, created, secret } in &self.versions {
            text.push_str(&format!("\n[[keys]]\nversion = {version}\n"));
            // it may come from a file that a person wrote, with anything in it
            text.push_str(&format!("created = {}\n", toml::Value::String(created.clone())));
            let associated = associated(&self.id, *version, created, &list, binding);
            match written(*version, secret, &associated)? {
                Written::Plain(secret) => push_hex(text, "secret", secret.as_bytes()),
                Written::Sealed(sealed) => {
                    push_hex(text, "nonce", &sealed.nonce);
                    push_hex(text, "secret", &sealed.bytes);
                    push_hex(text, "tag", &sealed.tag);
                }
            }
        }
        Ok(())
    }
}

/// A secret as it is written.
enum Written {
    Plain(Secret),
    Sealed(Sealed<{ Secret::BYTES }>),
}

/// First lines of files without protection of their own.
const LINES_PLAIN: &str = "\
# Sealstone key file. Anyone who reads it can open every file sealed under this key;
# without it those files are lost. Keep a copy in a safe place, apart from the data.
";
/// First lines of files under a passphrase.
const LINES_PROTECTED: &str = "\
# Sealstone key file, protected by a passphrase. Without both, every file sealed under
# this key is lost. Keep copies in safe places, apart from the data and from each other.
";
/// First lines of files under a key of a token.
const LINES_TOKEN: &str = "\
# Sealstone key file, sealed by a key in a token. Without this file and that key, every file
# sealed under this key is lost. Keep a copy of this file, and a backup of the token.
";

/// All else that secrets sealed by a token are bound to.
const TOKEN_BINDING: &[u8] = b"sealstone key file 4";

/// Purpose of the key of each version's secret.
const PURPOSE: &str = "key file";

/// Builds the data that a sealed secret is bound to: its key, version and time, the versions in the
/// file, and everything about its holders, so that none can be removed, put back, exchanged or
/// moved to another file unnoticed.
fn associated(
    id: &str,
    version: u32,
    created: &str,
    list: &[u32],
    binding: Option<&[u8]>,
) -> Vec<u8> {
    let list: Vec<u8> = list.iter().flat_map(|version| version.to_be_bytes()).collect();
    let mut out = parts(&[id.as_bytes(), &version.to_be_bytes(), created.as_bytes(), &list]);
    if let Some(binding) = binding {
        out.extend(parts(&[binding]));
    }
    out
}

fn push_salted(text: &mut String, (cost, salt): Salted) {
    let Cost { memory_kib, passes, lanes } = cost;
    text.push_str(&format!(
        "kdf = \"argon2id\"\nmemory_kib = {memory_kib}\npasses = {passes}\nlanes = {lanes}\n"
    ));
    push_hex(text, "salt", &salt);
}

fn push_holder(text: &mut String, holder: &Holder, wrapped: &Wrapped) {
    text.push_str(&format!("\n[[holders]]\nname = \"{}\"\n", holder.name));
    push_salted(text, (holder.cost, holder.salt));
    push_hex(text, "nonce", &holder.identity.nonce);
    push_hex(text, "identity", &holder.identity.bytes);
    push_hex(text, "tag", &holder.identity.tag);
    push_hex(text, "public", &holder.public);
    push_hex(text, "encapsulated", &wrapped.encapsulated);
    push_hex(text, "file_key", &wrapped.file_key);
    push_hex(text, "file_key_tag", &wrapped.tag);
}

/// Id, protection and versions of a file.
type Apart = (String, Protection, Vec<StoredVersion>);

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
        (self.id, Protection::Mode, self.keys.into_iter().map(apart).collect())
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
        let protection = Protection::Passphrase((Cost { memory_kib, passes, lanes }, **salt.0));
        (self.id, protection, self.keys.into_iter().map(ProtectedEntry::taken_apart).collect())
    }
}

impl ProtectedEntry {
    fn taken_apart(self) -> StoredVersion {
        let Self { version, created, nonce, secret, tag } = self;
        let sealed = Sealed { nonce: **nonce.0, bytes: **secret.0, tag: **tag.0 };
        StoredVersion { version, created, secret: StoredSecret::Sealed(sealed) }
    }
}

/// Format 3, whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    #[serde(rename = "format")]
    _format: i64,
    id: String,
    #[serde(default)]
    holders: Vec<HolderEntry>,
    #[serde(default)]
    keys: Vec<ProtectedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HolderEntry {
    name: String,
    #[serde(rename = "kdf")]
    _kdf: Kdf,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: Hex<SALT_BYTES>,
    nonce: Hex<NONCE_BYTES>,
    identity: Hex<IDENTITY_BYTES>,
    tag: Hex<TAG_BYTES>,
    public: Hex<X25519_BYTES>,
    encapsulated: Hex<X25519_BYTES>,
    file_key: Hex<{ Secret::BYTES }>,
    file_key_tag: Hex<TAG_BYTES>,
}

/// Format 4, whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InToken {
    #[serde(rename = "format")]
    _format: i64,
    id: String,
    token: TokenTable,
    #[serde(default)]
    keys: Vec<ProtectedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    uri: String,
}

impl InToken {
    fn taken_apart(self) -> Result<Apart, TokenError> {
        let protection = Protection::Token(self.token.uri.parse()?);
        let entries = self.keys.into_iter().map(ProtectedEntry::taken_apart).collect();
        Ok((self.id, protection, entries))
    }
}

impl Held {
    fn taken_apart(self) -> Apart {
        let apart = |entry: HolderEntry| {
            let identity =
                Sealed { nonce: **entry.nonce.0, bytes: **entry.identity.0, tag: **entry.tag.0 };
            let HolderEntry { name, memory_kib, passes, lanes, .. } = entry;
            let cost = Cost { memory_kib, passes, lanes };
            let holder =
                Holder { name, cost, salt: **entry.salt.0, identity, public: **entry.public.0 };
            let (encapsulated, file_key) = (**entry.encapsulated.0, **entry.file_key.0);
            (holder, Wrapped { encapsulated, file_key, tag: **entry.file_key_tag.0 })
        };
        let protection = Protection::Holders(self.holders.into_iter().map(apart).collect());
        (self.id, protection, self.keys.into_iter().map(ProtectedEntry::taken_apart).collect())
    }
}
