//! A lab: a directory with servers in it, of one kind or of several. One process may start it and
//! another stop it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::LabError;
use crate::error::{io, processes};
use crate::registry::servers;
use crate::server::{Running, Server, Settings, Standing};
use crate::volume::{self, VOLUME};

/// The servers of a lab, in the order of the table. They end with the value, at once, unless
/// [`Lab::leave_running`] is called.
#[derive(Debug)]
pub struct Lab {
    dir: PathBuf,
    kinds: Vec<Kind>,
}

/// The servers of one kind.
#[derive(Debug)]
struct Kind {
    server: &'static Server,
    running: Box<dyn Running>,
    place: Place,
    /// True if it ran before the lab was started again.
    ran: bool,
}

/// Place of servers in a lab, in the order in which they are stopped: what is on the volume, the
/// volume, and what is beside it, such as the key server that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    OnVolume,
    Volume,
    Beside,
}

/// The state of a lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LabStanding {
    /// Directory of the lab.
    pub dir: PathBuf,
    /// Its servers by kind, in the order of the table; its sealed volume, if it has one, after
    /// those that are on it.
    pub servers: Vec<Standing>,
    /// Kinds of servers whose files are all on that volume; those that cannot be looked at while it
    /// is not mounted, too.
    pub on_volume: Vec<String>,
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
        Self { dir: dir.to_owned(), kinds: Vec::new() }
    }

    /// Takes over the lab in `dir` that another process started, whether or not its servers are
    /// running.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::InUse`], [`LabError::BadState`]; no server has been stopped
    /// in that case.
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let mut lab = Self::new(&dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
        let found = lab.find_on_volume().and_then(|()| lab.find(&VOLUME, dir, Place::Volume));
        let found = found.and_then(|()| {
            servers().iter().try_for_each(|server| lab.find(server, dir, Place::Beside))
        });
        if let Err(error) = found {
            lab.leave_running();
            return Err(error);
        }
        if lab.kinds.is_empty() {
            return Err(LabError::NoLab { dir: dir.to_owned(), server: servers()[0].name });
        }
        Ok(lab)
    }

    /// Takes over servers of the kind `server` in `dir`, if there are some.
    fn find(&mut self, server: &'static Server, dir: &Path, place: Place) -> Result<(), LabError> {
        if let Some(running) = (server.open)(dir)? {
            self.take(Kind { server, running, place, ran: false });
        }
        Ok(())
    }

    /// Takes over the servers on the volume, if there is one and it is mounted.
    fn find_on_volume(&mut self) -> Result<(), LabError> {
        match volume::servers_directory(&self.dir).filter(|dir| dir.exists()) {
            Some(dir) => {
                servers().iter().try_for_each(|server| self.find(server, &dir, Place::OnVolume))
            }
            None => Ok(()),
        }
    }

    fn take(&mut self, kind: Kind) {
        self.kinds.push(kind);
        let row = |wanted: &Server| servers().iter().position(|row| row.name == wanted.name);
        self.kinds.sort_by_key(|kind| (kind.place, row(kind.server)));
    }

    /// Starts servers of the kind `server` in addition to existing ones, and waits until they
    /// serve. In a lab with a sealed volume they are on it, if they can be.
    ///
    /// # Errors
    /// A server that does not start, or a volume that is not mounted; existing servers remain.
    pub fn start(&mut self, server: &'static Server, settings: &Settings) -> Result<(), LabError> {
        let on_volume = volume::servers_directory(&self.dir).filter(|_| server.fits_a_volume);
        let Some(dir) = on_volume else {
            let running = (server.start)(&self.dir, settings)?;
            self.adopt(server, running);
            return Ok(());
        };
        if !dir.exists() {
            return Err(LabError::VolumeDown { dir: self.dir.clone() });
        }
        let running = (server.start)(&dir, settings)?;
        self.take(Kind { server, running, place: Place::OnVolume, ran: false });
        // what made its data directory did not sync it, and the process of a volume may be killed
        let synced = fs::File::open(&dir).and_then(|dir| Ok(nix::unistd::syncfs(dir)?));
        synced.map_err(|error| io("sync", &dir, error))?;
        volume::add(&self.dir, server.name)
    }

    /// Returns whether the lab has a sealed volume, mounted or not.
    #[must_use]
    pub fn has_volume(&self) -> bool {
        volume::servers_directory(&self.dir).is_some()
    }

    /// Makes a sealed volume for the servers that are started from now on, and mounts it.
    ///
    /// - `settings`: those of [`VOLUME`]
    ///
    /// # Errors
    /// [`LabError::NotEmpty`] if servers are there already; [`LabError::Volume`].
    pub fn start_volume(&mut self, settings: &Settings) -> Result<(), LabError> {
        let running = (VOLUME.start)(&self.dir, settings)?;
        self.dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        self.take(Kind { server: &VOLUME, running, place: Place::Volume, ran: false });
        Ok(())
    }

    /// Takes `running`, servers of the kind `server` that were started in the lab's directory.
    pub fn adopt(&mut self, server: &'static Server, running: Box<dyn Running>) {
        // a directory that did not exist does now
        self.dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        self.take(Kind { server, running, place: Place::Beside, ran: false });
    }

    /// Returns whether the lab has servers of the kind `server`.
    #[must_use]
    pub fn holds(&self, server: &Server) -> bool {
        self.kinds.iter().any(|kind| kind.server.name == server.name)
            || volume::kinds(&self.dir).iter().any(|name| name == server.name)
    }

    /// Starts a stopped lab as it was, the servers that others need first, and waits until all
    /// serve. Kinds of servers that still run are left alone.
    ///
    /// - `server`: the requested kind, which must not be running; without it, at least one kind
    ///   must not be running
    /// - `has_settings`: whether settings were given, which a restarted lab does not take
    ///
    /// # Errors
    /// [`LabError::Running`], [`LabError::NotEmpty`] for a lab that was never complete,
    /// [`LabError::AsItWas`]; a server that does not start. Servers that ran before keep running,
    /// and no others.
    pub fn start_again(
        mut self,
        server: Option<&Server>,
        has_settings: bool,
    ) -> Result<Self, LabError> {
        if let Err(error) = self.check_again(server, has_settings) {
            self.leave_running();
            return Err(error);
        }
        for kind in &mut self.kinds {
            kind.ran = !kind.running.pids().is_empty();
        }
        let begin = |kinds: &mut [Kind]| {
            let mut stopped = kinds.iter_mut().rev().filter(|kind| !kind.ran);
            stopped.try_for_each(|kind| kind.running.start_again())
        };
        let first = self.kinds.partition_point(|kind| kind.place == Place::OnVolume);
        let outcome = begin(&mut self.kinds[first..]).and_then(|()| {
            if first == 0 {
                self.find_on_volume()?;
            }
            let end = self.kinds.partition_point(|kind| kind.place == Place::OnVolume);
            self.kinds[..end].iter().try_for_each(|kind| kind.running.check_complete())?;
            begin(&mut self.kinds[..end])
        });
        if let Err(error) = outcome {
            // what is on the volume ends before it does
            let ran = self.kinds.drain(..).filter(|kind| kind.ran);
            ran.for_each(|kind| kind.running.leave_running());
            return Err(error);
        }
        Ok(self)
    }

    fn check_again(&mut self, server: Option<&Server>, has_settings: bool) -> Result<(), LabError> {
        let mut pids = Vec::new();
        let mut all_run = true;
        for kind in &mut self.kinds {
            // one that is not mounted may have servers on it that cannot be seen
            let is_asked = server.is_none_or(|server| server.name == kind.server.name);
            if is_asked || kind.place == Place::Volume {
                let found = kind.running.pids();
                all_run &= !found.is_empty();
                pids.extend(found);
            }
        }
        if all_run {
            return Err(LabError::Running { dir: self.dir.clone(), pids: processes(&pids) });
        }
        self.kinds.iter().try_for_each(|kind| kind.running.check_complete())?;
        if has_settings {
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
        // servers whose volume is gone have nowhere to write, and some would wait for it for ever
        let is_gone =
            |kind: &mut Kind| kind.place == Place::Volume && kind.running.pids().is_empty();
        let nowhere = self.kinds.iter_mut().any(is_gone);
        for mut kind in self.kinds.drain(..) {
            if outcome.is_ok() {
                ended += match kind.place {
                    // which is no server
                    Place::Volume => 0,
                    _ => kind.running.pids().len(),
                };
                if nowhere && kind.place == Place::OnVolume {
                    // which ends it at once
                    drop(kind);
                    continue;
                }
                outcome = kind.running.stop();
            }
            kind.running.leave_running();
        }
        outcome.map(|()| ended)
    }

    /// Its state.
    pub fn standing(&mut self) -> LabStanding {
        let servers = self.kinds.iter_mut().map(|kind| kind.running.standing()).collect();
        LabStanding { dir: self.dir.clone(), servers, on_volume: volume::kinds(&self.dir) }
    }

    /// Lets all servers run on after this process has ended; [`Lab::open`] finds them again.
    pub fn leave_running(mut self) {
        self.kinds.drain(..).for_each(|kind| kind.running.leave_running());
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
        assert_eq!(*notes.borrow(), ["b starts", "a left", "c left"], "b ends with the value");
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
