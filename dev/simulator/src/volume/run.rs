//! One seed: a volume is made, used, cut off or killed, and opened again, several times.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Failure, Sizes, Volume};

use super::contents;
use super::disk::{Bug, Faults, SimulatedDisk};
use super::history::{Request, User};
use super::judge::{Judge, Step};
use super::source::{BLOCK_BYTES, Source};
use crate::random::Random;

/// Classes of events that a run over many seeds must meet.
pub const CLASSES: [&str; 14] = [
    "a write was lost",
    "a write was kept",
    "a unit kept an older write",
    "a change of names was lost",
    "a sync failed",
    "the disk was full",
    "killed",
    "cut off",
    "cut off while it was opened",
    "opened with a log",
    "opened with a log of several openings",
    "a checkpoint",
    "grown",
    "closed",
];

/// The outcome of a seed.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Failures.
    pub failures: Vec<String>,
    /// Classes of events that were met.
    pub hit: BTreeSet<&'static str>,
    /// Every step, for replays.
    pub trace: Vec<String>,
}

struct Run {
    random: Random,
    disk: SimulatedDisk,
    keys: EphemeralKey,
    sizes: Sizes,
    judge: Judge,
    blocks: u64,
    value: u64,
    user: Box<dyn User>,
    outcome: Outcome,
    bug: Option<Bug>,
    /// True if the power went since the device was compared.
    was_cut: bool,
}

/// End of a use of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Cut,
    Killed,
    Closed,
}

/// Runs a seed.
///
/// - `source`: where the requests come from
/// - `bug`: what the program does wrong
#[must_use]
pub fn run(seed: u64, source: Source, bug: Option<Bug>) -> Outcome {
    let mut random = Random::new(seed);
    let (blocks, user, sizes) = source.draw(&mut random);
    let mut run = Run {
        disk: SimulatedDisk::new(bug),
        keys: EphemeralKey::new().expect("randomness"),
        judge: Judge::new(blocks),
        sizes,
        blocks,
        value: 0,
        user,
        outcome: Outcome::default(),
        bug,
        random,
        was_cut: false,
    };
    // most with the quickest, some with 64-bit blocks, whose counters go in larger steps
    let cipher = run.random.pick(&["aes-128", "aes-128", "aes-256", "lea-128", "hight"]);
    let cipher = cipher_named(cipher);
    let made = Volume::create(&run.disk, &run.keys, cipher, (4096, blocks * BLOCK_BYTES));
    made.expect("an empty disk takes a volume");
    for _ in 0..run.random.within(2, 5) {
        if !run.outcome.failures.is_empty() || run.once().is_none() {
            break;
        }
    }
    run.outcome.hit.extend(run.disk.hit());
    run.outcome
}

fn cipher_named(name: &str) -> &'static Cipher {
    cipher(name).expect("it is in the table")
}

impl Run {
    fn note(&mut self, text: String) {
        self.outcome.trace.push(text);
    }

    fn fail(&mut self, text: String) {
        self.note(format!("FAILED: {text}"));
        self.outcome.failures.push(text);
    }

    fn hit(&mut self, class: &'static str) {
        self.outcome.hit.insert(class);
    }

    /// Opens the volume, checks what it has, uses it, and ends in some way. None if it could not go
    /// on.
    fn once(&mut self) -> Option<()> {
        let volume = self.attach()?;
        self.check(&volume, "after it was opened")?;
        let faults = self.faults();
        self.note(format!("{faults:?}"));
        self.disk.set_faults(faults);
        let end = self.work(&volume, faults);
        self.note(format!("{end:?}"));
        if end == End::Closed {
            self.hit("closed");
        }
        drop(volume);
        if end == End::Cut {
            self.hit("cut off");
            self.cut();
        } else {
            self.disk.set_faults(Faults::default());
            self.hit("killed");
        }
        self.judge()
    }

    fn cut(&mut self) {
        self.was_cut = true;
        self.outcome.hit.extend(self.disk.hit());
        self.disk = self.disk.after_cut(&mut self.random);
    }

    /// Draws what goes wrong during one use.
    fn faults(&mut self) -> Faults {
        let mut faults = Faults::default();
        match self.random.below(10) {
            0..5 => {
                let most = self.random.pick(&[20, 200, 2000]);
                faults.cut_after = Some(self.random.within(1, most) as u64);
            }
            5 => faults.failing_sync = Some(self.random.within(1, 30) as u64),
            6 => faults.pages = Some(self.disk.pages() + self.random.within(0, 120)),
            _ => {}
        }
        faults
    }

    /// Opens the volume, perhaps after openings that are cut off.
    fn attach(&mut self) -> Option<Volume> {
        while self.random.chance(15) {
            let after = self.random.within(1, 60) as u64;
            self.disk.set_faults(Faults { cut_after: Some(after), ..Faults::default() });
            let opened = self.open();
            self.note(format!("an opening that is cut off after {after}: {}", opened.is_ok()));
            drop(opened);
            self.hit("cut off while it was opened");
            self.cut();
        }
        self.disk.set_faults(Faults::default());
        match self.open() {
            Ok(volume) => {
                if volume.is_pending() {
                    self.hit("opened with a log");
                }
                if volume.runs() > 2 {
                    self.hit("opened with a log of several openings");
                }
                Some(volume)
            }
            Err(failure) => {
                self.fail(format!("does not open: {failure}"));
                None
            }
        }
    }

    fn open(&self) -> Result<Volume, Failure> {
        Volume::attach(Arc::new(self.disk.clone()), &self.keys, None, (Backend::auto(), self.sizes))
    }

    /// Judges what is there after an end.
    fn judge(&mut self) -> Option<()> {
        let volume = self.attach()?;
        let found = self.read_all(&volume)?;
        let keeps_all = !std::mem::take(&mut self.was_cut);
        if let Err(text) = self.judge.judge(&found, keeps_all) {
            self.fail(text);
            return None;
        }
        Some(())
    }

    fn read_all(&mut self, volume: &Volume) -> Option<Vec<u64>> {
        self.read(volume, 0..self.blocks)
    }

    /// Returns what each of `blocks` has. None if they do not read, which is a failure unless the
    /// power went.
    fn read(&mut self, volume: &Volume, blocks: Range<u64>) -> Option<Vec<u64>> {
        match contents::of(volume, blocks) {
            Ok(found) => Some(found),
            Err(_) if self.disk.is_off() => None,
            Err(text) => {
                self.fail(text);
                None
            }
        }
    }

    /// Compares everything with the plain device, of which nothing is lost.
    fn check(&mut self, volume: &Volume, when: &str) -> Option<()> {
        let found = self.read_all(volume)?;
        let now = self.judge.now();
        let differing = found.iter().zip(&now).position(|(one, other)| one != other);
        if let Some(block) = differing {
            let (is, should) = (found[block], now[block]);
            self.fail(format!("{when} block {block} has {is}, and {should} was written"));
            return None;
        }
        Some(())
    }

    /// Uses the volume until something ends it.
    fn work(&mut self, volume: &Volume, faults: Faults) -> End {
        let count = self.random.within(1, 150);
        for _ in 0..count {
            for request in self.user.next(&mut self.random) {
                self.note(format!("{request:?}"));
                match self.request(volume, &request) {
                    Ok(()) => {}
                    Err(failure) if self.disk.is_off() => {
                        self.note(format!("{failure}"));
                        return End::Cut;
                    }
                    Err(failure) if failure.is_full() => {
                        self.note(format!("{failure}"));
                        if self.check(volume, "after the disk was full").is_none() {
                            return End::Cut;
                        }
                        self.disk.set_faults(Faults::default());
                    }
                    Err(failure) if faults.failing_sync.is_some() => {
                        self.note(format!("{failure}"));
                        return self.after_failed_sync(volume);
                    }
                    Err(failure) => {
                        self.fail(format!("{request:?}: {failure}"));
                        return End::Cut;
                    }
                }
                if !self.outcome.failures.is_empty() || self.disk.is_off() {
                    return End::Cut;
                }
            }
        }
        let drawn = self.random.below(4);
        let closed = drawn == 1 && volume.flush().and_then(|()| volume.checkpoint()).is_ok();
        match drawn {
            _ if self.disk.is_off() => End::Cut,
            _ if closed => {
                self.judge.flush();
                End::Closed
            }
            0 => End::Cut,
            _ => End::Killed,
        }
    }

    /// Tries once more what failed: nothing may be promised any more.
    fn after_failed_sync(&mut self, volume: &Volume) -> End {
        if volume.flush().is_ok() {
            self.fail("a flush after a failed one succeeded".into());
        }
        if volume.write(0, &[1; BLOCK_BYTES as usize]).is_ok() {
            self.fail("a write after a failed sync succeeded".into());
        }
        if self.random.chance(50) { End::Cut } else { End::Killed }
    }

    fn request(&mut self, volume: &Volume, request: &Request) -> Result<(), Failure> {
        match request {
            Request::Flush => {
                self.disk.set_flush(true);
                let flushed = volume.flush();
                self.disk.set_flush(false);
                flushed.map(|()| self.judge.flush())
            }
            Request::Checkpoint => {
                if self.random.chance(50) {
                    // what fails here was promised to nobody
                    if let Err(failure) = volume.prepare() {
                        self.note(format!("{failure}"));
                    }
                }
                if self.disk.is_off() {
                    return Ok(());
                }
                if self.bug.is_none() && self.random.chance(5) {
                    let size = volume.size_bytes();
                    volume.grow(size)?;
                    self.hit("grown");
                } else {
                    volume.checkpoint()?;
                }
                self.hit("a checkpoint");
                Ok(())
            }
            Request::Read(blocks) => {
                let now = self.judge.now();
                let Some(found) = self.read(volume, blocks.clone()) else { return Ok(()) };
                for (block, found) in blocks.clone().zip(found) {
                    let should = now[block as usize];
                    if found != should {
                        self.fail(format!("block {block} reads {found}, and {should} was written"));
                    }
                }
                Ok(())
            }
            Request::Write(blocks) => {
                self.value += 1;
                let value = self.value;
                let data = contents::written(value, blocks.end - blocks.start);
                let at = blocks.start * BLOCK_BYTES;
                let step = Step { blocks: blocks.clone(), value };
                self.change(volume, vec![step], || volume.write(at, &data))
            }
            Request::Discard(blocks) => {
                let (at, bytes) =
                    (blocks.start * BLOCK_BYTES, (blocks.end - blocks.start) * BLOCK_BYTES);
                let steps = Step::of_discard(blocks.clone());
                self.change(volume, steps, || volume.discard(at, bytes))
            }
        }
    }

    /// Does what changes blocks.
    fn change(
        &mut self,
        volume: &Volume,
        steps: Vec<Step>,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_one = steps.len() == 1;
        self.judge.begin(steps);
        let result = work();
        match &result {
            Ok(()) => self.judge.acknowledge(),
            Err(failure) if failure.is_full() && is_one => self.judge.refuse(),
            Err(failure) if failure.is_full() => {
                if let Some(found) = self.read_all(volume) {
                    self.judge.refuse_rest(&found);
                }
            }
            // it may be there or not
            Err(_) => {}
        }
        result
    }
}
