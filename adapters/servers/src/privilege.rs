//! Servers that refuse to run as root, such as PostgreSQL: starting them as root.
//!
//! The first of two working ways is taken. In its own user namespace a process has another number
//! and none of root's rights over the system, and its files belong to the user who started it: so
//! it can work in any directory of that user. Where namespaces are forbidden (in many containers)
//! it becomes another user of the system, to whom its files are given, and who must be able to
//! reach their directory.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::unistd::{User, geteuid};

use crate::error::io;
use crate::{LabError, directory};

/// The user that every system has for processes without rights.
const NOBODY: &str = "nobody";

/// As whom a server runs.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    /// As who starts it, who is not root.
    Own,
    /// Under these numbers of user and group in its own namespace.
    Namespace { uid: u32, gid: u32 },
    /// As this user, since there are no namespaces.
    User { uid: u32, gid: u32 },
}

impl Identity {
    /// Returns the way for a server with the dedicated user `name`, where the system has that user.
    pub(crate) fn of(name: &str) -> Self {
        if !geteuid().is_root() {
            return Self::Own;
        }
        let user = [name, NOBODY].into_iter().find_map(|name| User::from_name(name).ok().flatten());
        let Some(user) = user else { return Self::Own };
        let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
        if has_namespaces(uid, gid) {
            Self::Namespace { uid, gid }
        } else {
            Self::User { uid, gid }
        }
    }

    /// Returns a command that runs `program` so. The process that it starts becomes the program.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match *self {
            Self::Own => Command::new(program),
            Self::Namespace { uid, gid } => {
                let mut command = namespace(uid, gid);
                command.arg(program);
                command
            }
            Self::User { uid, gid } => {
                let mut command = Command::new(program);
                command.uid(uid).gid(gid);
                command
            }
        }
    }

    /// Makes the directory `path`, with those above it, accessible only to the server.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub(crate) fn make_directory(&self, path: &Path) -> Result<(), LabError> {
        directory::make(path, directory::PRIVATE)?;
        self.give(path)
    }

    /// Makes `path` the server's own, where it is another user of the system.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub(crate) fn give(&self, path: &Path) -> Result<(), LabError> {
        let Some((uid, gid)) = self.owner() else { return Ok(()) };
        chown(path, Some(uid), Some(gid)).map_err(|error| io("give the server its", path, error))
    }

    /// Returns the user and group whose the server's files are, where they are not this process's.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        match *self {
            Self::User { uid, gid } => Some((uid, gid)),
            _ => None,
        }
    }
}

/// Returns a command in a user namespace, to which the program and its arguments are added.
fn namespace(uid: u32, gid: u32) -> Command {
    let mut command = Command::new("unshare");
    command
        .arg("--user")
        .arg(format!("--map-user={uid}"))
        .arg(format!("--map-group={gid}"))
        .arg("--");
    command
}

/// Returns whether this process may make user namespaces; this is tried only once.
fn has_namespaces(uid: u32, gid: u32) -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let mut tried = namespace(uid, gid);
        tried.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        tried.status().is_ok_and(|status| status.success())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_somebody_else() {
        let said =
            Identity::of("no-such-user-7141").command(Path::new("id")).arg("-u").output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        assert!(!said.is_empty() && said != "0", "{said}");
    }
}
