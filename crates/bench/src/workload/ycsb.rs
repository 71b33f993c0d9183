//! The six core workloads of YCSB 0.17, exactly: mix of operations, key names, request distributions, scan lengths.
//!
//! Departures, all on purpose: record values are a function of the key number, so that every store holds the same; a
//! record that must be there and is not is an error instead of a count; random numbers come from the comparison's seed.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::distribution::{AcknowledgedCounter, Latest, ScrambledZipfian, fnv, stream};
use super::records::Records;
use super::{Client, Done, Error, Position, Recorder, Sources, Spec, Unit, Workload, shared, split};
use crate::store::{Record, Store, StoreError, Table};

const fn spec(name: &'static str, description: &'static str) -> Spec {
    Spec { name, description, unit: Unit::Operations, dataset: "ycsb", clients: None, cold: false, from_empty: false }
}

pub(super) const A: Spec = spec("a", "YCSB a: 50 % reads, 50 % updates of one field; zipfian");
pub(super) const B: Spec = spec("b", "YCSB b: 95 % reads, 5 % updates of one field; zipfian");
pub(super) const C: Spec = spec("c", "YCSB c: reads only; zipfian");
pub(super) const D: Spec = spec("d", "YCSB d: 95 % reads of the latest records, 5 % inserts");
pub(super) const E: Spec = spec("e", "YCSB e: 95 % scans of 1 to 100 records, 5 % inserts; zipfian");
pub(super) const F: Spec = spec("f", "YCSB f: 50 % reads, 50 % read-modify-writes; zipfian");

/// Longest scan, in records; the shortest is 1.
const SCAN_RECORDS_MAX: usize = 100;

/// Shares of the operations, in percent; what is left of 100 is read-modify-write.
#[derive(Clone, Copy, Debug)]
struct Mix {
    read: u8,
    update: u8,
    insert: u8,
    scan: u8,
    latest: bool,
}

impl Mix {
    fn of(name: &str) -> Self {
        let (read, update, insert, scan, latest) = match name {
            "a" => (50, 50, 0, 0, false),
            "b" => (95, 5, 0, 0, false),
            "c" => (100, 0, 0, 0, false),
            "d" => (95, 0, 5, 0, true),
            "e" => (0, 0, 5, 95, false),
            "f" => (50, 0, 0, 0, false),
            _ => unreachable!("only the names above stand in the table"),
        };
        Self { read, update, insert, scan, latest }
    }
}

/// Name of the record with number `number`, into `key`, cleared first.
fn key_name(number: u64, key: &mut Vec<u8>) {
    key.clear();
    write!(key, "user{}", fnv(number)).expect("writing to memory does not fail");
}

/// What the workloads a to f share: the table, its records, and what each variant's store has come to hold.
#[derive(Debug)]
pub(super) struct DataSet {
    tables: [Arc<Table>; 1],
    records: Arc<Records>,
    count: u64,
    seed: u64,
    variants: Mutex<HashMap<usize, Arc<Growth>>>,
}

/// The records of one variant's store.
#[derive(Debug)]
struct Growth {
    /// Gives the numbers of new records.
    counter: AcknowledgedCounter,
    /// Kept at the size of the last client made, since its sum is costly from scratch.
    latest: Mutex<Latest>,
}

impl DataSet {
    fn new(sources: &Sources) -> Result<Self, Error> {
        let plan = sources.plan;
        if plan.records == 0 {
            return Err(Error::Plan("the workloads a to f need at least 1 record, not 0".into()));
        }
        let records = sources.records()?;
        let table = Table { id: 0, name: "usertable".into(), fields: records.fields().to_vec() };
        let variants = Mutex::default();
        Ok(Self { tables: [Arc::new(table)], records, count: plan.records, seed: plan.seed, variants })
    }

    fn growth(&self, variant: usize) -> Arc<Growth> {
        let mut variants = self.variants.lock().expect("no code that holds this lock panics");
        let new = || {
            let counter = AcknowledgedCounter::new(self.count);
            Arc::new(Growth { counter, latest: Mutex::new(Latest::new(self.count - 1)) })
        };
        Arc::clone(variants.entry(variant).or_insert_with(new))
    }
}

/// One of the six.
struct Ycsb {
    spec: &'static Spec,
    data: Arc<DataSet>,
    mix: Mix,
    /// Keys are drawn from so many, of which some are not yet inserted.
    key_space: u64,
    operations: u64,
}

pub(super) fn make(spec: &'static Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
    let data = shared(&sources.ycsb, || DataSet::new(sources))?;
    let mix = Mix::of(spec.name);
    let operations = sources.plan.operations;
    // as in YCSB, room for twice the inserts that are expected, so that popular keys stay the same ones
    let expected_inserts = operations * sources.plan.rounds as u64 * u64::from(mix.insert) / 100 * 2;
    let key_space = data.count + expected_inserts + 1;
    Ok(Box::new(Ycsb { spec, data, mix, key_space, operations }))
}

impl Workload for Ycsb {
    fn spec(&self) -> &Spec {
        self.spec
    }

    fn tables(&self) -> &[Arc<Table>] {
        &self.data.tables
    }

    fn load_rows(&self) -> u64 {
        self.data.count
    }

    fn load(&self, store: &dyn Store, part: usize, parts: usize, progress: &dyn Fn(u64)) -> Result<(), StoreError> {
        let mut key = Vec::new();
        let mut record = Record::new();
        let mut unreported = 0;
        for number in split(self.data.count, part, parts) {
            key_name(number, &mut key);
            self.data.records.fill(number, &mut record);
            store.insert(&self.data.tables[0], &key, &record)?;
            unreported += 1;
            if unreported == 256 {
                progress(std::mem::take(&mut unreported));
            }
        }
        progress(unreported);
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        (self.data.count as f64 * self.data.records.mean_bytes()) as u64
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let growth = self.data.growth(at.variant);
        let keys = if self.mix.latest {
            let mut latest = growth.latest.lock().expect("no code that holds this lock panics");
            latest.grow(growth.counter.acknowledged() - 1);
            Keys::Latest(latest.clone())
        } else {
            Keys::Zipfian(ScrambledZipfian::new(self.key_space))
        };
        let place = [at.round, at.slice, at.client].map(|number| number as u64);
        Box::new(YcsbClient {
            table: Arc::clone(&self.data.tables[0]),
            data: Arc::clone(&self.data),
            growth,
            mix: self.mix,
            keys,
            random: stream(self.data.seed, self.spec.name, &place),
            redraws: stream(self.data.seed, "redraw", &place),
            key: Vec::new(),
            record: Record::new(),
            value: Vec::new(),
        })
    }
}

/// How a client draws keys.
enum Keys {
    Zipfian(ScrambledZipfian),
    Latest(Latest),
}

struct YcsbClient {
    table: Arc<Table>,
    data: Arc<DataSet>,
    growth: Arc<Growth>,
    mix: Mix,
    keys: Keys,
    random: SmallRng,
    /// Apart, because how often a key must be drawn anew depends on what other clients have inserted by then: the
    /// draws that follow must not.
    redraws: SmallRng,
    key: Vec<u8>,
    record: Record,
    value: Vec<u8>,
}

impl Client for YcsbClient {
    #[inline]
    fn next(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let Mix { read, update, insert, scan, .. } = self.mix;
        let chosen = self.random.random_range(0..100_u8);
        if chosen < insert {
            return self.insert(store, recorder);
        }
        self.choose_key();
        match chosen - insert {
            chosen if chosen < read => self.read(store, recorder),
            chosen if chosen - read < update => self.update(store, recorder),
            chosen if chosen - read - update < scan => self.scan(store, recorder),
            _ => self.read_modify_write(store, recorder),
        }
    }
}

impl YcsbClient {
    /// Puts the name of an existing record into `key`.
    fn choose_key(&mut self) {
        let count = self.growth.counter.acknowledged();
        let number = match &mut self.keys {
            Keys::Latest(latest) => latest.draw(count - 1, &mut self.random),
            Keys::Zipfian(zipfian) => {
                let mut number = zipfian.draw(&mut self.random);
                while number >= count {
                    number = zipfian.draw(&mut self.redraws);
                }
                number
            }
        };
        key_name(number, &mut self.key);
    }

    /// Draws a field and a new value for it.
    fn choose_change(&mut self) -> usize {
        let field = self.random.random_range(0..self.table.fields.len());
        self.data.records.draw_value(field, &mut self.random, &mut self.value);
        field
    }

    fn missing(&self) -> StoreError {
        StoreError(format!(
            "record {} of {} is not in the store, although writing it succeeded",
            String::from_utf8_lossy(&self.key),
            self.table.name
        ))
    }

    fn read(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let start = Instant::now();
        let found = store.read(&self.table, &self.key, None, &mut self.record)?;
        recorder.record("read", start);
        if !found || self.record.len() != self.table.fields.len() {
            return Err(self.missing());
        }
        Ok(Done { rows: 1, bytes: self.record.bytes() as u64 })
    }

    fn update(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let field = self.choose_change();
        self.write_change(field, store, recorder)
    }

    fn write_change(
        &mut self,
        field: usize,
        store: &dyn Store,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let start = Instant::now();
        let found = store.update(&self.table, &self.key, &[(field, &self.value)])?;
        recorder.record("update", start);
        if !found {
            return Err(self.missing());
        }
        Ok(Done { rows: 1, bytes: self.value.len() as u64 })
    }

    fn read_modify_write(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let field = self.choose_change();
        let start = Instant::now();
        let read = self.read(store, recorder)?;
        let written = self.write_change(field, store, recorder)?;
        recorder.record("read-modify-write", start);
        Ok(Done { rows: 1, bytes: read.bytes + written.bytes })
    }

    fn insert(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let number = self.growth.counter.take();
        key_name(number, &mut self.key);
        self.data.records.fill(number, &mut self.record);
        let start = Instant::now();
        store.insert(&self.table, &self.key, &self.record)?;
        recorder.record("insert", start);
        self.growth.counter.acknowledge(number);
        Ok(Done { rows: 1, bytes: self.record.bytes() as u64 })
    }

    fn scan(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError> {
        let count = self.random.random_range(1..=SCAN_RECORDS_MAX);
        let mut bytes = 0;
        let start = Instant::now();
        let rows = store.scan(&self.table, &self.key, count, &mut |_, record| bytes += record.bytes() as u64)?;
        recorder.record("scan", start);
        if rows == 0 {
            return Err(self.missing());
        }
        Ok(Done { rows: rows as u64, bytes })
    }
}
