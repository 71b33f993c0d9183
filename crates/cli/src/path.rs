//! Paths that a user named: as a shell reads them, and checks that something can be made there.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::bail;

/// Checks that the directory in which `path` will be made exists, before any work is done or any
/// passphrase is requested.
///
/// # Errors
/// Names the directory that is missing, and the command that makes it.
pub(crate) fn check_parent(path: &Path) -> anyhow::Result<()> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    match parent.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "cannot make {}: there is no directory {}\nmake it first, with: mkdir -p {}",
            path.display(),
            parent.display(),
            quoted(parent)
        ),
        Ok(found) if !found.is_dir() => {
            bail!(
                "cannot make {}: {} is not a directory\nchoose another path",
                path.display(),
                parent.display()
            )
        }
        // anything else is reported by who makes the file
        _ => Ok(()),
    }
}

/// Checks that `out` is another file than `input`.
///
/// # Errors
/// It is the same, or a directory.
pub(crate) fn check_other(input: &Path, out: &Path) -> anyhow::Result<()> {
    if let (Ok(input), Ok(out)) = (input.metadata(), out.metadata())
        && (input.dev(), input.ino()) == (out.dev(), out.ino())
    {
        bail!("the output would replace the file that is read\ngive another name with --out");
    }
    if out.is_dir() {
        bail!(
            "cannot write {}: it is a directory\nname a file in it, such as: --out {}/sealed.csv",
            out.display(),
            quoted(out)
        );
    }
    Ok(())
}

/// Returns a path as a shell reads it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/data/orders-2.db")), "/data/orders-2.db");
        assert_eq!(quoted(Path::new("my data")), "'my data'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }

    #[test]
    fn a_missing_directory_comes_with_the_command_that_makes_it() {
        let dir = tempfile::tempdir().unwrap();
        let within = |name: &str| dir.path().join(name);
        check_parent(&within("a.key")).unwrap();
        check_parent(Path::new("a.key")).unwrap();
        let error = check_parent(&within("my keys/b/c.key")).unwrap_err().to_string();
        let missing = within("my keys/b").display().to_string();
        assert!(
            error.ends_with(&format!(
                "no directory {missing}\nmake it first, with: mkdir -p '{missing}'"
            )),
            "{error}"
        );
        std::fs::write(within("file"), "").unwrap();
        let error = check_parent(&within("file/c.key")).unwrap_err().to_string();
        assert!(error.contains(" is not a directory\n"), "{error}");
    }
}
