//! Errors concerning keys, each reported with the place, the key, and the next step. Never contains
//! key bytes.

use std::io;
use std::path::{Path, PathBuf};

use sealstone_cipher::memory::Forked;
use sealstone_file::Kind;
use sealstone_file::trust::Untrusted;
use sealstone_message::{SettingName, suggestion, without_secrets};

use crate::KeyRef;
use crate::kmip::KmipError;
use crate::token::TokenError;

/// Reason why a key is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no key file at this path.
    #[error(
        "no key file at {}{}\n\
         name the right one, or put it back from its copy: what is sealed under a key opens with \
         no other",
        path.display(), did_you_mean(nearest.as_deref())
    )]
    NoFile {
        /// Path that was searched.
        path: PathBuf,
        /// The key file beside it whose name is most like that one, if any is.
        nearest: Option<PathBuf>,
    },
    /// Text that looks like the address of a key server but is not one.
    #[error(
        "no key file at {}, and {scheme}: is no kind of key source{}\n\
         name a key file by its path, or a key server as kmip://HOST/KEY or kmip:FILE.toml",
        without_secrets(spec), suggestion(&format!("{nearest}:"))
    )]
    UnknownSource {
        /// Key source that was requested.
        spec: String,
        /// Part before its colon.
        scheme: String,
        /// Scheme that was probably meant.
        nearest: &'static str,
    },
    /// A key file with a passphrase, for a cryptographic module.
    #[error(
        "key file {} has a passphrase, and module {module} opens none: Argon2id and what it seals \
         are not the module's\n\
         take the passphrase off for this use (sealstone keys passwd --no-passphrase), have a \
         token protect the file, or keep the key on a key server", path.display()
    )]
    ProtectedInModule {
        /// The key file.
        path: PathBuf,
        /// Name of the module.
        module: &'static str,
    },
    /// The module that is to use the key failed.
    #[error(transparent)]
    Cipher(#[from] sealstone_cipher::Error),
    /// A directory of key files cannot be read.
    #[error("cannot read directory {}: {source}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A directory without key files.
    #[error(
        "no key file in {}\n\
         name the directory that they are in; one that is lost comes back only from its copy",
         dir.display()
    )]
    NoKeys {
        /// The directory.
        dir: PathBuf,
    },
    /// A key file was to be created where something exists already.
    #[error(
        "{} exists already and was left as it is: overwriting a key file would lose every file \
         sealed under it\n\
         choose another path, or move the old key file to safety first", path.display()
    )]
    Exists {
        /// The path that is taken.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {action} key file {}: {source}", path.display())]
    Io {
        /// Action that was attempted: `read`, `create`, `lock`, `replace`.
        action: &'static str,
        /// The key file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// Others than the owner may read or write the key file.
    #[error(
        "key file {} is open to users other than its owner (mode {mode:04o})\n\
         restrict it with: chmod 600 {}; if others may have read it, rotate the key",
         path.display(), path.display()
    )]
    Permissions {
        /// The key file.
        path: PathBuf,
        /// Permission bits found.
        mode: u32,
    },
    /// The key file belongs to somebody else, who can read and replace it.
    #[error(
        "key file {} belongs to user {owner}, and this process runs as user {user}\n\
         run this as user {owner}, or give the file to its reader with: chown {user} {}; if user \
         {owner} should not have it, rotate the key", path.display(), path.display()
    )]
    Owner {
        /// The key file.
        path: PathBuf,
        /// Number of the user that it belongs to.
        owner: u32,
        /// Number of the user that this process runs as.
        user: u32,
    },
    /// A file that is open to others and does not look like a key file, so making it private would
    /// be the wrong advice.
    #[error("{} is not a key file\nname a file that was made with: sealstone keys new FILE",
        path.display())]
    NotKeyFile {
        /// The file.
        path: PathBuf,
    },
    /// Something else is where the key file should be: a directory, a pipe.
    #[error(
        "cannot read key file {}: it is {found}, not a file\n\
         name a file that was made with: sealstone keys new FILE", path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Kind of thing that is there.
        found: Kind,
    },
    /// Anybody may put another key file in the place of this one.
    #[error("key file {}: {found}", path.display())]
    Place {
        /// The key file.
        path: PathBuf,
        /// The directory, and its mode.
        found: Untrusted,
    },
    /// The key file does not hold what a key file holds.
    #[error(
        "key file {}{}: {found}\n\
         restore it from a copy; a key file cannot be repaired by hand", path.display(),
         at_line(*line)
    )]
    Garbled {
        /// The key file.
        path: PathBuf,
        /// Line where it went wrong, from 1, if known.
        line: Option<usize>,
        /// Description of the finding, without quoting the file.
        found: String,
    },
    /// The key file was written by a newer program.
    #[error(
        "key file {} has format {found}, this program knows format {known}\n\
         use the version of sealstone that wrote it, or a newer one", path.display()
    )]
    NewerFormat {
        /// The key file.
        path: PathBuf,
        /// Format found.
        found: i64,
        /// The newest supported format.
        known: i64,
    },
    /// The source has another number for a version, or none: it was named otherwise.
    #[error(
        "{place} does not have {key} under that number\n\
         name the key as when it was sealed: by its name on the server, or by that identifier"
    )]
    OtherNumber {
        /// The version.
        key: KeyRef,
        /// The source, as [`crate::KeySource::describe`] words it.
        place: String,
    },
    /// The source holds a key of another name.
    #[error(
        "key {wanted} not found in {place} (it holds key {id})\n\
         give the key file or server that holds key {}", wanted.id
    )]
    OtherKey {
        /// The requested key.
        wanted: KeyRef,
        /// The source, as [`crate::KeySource::describe`] words it.
        place: String,
        /// Id of the key that is there.
        id: String,
    },
    /// The source holds the key, not in this version.
    #[error(
        "key {wanted} not found in {place} (it has {})\n\
         {}",
        versions(available),
        missing_hint(wanted, available)
    )]
    MissingVersion {
        /// The requested key.
        wanted: KeyRef,
        /// The source, as [`crate::KeySource::describe`] words it.
        place: String,
        /// The versions that are there, ascending.
        available: Vec<u32>,
    },
    /// The key file is protected, and no passphrase was given.
    #[error(
        "key file {} is protected by a passphrase, and none was given\n\
         name a file that holds it with {} or in SEALSTONE_PASSPHRASE_FILE",
         path.display(), SettingName("passphrase-file")
    )]
    NoPassphrase {
        /// The key file.
        path: PathBuf,
    },
    /// The passphrase is another one.
    #[error(
        "the passphrase does not open key file {}: it is the wrong one, or the file was changed\n\
         give the passphrase that it has now; if it is the right one, restore the file from a copy",
         path.display()
    )]
    WrongPassphrase {
        /// The key file.
        path: PathBuf,
    },
    /// The key file has no holder of that name.
    #[error(
        "key file {} has no holder {wanted} (it has {})\n\
         {}", path.display(), held_by(holders), holder_hint(holders, path)
    )]
    NoHolder {
        /// The key file.
        path: PathBuf,
        /// The name that was given.
        wanted: String,
        /// The names that it has; none if it has one passphrase or none.
        holders: Vec<String>,
    },
    /// A holder was to be added whose name is taken.
    #[error(
        "key file {} has a holder {holder} already\n\
         choose another name, or change that passphrase with: sealstone keys passwd {} --holder \
         {holder}",
        path.display(), path.display()
    )]
    HolderExists {
        /// The key file.
        path: PathBuf,
        /// The name.
        holder: String,
    },
    /// The only holder was to be removed.
    #[error(
        "{holder} is the only holder of key file {} and stays: nobody could open it any more\n\
         add another holder first, with: sealstone keys holder add {} --name NAME", path.display(),
         path.display()
    )]
    LastHolder {
        /// The key file.
        path: PathBuf,
        /// The name.
        holder: String,
    },
    /// The passphrase of a file was to be taken off, and others have one for it, too.
    #[error(
        "key file {} has several holders ({}), and would be open without any passphrase\n\
         remove the others first, with: sealstone keys holder remove {} --name NAME",
        path.display(), holders.join(", "), path.display()
    )]
    HoldersRemain {
        /// The key file.
        path: PathBuf,
        /// All of them.
        holders: Vec<String>,
    },
    /// A holder was to be added to a key file without a passphrase.
    #[error(
        "key file {} has no passphrase: anyone who reads it has the key, whatever holders it \
         names\n\
         give it one first, with: sealstone keys passwd {}", path.display(), path.display()
    )]
    NothingToShare {
        /// The key file.
        path: PathBuf,
    },
    /// A holder was to be added to a key file under a token.
    #[error(
        "key file {} is under a token, which has one PIN and no holders\n\
         give the PIN to who needs it, or put the file under a passphrase first, with: sealstone \
         keys passwd {} --new-passphrase-file FILE", path.display(), path.display()
    )]
    UnderToken {
        /// The key file.
        path: PathBuf,
    },
    /// A key file with that holder would not be read.
    #[error("key file {} cannot have these holders: {found}\nremove holders who no longer need it",
        path.display())]
    HoldersFull {
        /// The key file.
        path: PathBuf,
        /// Fault that the file would have.
        found: String,
    },
    /// Not a name for a holder.
    #[error("not the name of a holder: {found}")]
    BadHolder {
        /// Fault of the name.
        found: String,
    },
    /// Input that is not a valid passphrase.
    #[error("no passphrase in {place}: {found}\na passphrase is one line of 1 to 1024 bytes")]
    BadPassphrase {
        /// Place from which it should have come.
        place: String,
        /// Fault of the input.
        found: String,
    },
    /// The file with the passphrase cannot be read.
    #[error("cannot read passphrase file {}: {source}", path.display())]
    PassphraseFile {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// Others than the owner may read or write the file with the passphrase.
    #[error(
        "passphrase file {} is open to users other than its owner (mode {mode:04o})\n\
         restrict it with: chmod 600 {}; if others may have read it, choose another \
         passphrase", path.display(), path.display()
    )]
    PassphraseOpen {
        /// The file.
        path: PathBuf,
        /// Permission bits found.
        mode: u32,
    },
    /// The passphrase could not be stretched into a key.
    #[error(
        "cannot derive a key from the passphrase in {memory_kib} KiB of memory: {found}\nfree some \
         memory"
    )]
    Stretch {
        /// Memory it takes, in KiB.
        memory_kib: u32,
        /// Description of the error.
        found: String,
    },
    /// The key file is no longer where this process read it.
    #[error(
        "key file {} was removed after this process read it\n\
         put it back from a copy; nothing new is sealed without it", path.display()
    )]
    Gone {
        /// Former path of the file.
        path: PathBuf,
    },
    /// The key file holds another key than when this process read it.
    #[error(
        "key file {} now holds key {id}, and held key {was} when this process read it\n\
         put the file of key {was} back, or restart with the new one", path.display()
    )]
    Replaced {
        /// The key file.
        path: PathBuf,
        /// Id of the key it held.
        was: String,
        /// Id of the key it holds.
        id: String,
    },
    /// The key file is protected differently than when this process read it.
    #[error(
        "key file {} is protected differently than when this process read it\n\
         restart with its current passphrase", path.display()
    )]
    ProtectionChanged {
        /// The key file.
        path: PathBuf,
    },
    /// The newest version was to be retired.
    #[error(
        "key {key} is the newest in {place}: it seals new files and cannot be retired\n\
         rotate the key, bring every store to the new version with: sealstone rest rotate, then \
         retire this one"
    )]
    Newest {
        /// The key.
        key: KeyRef,
        /// The source, as [`crate::KeySource::describe`] words it.
        place: String,
    },
    /// Two keys have the same name.
    #[error(
        "key {key} is in {place} already, with another secret\n\
         two keys have this name; nothing was changed, keep them in separate files"
    )]
    Conflict {
        /// The key.
        key: KeyRef,
        /// The source, as [`crate::KeySource::describe`] words it.
        place: String,
    },
    /// A key file with one more version would be too long to be read.
    #[error(
        "key file {} would have {bytes} bytes, at most {bytes_max} are allowed\n\
         retire versions that protect nothing any more", path.display()
    )]
    Full {
        /// The key file.
        path: PathBuf,
        /// Length it would have.
        bytes: usize,
        /// Longest that is read.
        bytes_max: u64,
    },
    /// A key server is named, and this program cannot speak to one.
    #[error(
        "kmip not built in: {} names a key server\n\
         install sealstone with it (make install, feature kmip), or give a key file",
        without_secrets(spec)
    )]
    NoKmip {
        /// The requested key source.
        spec: String,
    },
    /// Not a name for a key.
    #[error("not a key id: {found}")]
    BadId {
        /// Fault of the id.
        found: String,
    },
    /// The operating system gave no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(String),
    /// The key was fetched before this process was forked.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// A key server gave no key.
    #[error(transparent)]
    Kmip(#[from] KmipError),
    /// The key file is sealed by a token, and no PIN was given.
    #[error(
        "key file {} is sealed by token {token}, and no PIN was given\n\
         name a file that holds the PIN with {} or in SEALSTONE_PASSPHRASE_FILE",
         path.display(), SettingName("passphrase-file")
    )]
    NoPin {
        /// The key file.
        path: PathBuf,
        /// Name of the token.
        token: String,
    },
    /// The token that a key file names cannot be used.
    #[error("key file {}: {source}", path.display())]
    TokenOf {
        /// The key file.
        path: PathBuf,
        /// Error of the token.
        source: Box<TokenError>,
    },
    /// A token cannot be used.
    #[error(transparent)]
    Token(#[from] Box<TokenError>),
}

impl From<TokenError> for KeyError {
    fn from(error: TokenError) -> Self {
        Self::Token(Box::new(error))
    }
}

impl KeyError {
    /// Refuses the key `wanted` of a source that holds only the key `id`, if it is another one.
    ///
    /// - `place`: gives the source, as [`crate::KeySource::describe`] words it
    ///
    /// # Errors
    /// [`KeyError::OtherKey`].
    pub(crate) fn check_id(
        wanted: &KeyRef,
        id: &str,
        place: impl FnOnce() -> String,
    ) -> Result<(), Self> {
        if wanted.id == id {
            return Ok(());
        }
        Err(Self::OtherKey { wanted: wanted.clone(), place: place(), id: id.to_owned() })
    }

    /// Returns whether the source has other versions of the key, and lacks this one, or must not
    /// use it any more.
    #[must_use]
    pub fn is_of_version(&self) -> bool {
        match self {
            Self::MissingVersion { .. } => true,
            Self::Kmip(error) => {
                matches!(error, KmipError::WrongState { .. } | KmipError::NoKey { .. })
            }
            _ => false,
        }
    }

    /// Returns a function from the error of a token to that of the key file at `path` which names
    /// it.
    pub(crate) fn of_token(path: &Path) -> impl Fn(TokenError) -> Self {
        |error| Self::TokenOf { path: path.to_owned(), source: Box::new(error) }
    }
}

/// Returns the text that a message about a missing key file adds if a file with a similar name is
/// beside it.
#[must_use]
pub fn did_you_mean(nearest: Option<&Path>) -> String {
    nearest.map(|path| suggestion(&path.display().to_string())).unwrap_or_default()
}

fn held_by(holders: &[String]) -> String {
    if holders.is_empty() { "no holders with a name".into() } else { holders.join(", ") }
}

fn holder_hint(holders: &[String], path: &Path) -> String {
    let path = path.display();
    match holders {
        [] => format!(
            "leave the name out, or add holders with: sealstone keys holder add {path} --name NAME"
        ),
        _ => format!("take one of these names; sealstone keys show {path} lists them"),
    }
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn versions(available: &[u32]) -> String {
    match available {
        [one] => format!("version {one}"),
        many => {
            let list: Vec<String> = many.iter().map(u32::to_string).collect();
            format!("versions {}", list.join(", "))
        }
    }
}

fn missing_hint(wanted: &KeyRef, available: &[u32]) -> &'static str {
    if available.iter().all(|version| *version < wanted.version) {
        "this key file is older than the data; take the one made by the latest rotation"
    } else {
        "this version was removed; restore the key file that still holds it"
    }
}
