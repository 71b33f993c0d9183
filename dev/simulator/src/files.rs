//! The files under a database: every call goes to the disk, is counted and traced, and may fail or
//! be the moment of the crash, according to the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base_files::{BaseFiles, Found, How, Refusal};
use crate::disk::{Disk, Missing, Number};

/// Kind of file that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A write-ahead log.
    Log,
    /// A manifest.
    Manifest,
    /// A table.
    Table,
    /// Data that the sealed file system stores in addition to the files.
    Catalogue,
    /// `CURRENT`, `IDENTITY`, `OPTIONS-…`, and what becomes one of them.
    Control,
    /// A directory.
    Directory,
}

impl Kind {
    /// Returns the kind of the file at `path`.
    pub fn of(path: &str) -> Self {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        let numbered = |ending: &str| {
            name.strip_suffix(ending)
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if numbered(".log") {
            Self::Log
        } else if name.starts_with("MANIFEST-") {
            Self::Manifest
        } else if numbered(".sst") {
            Self::Table
        } else if name.starts_with("SEALSTONE") {
            Self::Catalogue
        } else if name.contains('-')
            || name.contains('.')
            || name.chars().all(|c| c.is_ascii_uppercase())
        {
            Self::Control
        } else {
            Self::Directory
        }
    }
}

/// Operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Opening an existing one.
    Open,
    /// Making one.
    Create,
    /// Reading.
    Read,
    /// Writing at the end.
    Append,
    /// Writing anywhere.
    Write,
    /// Changing the length.
    Truncate,
    /// Syncing.
    Sync,
    /// Asking for facts.
    Look,
    /// Listing a directory.
    List,
    /// Removing.
    Remove,
    /// Renaming.
    Rename,
    /// Giving another name.
    Link,
    /// Making or removing a directory.
    Directory,
    /// Syncing a directory.
    SyncDirectory,
}

/// Condition on the calls that a planned event waits for.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// Only files of this kind, if given.
    pub kind: Option<Kind>,
    /// Only this call, if given.
    pub call: Option<Call>,
    /// Number of matching calls that pass before.
    pub after: usize,
}

impl Trigger {
    /// Counts a call down; returns whether it is the planned call.
    fn is_now(&mut self, kind: Kind, call: Call) -> bool {
        if self.kind.is_some_and(|wanted| wanted != kind)
            || self.call.is_some_and(|wanted| wanted != call)
        {
            return false;
        }
        if self.after == 0 {
            return true;
        }
        self.after -= 1;
        false
    }
}

/// Failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error; a write may have been done in part.
    Io,
    /// No room: this call and all later ones that need some.
    NoSpace,
    /// A read returns fewer bytes than there are; a write stores a part and fails.
    Short,
}

/// Events planned for the calls to come.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The moment of the crash, before the call is done; an append may have begun.
    pub crash: Option<Trigger>,
    /// A call that fails.
    pub fault: Option<(Trigger, Fault)>,
}

/// Events that the plan caused.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// The call at which the crash came.
    pub crash: Option<(Kind, Call)>,
    /// The call that failed.
    pub fault: Option<(Kind, Call, Fault)>,
    /// True if a call on a manifest failed.
    pub manifest_failed: bool,
}

struct State {
    disk: Disk,
    handles: BTreeMap<u64, (Number, Kind)>,
    next_handle: u64,
    locks: BTreeSet<String>,
    plan: Plan,
    events: Events,
    /// The disk at the moment of the crash.
    crashed: Option<Disk>,
    full: bool,
    calls: u64,
    /// FNV-1a over all calls.
    trace: u64,
    /// The calls themselves, where they are requested.
    log: Option<Vec<String>>,
    newest_log: Option<Number>,
}

/// Files on a disk.
pub struct Files(Mutex<State>);

impl Files {
    /// Files on `disk`; `log`: keeps a line for each call.
    pub fn new(disk: Disk, log: bool) -> Self {
        Self(Mutex::new(State {
            disk,
            handles: BTreeMap::new(),
            next_handle: 1,
            locks: BTreeSet::new(),
            plan: Plan::default(),
            events: Events::default(),
            crashed: None,
            full: false,
            calls: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            log: log.then(Vec::new),
            newest_log: None,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the plan from now on.
    pub fn plan(&self, plan: Plan) {
        self.state().plan = plan;
    }

    /// Returns the events that the plan has caused so far.
    pub fn events(&self) -> Events {
        self.state().events.clone()
    }

    /// Returns whether the crash has come.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed.is_some()
    }

    /// Returns the disk at the moment of the crash, which is now if none has come. Nothing goes
    /// wrong from here on: anything that still uses these files is a ghost.
    pub fn crash(&self) -> Disk {
        let mut state = self.state();
        state.plan = Plan::default();
        state.full = false;
        let mut disk = state.crashed.take().unwrap_or_else(|| state.disk.clone());
        disk.number_after(&state.disk);
        disk
    }

    /// Returns whether an earlier crash left a log that does not end as it was written.
    pub fn has_flawed_log(&self) -> bool {
        self.state().disk.has_flawed(".log")
    }

    /// Returns a number that depends on every call so far, and how many there were.
    pub fn trace(&self) -> (u64, u64) {
        let state = self.state();
        (state.trace, state.calls)
    }

    /// Returns the lines kept since the last time.
    pub fn take_log(&self) -> Vec<String> {
        self.state().log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the newest log and how many pieces were appended to it.
    pub fn log_position(&self) -> Option<(Number, usize)> {
        let state = self.state();
        state.newest_log.map(|number| (number, state.disk.pieces(number)))
    }
}

/// Decision on how a call is to proceed.
enum Verdict {
    Done,
    Fails(Refusal),
    /// A part of it, then the refusal, if any.
    Part(Option<Refusal>),
}

impl State {
    /// Counts and traces a call; returns its outcome.
    fn call(
        &mut self,
        call: Call,
        path: &str,
        detail: u64,
        bytes: u64,
        append: Option<(Number, &[u8])>,
    ) -> Verdict {
        let kind = Kind::of(path);
        self.calls += 1;
        for byte in path
            .bytes()
            .chain((call as u64).to_le_bytes())
            .chain(detail.to_le_bytes())
            .chain(bytes.to_le_bytes())
        {
            self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let crashes = self.crashed.is_none()
            && self.plan.crash.as_mut().is_some_and(|trigger| trigger.is_now(kind, call));
        if crashes {
            let mut disk = self.disk.clone();
            if let Some((number, data)) = append
                && self.calls.is_multiple_of(2)
            {
                // it had begun
                disk.append(number, &data[..data.len() / 2], false);
            }
            self.crashed = Some(disk);
            self.events.crash = Some((kind, call));
            self.plan = Plan::default();
        }
        let mut verdict = Verdict::Done;
        if let Some((trigger, fault)) = self.plan.fault.as_mut()
            && trigger.is_now(kind, call)
        {
            let fault = *fault;
            self.plan.fault = None;
            self.events.fault = Some((kind, call, fault));
            self.full = fault == Fault::NoSpace;
            verdict = match (fault, call) {
                (Fault::Io, Call::Append) if self.calls.is_multiple_of(2) => {
                    Verdict::Part(Some(Refusal::Io))
                }
                (Fault::Io, _) => Verdict::Fails(Refusal::Io),
                (Fault::NoSpace, Call::Append) => Verdict::Part(Some(Refusal::NoSpace)),
                (Fault::NoSpace, _) => Verdict::Fails(Refusal::NoSpace),
                (Fault::Short, Call::Append) => Verdict::Part(Some(Refusal::Io)),
                (Fault::Short, Call::Read) => Verdict::Part(None),
                (Fault::Short, _) => Verdict::Fails(Refusal::Io),
            };
        } else if self.full
            && matches!(call, Call::Append | Call::Create | Call::Link | Call::Directory)
        {
            verdict = Verdict::Fails(Refusal::NoSpace);
        }
        self.events.manifest_failed |= kind == Kind::Manifest && !matches!(verdict, Verdict::Done);
        if let Some(log) = &mut self.log {
            let outcome = match (&verdict, crashes) {
                (_, true) => "  <- crash",
                (Verdict::Done, _) => "",
                (Verdict::Fails(_), _) => "  <- fails",
                (Verdict::Part(_), _) => "  <- in part",
            };
            log.push(format!("      {call:?} {path} {detail} {bytes}{outcome}"));
        }
        verdict
    }

    fn handle(&self, handle: u64) -> Result<(Number, Kind), Refusal> {
        self.handles.get(&handle).copied().ok_or(Refusal::NotSupported)
    }

    /// Runs a call on an open file.
    fn on_handle(
        &mut self,
        handle: u64,
        call: Call,
        offset: u64,
        bytes: u64,
        append: Option<&[u8]>,
    ) -> Result<(Number, Verdict), Refusal> {
        let (number, kind) = self.handle(handle)?;
        // the name that a file of the kind would have
        let name = match kind {
            Kind::Log => "0.log",
            Kind::Manifest => "MANIFEST-0",
            Kind::Table => "0.sst",
            Kind::Catalogue => "SEALSTONE",
            Kind::Control => "CURRENT",
            Kind::Directory => "directory",
        };
        let verdict = self.call(
            call,
            &format!("{number}/{name}"),
            offset,
            bytes,
            append.map(|data| (number, data)),
        );
        Ok((number, verdict))
    }

    /// Runs a call on a path that is done or fails.
    fn on_path(&mut self, call: Call, path: &str) -> Result<(), Refusal> {
        match self.call(call, path, 0, 0, None) {
            Verdict::Done => Ok(()),
            Verdict::Fails(refusal) => Err(refusal),
            Verdict::Part(refusal) => Err(refusal.unwrap_or(Refusal::Io)),
        }
    }
}

impl From<Missing> for Refusal {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::NotFound => Self::NotFound,
            Missing::Exists => Self::Exists,
            Missing::WrongKind => Self::Io,
        }
    }
}

impl BaseFiles for Files {
    fn open(&self, path: &str, how: How) -> Result<u64, Refusal> {
        let mut state = self.state();
        let there = state.disk.find(path);
        if there.is_ok_and(|number| state.disk.is_directory(number)) {
            return Err(Refusal::Io);
        }
        let makes = there.is_err() && matches!(how, How::Create | How::Append);
        state.on_path(if makes { Call::Create } else { Call::Open }, path)?;
        let number = match (there, how) {
            (Ok(number), How::Create) => {
                state.disk.truncate(number, 0);
                number
            }
            (Ok(number), _) => number,
            (Err(Missing::NotFound), How::Create | How::Append) => state.disk.create(path)?,
            (Err(missing), _) => return Err(missing.into()),
        };
        let kind = Kind::of(path);
        if makes && kind == Kind::Log && path.starts_with("/db/") {
            state.newest_log = Some(number);
        }
        let handle = state.next_handle;
        state.next_handle += 1;
        state.handles.insert(handle, (number, kind));
        Ok(handle)
    }

    fn close(&self, handle: u64) {
        self.state().handles.remove(&handle);
    }

    fn read(&self, handle: u64, offset: u64, into: &mut [u8]) -> Result<usize, Refusal> {
        let mut state = self.state();
        let (number, verdict) =
            state.on_handle(handle, Call::Read, offset, into.len() as u64, None)?;
        let content = state.disk.content(number);
        let from = content.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let mut got = into.len().min(content.len() - from);
        match verdict {
            Verdict::Done => {}
            Verdict::Fails(refusal) | Verdict::Part(Some(refusal)) => return Err(refusal),
            Verdict::Part(None) => got /= 2,
        }
        into[..got].copy_from_slice(&content[from..from + got]);
        Ok(got)
    }

    fn append(&self, handle: u64, data: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let (number, verdict) =
            state.on_handle(handle, Call::Append, 0, data.len() as u64, Some(data))?;
        match verdict {
            Verdict::Done => {
                state.disk.append(number, data, true);
                Ok(())
            }
            Verdict::Fails(refusal) => Err(refusal),
            Verdict::Part(refusal) => {
                state.disk.append(number, &data[..data.len() / 2], false);
                Err(refusal.unwrap_or(Refusal::Io))
            }
        }
    }

    fn write(&self, handle: u64, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        let mut state = self.state();
        let (number, verdict) =
            state.on_handle(handle, Call::Write, offset, data.len() as u64, None)?;
        if let Verdict::Fails(refusal) | Verdict::Part(Some(refusal)) = verdict {
            return Err(refusal);
        }
        state.disk.write(number, usize::try_from(offset).map_err(|_| Refusal::NotSupported)?, data);
        Ok(())
    }

    fn truncate(&self, handle: u64, bytes: u64) -> Result<(), Refusal> {
        let mut state = self.state();
        let (number, verdict) = state.on_handle(handle, Call::Truncate, bytes, 0, None)?;
        if let Verdict::Fails(refusal) | Verdict::Part(Some(refusal)) = verdict {
            return Err(refusal);
        }
        state.disk.truncate(number, usize::try_from(bytes).map_err(|_| Refusal::NotSupported)?);
        Ok(())
    }

    fn sync(&self, handle: u64) -> Result<(), Refusal> {
        let mut state = self.state();
        let (number, verdict) = state.on_handle(handle, Call::Sync, 0, 0, None)?;
        if let Verdict::Fails(refusal) | Verdict::Part(Some(refusal)) = verdict {
            return Err(refusal);
        }
        state.disk.sync(number);
        Ok(())
    }

    fn handle_size(&self, handle: u64) -> Result<u64, Refusal> {
        let state = self.state();
        let (number, _) = state.handle(handle)?;
        Ok(state.disk.content(number).len() as u64)
    }

    fn size(&self, path: &str) -> Result<u64, Refusal> {
        let mut state = self.state();
        let number = state.disk.find(path)?;
        state.on_path(Call::Look, path)?;
        Ok(state.disk.content(number).len() as u64)
    }

    fn look(&self, path: &str) -> Result<Found, Refusal> {
        let state = self.state();
        let number = state.disk.find(path)?;
        Ok(Found { is_directory: state.disk.is_directory(number), links: state.disk.links(number) })
    }

    fn same(&self, one: &str, other: &str) -> Result<bool, Refusal> {
        let state = self.state();
        Ok(state.disk.find(one)? == state.disk.find(other)?)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Refusal> {
        let mut state = self.state();
        let names = state.disk.list(path)?;
        state.on_path(Call::List, path)?;
        Ok(names)
    }

    fn remove(&self, path: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::Remove, path)?;
        Ok(state.disk.remove(path)?)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::Rename, to)?;
        Ok(state.disk.rename(from, to)?)
    }

    fn link(&self, from: &str, to: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::Link, to)?;
        Ok(state.disk.link(from, to)?)
    }

    fn make_directory(&self, path: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::Directory, path)?;
        Ok(state.disk.make_directory(path)?)
    }

    fn remove_directory(&self, path: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::Directory, path)?;
        Ok(state.disk.remove_directory(path)?)
    }

    fn sync_directory(&self, path: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        state.on_path(Call::SyncDirectory, path)?;
        Ok(state.disk.sync_directory(path)?)
    }

    fn lock(&self, path: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        if !state.locks.insert(path.to_owned()) {
            return Err(Refusal::Busy);
        }
        if state.disk.find(path).is_err() {
            state.disk.create(path)?;
        }
        Ok(())
    }

    fn unlock(&self, path: &str) {
        self.state().locks.remove(path);
    }
}
