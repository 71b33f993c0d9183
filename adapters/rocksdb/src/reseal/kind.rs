//! Classification of a file of a database by its name.

use sealstone_seal::CATALOGUE_NAMES;

use crate::file_system::{is_log_name, is_manifest_name};

/// Kind of a file of a database, judged by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A table or a file of blobs, with its number.
    Table(u64),
    /// A write-ahead log.
    Log,
    /// A manifest, the file that names it, or a copy of the catalogue.
    Manifest,
    /// Written once and then at most read: settings, identity, text logs of a plain database.
    Written,
    /// Unfinished.
    Temporary,
    /// Not one of RocksDB's.
    Foreign,
}

/// Returns the kind of file that RocksDB stores under `name`, from the directory of the database
/// on.
pub(super) fn kind(name: &str) -> Kind {
    let number =
        |ending: &str| name.strip_suffix(ending).and_then(|number| number.parse::<u64>().ok());
    if let Some(number) = number(".sst").or_else(|| number(".blob")) {
        return Kind::Table(number);
    }
    if name.contains('/') {
        return Kind::Foreign;
    }
    match name {
        "CURRENT" => Kind::Manifest,
        "IDENTITY" | "LOG" => Kind::Written,
        _ if is_manifest_name(name) || CATALOGUE_NAMES.contains(&name) => Kind::Manifest,
        _ if is_log_name(name) => Kind::Log,
        _ if name.ends_with(".dbtmp") => Kind::Temporary,
        _ if name.starts_with("OPTIONS-") || name.starts_with("LOG.old.") => Kind::Written,
        _ => Kind::Foreign,
    }
}

/// Returns the number of the `OPTIONS` file called `name`, if that is one that ends with `ending`.
pub(super) fn options_number(name: &str, ending: &str) -> Option<u64> {
    name.strip_prefix("OPTIONS-")?.strip_suffix(ending)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_files_are() {
        for (name, want) in [
            ("000012.sst", Kind::Table(12)),
            ("1234567.blob", Kind::Table(1_234_567)),
            ("000004.log", Kind::Log),
            ("MANIFEST-000005", Kind::Manifest),
            ("CURRENT", Kind::Manifest),
            ("SEALSTONE-CATALOGUE-2", Kind::Manifest),
            ("OPTIONS-000007", Kind::Written),
            ("IDENTITY", Kind::Written),
            ("LOG", Kind::Written),
            ("LOG.old.1763700000000000", Kind::Written),
            ("OPTIONS-000009.dbtmp", Kind::Temporary),
            ("000000.dbtmp", Kind::Temporary),
            ("archive/000003.log", Kind::Foreign),
            ("backup/000012.sst", Kind::Foreign),
            ("notes.txt", Kind::Foreign),
            ("server.log", Kind::Foreign),
            (".sst", Kind::Foreign),
        ] {
            assert_eq!(kind(name), want, "{name}");
        }
    }
}
