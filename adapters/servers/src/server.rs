//! Description of a server of a lab: a row of the table, the settings that it is started with, and
//! the operations on servers that were started. Not here: the table itself (`registry`), a
//! directory with servers in it (`Lab`).

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{LabError, Program};

/// A kind of server that a lab can run: a row of the table.
#[derive(Debug)]
pub struct Server {
    /// Name on the command line, such as `mongodb`.
    pub name: &'static str,
    /// Description of what `lab up` starts, in one line.
    pub about: &'static str,
    /// The settings that it takes.
    pub options: &'static [ServerOption],
    /// Program of the server, and how it is found and installed.
    pub program: &'static Program,
    /// True if it can keep its files on the sealed volume of a lab.
    pub fits_a_volume: bool,
    /// Refuses settings that could not be started in a directory, before anything is made there.
    pub check: fn(&Path, &Settings) -> Result<(), LabError>,
    /// Starts new servers in a lab's directory, which is created if it does not exist, and waits
    /// until they serve. If one does not start, none is left behind.
    pub start: fn(&Path, &Settings) -> Started,
    /// Takes over the servers that another process started in a lab's directory; `None` if it has
    /// none of this kind.
    pub open: fn(&Path) -> TakenOver,
}

/// Servers that were started.
pub type Started = Result<Box<dyn Running>, LabError>;

/// Servers that another process started, where there are some.
pub type TakenOver = Result<Option<Box<dyn Running>>, LabError>;

/// A setting of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerOption {
    /// Its name, `nodes` for `--nodes`.
    pub name: &'static str,
    /// The placeholder of its value in help, such as `N`; `FILE` for a path.
    pub value: &'static str,
    /// Description with the default, in one line; empty for a setting that only programs make.
    pub help: &'static str,
}

/// Settings by name, as they were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, String>);

impl Settings {
    /// Sets `name`, which is that of a [`ServerOption`].
    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.insert(name, value.into());
    }

    /// Returns the value of `name`, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value of `name` as a path, if it is set.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.get(name).map(Path::new)
    }

    /// Returns all that is set: names with their values.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of `name` as a number, if it is set.
    ///
    /// # Errors
    /// [`LabError::Setting`], for the server `server`.
    pub fn number<T: std::str::FromStr>(
        &self,
        server: &'static str,
        name: &'static str,
    ) -> Result<Option<T>, LabError> {
        let read = |text: &str| {
            let setting = || LabError::Setting {
                server,
                setting: name,
                value: text.into(),
                step: "expected a number",
            };
            text.parse().map_err(|_| setting())
        };
        self.get(name).map(read).transpose()
    }
}

/// Servers of one kind in the directory of a lab. They end with the value, at once, unless
/// [`Running::leave_running`] is called.
pub trait Running: Debug {
    /// Returns the processes that run.
    fn pids(&mut self) -> Vec<i32>;

    /// Refuses servers that were never complete, and so cannot be started again.
    ///
    /// # Errors
    /// [`LabError::NotEmpty`].
    fn check_complete(&self) -> Result<(), LabError> {
        Ok(())
    }

    /// Starts stopped servers again, with the same settings, and waits until all serve.
    ///
    /// # Errors
    /// A server that does not start.
    fn start_again(&mut self) -> Result<(), LabError>;

    /// Requests all to end, and waits until they have.
    ///
    /// # Errors
    /// [`LabError::Stop`]; that one runs on.
    fn stop(&mut self) -> Result<(), LabError>;

    /// Returns their state.
    fn standing(&mut self) -> Standing;

    /// Lets them run on after this process has ended.
    fn leave_running(self: Box<Self>);
}

/// The state of the servers of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Standing {
    /// Name of the kind, that of its row.
    pub server: &'static str,
    /// Address for clients.
    pub uri: String,
    /// The servers, one by one.
    pub members: Vec<MemberStatus>,
}

/// The state of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberStatus {
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// Its process, if it runs.
    pub pid: Option<i32>,
    /// `up` or `down`; of a member of a replica set `PRIMARY`, `SECONDARY`, `STARTUP2` …
    pub state: String,
    /// True if it does what it is there for.
    pub serves: bool,
    /// Data directory.
    pub data_dir: PathBuf,
}
