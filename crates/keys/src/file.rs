//! The key file: a small TOML text that contains every version of one key, readable only by its
//! owner, and optionally protected by a passphrase, by a passphrase for each of several holders, or
//! by a key of a PKCS #11 token.
//!
//! Without a passphrase the file *is* the key; anyone who reads it can open everything sealed under
//! it. Not here: key servers, tokens (`token`), and asking people for passphrases
//! (`sealstone-cli`).
//!
//! Rotation adds a version and puts the new file in place by a rename. A process that has the file
//! open checks its metadata before it seals a new file, and so uses the new version from then on.
//! It compares with the file that it read or wrote itself and still holds open, never with a file
//! that has replaced it since.
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

mod directory;
mod format;
mod hex;
mod holders;
mod protection;
mod replace;
mod sealed_bytes;
mod suggestion;

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sealstone_cipher::Provider;
use sealstone_file::input::{self, NotAFile};
use sealstone_file::trust;
use zeroize::Zeroizing;

pub use directory::{in_directory, new_id};
use format::{Content, FILE_BYTES_MAX, Guard, Opener, Protection, Stored, Version};
pub use holders::HOLDERS_MAX;
use suggestion::nearest;

use crate::passphrase::Stretched;
use crate::token::{Token, TokenAddress};
use crate::{Ask, Cost, KeyError, KeyRef, KeySource, Passphrase, Secret, check_key_id};

/// The key of one key file, in all its versions. The newest wraps new files.
///
/// A long-lived one sees what other processes do to the file: each [`KeySource::current`] checks
/// whether the file changed, and reads it again if so. Can be used by many threads at once.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    id: String,
    state: RwLock<State>,
}

/// The file as it was last read.
#[derive(Debug)]
struct State {
    stamp: Stamp,
    content: Content,
    /// Open as long as its stamp is compared, since the number of a removed file may be reused for
    /// the next one.
    _file: File,
}

/// Information that a key file shows without its passphrase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Path of the file.
    pub path: PathBuf,
    /// Name of the key.
    pub id: String,
    /// Everyone who can open it with a passphrase; nobody if it has none.
    pub holders: Vec<Holder>,
    /// The key of a token that seals it, if one does.
    pub token: Option<TokenAddress>,
    /// Every version, ascending, with the time it was made (RFC 3339).
    pub versions: Vec<(u32, String)>,
}

/// Someone who can open a key file with a passphrase of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Their name; a file of format 2 has one holder without one.
    pub name: Option<String>,
    /// Cost of trying their passphrase.
    pub cost: Cost,
}

impl Summary {
    /// Returns whether opening the file requires a passphrase.
    #[must_use]
    pub fn has_passphrase(&self) -> bool {
        !self.holders.is_empty()
    }

    /// Returns whether opening the file requires more than reading it: a passphrase, or a token and
    /// its PIN.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.has_passphrase() || self.token.is_some()
    }
}

/// Protection that a key file is to have.
#[derive(Clone, Copy, Debug)]
pub enum Protect<'a> {
    /// None but its mode.
    Nothing,
    /// A passphrase, at this cost of trying it.
    Passphrase(&'a Passphrase, Cost),
    /// A key of a token.
    Token {
        /// The key.
        address: &'a TokenAddress,
        /// The PIN of the token's user.
        pin: &'a Passphrase,
        /// True if the key is made first, in the token.
        makes_key: bool,
    },
}

impl Protect<'_> {
    /// Returns the guard of a file with this protection.
    ///
    /// # Errors
    /// [`KeyError::Stretch`]; [`KeyError::Token`].
    fn guard(self) -> Result<Guard, KeyError> {
        Ok(match self {
            Self::Nothing => Guard::Mode,
            Self::Passphrase(passphrase, cost) => {
                Guard::Passphrase(Arc::new(Stretched::fresh(passphrase, cost)?))
            }
            Self::Token { address, pin, makes_key } => {
                let token = Token::new(address.clone(), pin.as_bytes())?;
                if makes_key {
                    token.make_key()?;
                }
                Guard::Token(token)
            }
        })
    }
}

impl KeyFile {
    /// Makes a key file at `path` with one fresh random key named `id`, version 1, and mode 0600,
    /// without a passphrase.
    ///
    /// Returns once file and directory entry are on disk, so that nothing is sealed under a key
    /// that a power cut could take away.
    ///
    /// # Errors
    /// [`KeyError::Exists`] if anything is at `path` (it stays as it is), [`KeyError::BadId`],
    /// [`KeyError::Random`], [`KeyError::Io`]; after an error no new key file is left behind.
    pub fn create(path: impl AsRef<Path>, id: &str) -> Result<Self, KeyError> {
        Self::create_by(Provider::own(), path, id)
    }

    /// As [`KeyFile::create`], with a key that `provider` draws.
    ///
    /// # Errors
    /// As [`KeyFile::create`].
    pub fn create_by(
        provider: impl Into<Provider>,
        path: impl AsRef<Path>,
        id: &str,
    ) -> Result<Self, KeyError> {
        Self::create_as(provider, path, id, Protect::Nothing)
    }

    /// As [`KeyFile::create`], protected by `passphrase` at `cost`.
    ///
    /// # Errors
    /// As [`KeyFile::create`], and [`KeyError::Stretch`].
    pub fn create_protected(
        path: impl AsRef<Path>,
        id: &str,
        passphrase: &Passphrase,
        cost: Cost,
    ) -> Result<Self, KeyError> {
        Self::create_as(Provider::own(), path, id, Protect::Passphrase(passphrase, cost))
    }

    /// As [`KeyFile::create_by`], with this protection.
    ///
    /// # Errors
    /// As [`KeyFile::create`]; [`KeyError::Stretch`]; [`KeyError::Token`] and
    /// [`KeyError::TokenOf`], and a key that was made in the token stays there.
    pub fn create_as(
        provider: impl Into<Provider>,
        path: impl AsRef<Path>,
        id: &str,
        protect: Protect<'_>,
    ) -> Result<Self, KeyError> {
        let path = path.as_ref();
        check_key_id(id)?;
        // before a passphrase is stretched or a token asked; what comes there later is found, too
        if path.symlink_metadata().is_ok() {
            return Err(KeyError::Exists { path: path.to_owned() });
        }
        let guard = protect.guard()?;
        let secret = Secret::random(provider.into())?;
        let first = Version { version: 1, created: now(), secret };
        Self::write_new(path, Content { id: id.to_owned(), versions: vec![first], guard })
    }

    fn write_new(path: &Path, content: Content) -> Result<Self, KeyError> {
        let io_error = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
            _ => KeyError::Io { action: "create", path: path.to_owned(), source },
        };
        let text = content.to_text(path)?;
        let file = replace::create(path, text.as_bytes()).map_err(io_error)?;
        let id = content.id.clone();
        let state = State::new(file, content).map_err(io_error)?;
        Ok(Self { path: path.to_owned(), id, state: RwLock::new(state) })
    }

    /// Reads the key file at `path`, which has no passphrase.
    ///
    /// # Errors
    /// [`KeyError::NoFile`]; [`KeyError::Permissions`] if group or others may read or write it;
    /// [`KeyError::Owner`] if it belongs neither to the effective user nor to the superuser;
    /// [`KeyError::NewerFormat`]; [`KeyError::Garbled`] with the line, never quoting the file;
    /// [`KeyError::Io`]; [`KeyError::NoPassphrase`] if it has one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        Self::open_with(path, &|path| Err(KeyError::NoPassphrase { path: path.to_owned() }))
    }

    /// Reads the key file at `path`; `passphrase` is called if it has one, and its result is not
    /// kept. In a file with several holders any holder's passphrase will do, and each is tried;
    /// [`Passphrase::of`] names the holder.
    ///
    /// # Errors
    /// As [`KeyFile::open`]; errors of `passphrase`; [`KeyError::WrongPassphrase`], which names no
    /// holder; [`KeyError::NoHolder`]; [`KeyError::Stretch`].
    pub fn open_with(path: impl AsRef<Path>, passphrase: Ask<'_>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let (file, stamp, stored) = read(path)?;
        let passphrases = stored.protection.passphrases();
        let content = if let Protection::Token(address) = &stored.protection {
            let pin = passphrase(path).map_err(|error| match error {
                KeyError::NoPassphrase { path } => {
                    KeyError::NoPin { path, token: address.token_name() }
                }
                other => other,
            })?;
            let token = Token::new(address.clone(), pin.as_bytes())?;
            stored.open(path, &Opener::Token(token))?
        } else if passphrases.is_empty() {
            stored.open(path, &Opener::Nothing)?
        } else {
            let given = passphrase(path)?;
            if let Some(wanted) = given.holder()
                && passphrases.iter().all(|(name, _)| *name != Some(wanted))
            {
                return Err(no_holder(
                    path,
                    wanted,
                    passphrases.iter().filter_map(|(name, _)| *name),
                ));
            }
            let mut opened = Err(KeyError::WrongPassphrase { path: path.to_owned() });
            for (name, (cost, salt)) in &passphrases {
                if given.holder().is_none_or(|wanted| *name == Some(wanted)) {
                    let stretched = Arc::new(Stretched::new(&given, *cost, *salt)?);
                    opened = stored.open(path, &Opener::Passphrase(stretched));
                }
                if !matches!(opened, Err(KeyError::WrongPassphrase { .. })) {
                    break;
                }
            }
            opened?
        };
        let id = content.id.clone();
        let state = State { stamp, content, _file: file };
        Ok(Self { path: path.to_owned(), id, state: RwLock::new(state) })
    }

    /// Reads what the key file at `path` shows without its passphrase, and so without knowing that
    /// it is genuine. The superuser may look at the file of any user.
    ///
    /// # Errors
    /// As [`KeyFile::open`], but for the passphrase.
    pub fn inspect(path: impl AsRef<Path>) -> Result<Summary, KeyError> {
        let path = path.as_ref();
        let (_, _, stored) = read_by(path, Reader::Looks)?;
        let versions =
            stored.versions().map(|(version, created)| (version, created.to_owned())).collect();
        let shown = |(name, (cost, _)): (Option<&str>, (Cost, _))| Holder {
            name: name.map(Into::into),
            cost,
        };
        let holders = stored.protection.passphrases().into_iter().map(shown).collect();
        let token = match &stored.protection {
            Protection::Token(address) => Some(address.clone()),
            _ => None,
        };
        Ok(Summary { path: path.to_owned(), id: stored.id, holders, token, versions })
    }

    /// Returns the name of the key.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns every version in the file as it was last read, ascending, with the time it was made
    /// (RFC 3339).
    pub fn versions(&self) -> impl Iterator<Item = (u32, String)> {
        self.summary().versions.into_iter()
    }

    /// Returns the summary of the file from when it was last read.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let state = self.held();
        let Content { versions, guard, .. } = &state.content;
        let holders = match guard {
            Guard::Mode | Guard::Token(_) => Vec::new(),
            Guard::Passphrase(stretched) => vec![Holder { name: None, cost: stretched.cost }],
            Guard::Holders { list, .. } => list
                .iter()
                .map(|member| Holder { name: Some(member.name.clone()), cost: member.cost })
                .collect(),
        };
        let versions =
            versions.iter().map(|version| (version.version, version.created.clone())).collect();
        let token = match guard {
            Guard::Token(token) => Some(token.address().clone()),
            _ => None,
        };
        Summary { path: self.path.clone(), id: self.id.clone(), holders, token, versions }
    }

    /// Adds a fresh version, which seals new files from now on; the older versions stay. Returns
    /// the new version.
    ///
    /// The file is written whole under another name next to it and then put in its place, so that a
    /// kill at any point leaves the old file or the new one. Processes that rotate at once take
    /// turns, and each adds a version.
    ///
    /// # Errors
    /// Errors of reading the file; [`KeyError::Random`], [`KeyError::Full`], [`KeyError::Io`]. The
    /// file is then unchanged, unless only the sync of its directory failed.
    pub fn rotate(&self) -> Result<KeyRef, KeyError> {
        self.rotate_by(Provider::own())
    }

    /// As [`KeyFile::rotate`], with a key that `provider` draws.
    ///
    /// # Errors
    /// As [`KeyFile::rotate`].
    pub fn rotate_by(&self, provider: impl Into<Provider>) -> Result<KeyRef, KeyError> {
        let secret = Secret::random(provider)?;
        self.change(|content| {
            let Some(version) = content.newest().version.checked_add(1) else {
                let found = "it has the highest version possible".into();
                return Err(KeyError::Garbled { path: self.path.clone(), line: None, found });
            };
            content.add(Version { version, created: now(), secret });
            Ok(KeyRef { id: content.id.clone(), version })
        })
    }

    /// Returns the version `version`, if [`KeyFile::retire`] would remove it: call this before
    /// checking that nothing is still under it.
    ///
    /// # Errors
    /// [`KeyError::Newest`], [`KeyError::MissingVersion`], and as [`KeySource::current`].
    pub fn retirable(&self, version: u32) -> Result<KeyRef, KeyError> {
        let key = KeyRef { id: self.id.clone(), version };
        self.get(&key)?;
        if self.current()?.0 == key {
            return Err(KeyError::Newest { key, place: self.describe() });
        }
        Ok(key)
    }

    /// Takes version `version` out of the file: whatever is still wrapped under it can no longer be
    /// opened with this file. The caller has made sure that nothing is.
    ///
    /// # Errors
    /// [`KeyError::Newest`], [`KeyError::MissingVersion`], and as [`KeyFile::rotate`].
    pub fn retire(&self, version: u32) -> Result<(), KeyError> {
        let key = KeyRef { id: self.id.clone(), version };
        self.change(|content| {
            if content.find(version).is_none() {
                return Err(self.missing(&key, content));
            }
            if content.newest().version == version {
                return Err(KeyError::Newest { key: key.clone(), place: self.describe() });
            }
            content.versions.retain(|found| found.version != version);
            Ok(())
        })
    }

    /// Writes one version (absent: the newest) to a separate key file at `path`, protected if a
    /// passphrase is given.
    ///
    /// # Errors
    /// [`KeyError::MissingVersion`], and as [`KeyFile::create_protected`].
    pub fn export(
        &self,
        version: Option<u32>,
        path: impl AsRef<Path>,
        passphrase: Option<(&Passphrase, Cost)>,
    ) -> Result<Self, KeyError> {
        let protect = passphrase
            .map_or(Protect::Nothing, |(passphrase, cost)| Protect::Passphrase(passphrase, cost));
        self.refresh()?;
        let version = {
            let state = self.held();
            let content = &state.content;
            let wanted = version.unwrap_or(content.newest().version);
            let Some(found) = content.find(wanted) else {
                return Err(self.missing(&KeyRef { id: self.id.clone(), version: wanted }, content));
            };
            let secret = found.secret.duplicate()?;
            Version { version: found.version, created: found.created.clone(), secret }
        };
        let content =
            Content { id: self.id.clone(), versions: vec![version], guard: protect.guard()? };
        Self::write_new(path.as_ref(), content)
    }

    /// Adds the versions of `from` (or the named version) that this file lacks. Returns the added
    /// versions. A version newer than all here seals new files from then on.
    ///
    /// # Errors
    /// [`KeyError::OtherKey`] if `from` holds a key of another name, [`KeyError::Conflict`] if a
    /// version is here with another secret, [`KeyError::MissingVersion`], and as
    /// [`KeyFile::rotate`]; nothing is then added.
    pub fn import(&self, from: &Self, version: Option<u32>) -> Result<Vec<u32>, KeyError> {
        let wanted = |version| KeyRef { id: self.id.clone(), version };
        let offered: Vec<u32> = match version {
            Some(version) => vec![version],
            None => from.versions().map(|(version, _)| version).collect(),
        };
        let times: Vec<(u32, String)> = from.versions().collect();
        let mut new = Vec::new();
        for version in offered {
            let secret = from.get(&wanted(version))?;
            let created = times
                .iter()
                .find(|(found, _)| *found == version)
                .map(|(_, created)| created.clone());
            new.push(Version { version, created: created.unwrap_or_else(now), secret });
        }
        self.change(|content| {
            let mut added = Vec::new();
            for version in new {
                match content.find(version.version) {
                    // a person waits for this, not an attacker: the process can read both files
                    // anyway
                    Some(found) if found.secret.as_bytes() == version.secret.as_bytes() => {}
                    Some(_) => {
                        return Err(KeyError::Conflict {
                            key: wanted(version.version),
                            place: self.describe(),
                        });
                    }
                    None => {
                        added.push(version.version);
                        content.add(version);
                    }
                }
            }
            Ok(added)
        })
    }

    /// Reads the file, changes its content, and replaces it, under a lock against all other
    /// processes.
    fn change<T>(
        &self,
        edit: impl FnOnce(&mut Content) -> Result<T, KeyError>,
    ) -> Result<T, KeyError> {
        let io_error = |action| {
            move |source: io::Error| match source.kind() {
                io::ErrorKind::NotFound => KeyError::Gone { path: self.path.clone() },
                _ => KeyError::Io { action, path: self.path.clone(), source },
            }
        };
        let (real, old, mut content) = loop {
            // where a link leads, so that the link stays one
            let real = fs::canonicalize(&self.path).map_err(io_error("read"))?;
            let old = replace::lock(&real).map_err(io_error("lock"))?;
            let State { stamp, content, .. } = self.reread()?;
            // the locked file, not the file that a link points to now
            if stamp == Stamp::of(&old.metadata().map_err(io_error("read"))?) {
                break (real, old, content);
            }
        };
        let done = edit(&mut content)?;
        let text = content.to_text(&self.path)?;
        // The stamp is of the file just written, whatever has its name now: as soon as it is in
        // place, another process may lock and replace it, and this process must notice that.
        let new = replace::replace(&real, text.as_bytes(), &old).map_err(io_error("replace"))?;
        *self.held_mut() = State::new(new, content).map_err(io_error("read"))?;
        Ok(done)
    }

    /// Reads the file again if it changed, or if this process was forked since and has no secrets
    /// any more.
    fn refresh(&self) -> Result<(), KeyError> {
        let found = fs::metadata(&self.path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => KeyError::Gone { path: self.path.clone() },
            _ => KeyError::Io { action: "read", path: self.path.clone(), source },
        })?;
        let same = self.held().stamp == Stamp::of(&found);
        if same && !self.is_forked() {
            return Ok(());
        }
        let state = self.reread()?;
        *self.held_mut() = state;
        Ok(())
    }

    fn reread(&self) -> Result<State, KeyError> {
        let (file, stamp, stored) = read(&self.path).map_err(|error| match error {
            KeyError::NoFile { path, .. } => KeyError::Gone { path },
            other => other,
        })?;
        if stored.id != self.id {
            return Err(KeyError::Replaced {
                path: self.path.clone(),
                was: self.id.clone(),
                id: stored.id,
            });
        }
        let known = self.held().content.guard.opener();
        if !stored.protection.takes(&known) {
            return Err(KeyError::ProtectionChanged { path: self.path.clone() });
        }
        // A version that another process just added must not seal anything that outlives it in a
        // power cut. A directory that cannot be synced is not ours to sync.
        let _ = sealstone_file::sync_parent(&self.path);
        if let Opener::Passphrase(known) = &known {
            known.key.check()?;
        }
        let content = stored.open(&self.path, &known)?;
        let held = self.held();
        // what was sealed under a version that is kept here would be lost with it
        let differs = |old: &&Version| {
            let found = content.find(old.version);
            let is_same = |new: &Version| new.secret.as_bytes() == old.secret.as_bytes();
            old.secret.check().is_ok() && found.is_some_and(|new| !is_same(new))
        };
        if let Some(old) = held.content.versions.iter().find(differs) {
            let key = KeyRef { id: self.id.clone(), version: old.version };
            return Err(KeyError::Conflict { key, place: self.describe() });
        }
        drop(held);
        Ok(State { stamp, content, _file: file })
    }

    /// Returns whether this process was forked since the file was read.
    fn is_forked(&self) -> bool {
        self.held().content.newest().secret.check().is_err()
    }

    fn missing(&self, key: &KeyRef, content: &Content) -> KeyError {
        let available = content.versions.iter().map(|version| version.version).collect();
        KeyError::MissingVersion { wanted: key.clone(), place: self.describe(), available }
    }

    fn held(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySource for KeyFile {
    /// Checks whether the file changed (one `stat`) and reads it again if so. A file that can no
    /// longer be read is an error, although its older content is still in memory: nothing new must
    /// be sealed under a key that may no longer exist.
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        self.refresh()?;
        let state = self.held();
        let newest = state.content.newest();
        let key = KeyRef { id: self.id.clone(), version: newest.version };
        Ok((key, newest.secret.duplicate()?))
    }

    /// Looks at the file only for a version that it did not have when it was last read.
    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        KeyError::check_id(key, &self.id, || self.describe())?;
        let find =
            |state: &State| state.content.find(key.version).map(|found| found.secret.duplicate());
        if let Some(Ok(secret)) = find(&self.held()) {
            return Ok(secret);
        }
        self.refresh()?;
        let state = self.held();
        find(&state).unwrap_or_else(|| Err(self.missing(key, &state.content)))
    }

    fn all(&self) -> Result<Vec<(KeyRef, Secret)>, KeyError> {
        self.refresh()?;
        let state = self.held();
        let versions = state.content.versions.iter();
        let named = |version: &Version| {
            let key = KeyRef { id: self.id.clone(), version: version.version };
            Ok((key, version.secret.duplicate()?))
        };
        versions.map(named).collect()
    }

    fn name(&self) -> Result<String, KeyError> {
        Ok(self.id.clone())
    }

    fn made_at(&self, key: &KeyRef) -> Option<String> {
        let state = self.held();
        let found = state.content.find(key.version).filter(|_| key.id == self.id)?;
        Some(found.created.clone())
    }

    fn describe(&self) -> String {
        format!("key file {}", self.path.display())
    }
}

impl State {
    /// Stamps `file`, which holds `content`.
    fn new(file: File, content: Content) -> io::Result<Self> {
        Ok(Self { stamp: Stamp::of(&file.metadata()?), content, _file: file })
    }
}

fn no_holder<'a>(path: &Path, wanted: &str, there: impl Iterator<Item = &'a str>) -> KeyError {
    let holders = there.map(String::from).collect();
    KeyError::NoHolder { path: path.to_owned(), wanted: wanted.to_owned(), holders }
}

/// Stamp that distinguishes one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    #[cfg(unix)]
    place: (u64, u64),
    #[cfg(unix)]
    times: [i64; 4],
    #[cfg(not(unix))]
    modified: Option<std::time::SystemTime>,
    bytes: u64,
}

impl Stamp {
    #[cfg(unix)]
    fn of(found: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        Self { place: (found.dev(), found.ino()), times, bytes: found.len() }
    }

    #[cfg(not(unix))]
    fn of(found: &fs::Metadata) -> Self {
        Self { modified: found.modified().ok(), bytes: found.len() }
    }
}

/// Returns the key file that was probably meant by `path`, where none is.
fn nearest_key(path: &Path) -> Option<PathBuf> {
    nearest(path, |path| {
        matches!(
            // without suggestions of its own: a dangling link is no key file either
            read_here(path, Reader::Looks),
            Ok(_) | Err(KeyError::Permissions { .. } | KeyError::Owner { .. })
        )
    })
}

/// Use of a key file that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// Its keys are used.
    Opens,
    /// Its names, versions and holders are shown.
    Looks,
}

/// Reads a key file as far as that goes without its passphrase, for its keys.
fn read(path: &Path) -> Result<(File, Stamp, Stored), KeyError> {
    read_by(path, Reader::Opens)
}

fn read_by(path: &Path, reader: Reader) -> Result<(File, Stamp, Stored), KeyError> {
    read_here(path, reader).map_err(|error| match error {
        KeyError::NoFile { path, .. } => KeyError::NoFile { nearest: nearest_key(&path), path },
        error => error,
    })
}

/// As [`read_by`], without a look at other files where there is none.
fn read_here(path: &Path, reader: Reader) -> Result<(File, Stamp, Stored), KeyError> {
    let io_error = |source: io::Error| match (source.kind(), NotAFile::of(&source)) {
        (io::ErrorKind::NotFound, _) => KeyError::NoFile { path: path.to_owned(), nearest: None },
        (_, Some(found)) => KeyError::NotAFile { path: path.to_owned(), found },
        _ => KeyError::Io { action: "read", path: path.to_owned(), source },
    };
    let garbled = |found: String| KeyError::Garbled { path: path.to_owned(), line: None, found };
    let mut file = input::open(path).map_err(io_error)?;
    // on the open file, so that the checked file is the one that is read
    let found = file.metadata().map_err(io_error)?;
    let private = check_private(path, &found, reader);
    if private.is_err() && !looks_like_key_file(&mut file) {
        return Err(KeyError::NotKeyFile { path: path.to_owned() });
    }
    private?;
    if found.len() > FILE_BYTES_MAX {
        return Err(garbled(format!(
            "{} bytes, a key file has at most {FILE_BYTES_MAX}",
            found.len()
        )));
    }
    // room for all of it at once: a growing vector leaves copies behind
    let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
    (&mut file).take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(io_error)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| garbled("not a text file".into()))?;
    let stored = Stored::parse(path, text)?;
    trust::check_place(path).map_err(|found| KeyError::Place { path: path.to_owned(), found })?;
    Ok((file, Stamp::of(&found), stored))
}

/// Returns whether `file` begins the way every key file does; leaves it at its beginning.
fn looks_like_key_file(file: &mut File) -> bool {
    let mut start = [0; 512];
    let got = file.read(&mut start).unwrap_or(0);
    file.rewind().is_ok()
        && String::from_utf8_lossy(&start[..got]).lines().any(|line| line.starts_with("format = "))
}

fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

#[cfg(unix)]
fn check_private(path: &Path, found: &fs::Metadata, reader: Reader) -> Result<(), KeyError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Permissions { path: path.to_owned(), mode });
    }
    // The owner of the file can read it whatever the mode, and can put their own key into it. The
    // superuser can do so anyway, and may look at what uses no key.
    let (owner, user) = (found.uid(), nix::unistd::geteuid().as_raw());
    let looks = user == 0 && reader == Reader::Looks;
    if owner != user && owner != 0 && !looks {
        return Err(KeyError::Owner { path: path.to_owned(), owner, user });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &fs::Metadata, _: Reader) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_leads_to_the_key_file_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["orders.key", "customers.key", "lab.key", "b.key", "old.key.2026-01-01"] {
            KeyFile::create(at(name), "k").unwrap();
        }
        for name in ["orders.kez", "order.csv", "shops.key"] {
            fs::write(at(name), "not a key").unwrap();
        }
        for (name, meant) in [
            ("order.key", Some("orders.key")),
            ("orders.kye", Some("orders.key")),
            ("Orders.Key", Some("orders.key")),
            ("orders", Some("orders.key")),
            ("costumers.key", Some("customers.key")),
            ("old.key", Some("old.key.2026-01-01")),
            // like nothing, too short, like a file that is no key file
            ("missing.key", None),
            ("a.key", None),
            ("shop.key", None),
        ] {
            assert_eq!(nearest_key(&at(name)), meant.map(at), "{name}");
        }
        assert_eq!(nearest_key(&at("none/orders.key")), None);
    }
}
