//! The crash tests' record of a killed database: its acknowledged writes, and the check that none
//! is missing. Not here: the writes (`crash_load`), starting and killing (`tests/`).

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use sealstone_rocksdb::Db;

use crate::crash_load::{ACK_BYTES, PAIRS, Step, THREADS, keys};

/// Acknowledgements of a killed writer: the last step of each thread that it acknowledged, by
/// thread.
pub type Acks = HashMap<u8, u64>;

/// Longest time that a writer may take until it acknowledges what a kill waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Moment of a kill. A busy machine puts off what a process does, so a moment within its work is
/// one after something that it is seen to have done.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Acknowledgements of which one is waited for first, each the thread, or what takes its place,
    /// and the number; none: the start.
    pub seen: Vec<(u8, u64)>,
    /// Time after that.
    pub after: Duration,
}

impl From<Duration> for Moment {
    /// Returns the moment `after` the start.
    fn from(after: Duration) -> Self {
        Self { seen: Vec::new(), after }
    }
}

/// Starts `writer`, kills it at `moment`, and returns its acknowledgements on stdout.
///
/// # Panics
/// If it cannot be started, ended on its own, did not count its steps in order, or does not get to
/// the acknowledgement that is waited for.
pub fn run_and_kill(writer: &mut Command, moment: impl Into<Moment>) -> Acks {
    let Moment { seen, after } = moment.into();
    let mut writer =
        writer.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the writer starts");
    let mut stdout = BufReader::new(writer.stdout.take().expect("piped"));
    let (sees, has_seen) = mpsc::channel();
    let awaited = seen.clone();
    let reader = std::thread::spawn(move || acknowledged(&mut stdout, &awaited, &sees));
    if !seen.is_empty() {
        let found = has_seen.recv_timeout(PATIENCE);
        if found.is_err() {
            writer.kill().expect("SIGKILL");
            panic!("the writer did not get to any of {seen:?}: {found:?}, {:?}", writer.wait());
        }
    }
    std::thread::sleep(after);
    let early = writer.try_wait().expect("a child of ours");
    assert!(early.is_none(), "the writer ended by itself: {early:?}");
    writer.kill().expect("SIGKILL");
    writer.wait().expect("a child of ours");
    reader.join().expect("the reader ends with the writer")
}

/// Reads acknowledgements to the end of `from` and returns the last ones; reports on `sees` when
/// one of `awaited` is among them.
fn acknowledged(from: &mut impl Read, awaited: &[(u8, u64)], sees: &mpsc::Sender<()>) -> Acks {
    let mut last = Acks::new();
    let mut ack = [0; ACK_BYTES];
    loop {
        match from.read_exact(&mut ack) {
            Ok(()) => {}
            // a kill may leave a part of the last one
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return last,
            Err(error) => panic!("cannot read the acknowledgements: {error}"),
        }
        let (who, number) = (ack[0], u64::from_be_bytes(ack[1..].try_into().expect("eight bytes")));
        let before = last.insert(who, number);
        assert_eq!(before.map_or(0, |before| before + 1), number, "acknowledgements come in order");
        if awaited.contains(&(who, number)) {
            // nobody listens any more if the wait was given up
            let _ = sees.send(());
        }
    }
}

/// Last acknowledged step of each pair, or none. A later step may have happened unacknowledged.
#[derive(Clone, Debug, Default)]
pub struct Ledger(HashMap<(u8, u64), Step>);

impl Ledger {
    /// Records the acknowledgements of `round`.
    pub fn note(&mut self, round: u64, acks: &Acks) {
        for (&thread, last) in acks.iter().filter(|(thread, _)| **thread < THREADS) {
            for number in (last + 1).saturating_sub(PAIRS)..=*last {
                let step = Step::new(thread, round, number);
                self.0.insert((thread, step.pair()), step);
            }
        }
    }

    /// Compares `db` with the record and with the acknowledgements of `round`, which are then
    /// recorded.
    ///
    /// # Panics
    /// If an acknowledged write is missing, or an atomic write is there by half; `about` names the
    /// place.
    pub fn check(&mut self, db: &Db, round: u64, acks: &Acks, about: &str) {
        self.note(round, acks);
        for thread in 0..THREADS {
            let done = acks.get(&thread).map_or(0, |last| last + 1);
            // the only step that may have reached the database without its acknowledgement reaching
            // us
            let in_flight = Step::new(thread, round, done);
            for pair in 0..PAIRS {
                let last = self.0.get(&(thread, pair)).copied();
                let found = pair_value(db, thread, pair, about);
                let acknowledged = found == last.and_then(|step| step.value());
                let unacknowledged = in_flight.pair() == pair && found == in_flight.value();
                assert!(
                    acknowledged || unacknowledged,
                    "{about}: pair {pair} of thread {thread} should hold {last:?}, found {:?}",
                    found.map(|value| String::from_utf8_lossy(&value).into_owned())
                );
                if !acknowledged {
                    self.0.insert((thread, pair), in_flight);
                }
            }
        }
    }
}

/// Returns the value of both keys of a pair; they were written together, so they must agree.
fn pair_value(db: &Db, thread: u8, pair: u64, about: &str) -> Option<Vec<u8>> {
    let [left, right] = keys(thread, pair).map(|key| db.get(&key).expect("a readable database"));
    assert!(left == right, "{about}: half of an atomic write of pair {pair} of thread {thread}");
    left
}
