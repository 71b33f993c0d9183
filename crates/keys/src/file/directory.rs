//! Key files among other files: the key files of a directory, and a name for the key of a new file.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use super::{KeyFile, Summary};
use crate::{KeyError, check_key_id};

/// Longest name of a file that becomes part of a key's name, in bytes.
const STEM_BYTES_MAX: usize = 40;

/// Returns the key files directly in `dir`, by name; other files are passed over. A key file needs
/// no passphrase for this.
///
/// # Errors
/// [`KeyError::Directory`]; [`KeyError::NoKeys`] for a directory without key files; the error of a
/// file named `*.key`, such as [`KeyError::Permissions`], since a key that others can read must not
/// be skipped silently.
pub fn in_directory(dir: &Path) -> Result<Vec<Summary>, KeyError> {
    let cannot = |source| KeyError::Directory { dir: dir.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(cannot)? {
        paths.push(entry.map_err(cannot)?.path());
    }
    paths.sort();
    let mut keys = Vec::new();
    for path in paths {
        match KeyFile::inspect(&path) {
            Ok(key) => keys.push(key),
            // something else, or a file that disappeared in the meantime
            Err(
                KeyError::Garbled { .. }
                | KeyError::NotAFile { .. }
                | KeyError::NotKeyFile { .. }
                | KeyError::NoFile { .. },
            ) => {}
            // other files are often open to others
            Err(KeyError::Permissions { .. } | KeyError::Owner { .. })
                if path.extension().is_none_or(|ending| ending != "key") => {}
            Err(error) => return Err(error),
        }
    }
    if keys.is_empty() {
        return Err(KeyError::NoKeys { dir: dir.to_owned() });
    }
    Ok(keys)
}

/// Returns a name for the key of the new key file `path`: the file's own name, and four random
/// bytes so that two keys do not share a name by accident.
#[must_use]
pub fn new_id(path: &Path) -> String {
    let stem =
        path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.len() <= STEM_BYTES_MAX);
    let stem = stem.filter(|stem| check_key_id(stem).is_ok()).unwrap_or("key");
    format!("{stem}-{:08x}", RandomState::new().hash_one(path) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_begins_as_the_file_does_and_is_never_the_same() {
        let names = ["store.key", "store.key"].map(|file| new_id(Path::new(file)));
        assert!(
            names.iter().all(|name| name.starts_with("store-") && check_key_id(name).is_ok()),
            "{names:?}"
        );
        assert_ne!(names[0], names[1]);
        assert!(new_id(Path::new("a name with blanks.key")).starts_with("key-"));
        assert!(new_id(Path::new(&"x".repeat(STEM_BYTES_MAX + 1))).starts_with("key-"));
    }

    #[test]
    fn other_files_are_passed_over_and_an_open_key_is_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(in_directory(dir.path()), Err(KeyError::NoKeys { .. })));
        assert!(matches!(in_directory(&dir.path().join("none")), Err(KeyError::Directory { .. })));
        KeyFile::create(dir.path().join("b.key"), "b").unwrap();
        KeyFile::create(dir.path().join("a.key"), "a").unwrap();
        fs::write(dir.path().join("notes.txt"), "not a key").unwrap();
        let ids: Vec<String> =
            in_directory(dir.path()).unwrap().into_iter().map(|key| key.id).collect();
        assert_eq!(ids, ["a", "b"]);
        KeyFile::create(dir.path().join("c.key"), "c").unwrap();
        fs::set_permissions(
            dir.path().join("c.key"),
            std::os::unix::fs::PermissionsExt::from_mode(0o644),
        )
        .unwrap();
        assert!(matches!(in_directory(dir.path()), Err(KeyError::Permissions { .. })));
    }
}
