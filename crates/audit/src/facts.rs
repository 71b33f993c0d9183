//! Facts of an audit, as its JSON has them: places that were looked at, the keys that they are
//! under, and traces of what must not be in the clear.

use std::collections::BTreeMap;

use sealstone_cipher::NOT_A_MODULE;
use serde::{Deserialize, Serialize};

use crate::leak::Hit;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Version of this structure.
    pub schema: u32,
    /// Title that the user gave it.
    pub title: Option<String>,
    /// Time at which it was made (RFC 3339).
    pub made_at: String,
    /// Name and version of the program that made it.
    pub program: String,
    /// Name of the machine.
    pub host: String,
    /// Always false, with the reason in words: a list of approved algorithms makes no module.
    pub validated_module: bool,
    /// The same, in words.
    pub note: &'static str,
    /// Every place that was named, in the order of the command.
    pub places: Vec<Place>,
    /// Every key that something is under, or that was named.
    pub keys: Vec<Key>,
    /// Search for what must not be in the clear; absent if none was asked for.
    pub search: Option<Search>,
}

impl Audit {
    /// Returns an audit of nothing, made now.
    #[must_use]
    pub fn new(title: Option<String>, program: String, host: String, now: jiff::Timestamp) -> Self {
        let made_at = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
        Self {
            schema: SCHEMA,
            title,
            made_at,
            program,
            host,
            validated_module: false,
            note: NOT_A_MODULE,
            places: Vec::new(),
            keys: Vec::new(),
            search: None,
        }
    }

    /// Returns whether a key that was named could not be looked at: then nobody can say of another
    /// key that none holds it.
    #[must_use]
    pub(crate) fn lacks_a_key(&self) -> bool {
        self.places.iter().any(|place| place.kind == Kind::Key)
    }
}

/// Kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A store of an engine that is part of a program.
    Store,
    /// The data directory of a server.
    Server,
    /// A sealed volume.
    Volume,
    /// A file with sealed columns.
    Columns,
    /// A table of a database with sealed columns.
    Table,
    /// Something that could not be looked at.
    Unknown,
    /// A key that was named and could not be looked at.
    Key,
}

/// One place.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The directory, the file, or the server and the table.
    pub name: String,
    /// Kind of the place.
    pub kind: Kind,
    /// Name of the product, such as `RocksDB`.
    pub product: String,
    /// Parts of it that are sealed.
    pub sealed: Vec<Share>,
    /// The sealed volume that everything here is on, if it is on one that was named, too.
    pub on_volume: Option<String>,
    /// Parts that should be sealed and are in the clear.
    pub clear: Vec<Clear>,
    /// Parts that no encryption here reaches, such as a server's log.
    pub beside: Vec<Clear>,
    /// Files that could not be read, and why.
    pub unread: Vec<Clear>,
    /// Result of the check that it is whole.
    pub verified: Verified,
    /// Counts of the program that has it in use, if that keeps any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// Counts that a program keeps of its work on a place, since it began to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Process that has it in use, or had it last.
    pub process: u32,
    /// Time of the counts (RFC 3339).
    pub at: String,
    /// Blocks sealed; absent where they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_sealed: Option<u64>,
    /// Blocks authenticated and opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_opened: Option<u64>,
    /// Bytes sealed; absent where they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_sealed: Option<u64>,
    /// Bytes authenticated and opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_opened: Option<u64>,
    /// Failures, of requests and of its upkeep.
    pub failures: u64,
    /// Bytes that are in a log of a volume and not in place yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

impl Place {
    /// Returns whether it could be looked at: of what could not, nothing is known.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.kind, Kind::Unknown | Kind::Key)
    }

    /// Returns a place of which nothing is known yet.
    #[must_use]
    pub fn new(name: String, kind: Kind, product: &str) -> Self {
        Self {
            name,
            kind,
            product: product.to_owned(),
            sealed: Vec::new(),
            on_volume: None,
            clear: Vec::new(),
            beside: Vec::new(),
            unread: Vec::new(),
            verified: Verified::Not { why: NotVerified::NotAsked },
            counted: None,
        }
    }
}

/// A part that is sealed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Name of the cipher.
    pub cipher: String,
    /// Mode, or the format that a column keeps.
    pub mode: String,
    /// Name of the key; absent where only its fingerprint is recorded.
    pub key_id: Option<String>,
    /// Version of the key.
    pub key_version: u32,
    /// The maker of it.
    pub maker: Maker,
    /// Amount, in `unit`s.
    pub count: u64,
    /// Unit of `count`.
    pub unit: Unit,
    /// Bytes on disk, where they are counted.
    pub bytes: Option<u64>,
    /// Name of the column, where it is one.
    pub column: Option<String>,
    /// Facts about its values that show without the key.
    pub leaks: Option<String>,
    /// True if cipher and mode are approved under FIPS 140.
    pub fips: bool,
    /// True if cipher and mode are on the Korean list (KCMVP).
    pub kcmvp: bool,
}

/// Maker of what is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// Sealstone itself, which is no validated module.
    Sealstone,
    /// A cryptographic module, as it calls itself.
    Module(String),
    /// Unknown: it is not recorded there.
    NotRecorded,
}

impl Maker {
    /// Returns the maker of a file by the module that its header names.
    #[must_use]
    pub fn of(module: Option<String>) -> Self {
        module.map_or(Self::Sealstone, Self::Module)
    }
}

/// Unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Files.
    Files,
    /// Blocks or pages.
    Blocks,
    /// Rows.
    Rows,
    /// Volumes.
    Volumes,
}

/// A part that is in the clear, or unread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clear {
    /// Name of the file, or words for what it is.
    pub name: String,
    /// Bytes on disk, where they are counted.
    pub bytes: Option<u64>,
    /// Remedy, or reason.
    pub remark: Option<String>,
    /// Number of values, where it is values of a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<u64>,
}

/// Result of a check that everything is whole: nothing changed, exchanged, left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Verified {
    /// It was checked.
    Checked {
        /// Time of the check (RFC 3339).
        at: String,
        /// False if something is not as it was sealed.
        is_whole: bool,
        /// The first findings.
        findings: Vec<String>,
        /// Number of all of them.
        count: u64,
        /// File name of the audit that made the check, where that was an earlier one.
        earlier: Option<String>,
    },
    /// It was not.
    Not {
        /// Reason.
        why: NotVerified,
    },
}

/// Reason why a place was not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotVerified {
    /// Nobody asked for it.
    NotAsked,
    /// None of the keys that were given opens it.
    NoKey,
    /// It is checked whenever it is read, and by no command.
    WhenRead,
    /// Not all of it has a tag that a check could look at.
    Never,
    /// It is in use.
    InUse,
    /// The check could not be carried out.
    Failed(String),
}

/// Days between rotations of a key, where nobody says otherwise.
pub const ROTATE_AFTER_DAYS: u32 = 365;

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Its name.
    pub id: String,
    /// Place that holds it; absent if none that was given does.
    pub held: Option<Held>,
    /// Versions that something is under, or that are held, ascending.
    pub versions: Vec<Version>,
    /// Day by which it is to be rotated (the newest version's, and the time between rotations);
    /// absent where the age is unknown.
    pub rotate_by: Option<String>,
    /// True if that day is over.
    pub is_overdue: bool,
}

/// Place that holds a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The key file, or the address of the key server without its secrets.
    pub place: String,
    /// Name of the user to whom the file belongs.
    pub owner: Option<String>,
    /// Permissions of the file, as `0600`.
    pub mode: Option<String>,
    /// Protection of the file.
    pub protection: Protection,
}

/// Protection of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Protection {
    /// The mode of the file alone.
    Nothing,
    /// A passphrase.
    Passphrase,
    /// A passphrase for each of these holders.
    Holders {
        /// Their names.
        names: Vec<String>,
    },
    /// A key of a PKCS #11 token.
    Token {
        /// Name of the token.
        token: String,
    },
    /// A key server.
    Server,
}

/// A version of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// Its number.
    pub version: u32,
    /// The key server's own name for it, by which sealed data names it; absent where that is the
    /// key's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Time at which it was made (RFC 3339), as the key file records it.
    pub made_at: Option<String>,
    /// Its age, in days.
    pub age_days: Option<i64>,
    /// Number of places that something is under it in.
    pub places: u64,
    /// True if a place that was given holds it.
    pub is_held: bool,
}

/// The search for what must not be in the clear.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Search {
    /// Number of texts that were looked for.
    pub markers: u64,
    /// Forms of values that were looked for.
    pub forms: Vec<String>,
    /// Files that were searched.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Places that were searched.
    pub places: Vec<String>,
    /// Files that could not be searched, and why.
    pub unread: Vec<Clear>,
    /// Number of places at which compressed data was not searched to its end, or a block of a table
    /// could not be read.
    pub cut: u64,
    /// Findings, by file. No text is repeated.
    pub hits: BTreeMap<String, Vec<Hit>>,
}
