//! Runs a scenario on one database, plain or sealed, and passes the outcome of each crash to the
//! judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_rocksdb::rest::rotate;
use sealstone_rocksdb::{Error, Sealing};
use sealstone_seal::HEADER_BYTES;

use crate::disk::{Disk, Fate, Loss, Tail};
use crate::env::{FamilyDb, FamilyWrite, SimulatedEnv};
use crate::files::{Call, Events, Fault, Files, Kind, Plan};
use crate::judge::{
    Act, Crash, History, Key, State, Unit, Writes, newest_of_each_key, state_is_allowed,
};
use crate::keys::Keys;
use crate::random::Random;
use crate::scenario::{Attack, Ending, Epoch, Mode, Put, Scenario, Step};

/// Directory of the database.
const PATH: &str = "/db";
/// Ciphers that resealing changes between.
const CIPHERS: [&str; 2] = ["aes-256", "aria-256"];

/// Variant of the database under test: sealed or plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// RocksDB on simulated files.
    Plain,
    /// RocksDB on sealed files on simulated files.
    Sealed,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Plain, Self::Sealed];

    /// Returns it in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sealed => "sealed",
        }
    }
}

/// The outcome of one seed on one side.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whatever should not have been.
    pub failures: Vec<String>,
    /// Everything that was hit.
    pub hit: BTreeSet<String>,
    /// Depends on every call to the files.
    pub trace: u64,
    /// Calls to the files.
    pub calls: u64,
    /// Account of the operations, line by line.
    pub history: Vec<String>,
}

/// Runs `seed`; `verbose`: the history has every call to the files.
pub fn run(seed: u64, side: Side, verbose: bool) -> Outcome {
    let scenario = Scenario::new(seed);
    let ciphers = CIPHERS.map(|name| cipher(name).expect("a cipher of the registry"));
    let mut run = Run {
        random: Random::new(seed).fork(2),
        side,
        keys: Arc::new(Keys::new()),
        ciphers,
        cipher: 0,
        next_unit: 1,
        next_copy: 1,
        sizes: BTreeMap::new(),
        waiting: BTreeMap::new(),
        history: History::default(),
        outcome: Outcome::default(),
        verbose,
        cannot_be_closed: false,
        abandoned: false,
        scenario: &scenario,
    };
    run.note(format!(
        "seed {seed}, {}: {} families, transactions {}, logs tracked {}, journal {}, first mode {}",
        side.name(),
        scenario.families,
        scenario.transactions,
        scenario.tracks_logs,
        scenario.journal,
        scenario.mode.name()
    ));
    run.all();
    run.outcome
}

/// A database and the files that it is on.
struct Open {
    files: Arc<Files>,
    env: SimulatedEnv,
    /// Absent if closing and reopening failed, which ends the epoch.
    db: Option<FamilyDb>,
}

impl Open {
    fn db(&mut self) -> &mut FamilyDb {
        self.db.as_mut().expect("steps end with the database")
    }
}

/// Result of a step.
enum Ended {
    Done,
    /// It failed, and something had been made to fail.
    Failed,
}

struct Run<'a> {
    random: Random,
    side: Side,
    keys: Arc<Keys>,
    ciphers: [&'static Cipher; 2],
    cipher: usize,
    next_unit: u64,
    next_copy: u32,
    /// Length of each value.
    sizes: BTreeMap<(u64, Key), usize>,
    /// Transactions that were prepared and not ended: the unit that their values contain, and what
    /// they write.
    waiting: BTreeMap<String, (u64, Writes)>,
    history: History,
    outcome: Outcome,
    verbose: bool,
    /// Set when closing the database of this epoch would end the process.
    cannot_be_closed: bool,
    /// Set when RocksDB lost something on its own account, so that nothing more can be required.
    abandoned: bool,
    scenario: &'a Scenario,
}

impl Run<'_> {
    fn note(&mut self, line: String) {
        self.outcome.history.push(line);
    }

    fn hit(&mut self, what: impl Into<String>) {
        self.outcome.hit.insert(what.into());
    }

    fn fail(&mut self, what: String) {
        self.note(format!("  FAILURE: {what}"));
        self.outcome.failures.push(what);
    }

    // ---- opening

    fn files(&self, disk: Disk) -> Arc<Files> {
        Arc::new(Files::new(disk, self.verbose))
    }

    fn env(&self, files: &Arc<Files>) -> SimulatedEnv {
        let sealing = (self.side == Side::Sealed)
            .then(|| Sealing::new(self.keys.clone(), self.ciphers[self.cipher], Backend::auto()));
        SimulatedEnv::new(files.clone(), sealing)
    }

    fn open_at(&self, env: &SimulatedEnv, path: &str, mode: Mode) -> Result<FamilyDb, Error> {
        let names = ["one", "two"];
        let names = &names[..self.scenario.families as usize - 1];
        env.open(Path::new(path), &self.scenario.options(mode), names, self.scenario.transactions)
    }

    fn open(&self, files: &Arc<Files>, mode: Mode) -> Result<Open, Error> {
        let env = self.env(files);
        let db = self.open_at(&env, PATH, mode)?;
        Ok(Open { files: files.clone(), env, db: Some(db) })
    }

    /// Reads all of a database and checks that every value is one that was written.
    fn state(&mut self, db: &mut FamilyDb) -> Result<State, Error> {
        let mut state = State { prepared: db.prepared().into_iter().collect(), ..State::default() };
        let mut foreign = Vec::new();
        for family in 0..self.scenario.families {
            db.scan(family, |key, value| {
                let key = (family, String::from_utf8_lossy(key).into_owned());
                let id = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let bytes = self.sizes.get(&(id, key.clone())).copied();
                if bytes.is_none_or(|bytes| value_of(id, &key, bytes) != value) {
                    foreign.push(format!(
                        "family {family} key {} holds {} bytes that nobody wrote",
                        key.1,
                        value.len()
                    ));
                }
                state.values.insert(key, id);
            })?;
        }
        for text in foreign {
            self.fail(text);
        }
        Ok(state)
    }

    // ---- the whole

    fn all(&mut self) {
        let scenario = self.scenario;
        self.history.flushed = vec![0; scenario.families as usize];
        let files = self.files(Disk::new(scenario.journal));
        let mut next = Some((files, None));
        for (index, epoch) in scenario.epochs.iter().enumerate() {
            let Some((files, open)) = next.take() else { return };
            next = self.epoch(index, epoch, files, open);
        }
        if let Some((files, Some(open))) = next {
            self.finish(&files, open);
        }
    }

    /// Closes everything open at the end of the last epoch, and counts its calls.
    fn finish(&mut self, files: &Files, open: Open) {
        if let Some(Err(error)) = open.db.map(FamilyDb::close) {
            self.fail(format!("closing at the end failed: {error}"));
        }
        self.count(files);
    }

    fn count(&mut self, files: &Files) {
        let (trace, calls) = files.trace();
        self.outcome.trace = self.outcome.trace.rotate_left(7) ^ trace;
        self.outcome.calls += calls;
        let log = files.take_log();
        self.outcome.history.extend(log);
    }

    /// Runs one epoch, from an open database (none yet in the first epoch) to the database that
    /// continues after the crash.
    fn epoch(
        &mut self,
        index: usize,
        epoch: &Epoch,
        files: Arc<Files>,
        open: Option<Open>,
    ) -> Option<(Arc<Files>, Option<Open>)> {
        let ending = &epoch.ending;
        self.note(format!("epoch {index}"));
        let mut mode = self.scenario.mode;
        if index > 0 {
            mode = self.scenario.epochs[index - 1].ending.mode;
        }
        let mut open = open;
        if open.is_none() {
            if ending.from_step == 0 {
                files.plan(ending.plan.clone());
            }
            match self.open(&files, mode) {
                Ok(opened) => open = Some(opened),
                Err(error) => self.refused_while_faulty(&files, "making the database", &error),
            }
        }
        self.cannot_be_closed = false;
        if let Some(opened) = &mut open {
            self.steps(epoch, opened, mode);
        }
        let ghost = files.crash();
        self.note_events(&files);
        if self.cannot_be_closed {
            self.hit("cannot be closed after a failed write: RocksDB 7.8");
            std::mem::forget(open);
        } else {
            drop(open);
        }
        self.count(&files);
        if self.abandoned || !self.outcome.failures.is_empty() {
            return None;
        }
        let (disk, cut) =
            if ending.power { ghost.cut_off(&mut self.random) } else { ghost.killed() };
        let crash =
            Crash { power: ending.power, cut, manifest_failed: files.events().manifest_failed };
        self.note_crash(&crash);
        if let Some(attack) = ending.attack {
            self.attack(disk, &crash, attack);
            return None;
        }
        let disk =
            if ending.rewrap && self.side == Side::Sealed { self.rewrap(disk) } else { disk };
        let next = self.recover(&disk, &crash, ending);
        if !self.outcome.failures.is_empty() {
            return None;
        }
        next.map(|open| (open.files.clone(), Some(open)))
    }

    /// Handles the failure of an opening or a step: it may fail, if a fault was injected or the
    /// crash has come.
    fn refused_while_faulty(&mut self, files: &Files, what: &str, error: &Error) {
        self.note(format!("    failed: {error}"));
        let events = files.events();
        if events.fault.is_none() && events.crash.is_none() {
            self.fail(format!("{what} failed without a reason: {error}"));
        }
    }

    fn note_events(&mut self, files: &Files) {
        let events = files.events();
        if let Some((kind, call)) = events.crash {
            self.note(format!("  crash at {call:?} of {kind:?}"));
            self.hit(format!("crash at {call:?} of {kind:?}"));
        }
        if let Some((kind, call, fault)) = events.fault {
            self.note(format!("  fault {fault:?} at {call:?} of {kind:?}"));
            self.hit(format!("fault {fault:?} at {call:?}"));
        }
    }

    fn note_crash(&mut self, crash: &Crash) {
        let what = if crash.power { "power cut" } else { "kill" };
        self.note(format!("  {what}"));
        self.hit(what);
        let entries = crash.cut.entries;
        for (lost, what) in
            [(entries.adds, "new"), (entries.removes, "removed"), (entries.renames, "renamed")]
        {
            if lost > 0 {
                self.note(format!("    {lost} entries lost that were {what}"));
                self.hit(format!("entry lost: {what}"));
            }
        }
        if entries.reordered {
            self.hit("entries reordered");
        }
        for fate in &crash.cut.files {
            let Fate { path, named, pieces, whole, tail, loss, stable_bytes, .. } = fate;
            if *loss == Loss::Nothing && *tail == Tail::Clean && *named {
                continue;
            }
            let gone = if *named { "" } else { ", without a name" };
            self.note(format!(
                "    {path}: {loss:?}, {whole} of {pieces} pieces, end {tail:?}, {stable_bytes} \
                 bytes were synced{gone}"
            ));
            let kind = Kind::of(path);
            if matches!(kind, Kind::Log | Kind::Manifest | Kind::Table | Kind::Catalogue) {
                self.hit(format!("{kind:?}: {loss:?}"));
                if kind == Kind::Log {
                    self.hit(format!("log ends {tail:?}"));
                }
            }
        }
        let live = crash
            .cut
            .files
            .iter()
            .filter(|fate| Kind::of(&fate.path) == Kind::Log && fate.pieces > 1)
            .count();
        if live > 1 {
            self.hit("several logs");
        }
        let is_short =
            |fate: &Fate| fate.is_of_database() && matches!(fate.tail, Tail::Short | Tail::Torn);
        let logs = || crash.cut.files.iter().filter(|fate| Kind::of(&fate.path) == Kind::Log);
        let first = logs().find(|fate| is_short(fate)).map(|fate| fate.path.clone());
        if first.is_some_and(|first| {
            logs().any(|fate| fate.is_of_database() && fate.path > first && fate.whole > 1)
        }) {
            self.hit("a torn log before a later one");
        }
    }

    // ---- steps

    fn steps(&mut self, epoch: &Epoch, open: &mut Open, mode: Mode) {
        for (index, step) in epoch.steps.iter().enumerate() {
            if index == epoch.ending.from_step && !open.files.has_crashed() {
                let events = open.files.events();
                if events.fault.is_none() {
                    open.files.plan(epoch.ending.plan.clone());
                }
            }
            self.note(format!("  {index} {step}"));
            let ended = self.step(step, open, mode);
            let log = open.files.take_log();
            self.outcome.history.extend(log);
            if open.files.has_crashed() {
                self.hit(format!("crash inside: {}", step_name(step)));
                return;
            }
            if self.abandoned || !self.outcome.failures.is_empty() || matches!(ended, Ended::Failed)
            {
                return;
            }
            self.hit(format!("step: {}", step_name(step)));
        }
    }

    fn step(&mut self, step: &Step, open: &mut Open, mode: Mode) -> Ended {
        let had_torn_log = open.files.has_flawed_log();
        let done = match step {
            Step::Write { puts, sync } => return self.write(open, puts, *sync),
            Step::Prepare { puts, sync } => return self.prepare(open, puts, *sync),
            Step::End { which, commit, sync } => return self.end(open, *which, *commit, *sync),
            Step::SyncLog => {
                let done = open.db().sync_wal();
                if done.is_ok() && !open.files.has_crashed() {
                    self.history.synced = self.history.units.len();
                }
                done
            }
            Step::Flush(family) => {
                let done = open.db().flush(*family);
                if done.is_ok() && !open.files.has_crashed() {
                    self.history.flushed[*family as usize] = self.history.units.len();
                }
                done
            }
            Step::Compact(family) => open.db().compact(*family),
            Step::RotateKey => {
                self.keys.rotate();
                Ok(())
            }
            Step::Reseal => {
                self.cipher = 1 - self.cipher;
                open.env.set_cipher(self.ciphers[self.cipher]);
                let done = open.db().rewrite_tables();
                if done.is_ok() && !open.files.has_crashed() {
                    self.history.flushed.fill(self.history.units.len());
                }
                done.map(|_| ())
            }
            Step::Checkpoint => self.checkpoint(open, mode),
            Step::Read => self.read(open),
            Step::Reopen => self.reopen(open, mode),
        };
        match done {
            Ok(()) => Ended::Done,
            Err(_) if matches!(step, Step::Checkpoint) && had_torn_log => {
                // making a checkpoint reads the logs, and one that an earlier crash tore was still
                // there
                self.hit("no checkpoint with a torn log");
                Ended::Failed
            }
            Err(error) => {
                self.refused_while_faulty(&open.files, &step.to_string(), &error);
                Ended::Failed
            }
        }
    }

    /// Keeps a unit in the history, with where it went; whether the step was acknowledged before
    /// the crash.
    fn unit(
        &mut self,
        open: &Open,
        id: u64,
        act: Act,
        done: Result<(), Error>,
        sync: bool,
    ) -> Ended {
        let place = open.files.log_position();
        self.history.units.push(Unit { id, act, place });
        if let Err(error) = done {
            self.refused_while_faulty(&open.files, &format!("unit {id}"), &error);
            // a write that fails when making a new log forgets all but one of the families that
            // wait for a flush, and RocksDB 7.8 with assertions, as Debian builds it, ends the
            // process when such a database is closed
            self.cannot_be_closed = self.scenario.families > 1;
            return Ended::Failed;
        }
        if !open.files.has_crashed() {
            self.history.acknowledged = self.history.units.len();
            if sync {
                self.history.synced = self.history.units.len();
            }
        }
        Ended::Done
    }

    /// Keys and values of `puts`, whose values contain `id`.
    fn writes(&mut self, id: u64, puts: &[Put], prefix: &str) -> (Writes, Vec<Option<Vec<u8>>>) {
        let mut writes = Writes::new();
        let mut values = Vec::new();
        for put in puts {
            let key = (put.family, format!("{prefix}{}", put.key));
            if let Some(bytes) = put.bytes {
                self.sizes.insert((id, key.clone()), bytes);
            }
            // the same key twice in one batch: the later one counts
            values.push(put.bytes.map(|bytes| value_of(id, &key, bytes)));
            writes.push((key, put.bytes.is_none()));
        }
        (writes, values)
    }

    fn write(&mut self, open: &mut Open, puts: &[Put], sync: bool) -> Ended {
        let id = self.next_unit;
        self.next_unit += 1;
        let (writes, values) = self.writes(id, puts, "k");
        let done = open.db().write(&borrow(&writes, &values), sync);
        self.unit(open, id, Act::Write(writes), done, sync)
    }

    fn prepare(&mut self, open: &mut Open, puts: &[Put], sync: bool) -> Ended {
        let id = self.next_unit;
        self.next_unit += 1;
        let name = format!("t{id}");
        // separate keys: a prepared transaction keeps its locks, and other writers would wait for
        // them
        let (writes, values) = self.writes(id, puts, &format!("{name}-"));
        let done = open.db().prepare(&name, &borrow(&writes, &values), sync);
        self.waiting.insert(name.clone(), (id, writes));
        self.unit(open, id, Act::Prepare(name), done, sync)
    }

    fn end(&mut self, open: &mut Open, which: u64, commit: bool, sync: bool) -> Ended {
        let names = open.db().prepared();
        if names.is_empty() {
            return Ended::Done;
        }
        let name = names[(which % names.len() as u64) as usize].clone();
        let id = self.next_unit;
        self.next_unit += 1;
        let (values, writes) = self.waiting.get(&name).cloned().unwrap_or_default();
        let done = open.db().end(&name, commit, sync);
        let act = if commit { Act::Commit(name, values, writes) } else { Act::Rollback(name) };
        self.unit(open, id, act, done, sync)
    }

    fn read(&mut self, open: &mut Open) -> Result<(), Error> {
        let found = self.state(open.db())?;
        if found != self.history.whole() && !open.files.has_crashed() {
            self.fail("the open database does not hold what was written".into());
        }
        Ok(())
    }

    fn checkpoint(&mut self, open: &mut Open, mode: Mode) -> Result<(), Error> {
        let path = format!("/copy{}", self.next_copy);
        self.next_copy += 1;
        open.db().checkpoint(Path::new(&path))?;
        if open.files.has_crashed() {
            return Ok(());
        }
        let mut copy = self.open_at(&open.env, &path, mode)?;
        let found = self.state(&mut copy)?;
        if found.values != self.history.whole().values && !open.files.has_crashed() {
            self.fail(format!("the checkpoint {path} does not hold what was written"));
        }
        copy.close()
    }

    fn reopen(&mut self, open: &mut Open, mode: Mode) -> Result<(), Error> {
        let db = open.db.take().expect("steps end with the database");
        db.close()?;
        if !open.files.has_crashed() {
            self.history.synced = self.history.units.len();
        }
        open.env = self.env(&open.files);
        open.db = Some(self.open_at(&open.env, PATH, mode)?);
        if read_less_than_there_is(&open.files.events(), mode) {
            self.abandoned = true;
            self.hit("abandoned after a log that was read in part");
            return Ok(());
        }
        self.read(open)
    }

    // ---- crashes

    /// Opens what a crash left in every mode and judges it; returns the database to continue with.
    fn recover(&mut self, disk: &Disk, crash: &Crash, ending: &Ending) -> Option<Open> {
        for mode in Mode::ALL {
            let files = self.files(disk.clone());
            let opened = self.open(&files, mode);
            let judged = self.judge(opened, crash, mode);
            if let Some((open, _)) = judged {
                drop(open);
            }
            self.count(&files);
        }
        if !self.outcome.failures.is_empty() {
            return None;
        }
        self.go_on(disk, crash, ending)
    }

    /// Judges the outcome of an opening. Returns the database and its contents, if it was opened.
    fn judge(
        &mut self,
        opened: Result<Open, Error>,
        crash: &Crash,
        mode: Mode,
    ) -> Option<(Open, State)> {
        match opened {
            Err(error) => {
                self.note(format!("    {}: refused: {error}", mode.name()));
                if crash.may_refuse(mode) {
                    self.hit(format!("refused, as it may: {mode:?}"));
                } else {
                    self.fail(format!("{} refuses what a crash left: {error}", mode.name()));
                }
                None
            }
            Ok(mut open) => match self.state(open.db()) {
                Err(error) => {
                    self.fail(format!(
                        "{} opens what a crash left, and cannot read it: {error}",
                        mode.name()
                    ));
                    None
                }
                Ok(found) => {
                    self.note(format!("    {}: opened", mode.name()));
                    self.hit(format!("opened: {mode:?}"));
                    let mut judged = state_is_allowed(&self.history, crash, mode, &found);
                    if judged.is_err() && self.side == Side::Plain && crash.is_beyond_plain() {
                        self.hit("beyond plain RocksDB: goes on behind a zeroed record");
                        judged = newest_of_each_key(&self.history, &found, crash.power);
                    }
                    if judged.is_err() && crash.stops_at_an_earlier_flaw(mode) {
                        self.hit("beyond plain RocksDB: stops at a log that an earlier crash tore");
                        judged = Ok(());
                    }
                    if let Err(text) = judged {
                        self.fail(format!("{}: {text}", mode.name()));
                    }
                    Some((open, found))
                }
            },
        }
    }

    /// Returns the recovery to continue with; it may crash or fail itself, and is then tried again.
    fn go_on(&mut self, disk: &Disk, crash: &Crash, ending: &Ending) -> Option<Open> {
        let mode = ending.mode;
        let mut files = self.files(disk.clone());
        files.plan(ending.recovery.clone());
        let mut opened = self.open(&files, mode);
        let events = files.events();
        let mut crash = crash.clone();
        if files.has_crashed() || (opened.is_err() && events.fault.is_some()) {
            self.note("  the recovery stopped".into());
            self.note_events(&files);
            self.hit(if files.has_crashed() {
                "crash inside: recovery"
            } else {
                "fault inside: recovery"
            });
            let ghost = files.crash();
            drop(opened);
            self.count(&files);
            let power = self.random.chance(60);
            let (disk, cut) = if power { ghost.cut_off(&mut self.random) } else { ghost.killed() };
            // the first crash's damage to the logs still counts; the second may add to it
            crash.cut.files.extend(cut.files);
            crash.manifest_failed |= events.manifest_failed;
            files = self.files(disk);
            opened = self.open(&files, mode);
        } else {
            self.note_events(&files);
            files.plan(Plan::default());
            if read_less_than_there_is(&events, mode) {
                return None;
            }
        }
        let (open, found) = self.judge(opened, &crash, mode)?;
        self.history = History {
            base: found,
            flushed: vec![0; self.scenario.families as usize],
            ..History::default()
        };
        Some(open)
    }

    /// Puts every header under a new key, and cuts the power somewhere in between. The rotation
    /// works on the operating system's files, so it gets a copy of these; its changes are then
    /// written here, file by file, and synced.
    fn rewrap(&mut self, mut disk: Disk) -> Disk {
        let copy = tempfile::tempdir().expect("a temporary directory can be made");
        let files: Vec<_> = disk
            .paths()
            .into_iter()
            .filter_map(|(path, number)| {
                let name = path.strip_prefix("/db/").filter(|name| !name.contains('/'))?;
                Some((copy.path().join(name), number))
            })
            .collect();
        for (path, number) in &files {
            std::fs::write(path, disk.content(*number)).expect("a temporary file can be written");
        }
        self.keys.rotate();
        match rotate(copy.path(), &*self.keys, &mut |_| {}) {
            Ok(rotation) if rotation.failures.is_empty() => {}
            Ok(rotation) => {
                let failure = &rotation.failures[0];
                self.fail(format!(
                    "the headers of {} were not put under a new key: {}",
                    failure.file, failure.what
                ));
            }
            Err(error) => self.fail(format!("the headers were not put under a new key: {error}")),
        }
        let mut changes = Vec::new();
        for (path, number) in &files {
            let after = std::fs::read(path).unwrap_or_default();
            let before = disk.content(*number);
            let Some(begin) = before.iter().zip(&after).position(|(one, other)| one != other)
            else {
                continue;
            };
            let end = before
                .iter()
                .zip(&after)
                .rposition(|(one, other)| one != other)
                .map_or(begin, |last| last + 1);
            changes.push((*number, begin, after[begin..end].to_vec()));
        }
        self.note(format!("  {} headers put under a new key", changes.len()));
        self.hit("headers put under a new key");
        let crash = self.random.chance(60).then(|| self.random.below(changes.len() + 1));
        for (number, begin, bytes) in changes.iter().take(crash.unwrap_or(changes.len())) {
            disk.write(*number, *begin, bytes);
        }
        match crash {
            Some(_) => {
                self.hit("crash inside: new key");
                disk.cut_off(&mut self.random).0
            }
            None => disk.killed().0,
        }
    }

    /// Attacks a log of a killed process, and requires a refusal or complete data.
    fn attack(&mut self, disk: Disk, crash: &Crash, attack: Attack) {
        let is_synced_log = |fate: &&Fate| {
            Kind::of(&fate.path) == Kind::Log
                && fate.path.starts_with("/db/")
                && fate.named
                && fate.stable_bytes > 0
        };
        let logs: Vec<Fate> = crash.cut.files.iter().filter(is_synced_log).cloned().collect();
        if logs.is_empty() || self.side == Side::Plain {
            return;
        }
        let log = &logs[self.random.below(logs.len())];
        let bytes = match attack {
            Attack::EmptyLog => 0,
            Attack::CutLog => self.random.below(log.stable_bytes),
        };
        let Ok(number) = disk.find(&log.path) else { return };
        let mut content = disk.content(number).to_vec();
        content.truncate(bytes);
        self.note(format!(
            "  attack: {} of {} synced bytes cut to {bytes}",
            log.path, log.stable_bytes
        ));
        self.hit(format!("attack: {attack:?}"));
        for mode in Mode::ALL {
            let mut disk = disk.clone();
            disk.replace(&log.path, content.clone()).expect("the file was just found");
            let pieces = disk.pieces(number);
            let files = self.files(disk);
            match self.open(&files, mode) {
                Err(_) => self.hit("attack refused"),
                Ok(mut open) => {
                    let found = self.state(open.db());
                    // of a log whose sync was not acknowledged a power cut may leave as little
                    let mut durable = Crash { power: true, ..crash.clone() };
                    for fate in durable.cut.files.iter_mut().filter(|fate| fate.number == number) {
                        fate.whole = pieces;
                        fate.tail = if bytes < HEADER_BYTES { Tail::Clean } else { Tail::Short };
                    }
                    match found {
                        Err(_) => self.hit("attack refused"),
                        Ok(found) => {
                            match state_is_allowed(&self.history, &durable, mode, &found) {
                                Ok(()) => self.hit("attack harmless"),
                                Err(text) => {
                                    self.fail(format!(
                                        "{} opens a synced log cut to {bytes} bytes: {text}",
                                        mode.name()
                                    ));
                                }
                            }
                        }
                    }
                }
            }
            self.count(&files);
        }
    }
}

/// Returns whether an opening succeeded with a log or manifest that it did not read completely:
/// RocksDB takes a short read for the end of the file, and in one mode any failed read. The data
/// after that is lost without a fault.
fn read_less_than_there_is(events: &Events, mode: Mode) -> bool {
    match events.fault {
        Some((Kind::Log | Kind::Manifest, Call::Read, fault)) => {
            fault == Fault::Short || mode == Mode::SkipAny
        }
        _ => false,
    }
}

fn step_name(step: &Step) -> &'static str {
    match step {
        Step::Write { sync: false, .. } => "write",
        Step::Write { sync: true, .. } => "synced write",
        Step::SyncLog => "sync of the log",
        Step::Flush(_) => "flush",
        Step::Compact(_) => "compaction",
        Step::RotateKey => "key rotation",
        Step::Reseal => "resealing",
        Step::Checkpoint => "checkpoint",
        Step::Prepare { .. } => "prepare",
        Step::End { commit: true, .. } => "commit",
        Step::End { commit: false, .. } => "rollback",
        Step::Read => "read",
        Step::Reopen => "close and open",
    }
}

fn borrow<'a>(writes: &'a Writes, values: &'a [Option<Vec<u8>>]) -> Vec<FamilyWrite<'a>> {
    writes
        .iter()
        .zip(values)
        .map(|((key, _), value)| FamilyWrite {
            family: key.0,
            key: key.1.as_bytes(),
            value: value.as_deref(),
        })
        .collect()
}

/// Returns the value that unit `id` writes under `key`.
fn value_of(id: u64, key: &Key, bytes: usize) -> Vec<u8> {
    let seed = key.1.bytes().fold(id.wrapping_mul(31) + u64::from(key.0), |seed, byte| {
        seed.wrapping_mul(257).wrapping_add(u64::from(byte))
    });
    let mut random = Random::new(seed);
    let mut value = id.to_le_bytes().to_vec();
    while value.len() < bytes {
        value.extend_from_slice(&random.number().to_le_bytes());
    }
    value.truncate(bytes);
    value
}
