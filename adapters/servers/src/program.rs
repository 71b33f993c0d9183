//! Location of a server's program on this machine, and how to install it.

use std::path::{Path, PathBuf};

use crate::LabError;

/// Program of a server, and how it is found: by a flag, else by a variable, otherwise in places in
/// order.
#[derive(Debug)]
pub struct Program {
    /// Name of the program in errors, such as `mongod`.
    pub what: &'static str,
    /// Name of the setting (flag) that names it.
    pub flag: &'static str,
    /// Variable of the environment that names it where the flag does not.
    pub variable: &'static str,
    /// Places where it is searched for, in this order, if neither names it.
    pub places: &'static [Place],
    /// Check that the file at a path is the right program.
    pub works: fn(&Path) -> bool,
    /// Advice on how to name or install one: the second line of the error.
    pub install: &'static str,
}

/// A place where a program may be.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A path within [`cache_directory`].
    Cache(&'static str),
    /// An absolute path.
    At(&'static str),
    /// A name on the search path.
    SearchPath(&'static str),
}

impl Program {
    /// Finds the program: `named`, otherwise what the environment names, otherwise the first of the
    /// places that has one.
    ///
    /// # Errors
    /// [`LabError::NoProgram`]; a given name that does not lead to the program is not skipped.
    pub fn find(&self, named: Option<&Path>) -> Result<PathBuf, LabError> {
        let variable =
            || std::env::var_os(self.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = named.map(Path::to_owned).or_else(variable) {
            return match (self.works)(&path) {
                true => Ok(std::path::absolute(&path).unwrap_or(path)),
                false => Err(self.missing(format!("in {}", path.display()))),
            };
        }
        let found =
            self.places.iter().flat_map(|place| place.paths()).find(|path| (self.works)(path));
        let looked =
            || self.places.iter().map(|place| place.words()).collect::<Vec<_>>().join(" and ");
        found.ok_or_else(|| self.missing(looked()))
    }

    fn missing(&self, looked: String) -> LabError {
        LabError::NoProgram { what: self.what, looked, step: self.install }
    }
}

impl Place {
    fn paths(self) -> Vec<PathBuf> {
        match self {
            Self::Cache(path) => vec![cache_directory().join(path)],
            Self::At(path) => vec![PathBuf::from(path)],
            Self::SearchPath(name) => {
                let search = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&search).map(|dir| dir.join(name)).collect()
            }
        }
    }

    fn words(self) -> String {
        match self {
            Self::Cache(path) => format!("in {}", cache_directory().join(path).display()),
            Self::At(path) => format!("in {path}"),
            Self::SearchPath(_) => "on the search path".into(),
        }
    }
}

/// Returns the directory in which the set-up of a clone puts programs that come from no package of
/// the distribution.
#[must_use]
pub fn cache_directory() -> PathBuf {
    let base =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")
    })
    .join("sealstone")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Program = Program {
        what: "nothing",
        flag: "nothing",
        variable: "SEALSTONE_NO_SUCH_VARIABLE",
        places: &[Place::At("/nonexistent/a"), Place::SearchPath("no-such-program-7141")],
        works: Path::is_file,
        install: "there is none",
    };

    #[test]
    fn what_is_not_there_names_every_place() {
        let error = NOWHERE.find(None).unwrap_err().to_string();
        assert_eq!(
            error,
            "no nothing found: looked in /nonexistent/a and on the search path\nthere is none"
        );
        let error = NOWHERE.find(Some(Path::new("/nonexistent/b"))).unwrap_err().to_string();
        assert_eq!(error, "no nothing found: looked in /nonexistent/b\nthere is none");
    }

    #[test]
    fn a_program_is_found_by_name_and_on_the_search_path() {
        assert!(NOWHERE.find(Some(Path::new("/bin/sh"))).is_ok());
        let none = Program { places: &[Place::SearchPath("no-such-program-7141")], ..NOWHERE };
        let error = none.find(None).unwrap_err().to_string();
        assert_eq!(error, "no nothing found: looked on the search path\nthere is none");
        let sh = Program { places: &[Place::SearchPath("sh")], ..NOWHERE };
        assert!(sh.find(None).unwrap().ends_with("sh"));
    }
}
