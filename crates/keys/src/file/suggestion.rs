//! The key file that was probably meant by a name that no file has.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the file beside `path`, where none is, whose name is so like that of `path` that it was
/// probably meant: one with a slip in a third of its letters at most, without its ending, or with
/// something behind it, as copies are called.
///
/// - `is_key`: returns true for key files
pub(super) fn nearest(path: &Path, is_key: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?.to_lowercase();
    let letters_max = wanted.split('.').next().unwrap_or_default().chars().count() / 3;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let entries = fs::read_dir(dir.unwrap_or(Path::new("."))).ok()?;
    let mut near: Vec<(usize, String)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| {
            let found = name.to_lowercase();
            let distance = strsim::osa_distance(&wanted, &found);
            let is_longer = found
                .strip_prefix(&wanted)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            (distance <= letters_max || is_longer).then_some((distance, name))
        })
        .collect();
    near.sort();
    let beside = |name: String| dir.map_or_else(|| PathBuf::from(&name), |dir| dir.join(&name));
    near.into_iter().map(|(_, name)| beside(name)).find(|path| is_key(path))
}
