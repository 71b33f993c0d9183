//! Meaning of a seed: the setup of the database, the operations, the crashes, and the faults. The
//! same for a plain and a sealed database.

use std::fmt;

use crate::files::{Call, Fault, Kind, Plan, Trigger};
use crate::random::Random;

/// RocksDB's `wal_recovery_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `kTolerateCorruptedTailRecords`
    TolerateTail,
    /// `kAbsoluteConsistency`
    Absolute,
    /// `kPointInTimeRecovery`
    PointInTime,
    /// `kSkipAnyCorruptedRecords`
    SkipAny,
}

impl Mode {
    /// All four.
    pub const ALL: [Self; 4] =
        [Self::TolerateTail, Self::Absolute, Self::PointInTime, Self::SkipAny];

    /// Returns RocksDB's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TolerateTail => "kTolerateCorruptedTailRecords",
            Self::Absolute => "kAbsoluteConsistency",
            Self::PointInTime => "kPointInTimeRecovery",
            Self::SkipAny => "kSkipAnyCorruptedRecords",
        }
    }
}

/// One write of a step: family, key, and the length of the value; absent: a removal.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// Index of the family.
    pub family: u32,
    /// Number of the key.
    pub key: u8,
    /// Length of the value, in bytes; absent: the key is removed.
    pub bytes: Option<usize>,
}

/// One thing that is done to the database.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes that take effect together.
    Write {
        /// Writes of the step; if a key is written twice, the later write counts.
        puts: Vec<Put>,
        /// True if the step is acknowledged only once it is on stable storage.
        sync: bool,
    },
    /// Syncs the log.
    SyncLog,
    /// Flushes a family.
    Flush(u32),
    /// Compacts a family.
    Compact(u32),
    /// New files get the next key; open files stay under theirs.
    RotateKey,
    /// New files get another cipher, and every table is rewritten.
    Reseal,
    /// Makes a checkpoint, opens it and compares.
    Checkpoint,
    /// The first phase of a commit.
    Prepare {
        /// Writes of the transaction, under its own keys.
        puts: Vec<Put>,
        /// As for `Write`.
        sync: bool,
    },
    /// The second phase of a prepared transaction, or its rollback.
    End {
        /// Number that selects one of the prepared transactions.
        which: u64,
        /// True if the transaction is committed.
        commit: bool,
        /// As for `Write`.
        sync: bool,
    },
    /// Reads everything and compares.
    Read,
    /// Closes the database and opens it again.
    Reopen,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let puts = |puts: &[Put]| {
            let put = |put: &Put| match put.bytes {
                Some(bytes) => format!("{}/{}={bytes}B", put.family, put.key),
                None => format!("{}/{} removed", put.family, put.key),
            };
            puts.iter().map(put).collect::<Vec<_>>().join(", ")
        };
        let synced = |sync: &bool| if *sync { ", synced" } else { "" };
        match self {
            Self::Write { puts: written, sync } => {
                write!(f, "write {}{}", puts(written), synced(sync))
            }
            Self::Prepare { puts: written, sync } => {
                write!(f, "prepare {}{}", puts(written), synced(sync))
            }
            Self::End { commit: true, sync, .. } => {
                write!(f, "commit what is prepared{}", synced(sync))
            }
            Self::End { commit: false, sync, .. } => {
                write!(f, "roll back what is prepared{}", synced(sync))
            }
            Self::SyncLog => write!(f, "sync the log"),
            Self::Flush(family) => write!(f, "flush family {family}"),
            Self::Compact(family) => write!(f, "compact family {family}"),
            Self::RotateKey => write!(f, "rotate the key"),
            Self::Reseal => write!(f, "reseal under another cipher"),
            Self::Checkpoint => write!(f, "make a checkpoint"),
            Self::Read => write!(f, "read all"),
            Self::Reopen => write!(f, "close and open"),
        }
    }
}

/// Attack on the disk after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Truncates a synced log to nothing.
    EmptyLog,
    /// Cuts a synced log somewhere before its synced end.
    CutLog,
}

/// The end of an epoch.
#[derive(Clone, Debug)]
pub struct Ending {
    /// True if the power is cut; otherwise the process is killed.
    pub power: bool,
    /// Step from which on the plan applies.
    pub from_step: usize,
    /// The moment of the crash, or a fault; neither: the crash comes after the last step.
    pub plan: Plan,
    /// An attack on the disk afterwards, instead of going on.
    pub attack: Option<Attack>,
    /// The mode in which the database continues.
    pub mode: Mode,
    /// Faults of the recovery that continues.
    pub recovery: Plan,
    /// True if all headers are put under a new key before that.
    pub rewrap: bool,
}

/// Everything between two crashes.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Steps of the epoch.
    pub steps: Vec<Step>,
    /// Ending of the epoch.
    pub ending: Ending,
}

/// Meaning of a seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Column families, `default` among them.
    pub families: u32,
    /// True if transactions are prepared.
    pub transactions: bool,
    /// `track_and_verify_wals_in_manifest`
    pub tracks_logs: bool,
    /// The mode of the first opening.
    pub mode: Mode,
    /// True if the disk has one journal.
    pub journal: bool,
    /// One after the other.
    pub epochs: Vec<Epoch>,
}

impl Scenario {
    /// Returns the scenario of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(1);
        let transactions = random.chance(35);
        // A flush of the only family of a database with prepared transactions does not sync the
        // logs before in RocksDB 7 (later versions do): a commit that is flushed can outlive its
        // prepare. With more families it does.
        let families =
            if transactions { random.pick(&[2, 2, 3]) } else { random.pick(&[1, 2, 2, 3]) };
        // rarely more than two: each costs an opening in every mode
        let epochs = random.pick(&[1, 1, 1, 2, 2, 3]);
        let mut scenario = Self {
            families,
            transactions,
            tracks_logs: random.chance(50),
            mode: random.pick(&Mode::ALL),
            journal: random.chance(40),
            epochs: Vec::new(),
        };
        for epoch in 0..epochs {
            let steps = scenario.steps(&mut random);
            let ending = ending(&mut random, &steps, epoch + 1 == epochs);
            scenario.epochs.push(Epoch { steps, ending });
        }
        scenario
    }

    /// Returns RocksDB's options text.
    pub fn options(&self, mode: Mode) -> String {
        format!(
            // One thread at a time: nothing in the background that was not waited for, and tables
            // opened by one thread. Skip lists have nodes of random height, from a generator that
            // no seed reaches, so that they are full at other times.
            "create_if_missing=true;disable_auto_compactions=true;max_background_jobs=2;\
             max_file_opening_threads=1;level0_slowdown_writes_trigger=1000;\
             level0_stop_writes_trigger=1000;max_bgerror_resume_count=0;stats_dump_period_sec=0;\
             stats_persist_period_sec=0;compression=kNoCompression;memtable_factory=vector;\
             allow_concurrent_memtable_write=false;write_buffer_size=65536;\
             min_write_buffer_number_to_merge=32;max_write_buffer_number=64;wal_recovery_mode={};\
             track_and_verify_wals_in_manifest={}",
            mode.name(),
            self.tracks_logs
        )
    }

    fn steps(&self, random: &mut Random) -> Vec<Step> {
        // a memory table is full after 64 KiB and a new log begins, while the old one may never
        // have been synced
        let large = random.pick(&[0, 5, 40]);
        let syncs = random.pick(&[5, 20, 60]);
        let count = random.within(4, 36);
        if random.chance(20) {
            // many logs, none of them synced: whatever flushes a family syncs the logs before
            return (0..count)
                .map(|_| Step::Write { puts: self.puts(random, 30), sync: random.chance(3) })
                .collect();
        }
        (0..count).map(|_| self.step(random, large, syncs)).collect()
    }

    fn step(&self, random: &mut Random, large: usize, syncs: usize) -> Step {
        let family = random.below(self.families as usize) as u32;
        match random.below(100) {
            0..5 => Step::SyncLog,
            5..11 => Step::Flush(family),
            11..14 => Step::Compact(family),
            14..16 => Step::RotateKey,
            16..18 => Step::Reseal,
            18..20 => Step::Checkpoint,
            20..22 => Step::Read,
            22..24 => Step::Reopen,
            24..32 if self.transactions => {
                Step::Prepare { puts: self.puts(random, large), sync: random.chance(syncs) }
            }
            32..40 if self.transactions => Step::End {
                which: random.number(),
                commit: random.chance(75),
                sync: random.chance(syncs),
            },
            _ => Step::Write { puts: self.puts(random, large), sync: random.chance(syncs) },
        }
    }

    fn puts(&self, random: &mut Random, large: usize) -> Vec<Put> {
        let count = random.pick(&[1, 1, 1, 2, 4]);
        let put = |_| {
            let bytes = match random.below(100) {
                share if share < large => random.within(8_000, 40_000),
                share if share < 50 => random.within(16, 100),
                share if share < 75 => random.within(200, 900),
                _ => random.within(900, 6_000),
            };
            Put {
                family: random.below(self.families as usize) as u32,
                key: random.below(12) as u8,
                bytes: (!random.chance(12)).then_some(bytes),
            }
        };
        (0..count).map(put).collect()
    }
}

fn ending(random: &mut Random, steps: &[Step], last: bool) -> Ending {
    let power = random.chance(75);
    let mut from_step = random.below(steps.len());
    let rare: Vec<usize> =
        (0..steps.len()).filter(|at| !matches!(steps[*at], Step::Write { .. })).collect();
    if !rare.is_empty() && random.chance(60) {
        from_step = random.pick(&rare);
    }
    let is_short = matches!(
        steps[from_step],
        Step::Write { .. } | Step::Prepare { .. } | Step::End { .. } | Step::SyncLog
    );
    let now = |random: &mut Random, most: usize| match is_short && random.chance(50) {
        true => Trigger { kind: None, call: None, after: random.below(3) },
        false => trigger(random, most),
    };
    let mut plan = Plan::default();
    match random.below(100) {
        0..30 => {}
        30..70 => plan.crash = Some(now(random, 40)),
        _ => {
            let fault = random.pick(&[Fault::Io, Fault::Io, Fault::NoSpace, Fault::Short]);
            plan.fault = Some((now(random, 30), fault));
        }
    }
    let attack = (last && !power && plan.fault.is_none() && random.chance(60))
        .then(|| random.pick(&[Attack::EmptyLog, Attack::CutLog]));
    let mut recovery = Plan::default();
    match random.below(100) {
        0..25 => recovery.crash = Some(trigger(random, 60)),
        25..45 => {
            let fault = random.pick(&[Fault::Io, Fault::NoSpace, Fault::Short]);
            recovery.fault = Some((trigger(random, 60), fault));
        }
        _ => {}
    }
    let mode = random.pick(&Mode::ALL);
    Ending { power, from_step, plan, attack, mode, recovery, rewrap: random.chance(5) }
}

/// Places at which a crash or a failure has the most to undo.
const TENDER: [(Kind, Call); 10] = [
    (Kind::Log, Call::Append),
    (Kind::Log, Call::Sync),
    (Kind::Manifest, Call::Append),
    (Kind::Manifest, Call::Sync),
    (Kind::Table, Call::Append),
    (Kind::Table, Call::Sync),
    (Kind::Table, Call::Remove),
    (Kind::Control, Call::Rename),
    (Kind::Directory, Call::SyncDirectory),
    (Kind::Catalogue, Call::Sync),
];

/// Returns some call out of the first `most` or so, or out of the rarer calls of its kind.
fn trigger(random: &mut Random, most: usize) -> Trigger {
    let kinds =
        [Kind::Log, Kind::Manifest, Kind::Table, Kind::Control, Kind::Directory, Kind::Catalogue];
    let calls = [
        Call::Open,
        Call::Create,
        Call::Read,
        Call::Append,
        Call::Write,
        Call::Sync,
        Call::Look,
        Call::Remove,
        Call::Rename,
        Call::Link,
        Call::SyncDirectory,
    ];
    match random.below(4) {
        0 => Trigger { kind: None, call: None, after: random.below(most) },
        1 => Trigger { kind: None, call: Some(random.pick(&calls)), after: random.below(6) },
        2 => Trigger { kind: Some(random.pick(&kinds)), call: None, after: random.below(10) },
        _ => {
            let (kind, call) = random.pick(&TENDER);
            Trigger { kind: Some(kind), call: Some(call), after: random.below(3) }
        }
    }
}
