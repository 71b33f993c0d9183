//! Identity of a sealed file within its store: kind, number and the store's own id, from its header
//! and from the engine's name for it.

/// Length of a store id, in bytes.
pub const STORE_ID_BYTES: usize = 16;

/// Purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Made under a name that means nothing to the engine, such as a table that is to be ingested:
    /// bound to no store.
    Loose,
    /// A write-ahead log.
    Log,
    /// A manifest: which files make up the store.
    Manifest,
    /// A table.
    Table,
    /// A file of large values.
    Blob,
    /// A small file that is written once and replaced as a whole: `CURRENT`, `OPTIONS-000007`,
    /// `IDENTITY`, and the temporary files that become these.
    Control,
    /// The store's list of its own files.
    Catalogue,
    /// A volume: the file with its header.
    Volume,
}

impl Kind {
    /// Every kind, with its number in the header.
    const CODES: [(Self, u8); 8] = [
        (Self::Loose, 0),
        (Self::Log, 1),
        (Self::Manifest, 2),
        (Self::Table, 3),
        (Self::Blob, 4),
        (Self::Control, 5),
        (Self::Catalogue, 6),
        (Self::Volume, 7),
    ];

    pub(crate) fn code(self) -> u8 {
        Self::CODES.into_iter().find(|(kind, _)| *kind == self).expect("every kind has a number").1
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::CODES.into_iter().find(|(_, known)| *known == code).map(|(kind, _)| kind)
    }

    /// Returns the kind's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loose => "file of no store",
            Self::Log => "log",
            Self::Manifest => "manifest",
            Self::Table => "table",
            Self::Blob => "blob file",
            Self::Control => "control file",
            Self::Catalogue => "catalogue",
            Self::Volume => "volume",
        }
    }

    /// Returns whether a file of this kind is appended to and synced again and again, and so
    /// consists of frames.
    #[must_use]
    pub fn grows(self) -> bool {
        matches!(self, Self::Log | Self::Manifest | Self::Catalogue)
    }
}

/// Kind and number of a file, and the store it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Purpose of the file.
    pub kind: Kind,
    /// The number in its name; 0 where it has none.
    pub number: u64,
    /// The store it was made for; zeros for [`Kind::Loose`].
    pub store: [u8; STORE_ID_BYTES],
}

impl Identity {
    /// A file of no store.
    pub const LOOSE: Self = Self { kind: Kind::Loose, number: 0, store: [0; STORE_ID_BYTES] };
}

/// The names of the two copies of a directory's catalogue.
pub const CATALOGUE_NAMES: [&str; 2] = ["SEALSTONE-CATALOGUE-1", "SEALSTONE-CATALOGUE-2"];

/// Returns the meaning of the file name `name` (without a directory) in RocksDB: kind and number.
/// Names that RocksDB does not give to files of a store are [`Kind::Loose`].
#[must_use]
pub fn rocksdb_name(name: &str) -> (Kind, u64) {
    let digits = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<u64>().ok()).flatten()
    };
    if CATALOGUE_NAMES.iter().any(|catalogue| name.starts_with(catalogue)) {
        return (Kind::Catalogue, 0);
    }
    if matches!(name, "CURRENT" | "IDENTITY" | "CURRENT.tmp") {
        return (Kind::Control, 0);
    }
    if let Some(number) = name.strip_prefix("MANIFEST-").and_then(digits) {
        return (Kind::Manifest, number);
    }
    if let Some(rest) = name.strip_prefix("OPTIONS-")
        && let Some(number) = digits(rest.strip_suffix(".dbtmp").unwrap_or(rest))
    {
        return (Kind::Control, number);
    }
    let Some((stem, extension)) = name.split_once('.') else { return (Kind::Loose, 0) };
    let kind = match extension {
        "log" => Kind::Log,
        "sst" | "ldb" => Kind::Table,
        "blob" => Kind::Blob,
        "dbtmp" => Kind::Control,
        _ => return (Kind::Loose, 0),
    };
    digits(stem).map_or((Kind::Loose, 0), |number| (kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_rocksdb_means_by_them() {
        for (name, want) in [
            ("000004.log", (Kind::Log, 4)),
            ("MANIFEST-000012", (Kind::Manifest, 12)),
            ("000007.sst", (Kind::Table, 7)),
            ("000007.ldb", (Kind::Table, 7)),
            ("000009.blob", (Kind::Blob, 9)),
            ("CURRENT", (Kind::Control, 0)),
            ("IDENTITY", (Kind::Control, 0)),
            ("OPTIONS-000011", (Kind::Control, 11)),
            ("OPTIONS-000011.dbtmp", (Kind::Control, 11)),
            ("000003.dbtmp", (Kind::Control, 3)),
            ("SEALSTONE-CATALOGUE-1", (Kind::Catalogue, 0)),
            ("SEALSTONE-CATALOGUE-2.new", (Kind::Catalogue, 0)),
            ("bulk-7.sst", (Kind::Loose, 0)),
            ("000007_s123_45.sst", (Kind::Loose, 0)),
            ("MANIFEST-", (Kind::Loose, 0)),
            (".log", (Kind::Loose, 0)),
            ("99999999999999999999999.log", (Kind::Loose, 0)),
            ("LOCK", (Kind::Loose, 0)),
        ] {
            assert_eq!(rocksdb_name(name), want, "{name}");
        }
    }

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        for (kind, code) in Kind::CODES {
            assert_eq!((kind.code(), Kind::from_code(code)), (code, Some(kind)));
        }
        assert_eq!(Kind::from_code(Kind::CODES.len() as u8), None);
    }
}
