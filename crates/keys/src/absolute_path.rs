//! Paths and key sources in a form that works for another process wherever it was started, such as
//! a server that gets a key.

use std::io;
use std::path::{Path, PathBuf};

/// Reason why something cannot be named to another process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AbsoluteError {
    /// The system does not report the current directory.
    #[error("cannot make {} an absolute path: {source}\ngive the whole path, from / on",
        path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// A path that is not text, where only text can be passed on.
    #[error("cannot pass {} on to a server: it is not UTF-8\nrename it", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
}

/// Returns `path` from the root on; links in it are resolved if it exists.
///
/// # Errors
/// [`AbsoluteError::Directory`].
pub fn path(path: &Path) -> Result<PathBuf, AbsoluteError> {
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    std::path::absolute(path)
        .map_err(|source| AbsoluteError::Directory { path: path.to_owned(), source })
}

/// As [`path`], and text.
///
/// # Errors
/// [`AbsoluteError`].
pub fn text(named: &Path) -> Result<String, AbsoluteError> {
    let path = path(named)?.into_os_string();
    path.into_string().map_err(|path| AbsoluteError::NotText { path: path.into() })
}

/// Returns the key source `spec` with an absolute path in it: the path of a key file, or of the
/// settings in `kmip:FILE.toml`. An address `kmip://…` is returned unchanged.
///
/// # Errors
/// [`AbsoluteError`].
pub fn source(spec: &str) -> Result<String, AbsoluteError> {
    match spec.strip_prefix("kmip:") {
        Some(address) if address.starts_with("//") => Ok(spec.to_owned()),
        Some(file) => Ok(format!("kmip:{}", text(Path::new(file))?)),
        None => text(Path::new(spec)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_source_becomes_absolute() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap().display().to_string();
        for (spec, want) in [
            ("kmip://kms:5696/orders".to_owned(), "kmip://kms:5696/orders".to_owned()),
            ("no-such.key".into(), format!("{here}/no-such.key")),
            ("kmip:no-such.toml".into(), format!("kmip:{here}/no-such.toml")),
            ("/no/such.key".into(), "/no/such.key".into()),
            (".".into(), here.clone()),
        ] {
            assert_eq!(source(&spec).unwrap(), want, "{spec}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_what_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let dir = tempfile::tempdir().unwrap();
        let real = dir
            .path()
            .canonicalize()
            .unwrap()
            .join(std::ffi::OsString::from_vec(b"a\xff".to_vec()));
        std::fs::write(&real, "x").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(path(&link).unwrap(), real);
        let error = source(link.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, AbsoluteError::NotText { .. }), "{error}");
    }
}
