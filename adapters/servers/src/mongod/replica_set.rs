//! A replica set of real servers: initiated, awaited, its members added, removed and resynced.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, Timestamp, doc};
use nix::fcntl::Flock;
use serde::{Deserialize, Serialize};

use super::{Mongod, MongodOptions, admin};
use crate::error::io;
use crate::server::MemberStatus;
use crate::{LabError, directory, state};

/// Most members that vote.
pub(super) const MEMBERS_MAX: usize = 7;
/// Name of the file that records the state of a lab in its directory.
const STATE_FILE: &str = "lab.toml";
/// Name of the set, where none is given.
const NAME: &str = "sealstone";
/// Interval between checks of whether a set is where it should be.
const POLL: Duration = Duration::from_millis(100);
/// Time that a set may take until it has a primary and all members have caught up, unless set
/// otherwise.
const READY_LIMIT: Duration = Duration::from_secs(180);
/// Time that a member of a new set waits for a primary before it stands for election. There is no
/// competitor, and MongoDB's own ten seconds are restored once the set is ready.
const FIRST_ELECTION_MS: i32 = 1_000;
const ELECTION_MS: i32 = 10_000;
/// States of a member, as the server numbers them.
const PRIMARY: i64 = 1;
const SECONDARY: i64 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct State {
    name: String,
    /// True if it was ever complete.
    complete: bool,
    /// Directories of the members, within that of the lab.
    members: Vec<String>,
}

/// Replica set of servers on 127.0.0.1. They end with the value, unless
/// [`ReplicaSet::leave_running`] was called.
#[derive(Debug)]
pub struct ReplicaSet {
    dir: PathBuf,
    name: String,
    members: Vec<Mongod>,
    complete: bool,
    _lock: Flock<File>,
}

impl ReplicaSet {
    /// Starts a new set in `dir`, which must be empty or not exist (except for files `lab.*`), and
    /// waits until it has a primary and all others have caught up.
    ///
    /// - `members`: how each is started, 1 to 7; the name of the set is that of the first, or
    ///   `sealstone`
    ///
    /// # Errors
    /// A directory with something in it, or in use; a server that does not start, with what it
    /// printed. No process is left behind.
    pub fn start(dir: &Path, members: &[MongodOptions]) -> Result<Self, LabError> {
        if !(1..=MEMBERS_MAX).contains(&members.len()) {
            return Err(LabError::Members { nodes: members.len(), max: MEMBERS_MAX });
        }
        let dir = directory::made(dir, directory::USUAL)?;
        state::check_free(&dir)?;
        let lock = state::lock(&dir)?;
        let name = members[0].replica_set.clone().unwrap_or_else(|| NAME.into());
        let mut set = Self { dir, name, members: Vec::new(), complete: false, _lock: lock };
        for options in members {
            set.start_member(options.clone())?;
        }
        set.initiate()?;
        set.wait_until_ready(READY_LIMIT)?;
        set.reconfigure("set the time until an election", |config| {
            if let Ok(settings) = config.get_document_mut("settings") {
                settings.insert("electionTimeoutMillis", ELECTION_MS);
            }
        })?;
        set.complete = true;
        set.save()?;
        Ok(set)
    }

    /// Takes over the set in `dir` that another process started, whether it runs or not. It ends
    /// with the value.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::InUse`], [`LabError::BadState`].
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let path = dir.join(STATE_FILE);
        let Some(state) = state::read::<State>(&path)? else {
            return Err(LabError::NoLab { dir: dir.to_owned(), server: "mongodb" });
        };
        let dir = directory::real(dir)?;
        let lock = state::lock(&dir)?;
        let mut set = Self {
            dir,
            name: state.name,
            members: Vec::new(),
            complete: state.complete,
            _lock: lock,
        };
        for member in state.members {
            state::check_member(&path, &member)?;
            match Mongod::open(&set.dir.join(&member)) {
                Ok(server) => set.members.push(server),
                // one that never came so far as to be started
                Err(LabError::NoLab { .. } | LabError::Io { .. }) => {}
                Err(error) => {
                    set.members.drain(..).for_each(Mongod::leave_running);
                    return Err(error);
                }
            }
        }
        Ok(set)
    }

    /// Starts every member that has ended, and waits as [`ReplicaSet::start`] does.
    ///
    /// # Errors
    /// As [`Mongod::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        self.members.iter_mut().try_for_each(Mongod::start_again)?;
        self.wait_until_ready(READY_LIMIT)
    }

    /// Stops every member, the primary last, as in an orderly shutdown of a set.
    ///
    /// # Errors
    /// As [`Mongod::stop`]; the others have been stopped.
    pub fn stop(&mut self) -> Result<(), LabError> {
        let primary = self.primary();
        let mut outcome = Ok(());
        let others = (0..self.members.len()).filter(|at| Some(*at) != primary);
        for at in others.chain(primary).collect::<Vec<_>>() {
            outcome = outcome.and(self.members[at].stop());
        }
        outcome
    }

    /// Lets all members run on after this process has ended; [`ReplicaSet::open`] finds them again.
    pub fn leave_running(mut self) {
        self.members.drain(..).for_each(Mongod::leave_running);
    }

    /// Returns whether it was ever complete; if not, it cannot be started again.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the members, in the order in which they came.
    #[must_use]
    pub fn members(&self) -> &[Mongod] {
        &self.members
    }

    /// Returns member number `at`, to end it or to start it again.
    pub fn member_mut(&mut self, at: usize) -> &mut Mongod {
        &mut self.members[at]
    }

    /// Returns the directory of the lab.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Address for clients: all members and the name of the set.
    #[must_use]
    pub fn uri(&self) -> String {
        let hosts: Vec<String> = self.members.iter().map(Mongod::address).collect();
        format!("mongodb://{}/?replicaSet={}", hosts.join(","), self.name)
    }

    /// Returns the processes that run.
    pub fn pids(&mut self) -> Vec<i32> {
        self.members.iter_mut().filter_map(Mongod::pid).collect()
    }

    /// Returns the data directories, member by member.
    #[must_use]
    pub fn data_dirs(&self) -> Vec<PathBuf> {
        self.members.iter().map(Mongod::data_dir).collect()
    }

    /// Returns the state of each member.
    pub fn status(&mut self) -> Vec<MemberStatus> {
        let seen = self.seen();
        let own_state = |address: &str| {
            let member = seen
                .as_ref()?
                .iter()
                .find(|member| member.get_str("name").is_ok_and(|name| name == address))?;
            member.get_str("stateStr").ok().map(String::from)
        };
        let mut all = Vec::new();
        for server in &mut self.members {
            let (address, pid) = (server.address(), server.pid());
            let state = match pid {
                None => "down".into(),
                Some(_) => own_state(&address).unwrap_or_else(|| "unknown".into()),
            };
            let serves = matches!(state.as_str(), "PRIMARY" | "SECONDARY");
            all.push(MemberStatus { address, pid, state, serves, data_dir: server.data_dir() });
        }
        all
    }

    /// Returns the number of the member that is primary now, if one is.
    pub fn primary(&mut self) -> Option<usize> {
        let is_primary = |server: &Mongod| {
            let status = admin::status(server)?;
            (admin::number(&status, "myState") == Some(PRIMARY)).then_some(())
        };
        (0..self.members.len())
            .find(|at| self.members[*at].is_running() && is_primary(&self.members[*at]).is_some())
    }

    /// Waits until one member is primary, all others have caught up, and every one votes.
    ///
    /// # Errors
    /// [`LabError::NotInTime`]; [`LabError::MemberEnded`] as soon as one has.
    pub fn wait_until_ready(&mut self, limit: Duration) -> Result<(), LabError> {
        self.wait("become ready", limit, |set| {
            let Some((status, members)) = set.seen_by_primary() else { return false };
            let voting = admin::number(&status, "votingMembersCount")
                .is_none_or(|count| count == members.len() as i64);
            let states = members.iter().filter_map(|member| admin::number(member, "state"));
            voting
                && states.filter(|state| matches!(*state, PRIMARY | SECONDARY)).count()
                    == set.members.len()
        })
    }

    /// Waits until every member has what the primary has now.
    ///
    /// # Errors
    /// As [`ReplicaSet::wait_until_ready`].
    pub fn wait_for_sync(&mut self, limit: Duration) -> Result<(), LabError> {
        let mut wanted: Option<Timestamp> = None;
        self.wait("catch up", limit, |set| {
            let Some((_, members)) = set.seen_by_primary() else { return false };
            if wanted.is_none() {
                wanted = members.iter().filter_map(applied).max();
            }
            let Some(wanted) = wanted else { return false };
            let caught_up = |member: &&Document| {
                let state = admin::number(member, "state");
                matches!(state, Some(PRIMARY | SECONDARY))
                    && applied(member).is_some_and(|done| done >= wanted)
            };
            members.iter().filter(caught_up).count() == set.members.len()
        })
    }

    /// Starts one more member, adds it to the set, and waits until it has all data (initial sync)
    /// and votes.
    ///
    /// # Errors
    /// As [`ReplicaSet::start`]; a member that does not get there within `limit` stays in the set.
    pub fn add_member(
        &mut self,
        options: MongodOptions,
        limit: Duration,
    ) -> Result<usize, LabError> {
        if self.members.len() == MEMBERS_MAX {
            return Err(LabError::Members { nodes: MEMBERS_MAX + 1, max: MEMBERS_MAX });
        }
        let at = self.start_member(options)?;
        self.join(at, limit)?;
        Ok(at)
    }

    /// Takes member number `at` out of the set, ends it, and forgets it; its directory stays.
    ///
    /// # Errors
    /// [`LabError::Command`], [`LabError::Stop`].
    pub fn remove_member(&mut self, at: usize) -> Result<(), LabError> {
        self.leave(at)?;
        self.members[at].stop()?;
        self.members.remove(at);
        self.save()
    }

    /// Runs one step of a rolling conversion: takes member number `at` out of the set, ends it,
    /// removes its data, starts it with `options`, adds it again, and waits until it has all data
    /// and votes.
    ///
    /// It leaves the set before its data are removed, since a member that forgot what it
    /// acknowledged must not vote.
    ///
    /// # Errors
    /// As [`ReplicaSet::add_member`] and [`ReplicaSet::remove_member`].
    pub fn replace_member(
        &mut self,
        at: usize,
        options: MongodOptions,
        limit: Duration,
    ) -> Result<(), LabError> {
        self.leave(at)?;
        let server = &mut self.members[at];
        server.stop()?;
        server.empty()?;
        server.set_options(MongodOptions { replica_set: Some(self.name.clone()), ..options });
        server.start_again()?;
        self.join(at, limit)
    }

    /// Starts a server in the next directory.
    fn start_member(&mut self, options: MongodOptions) -> Result<usize, LabError> {
        let number = (1..)
            .find(|number| !self.dir.join(format!("member-{number}")).exists())
            .expect("a free name");
        let dir = self.dir.join(format!("member-{number}"));
        // named before it runs, so that a process that stops the lab finds it
        fs::create_dir(&dir).map_err(|error| io("create directory", &dir, error))?;
        let mut names: Vec<PathBuf> =
            self.members.iter().map(|member| member.dir().to_owned()).collect();
        names.push(dir.clone());
        self.save_names(&names)?;
        let options = MongodOptions { replica_set: Some(self.name.clone()), ..options };
        self.members.push(Mongod::start(&dir, options)?);
        Ok(self.members.len() - 1)
    }

    fn save(&self) -> Result<(), LabError> {
        self.save_names(
            &self.members.iter().map(|member| member.dir().to_owned()).collect::<Vec<_>>(),
        )
    }

    fn save_names(&self, dirs: &[PathBuf]) -> Result<(), LabError> {
        let name =
            |dir: &PathBuf| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let state = State {
            name: self.name.clone(),
            complete: self.complete,
            members: dirs.iter().map(name).collect(),
        };
        state::write(&self.dir.join(STATE_FILE), &state)
    }

    fn initiate(&self) -> Result<(), LabError> {
        let member =
            |(at, server): (usize, &Mongod)| doc! { "_id": at as i32, "host": server.address() };
        let members: Vec<Document> = self.members.iter().enumerate().map(member).collect();
        let settings =
            doc! { "electionTimeoutMillis": FIRST_ELECTION_MS, "heartbeatIntervalMillis": 500 };
        let config = doc! { "_id": &self.name, "members": members, "settings": settings };
        admin::run(
            &self.members[0],
            "initiate the replica set",
            doc! { "replSetInitiate": config },
        )?;
        Ok(())
    }

    fn join(&mut self, at: usize, limit: Duration) -> Result<(), LabError> {
        let address = self.members[at].address();
        self.reconfigure("add a member to the replica set", |config| {
            let Ok(members) = config.get_array_mut("members") else { return };
            let documents = members.iter().filter_map(|member| member.as_document());
            let last =
                documents.filter_map(|member| admin::number(member, "_id")).max().unwrap_or(0);
            members.push(doc! { "_id": last as i32 + 1, "host": &address }.into());
        })?;
        self.wait_until_ready(limit)?;
        self.wait_for_sync(limit)
    }

    /// Takes member number `at` out of the configuration; a primary steps down first.
    fn leave(&mut self, at: usize) -> Result<(), LabError> {
        let address = self.members[at].address();
        self.wait_for_sync(READY_LIMIT)?;
        if self.primary() == Some(at) {
            self.step_down()?;
        }
        self.reconfigure("remove a member from the replica set", |config| {
            let Ok(members) = config.get_array_mut("members") else { return };
            members.retain(|member| {
                member
                    .as_document()
                    .is_none_or(|member| member.get_str("host").is_ok_and(|host| host != address))
            });
        })
    }

    /// Makes the primary step down, and waits until another member has taken over.
    ///
    /// # Errors
    /// [`LabError::NotInTime`].
    pub(crate) fn step_down(&mut self) -> Result<(), LabError> {
        let before = self.primary();
        self.wait("elect another primary", READY_LIMIT, |set| {
            let now = set.primary();
            if let Some(at) = now.filter(|_| now == before) {
                let command = doc! { "replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 30 };
                // refused while no other has caught up: retried, until the limit
                let _ = admin::run(&set.members[at], "make the primary step down", command);
            }
            now.is_some() && now != before
        })
    }

    /// Changes the configuration on the primary; tried again while an earlier change is under way.
    fn reconfigure(
        &mut self,
        attempt: &'static str,
        change: impl Fn(&mut Document),
    ) -> Result<(), LabError> {
        let mut last = None;
        let outcome = self.wait(attempt, READY_LIMIT, |set| {
            let Some(at) = set.primary() else { return false };
            let primary = &set.members[at];
            let changed = admin::configuration(primary).and_then(|mut config| {
                change(&mut config);
                let version = admin::number(&config, "version").unwrap_or(0);
                config.insert("version", version + 1);
                admin::run(
                    primary,
                    attempt,
                    doc! { "replSetReconfig": config, "maxTimeMS": 30_000 },
                )
            });
            match changed {
                Ok(_) => true,
                Err(error) => {
                    last = Some(error);
                    false
                }
            }
        });
        // the server's own words are more informative than the time it took
        match (outcome, last) {
            (Err(LabError::NotInTime { .. }), Some(error)) => Err(error),
            (outcome, _) => outcome,
        }
    }

    fn wait(
        &mut self,
        attempt: &'static str,
        limit: Duration,
        mut is_there: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), LabError> {
        let begin = Instant::now();
        let running: Vec<bool> = self.members.iter_mut().map(Mongod::is_running).collect();
        loop {
            if is_there(self) {
                return Ok(());
            }
            for (server, _) in
                self.members.iter_mut().zip(&running).filter(|(_, was_running)| **was_running)
            {
                if !server.is_running() {
                    let (port, said, log) = (server.port(), server.said(), server.log_path());
                    return Err(LabError::MemberEnded { port, dir: self.dir.clone(), said, log });
                }
            }
            if begin.elapsed() > limit {
                let each = self
                    .status()
                    .into_iter()
                    .map(|member| format!("{} is {}", member.address, member.state));
                let found = each.collect::<Vec<_>>().join(", ");
                return Err(LabError::NotInTime {
                    attempt,
                    dir: self.dir.clone(),
                    limit_s: limit.as_secs(),
                    found,
                });
            }
            thread::sleep(POLL);
        }
    }

    /// Returns the state of all members as reported by the primary, if there is one, otherwise by
    /// any member that answers.
    fn seen(&mut self) -> Option<Vec<Document>> {
        if let Some((_, members)) = self.seen_by_primary() {
            return Some(members);
        }
        let running =
            self.members.iter_mut().filter_map(|server| server.is_running().then_some(&*server));
        running.filter_map(admin::status).find_map(|status| members_of(&status))
    }

    fn seen_by_primary(&mut self) -> Option<(Document, Vec<Document>)> {
        let at = self.primary()?;
        let status = admin::status(&self.members[at])?;
        let members = members_of(&status)?;
        Some((status, members))
    }
}

fn members_of(status: &Document) -> Option<Vec<Document>> {
    let members = status.get_array("members").ok()?;
    Some(members.iter().filter_map(|member| member.as_document().cloned()).collect())
}

/// Returns the time up to which a member has applied the operations.
fn applied(member: &Document) -> Option<Timestamp> {
    member.get_document("optime").ok()?.get_timestamp("ts").ok()
}
