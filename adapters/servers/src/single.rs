//! A server of a lab that is one process in its own directory, such as PostgreSQL.

use std::fs::File;
use std::path::Path;

use nix::fcntl::Flock;
use sealstone_file::check_own_directory;

use crate::error::io;
use crate::instance::{Instance, ServerKind};
use crate::server::{MemberStatus, Running, Standing};
use crate::{LabError, directory, state};

/// Properties of a server that runs alone in a lab.
pub trait SingleKind: ServerKind + std::fmt::Debug + Sized {
    /// Its name in the table of servers, from which its directory within that of the lab has its
    /// name.
    const ROW: &'static str;

    /// Starts a server in `dir`, with an empty database where there is none yet, and waits until it
    /// answers.
    ///
    /// # Errors
    /// As [`Instance::start`]; a data directory that cannot be made.
    fn start(dir: &Path, options: Self::Options) -> Result<Instance<Self>, LabError>;

    /// Address for a client. Instead of the password it names the file with it.
    fn uri(server: &Instance<Self>) -> String;
}

/// The only server of its kind in a lab. It ends with the value, unless [`Single::leave_running`]
/// was called.
#[derive(Debug)]
pub struct Single<K: SingleKind> {
    server: Instance<K>,
    _lock: Flock<File>,
}

/// Returns the name of the directory of a server within that of the lab.
fn directory_name(row: &str) -> String {
    format!("lab.{row}")
}

impl<K: SingleKind> Single<K> {
    /// Starts a new server in `lab`, the directory of a lab, which is created if it does not exist,
    /// and waits until it answers.
    ///
    /// # Errors
    /// A directory with such a server in it, or in use; a server that does not start, with its
    /// output. No process is left behind.
    pub fn start(lab: &Path, options: K::Options) -> Result<Self, LabError> {
        directory::make(lab, directory::USUAL)?;
        let dir = lab.join(directory_name(K::ROW));
        // its files have their own modes, and a server running as another user must reach them
        directory::make(&dir, directory::PASSABLE)?;
        // its owner could put links in the place of the server's files
        for own in [&directory::real(lab)?, &dir] {
            check_own_directory(own).map_err(|error| io("use directory", own, error))?;
        }
        let dir = directory::real(&dir)?;
        let lock = state::lock(&dir)?;
        if K::data_dir(&dir).exists() {
            return Err(LabError::NotEmpty { dir });
        }
        Ok(Self { server: K::start(&dir, options)?, _lock: lock })
    }

    /// Takes over the server of the lab in `lab` that another process started, whether it runs or
    /// not; `None` where the lab has none. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::InUse`], [`LabError::BadState`]; a directory that is a link, or somebody else's.
    pub fn open(lab: &Path) -> Result<Option<Self>, LabError> {
        let dir = lab.join(directory_name(K::ROW));
        if dir.symlink_metadata().is_err() {
            return Ok(None);
        }
        // a lock is taken in it
        check_own_directory(&dir).map_err(|error| io("use directory", &dir, error))?;
        let dir = directory::real(&dir)?;
        let lock = state::lock(&dir)?;
        Ok(Instance::<K>::find(&dir)?.map(|server| Self { server, _lock: lock }))
    }

    /// Address for a client. Instead of the password it names the file with it.
    #[must_use]
    pub fn uri(&self) -> String {
        K::uri(&self.server)
    }

    /// Returns the server itself.
    pub fn server(&mut self) -> &mut Instance<K> {
        &mut self.server
    }

    /// Lets the server run on after this process has ended; [`Single::open`] finds it again.
    pub fn leave_running(self) {
        self.server.leave_running();
    }
}

impl<K: SingleKind> Running for Single<K> {
    fn pids(&mut self) -> Vec<i32> {
        // the others are its own business, and end with it
        self.server.pid().into_iter().collect()
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        self.server.start_again()
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.server.stop()
    }

    fn standing(&mut self) -> Standing {
        let pid = self.server.pid();
        let (serves, state) = (pid.is_some(), if pid.is_some() { "up" } else { "down" });
        let (address, data_dir) = (self.server.address(), self.server.data_dir());
        let member = MemberStatus { address, pid, state: state.into(), serves, data_dir };
        Standing { server: K::ROW, uri: self.uri(), members: vec![member] }
    }

    fn leave_running(self: Box<Self>) {
        Self::leave_running(*self);
    }
}
