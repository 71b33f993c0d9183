//! A client of a mix of operations: draws the next operation, runs it, and records its latency.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::contract::{Client, Done, Recorder};
use super::definition::{Definition, Part, Pause, ThinkTime, Transactions};
use super::distribution::stream;
use super::lengths::Lengths;
use super::mix_data::{DataSet, Growth};
use super::requests::{Asked, Requests, There};
use crate::workload::exact_sleep::exact_sleep;
use sealstone_store::{Record, Store, StoreError, Table, Target};

/// The operations of a mix, in the order in which a draw is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Insert,
    Read,
    Update,
    Scan,
    ReadModifyWrite,
    Delete,
    Transaction,
}

/// One client: one thread runs it.
pub(super) struct MixedClient {
    name: &'static str,
    table: Arc<Table>,
    data: Arc<DataSet>,
    growth: Arc<Growth>,
    /// Each operation with the share of draws, 0 to 1, below its end.
    mix: Vec<(f64, Operation)>,
    requests: Requests,
    places: Option<u64>,
    part: Option<Asked>,
    never_deleted: u64,
    scans: Lengths,
    read: Part,
    write: Part,
    transactions: Transactions,
    think_time: ThinkTime,
    /// Set when this thread's sleeps end on time.
    sleeps_exactly: bool,
    random: SmallRng,
    /// Separate, because how often a key must be redrawn depends on what other clients have
    /// inserted so far, and the following draws must not.
    redraws: SmallRng,
    pauses: SmallRng,
    number: u64,
    key: Vec<u8>,
    record: Record,
    /// Fields to be written, and their values.
    changes: Vec<(usize, Vec<u8>)>,
    picked: Vec<(u64, bool)>,
    changed: Record,
}

impl MixedClient {
    /// Makes a client at `place` (round, slice, client), whose draws depend on that, the seed and
    /// `base` alone.
    pub(super) fn new(
        definition: &Definition,
        base: &'static str,
        data: Arc<DataSet>,
        growth: Arc<Growth>,
        requests: Requests,
        place: [u64; 3],
    ) -> Self {
        let scans = &definition.scans;
        Self {
            name: base,
            table: Arc::clone(&data.tables[0]),
            growth,
            mix: shares(definition),
            requests,
            places: None,
            part: None,
            never_deleted: 0,
            scans: Lengths::new(scans.length, scans.records_min.unwrap_or(1), scans.records_max),
            read: definition.fields.read,
            write: definition.fields.write,
            transactions: definition.transactions,
            think_time: definition.think_time,
            sleeps_exactly: false,
            random: stream(data.seed, base, &place),
            redraws: stream(data.seed, "redraw", &place),
            pauses: stream(data.seed, "pause", &place),
            number: 0,
            key: Vec::new(),
            record: Record::new(),
            changes: Vec::new(),
            picked: Vec::new(),
            changed: Record::new(),
            data,
        }
    }

    /// Returns the same, where records are deleted: each of `places` holds one, and so many are
    /// never deleted.
    pub(super) fn with_places(self, places: Option<u64>, never_deleted: u64) -> Self {
        Self { places, never_deleted, ..self }
    }

    /// Returns the same, which requests only a `part` of the records.
    pub(super) fn within(self, part: Option<Asked>) -> Self {
        Self { part, ..self }
    }
}

/// Returns the ends of the operations' shares, for operations with a share.
fn shares(definition: &Definition) -> Vec<(f64, Operation)> {
    let mix = &definition.mix;
    let sum = mix.sum();
    let mut end = 0.0;
    let weights = [
        (mix.insert, Operation::Insert),
        (mix.read, Operation::Read),
        (mix.update, Operation::Update),
        (mix.scan, Operation::Scan),
        (mix.read_modify_write, Operation::ReadModifyWrite),
        (mix.delete, Operation::Delete),
        (mix.transaction, Operation::Transaction),
    ];
    let shares =
        weights.into_iter().filter(|(weight, _)| *weight > 0.0).map(|(weight, operation)| {
            end += weight / sum;
            (end, operation)
        });
    let mut shares: Vec<(f64, Operation)> = shares.collect();
    // sums of shares may miss 1 by rounding
    if let Some((end, _)) = shares.last_mut() {
        *end = 1.0;
    }
    shares
}

impl Client for MixedClient {
    #[inline]
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let store = target.records("a workload")?;
        if self.think_time.distribution != Pause::None {
            self.pause();
        }
        let drawn: f64 = self.random.random();
        let chosen = self
            .mix
            .iter()
            .find(|(end, _)| drawn < *end)
            .map_or(Operation::Read, |(_, operation)| *operation);
        match chosen {
            Operation::Insert => return self.insert(store, recorder),
            Operation::Delete => return self.delete(store, recorder),
            Operation::Transaction => return self.transaction(store, recorder),
            _ => self.choose_key(),
        }
        match chosen {
            Operation::Read => self.read(store, recorder),
            Operation::Update => self.update(store, recorder),
            Operation::Scan => self.scan(store, recorder),
            _ => self.read_modify_write(store, recorder),
        }
    }
}

impl MixedClient {
    fn pause(&mut self) {
        if !self.sleeps_exactly {
            exact_sleep();
            self.sleeps_exactly = true;
        }
        let mean_us = self.think_time.mean_us.unwrap_or_default();
        let pause_us = match self.think_time.distribution {
            // 1 - u is never 0
            Pause::Exponential => -(1.0 - self.pauses.random::<f64>()).ln() * mean_us,
            _ => mean_us,
        };
        std::thread::sleep(Duration::from_secs_f64(pause_us / 1e6));
    }

    /// Draws the number of an existing record.
    fn choose_number(&mut self) -> u64 {
        let numbers = self.growth.oldest()..self.growth.counter.acknowledged();
        let there = There {
            numbers,
            places: self.places,
            sequence: &self.growth.sequence,
            part: self.part,
        };
        self.requests.draw(&there, &mut self.random, &mut self.redraws)
    }

    /// Puts the name of an existing record into `key`.
    fn choose_key(&mut self) {
        self.number = self.choose_number();
        self.data.put_name(self.number, &mut self.key);
    }

    /// Draws the fields to be written, and new values for them.
    fn choose_changes(&mut self) {
        let count = self.table.fields.len();
        let one = match self.write {
            Part::One => Some(self.random.random_range(0..count)),
            Part::All => None,
        };
        let fields = one.map_or(0..count, |field| field..field + 1);
        self.changes.resize_with(fields.len(), Default::default);
        for ((into, value), field) in self.changes.iter_mut().zip(fields) {
            *into = field;
            self.data.records.draw_value(field, &mut self.random, value);
        }
    }

    /// Returns what an absent record means: nothing, if it has been deleted in the meantime.
    fn missing(&self) -> Result<Done, StoreError> {
        if self.number < self.growth.oldest() {
            return Ok(Done::default());
        }
        Err(StoreError::Differs(format!(
            "record {} of {} is not in the store, although writing it succeeded",
            String::from_utf8_lossy(&self.key),
            self.table.name
        )))
    }

    fn read(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let one = match self.read {
            Part::One => Some([self.random.random_range(0..self.table.fields.len())]),
            Part::All => None,
        };
        let fields = one.as_ref().map(<[usize; 1]>::as_slice);
        let start = Instant::now();
        let found = store.read(&self.table, &self.key, fields, &mut self.record)?;
        recorder.record("read", start);
        if !found || self.record.len() != fields.map_or(self.table.fields.len(), <[usize]>::len) {
            return self.missing();
        }
        Ok(Done { rows: 1, bytes: self.record.bytes() as u64 })
    }

    fn update(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        self.choose_changes();
        self.write_changes(store, recorder)
    }

    fn write_changes(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let several: Vec<(usize, &[u8])>;
        let (one, changes);
        match self.changes.as_slice() {
            // the usual, without an allocation
            [(field, value)] => {
                one = [(*field, value.as_slice())];
                changes = one.as_slice();
            }
            all => {
                several = all.iter().map(|(field, value)| (*field, value.as_slice())).collect();
                changes = several.as_slice();
            }
        }
        let start = Instant::now();
        let found = store.update(&self.table, &self.key, changes)?;
        recorder.record("update", start);
        if !found {
            return self.missing();
        }
        Ok(Done { rows: 1, bytes: changes.iter().map(|(_, value)| value.len() as u64).sum() })
    }

    fn read_modify_write(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        self.choose_changes();
        let start = Instant::now();
        let read = self.read(store, recorder)?;
        let written = self.write_changes(store, recorder)?;
        recorder.record("read-modify-write", start);
        Ok(Done { rows: 1, bytes: read.bytes + written.bytes })
    }

    fn insert(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let number = self.growth.counter.take();
        self.data.put_name(number, &mut self.key);
        self.data.fill(number, &mut self.record);
        let start = Instant::now();
        store.insert(&self.table, &self.key, &self.record)?;
        recorder.record("insert", start);
        self.growth.counter.acknowledge(number);
        Ok(Done { rows: 1, bytes: self.record.bytes() as u64 })
    }

    /// Deletes the oldest record. A store that has lost many more than it got gets one instead.
    fn delete(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let Some(number) = self.growth.take_oldest(self.never_deleted) else {
            return self.insert(store, recorder);
        };
        self.data.put_name(number, &mut self.key);
        let start = Instant::now();
        store.delete(&self.table, &self.key)?;
        recorder.record("delete", start);
        Ok(Done { rows: 1, bytes: 0 })
    }

    fn scan(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let count = self.scans.draw(&mut self.random) as usize;
        let mut bytes = 0;
        let start = Instant::now();
        let rows = store
            .scan(&self.table, &self.key, count, &mut |_, record| bytes += record.bytes() as u64)?;
        recorder.record("scan", start);
        if rows == 0 {
            return self.missing();
        }
        Ok(Done { rows: rows as u64, bytes })
    }

    /// Reads some records and changes others, all of it or nothing. Records are locked by ascending
    /// number, so that there can be no deadlock.
    fn transaction(
        &mut self,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let Some(transactional) = store.transactional() else {
            return Err(StoreError::Lacks { caller: self.name, ability: "atomic transactions" });
        };
        self.picked.clear();
        let Transactions { reads, writes } = self.transactions;
        for at in 0..reads + writes {
            let number = self.choose_number();
            self.picked.push((number, at >= reads));
        }
        // a record that is both is written; it comes last of the two
        self.picked.sort_unstable();
        self.picked.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 |= same && later.1;
            same
        });
        let seed = self.random.random();
        let mut done = Done::default();
        let start = Instant::now();
        transactional.transaction(&mut |transaction| {
            done = Done::default();
            // a conflict runs it again, with the same values
            let mut random = SmallRng::seed_from_u64(seed);
            for at in 0..self.picked.len() {
                let (number, is_written) = self.picked[at];
                self.number = number;
                self.data.put_name(number, &mut self.key);
                if !transaction.read(&self.table, &self.key, is_written, &mut self.record)? {
                    self.missing()?;
                    continue;
                }
                done.rows += 1;
                done.bytes += self.record.bytes() as u64;
                if is_written {
                    done.bytes += self.change(&mut random);
                    transaction.put(&self.table, &self.key, &self.changed)?;
                }
            }
            Ok(())
        })?;
        recorder.record("transaction", start);
        Ok(done)
    }

    /// Puts `record` with new values into `changed`; returns the bytes of these.
    fn change(&mut self, random: &mut SmallRng) -> u64 {
        let fields = self.record.len();
        let one = match self.write {
            Part::One => Some(random.random_range(0..fields.max(1))),
            Part::All => None,
        };
        self.changes.resize_with(1, Default::default);
        let value = &mut self.changes[0].1;
        self.changed.clear();
        let mut bytes = 0;
        for (field, old) in self.record.iter().enumerate() {
            if one.is_none_or(|one| one == field) {
                self.data.records.draw_value(field, random, value);
                bytes += value.len() as u64;
                self.changed.push(value);
            } else {
                self.changed.push(old);
            }
        }
        bytes
    }
}
