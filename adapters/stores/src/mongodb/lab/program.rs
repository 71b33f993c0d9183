//! Where the programs of a lab are on this machine. Not here: how they are started (`mongod`, `key_server`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::LabError;

/// Names the server where no option does.
const VARIABLE: &str = "SEALSTONE_MONGOD";
/// The system's own Python, for which distributions package PyKMIP.
const PYTHON: &str = "/usr/bin/python3";
/// What a Python must have: PyKMIP, and of the standard library what PyKMIP needs and Python 3.12 took away.
const NEEDED: &str = "import kmip.services.server.server, ssl; ssl.wrap_socket";

/// Where `dev/setup.sh` puts what comes from no package of the distribution.
#[must_use]
pub fn cache_directory() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")).join("sealstone")
}

/// Finds the server: `named`, else what the environment names in `SEALSTONE_MONGOD`, else the one that
/// `dev/setup.sh mongod` installed, else the one on the search path.
///
/// # Errors
/// [`LabError::NoProgram`]; a name that was given and leads to no file is not passed over.
pub fn find_mongod(named: Option<&Path>) -> Result<PathBuf, LabError> {
    let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or_else(variable) {
        return match path.is_file() {
            true => Ok(std::path::absolute(&path).unwrap_or(path)),
            false => Err(LabError::NoProgram { looked: path.display().to_string() }),
        };
    }
    let cached = cache_directory().join("mongod/bin/mongod");
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&search).map(|dir| dir.join("mongod"));
    let found = [cached.clone()].into_iter().chain(on_path).find(|path| path.is_file());
    found.ok_or_else(|| LabError::NoProgram { looked: format!("{} and on the search path", cached.display()) })
}

/// Finds a Python that runs PyKMIP: the one that `dev/setup.sh kmip` made, else the system's.
///
/// # Errors
/// [`LabError::NoKeyServer`].
pub fn find_pykmip() -> Result<PathBuf, LabError> {
    let candidates = [cache_directory().join("pykmip/bin/python"), PathBuf::from(PYTHON)];
    let works = |python: &&PathBuf| {
        let mut command = Command::new(python);
        command.args(["-W", "ignore", "-c", NEEDED]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = candidates.iter().find(works).cloned();
    found.ok_or_else(|| LabError::NoKeyServer {
        looked: candidates.each_ref().map(|python| python.display().to_string()).join(" and "),
    })
}
