//! A lab: a directory with servers in it, of one kind or of several. One process may start it and
//! another stop it. Not here: the servers (`registry`), their records (`state`).

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::LabError;
use crate::error::{io, processes};
use crate::registry::servers;
use crate::server::{Running, Server, Settings, Standing};

/// The servers of a lab, in the order of the table. They end with the value, at once, unless
/// [`Lab::leave_running`] is called.
#[derive(Debug)]
pub struct Lab {
    dir: PathBuf,
    servers: Vec<(&'static Server, Box<dyn Running>)>,
}

/// The state of a lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LabStanding {
    /// Directory of the lab.
    pub dir: PathBuf,
    /// Its servers by kind, in the order of the table.
    pub servers: Vec<Standing>,
}

impl LabStanding {
    /// Returns whether all servers do what they are there for.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.servers.iter().flat_map(|standing| &standing.members).all(|member| member.serves)
    }
}

/// A lab that [`list`] has found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Directory of the lab.
    pub dir: PathBuf,
    /// Its state, or why that cannot be determined.
    pub standing: Result<LabStanding, LabError>,
}

impl Lab {
    /// Returns a lab without servers in `dir`, which need not be there.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), servers: Vec::new() }
    }

    /// Takes over the lab in `dir` that another process started, whether or not its servers are
    /// running.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::InUse`], [`LabError::BadState`]; no server has been stopped
    /// in that case.
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let mut lab = Self::new(&dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
        for server in servers() {
            match (server.open)(dir) {
                Ok(Some(running)) => lab.servers.push((server, running)),
                Ok(None) => {}
                Err(error) => {
                    lab.leave_running();
                    return Err(error);
                }
            }
        }
        if lab.servers.is_empty() {
            return Err(LabError::NoLab { dir: dir.to_owned(), server: servers()[0].name });
        }
        Ok(lab)
    }

    /// Starts servers of the kind `server` in addition to existing ones, and waits until they
    /// serve.
    ///
    /// # Errors
    /// A server that does not start; existing servers remain.
    pub fn start(&mut self, server: &'static Server, settings: &Settings) -> Result<(), LabError> {
        let running = (server.start)(&self.dir, settings)?;
        self.adopt(server, running);
        Ok(())
    }

    /// Takes `running`, servers of the kind `server` that were started in the lab's directory.
    pub fn adopt(&mut self, server: &'static Server, running: Box<dyn Running>) {
        // a directory that did not exist does now
        self.dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        self.servers.push((server, running));
        let place = |wanted: &Server| servers().iter().position(|row| row.name == wanted.name);
        self.servers.sort_by_key(|(server, _)| place(server));
    }

    /// Returns whether the lab has servers of the kind `server`.
    #[must_use]
    pub fn holds(&self, server: &Server) -> bool {
        self.servers.iter().any(|(held, _)| held.name == server.name)
    }

    /// Starts a stopped lab as it was, the servers that others need first, and waits until all
    /// serve. Kinds of servers that still run are left alone.
    ///
    /// - `server`: the requested kind, which must not be running; without it, at least one kind
    ///   must not be running
    /// - `anew`: whether settings were given, which a restarted lab does not take
    ///
    /// # Errors
    /// [`LabError::Running`], [`LabError::NotEmpty`] for a lab that was never complete,
    /// [`LabError::AsItWas`]; a server that does not start. Servers that ran before keep running,
    /// and no others.
    pub fn start_again(mut self, server: Option<&Server>, anew: bool) -> Result<Self, LabError> {
        if let Err(error) = self.check_again(server, anew) {
            self.leave_running();
            return Err(error);
        }
        let mut outcome = Ok(());
        let mut ran_before = Vec::new();
        for (_, running) in self.servers.iter_mut().rev() {
            let runs = !running.pids().is_empty();
            ran_before.push(runs);
            if !runs && outcome.is_ok() {
                outcome = running.start_again();
            }
        }
        if let Err(error) = outcome {
            let kept =
                self.servers.drain(..).rev().zip(ran_before).filter(|(_, ran_before)| *ran_before);
            kept.for_each(|((_, running), _)| running.leave_running());
            return Err(error);
        }
        Ok(self)
    }

    fn check_again(&mut self, server: Option<&Server>, anew: bool) -> Result<(), LabError> {
        let mut pids = Vec::new();
        let mut all_run = true;
        for (kind, running) in &mut self.servers {
            if server.is_none_or(|server| server.name == kind.name) {
                let found = running.pids();
                all_run &= !found.is_empty();
                pids.extend(found);
            }
        }
        if all_run {
            return Err(LabError::Running { dir: self.dir.clone(), pids: processes(&pids) });
        }
        self.servers.iter().try_for_each(|(_, running)| running.check_complete())?;
        if anew {
            return Err(LabError::AsItWas { dir: self.dir.clone() });
        }
        Ok(())
    }

    /// Stops all servers, servers that others need last, and waits until they have ended. Returns
    /// how many ran.
    ///
    /// # Errors
    /// [`LabError::Stop`]; that server and later servers keep running.
    pub fn stop(mut self) -> Result<usize, LabError> {
        let mut ended = 0;
        let mut outcome = Ok(());
        for (_, mut running) in self.servers.drain(..) {
            if outcome.is_ok() {
                ended += running.pids().len();
                outcome = running.stop();
            }
            running.leave_running();
        }
        outcome.map(|()| ended)
    }

    /// Its state.
    pub fn standing(&mut self) -> LabStanding {
        let servers = self.servers.iter_mut().map(|(_, running)| running.standing()).collect();
        LabStanding { dir: self.dir.clone(), servers }
    }

    /// Lets all servers run on after this process has ended; [`Lab::open`] finds them again.
    pub fn leave_running(mut self) {
        self.servers.drain(..).for_each(|(_, running)| running.leave_running());
    }
}

/// Returns the labs that there are in `dir`: itself, if it is one, and its subdirectories, by name.
///
/// # Errors
/// [`LabError::Io`] if the directory cannot be read.
pub fn list(dir: &Path) -> Result<Vec<Listed>, LabError> {
    let entries = fs::read_dir(dir).map_err(|error| io("read directory", dir, error))?;
    let mut dirs: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    dirs.sort();
    let standing = |dir: PathBuf| {
        let standing = match Lab::open(&dir) {
            Err(LabError::NoLab { .. }) => return None,
            Err(error) => Err(error),
            Ok(mut lab) => {
                let standing = lab.standing();
                lab.leave_running();
                Ok(standing)
            }
        };
        Some(Listed { dir, standing })
    };
    Ok([dir.to_owned()].into_iter().chain(dirs).filter_map(standing).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::pykmip::SERVER;

    /// Servers that record the operations on them.
    #[derive(Debug)]
    struct Noted {
        name: &'static str,
        runs: bool,
        starts: bool,
        notes: Rc<RefCell<Vec<String>>>,
    }

    impl Noted {
        fn note(&self, what: &str) {
            self.notes.borrow_mut().push(format!("{} {what}", self.name));
        }
    }

    impl Running for Noted {
        fn pids(&mut self) -> Vec<i32> {
            if self.runs { vec![7] } else { Vec::new() }
        }

        fn start_again(&mut self) -> Result<(), LabError> {
            self.note("starts");
            if self.starts { Ok(()) } else { Err(LabError::NotEmpty { dir: PathBuf::new() }) }
        }

        fn stop(&mut self) -> Result<(), LabError> {
            self.note("stops");
            if self.starts { Ok(()) } else { Err(LabError::NotEmpty { dir: PathBuf::new() }) }
        }

        fn standing(&mut self) -> Standing {
            Standing { server: SERVER.name, uri: String::new(), members: Vec::new() }
        }

        fn leave_running(self: Box<Self>) {
            self.note("left");
        }
    }

    /// Returns a lab of three kinds; each is `(name, whether it runs, whether it starts and
    /// stops)`.
    fn lab(kinds: [(&'static str, bool, bool); 3]) -> (Lab, Rc<RefCell<Vec<String>>>) {
        let notes = Rc::<RefCell<Vec<String>>>::default();
        let mut lab = Lab::new(Path::new("lab"));
        for (name, runs, starts) in kinds {
            lab.adopt(&SERVER, Box::new(Noted { name, runs, starts, notes: Rc::clone(&notes) }));
        }
        (lab, notes)
    }

    #[test]
    fn stopped_servers_are_started_in_reverse_and_running_ones_left_alone() {
        let (started, notes) = lab([("a", false, true), ("b", true, true), ("c", false, true)]);
        let started = started.start_again(None, false).unwrap();
        assert_eq!(*notes.borrow(), ["c starts", "a starts"]);
        drop(started);

        let (failing, notes) = lab([("a", true, true), ("b", false, false), ("c", true, true)]);
        assert!(failing.start_again(None, false).is_err());
        assert_eq!(*notes.borrow(), ["b starts", "c left", "a left"], "b ends with the value");
    }

    #[test]
    fn a_lab_that_runs_or_is_wanted_otherwise_is_left_alone() {
        let (running, notes) = lab([("a", true, true), ("b", true, true), ("c", true, true)]);
        let error = running.start_again(None, false).unwrap_err();
        assert!(matches!(&error, LabError::Running { pids, .. } if pids.contains("7")), "{error}");
        assert_eq!(*notes.borrow(), ["a left", "b left", "c left"]);
        let (ended, notes) = lab([("a", false, true), ("b", false, true), ("c", false, true)]);
        assert!(matches!(ended.start_again(Some(&SERVER), true), Err(LabError::AsItWas { .. })));
        assert_eq!(*notes.borrow(), ["a left", "b left", "c left"]);
    }

    #[test]
    fn servers_stop_in_order_and_none_after_one_that_does_not() {
        let (ending, notes) = lab([("a", true, true), ("b", true, false), ("c", true, true)]);
        assert!(ending.stop().is_err());
        assert_eq!(*notes.borrow(), ["a stops", "a left", "b stops", "b left", "c left"]);
        let (ending, _) = lab([("a", true, true), ("b", false, true), ("c", true, true)]);
        assert_eq!(ending.stop().unwrap(), 2);
    }
}
