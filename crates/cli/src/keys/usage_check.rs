//! Check that nothing that the user names still needs a version of a key before it is retired, and
//! a description of the checked data. Not here: checking (`retirement` for stores, `field` for
//! columns).
//!
//! Stores are judged by their headers, files with sealed columns by manifest and record, tables by
//! their marks. A file that begins like a sealed one and cannot be read may need any version, so
//! none is retired; the same applies to unreadable data. Links are followed
//! (`sealstone_file::walk`), and a directory is searched for files of every engine, since it may
//! hold several.

use sealstone_stores::at_rest::Wanted;

use crate::field;
use crate::flags::SealedWith;
use crate::retirement::check_unused;

/// Name of a kind of sealed thing, how many there were, and the flag and the words for when none
/// was named.
struct Looked {
    found: Option<(u64, &'static str)>,
    missing: &'static str,
}

/// Checks everything in `sealed` and returns the checked data, none of which needs the key
/// `wanted`, and the unchecked data.
///
/// - `names`: every name that a version of the key has
/// - `source_name`: the key source as the user named it, for the command in an error
pub(super) fn check(
    wanted: &Wanted<'_>,
    names: &[String],
    sealed: &SealedWith,
    source_name: &str,
) -> anyhow::Result<String> {
    let key = wanted.key;
    #[cfg(not(any(feature = "mysql", feature = "postgres")))]
    let _ = names;
    let stores = check_unused(wanted, &sealed.store, source_name)?;
    let files = field::check_files_unneeding(key, &sealed.field, source_name)?;
    let looked = [
        Looked {
            found: (!sealed.store.is_empty()).then_some((stores, "sealed file")),
            missing: "stores (--store)",
        },
        Looked {
            found: (!sealed.field.is_empty()).then_some((files, "file with sealed columns")),
            missing: "files with sealed columns (--field)",
        },
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        Looked {
            found: match field::check_tables_unneeding(
                key,
                names,
                &sealed.table,
                &sealed.tls,
                source_name,
            )? {
                0 => None,
                tables => Some((tables, "table")),
            },
            missing: "tables (--table)",
        },
    ];
    Ok(words(&looked))
}

/// Checks stores and files for the key `wanted` under another number than [`check`]: data that was
/// sealed by the identifier of one version of a key server calls it version 1. Tables are looked at
/// by name.
///
/// # Errors
/// As [`check`].
#[cfg(feature = "kmip")]
pub(super) fn check_by_identifier(
    wanted: &Wanted<'_>,
    sealed: &SealedWith,
    source_name: &str,
) -> anyhow::Result<()> {
    let key = sealstone_keys::KeyRef { id: wanted.key.id.clone(), version: 1 };
    check_unused(&Wanted { key: &key, ..*wanted }, &sealed.store, source_name)?;
    field::check_files_unneeding(&key, &sealed.field, source_name)?;
    Ok(())
}

fn words(looked: &[Looked]) -> String {
    let found: Vec<String> = looked.iter().filter_map(|looked| looked.found).map(of).collect();
    let missing: Vec<&str> =
        looked.iter().filter(|looked| looked.found.is_none()).map(|l| l.missing).collect();
    let first = match found.as_slice() {
        [] => "nothing was checked".to_owned(),
        found => format!("none of {} is under it", found.join(", ")),
    };
    let rest = if missing.is_empty() {
        "backups".to_owned()
    } else {
        format!("{}, backups", missing.join(", "))
    };
    format!("{first}\nnot looked at: {rest}")
}

fn of((count, what): (u64, &str)) -> String {
    match (count, what.split_once(' ')) {
        (1, _) => format!("1 {what}"),
        (_, Some(("file", rest))) => format!("{count} files {rest}"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_and_what_not() {
        let stores = |found| Looked { found, missing: "stores (--store)" };
        let columns = |found| Looked { found, missing: "files with sealed columns (--field)" };
        assert_eq!(
            words(&[stores(Some((12, "sealed file"))), columns(None)]),
            "none of 12 sealed files is under it\nnot looked at: files with sealed columns \
             (--field), backups"
        );
        assert_eq!(
            words(&[
                stores(Some((1, "sealed file"))),
                columns(Some((2, "file with sealed columns")))
            ]),
            "none of 1 sealed file, 2 files with sealed columns is under it\nnot looked at: backups"
        );
        assert_eq!(
            words(&[stores(None)]),
            "nothing was checked\nnot looked at: stores (--store), backups"
        );
    }
}
