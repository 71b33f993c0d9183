//! Names for files that must not replace existing files: `report.html`, `report-2.html`,
//! `report-3.html` and so on.

use std::path::{Path, PathBuf};

use anyhow::bail;

/// Returns `path`, and then the same with numbers from 2 on before its ending.
pub(crate) fn numbered(path: &Path) -> impl Iterator<Item = PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path
        .extension()
        .map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    let path = path.to_owned();
    let others = path.clone();
    std::iter::once(path).chain(
        (2_u64..).map(move |number| others.with_file_name(format!("{stem}-{number}{ending}"))),
    )
}

/// Returns the file to write a page into: `named`, which must not exist unless it may be replaced,
/// or the first of `usual` that does not exist.
///
/// - `replace`: whether a file that is there may be replaced
///
/// # Errors
/// As [`check_new`].
pub(crate) fn page(named: Option<&Path>, usual: &Path, replace: bool) -> anyhow::Result<PathBuf> {
    match named {
        Some(path) if replace => Ok(path.to_owned()),
        Some(path) => {
            check_new(path, ", or give --replace to write over it").map(|()| path.to_owned())
        }
        None if replace => Ok(usual.to_owned()),
        None => Ok(numbered(usual)
            .find(|path| path.symlink_metadata().is_err())
            .expect("numbers do not end")),
    }
}

/// Checks that no file is at `path`. Anything else than a file, a link to a file or a dangling
/// link, such as a terminal, loses nothing.
///
/// - `otherwise`: the user's alternative to naming another file
///
/// # Errors
/// A file that is there.
pub(crate) fn check_new(path: &Path, otherwise: &str) -> anyhow::Result<()> {
    check_new_for("--out", path, otherwise)
}

/// As [`check_new`], of the file that `flag` names.
///
/// # Errors
/// As [`check_new`].
pub(crate) fn check_new_for(flag: &str, path: &Path, otherwise: &str) -> anyhow::Result<()> {
    let is_there = match path.symlink_metadata() {
        Ok(facts) if facts.is_symlink() => path.metadata().map_or(true, |facts| facts.is_file()),
        Ok(facts) => facts.is_file(),
        Err(_) => false,
    };
    if is_there {
        bail!("{} is there already\nname another file with {flag}{otherwise}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_page_takes_the_place_of_none() {
        let names: Vec<PathBuf> = numbered(Path::new("a/report.html")).take(3).collect();
        assert_eq!(
            names,
            ["a/report.html", "a/report-2.html", "a/report-3.html"].map(PathBuf::from)
        );
        assert_eq!(numbered(Path::new("results")).nth(1), Some(PathBuf::from("results-2")));

        let dir = tempfile::tempdir().unwrap();
        let (usual, second) = (dir.path().join("report.html"), dir.path().join("report-2.html"));
        assert_eq!(page(None, &usual, false).unwrap(), usual);
        assert_eq!(page(Some(&usual), &second, false).unwrap(), usual);
        fs::write(&usual, "").unwrap();
        assert_eq!(page(None, &usual, false).unwrap(), second);
        assert_eq!(page(None, &usual, true).unwrap(), usual);
        let refused = page(Some(&usual), &second, false).unwrap_err().to_string();
        assert!(refused.contains("is there already\n"), "{refused}");
        assert_eq!(page(Some(&usual), &second, true).unwrap(), usual);
        // a link to nothing is somebody's, too
        let link = dir.path().join("link.html");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(page(Some(&link), &usual, false).is_err());
        assert_eq!(
            page(Some(Path::new("/dev/null")), &usual, false).unwrap(),
            Path::new("/dev/null")
        );
    }
}
