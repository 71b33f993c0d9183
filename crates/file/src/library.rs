//! Shared libraries of ours that another program loads: found by name, by variable, or where they
//! are installed.

use std::path::{Path, PathBuf};

/// Finds the library `file`: `named`, else the file that the variable `variable` of the environment
/// names, else next to the running program, else in `../lib/sealstone` from there.
///
/// # Errors
/// The places that were searched, in words; a name that was given is not passed over if it leads to
/// no file.
pub fn find(file: &str, variable: &str, named: Option<&Path>) -> Result<PathBuf, String> {
    let from_variable =
        || std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or_else(from_variable) {
        return match path.canonicalize() {
            Ok(path) if path.is_file() => Ok(path),
            _ => Err(path.display().to_string()),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("/")).to_owned();
    let places = [beside.clone(), beside.parent().unwrap_or(&beside).join("lib/sealstone")];
    let found = places.iter().map(|place| place.join(file)).find(|path| path.is_file());
    let looked = || places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>();
    found.ok_or_else(|| looked().join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_or_refused_and_never_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lib.so");
        std::fs::write(&file, "").unwrap();
        let find = |named: &Path| find("lib.so", "SEALSTONE_NO_SUCH_VARIABLE", Some(named));
        assert_eq!(find(&file), Ok(file.canonicalize().unwrap()));
        for wrong in ["/nonexistent/x.so", "/"] {
            assert_eq!(find(Path::new(wrong)), Err(wrong.to_owned()));
        }
    }
}
