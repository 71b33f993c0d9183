//! The file in a data directory that records which versions of a key encrypted there, by their
//! fingerprints. Pages and logs have only a version's number, so another key with the same number
//! would give the server rubbish, which it takes for damage; this file lets the plug-in refuse it
//! by name before. Who may write in the directory may write or remove the file: it protects from a
//! mistake.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sealstone_file::{input, output};
use sealstone_seal::Fingerprint;

/// Name of the file.
pub(crate) const NAME: &str = "SEALSTONE-KEYS";

/// Fingerprints by the versions of the key.
pub(crate) type Fingerprints = BTreeMap<u32, Fingerprint>;

/// First line of the file, with the version of its form.
const TITLE: &str = "sealstone keys 1";

/// Longest file that is read, in bytes: thousands of versions.
const BYTES_MAX: usize = 256 << 10;

/// Returns whether a file called `name` is [`NAME`], or one that a process that was killed did not
/// finish.
pub(crate) fn is_ours(name: &str) -> bool {
    name == NAME || output::is_partial_of(name.as_bytes(), NAME.as_ref())
}

/// Reads the file in `dir`; nothing where there is none.
///
/// # Errors
/// A file that cannot be read, or that is of no such form.
pub(crate) fn read(dir: &Path) -> io::Result<Fingerprints> {
    let bytes = match input::read_at_most(&dir.join(NAME), BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fingerprints::new()),
        outcome => outcome?,
    };
    let found = std::str::from_utf8(&bytes).ok().and_then(parse);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no file of fingerprints"))
}

/// Writes the file in `dir`.
///
/// # Errors
/// The system's, and those of [`output::replace`]; the file that was there is untouched.
pub(crate) fn write(dir: &Path, fingerprints: &Fingerprints) -> io::Result<()> {
    let line = |(version, fingerprint)| format!("{version} {fingerprint}\n");
    let lines: String = fingerprints.iter().map(line).collect();
    let text = format!("{TITLE}\n{lines}");
    output::replace(&dir.join(NAME), output::Access::Usual, text.as_bytes())
}

fn parse(text: &str) -> Option<Fingerprints> {
    let lines = text.strip_prefix(TITLE)?.strip_prefix('\n')?;
    let pair = |line: &str| {
        let (version, fingerprint) = line.split_once(' ')?;
        Some((version.parse().ok()?, fingerprint.parse().ok()?))
    };
    lines.lines().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), Fingerprints::new());
        let written: Fingerprints =
            (1..=3_u8).map(|version| (version.into(), Fingerprint([version; 8]))).collect();
        write(dir.path(), &written).unwrap();
        assert_eq!(read(dir.path()).unwrap(), written);
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [NAME]);
        assert!(is_ours(NAME) && is_ours(".SEALSTONE-KEYS.0123456789abcdef.sealstone-partial"));
        assert!(!is_ours("SEALSTONE-KEYS.old"));
    }

    #[test]
    fn what_is_no_such_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        for wrong in ["", "x", "sealstone keys 2\n", "sealstone keys 1", "sealstone keys 1\n1 0"] {
            fs::write(&path, wrong).unwrap();
            assert!(read(dir.path()).is_err(), "{wrong}");
        }
        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(dir.path()).is_err(), "and does not wait");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(read(dir.path()).is_err());
        assert!(write(dir.path(), &Fingerprints::new()).is_err());
    }
}
