//! The key file: a small TOML text that holds every version of one key, readable by its owner alone.
//!
//! Not here: a passphrase over the file, and key servers. The file *is* the key; whoever reads it opens everything
//! sealed under it.
//!
//! ```toml
//! format = 1
//! id = "orders"
//!
//! [[keys]]
//! version = 1
//! created = "2026-01-31T09:00:00Z"
//! secret = "64 hex digits"
//! ```

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zeroize::{Zeroize, Zeroizing};

use crate::{KeyError, KeyRef, KeySource, Secret, check_key_id};

/// Format of key files that this program writes, and the newest it reads.
pub const FORMAT: i64 = 1;

/// Longest key file that is read: room for some four hundred versions.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// One version of the key.
#[derive(Debug)]
struct Version {
    version: u32,
    created: String,
    secret: Secret,
}

/// The key of one key file, in all its versions. The newest wraps new files.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    id: String,
    /// Ascending by version, never empty.
    versions: Vec<Version>,
}

impl KeyFile {
    /// Makes a key file at `path` with one fresh random key named `id`, version 1, and mode 0600.
    ///
    /// Returns once file and directory entry are on disk, so that nothing is sealed under a key that a power cut
    /// could take away.
    ///
    /// # Errors
    /// [`KeyError::Exists`] if anything is at `path` (it stays as it is), [`KeyError::BadId`], [`KeyError::Random`],
    /// [`KeyError::Io`]; after an error no new key file is left behind.
    pub fn create(path: impl AsRef<Path>, id: &str) -> Result<Self, KeyError> {
        let path = path.as_ref();
        check_key_id(id)?;
        let first = Version { version: 1, created: now(), secret: Secret::random()? };
        let key = Self { path: path.to_owned(), id: id.to_owned(), versions: vec![first] };
        let text = key.to_text();

        let io_error = |source| KeyError::Io { action: "create", path: path.to_owned(), source };
        let mut file = match create_private(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(KeyError::Exists { path: path.to_owned() });
            }
            Err(error) => return Err(io_error(error)),
        };
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| sync_parent(path));
        if let Err(error) = written {
            // half a key file helps nobody and would block the next try; it was made a moment ago by this call
            let _ = fs::remove_file(path);
            return Err(io_error(error));
        }
        Ok(key)
    }

    /// Reads the key file at `path`.
    ///
    /// # Errors
    /// [`KeyError::NoFile`]; [`KeyError::Permissions`] if group or others may read or write it;
    /// [`KeyError::NewerFormat`]; [`KeyError::Garbled`] with the line, never quoting the file; [`KeyError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let io_error = |source| KeyError::Io { action: "read", path: path.to_owned(), source };
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KeyError::NoFile { path: path.to_owned() });
            }
            Err(error) => return Err(io_error(error)),
        };
        // before opening: opening a pipe would wait for its writer
        let garbled = |found: String| KeyError::Garbled { path: path.to_owned(), line: None, found };
        if !found.is_file() {
            return Err(garbled("not a regular file".into()));
        }
        let mut file = File::open(path).map_err(io_error)?;
        // on the open file, so that what was checked is what is read
        let found = file.metadata().map_err(io_error)?;
        check_private(path, &found)?;
        if found.len() > FILE_BYTES_MAX {
            return Err(garbled(format!("{} bytes, a key file has at most {FILE_BYTES_MAX}", found.len())));
        }
        // room for all of it at once: a vector that grows leaves copies behind
        let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
        (&mut file).take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(io_error)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| garbled("not a text file".into()))?;
        Self::parse(path, text)
    }

    /// Name of the key.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every version in the file, ascending, with the time it was made (RFC 3339).
    pub fn versions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.versions.iter().map(|version| (version.version, version.created.as_str()))
    }

    fn to_text(&self) -> Zeroizing<String> {
        // with room for all of it, so that no grown-out copy of a secret stays in memory
        let mut text = Zeroizing::new(String::with_capacity(1024 + self.versions.len() * 256));
        text.push_str(
            "# Sealstone key file. Whoever reads it can open every file sealed under this key;\n\
             # without it those files are lost. Keep a copy in a safe place, apart from the data.\n",
        );
        text.push_str(&format!("format = {FORMAT}\nid = \"{}\"\n", self.id));
        for version in &self.versions {
            text.push_str(&format!("\n[[keys]]\nversion = {}\n", version.version));
            text.push_str(&format!("created = \"{}\"\nsecret = \"", version.created));
            for byte in version.secret.as_bytes() {
                text.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits"));
                text.push(char::from_digit(u32::from(byte & 15), 16).expect("four bits"));
            }
            text.push_str("\"\n");
        }
        text
    }

    fn parse(path: &Path, text: &str) -> Result<Self, KeyError> {
        let garbled = |line, found: String| KeyError::Garbled { path: path.to_owned(), line, found };
        // the parser's own message quotes the line, and the line may hold the secret: only its place is passed on
        let place = |error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            garbled(line, "not what stands in a key file".into())
        };
        let head: Head = toml::from_str(text).map_err(place)?;
        if head.format > FORMAT {
            return Err(KeyError::NewerFormat { path: path.to_owned(), found: head.format, known: FORMAT });
        }
        if head.format != FORMAT {
            return Err(garbled(None, format!("format {} was never used", head.format)));
        }
        let body: Body = toml::from_str(text).map_err(place)?;
        check_key_id(&body.id).map_err(|error| garbled(None, error.to_string()))?;
        let mut versions: Vec<Version> = body
            .keys
            .into_iter()
            .map(|entry| Version { version: entry.version, created: entry.created, secret: entry.secret.0 })
            .collect();
        versions.sort_by_key(|version| version.version);
        if versions.is_empty() {
            return Err(garbled(None, "it holds no key".into()));
        }
        if versions[0].version == 0 {
            return Err(garbled(None, "a key has version 0, versions count from 1".into()));
        }
        if let Some(twice) = versions.windows(2).find(|pair| pair[0].version == pair[1].version) {
            return Err(garbled(None, format!("version {} stands there twice", twice[0].version)));
        }
        Ok(Self { path: path.to_owned(), id: body.id, versions })
    }
}

impl KeySource for KeyFile {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let newest = self.versions.last().expect("checked when the file was read");
        let key = KeyRef { id: self.id.clone(), version: newest.version };
        Ok((key, Secret::from_bytes(newest.secret.as_bytes())))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        if key.id != self.id {
            return Err(KeyError::OtherKey { wanted: key.clone(), place: self.describe(), id: self.id.clone() });
        }
        match self.versions.iter().find(|version| version.version == key.version) {
            Some(version) => Ok(Secret::from_bytes(version.secret.as_bytes())),
            None => Err(KeyError::MissingVersion {
                wanted: key.clone(),
                place: self.describe(),
                available: self.versions.iter().map(|version| version.version).collect(),
            }),
        }
    }

    fn describe(&self) -> String {
        format!("key file {}", self.path.display())
    }
}

/// The part that every format has.
#[derive(Deserialize)]
struct Head {
    format: i64,
}

/// Format 1, whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(rename = "format")]
    _format: i64,
    id: String,
    #[serde(default)]
    keys: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: u32,
    created: String,
    secret: HexSecret,
}

/// 64 hex digits, decoded straight from the text into the secret.
struct HexSecret(Secret);

impl<'de> Deserialize<'de> for HexSecret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = HexSecret;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} hex digits", 2 * Secret::BYTES)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HexSecret, E> {
                from_hex(text).map(HexSecret).ok_or_else(|| E::custom("not 64 hex digits"))
            }
            fn visit_string<E: serde::de::Error>(self, mut text: String) -> Result<HexSecret, E> {
                let secret = self.visit_str(&text);
                text.zeroize();
                secret
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

fn from_hex(text: &str) -> Option<Secret> {
    let digits = text.as_bytes();
    if digits.len() != 2 * Secret::BYTES {
        return None;
    }
    let mut secret = Secret::zero();
    for (byte, pair) in secret.as_bytes_mut().iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(secret)
}

fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// Creates `path`, which must not exist (not even as a link), for the owner alone.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// Makes the directory entry of `path` survive a power cut.
fn sync_parent(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(unix)]
fn check_private(path: &Path, found: &fs::Metadata) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Permissions { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &fs::Metadata) -> Result<(), KeyError> {
    Ok(())
}
