//! The six core workloads of YCSB 0.17, exactly: mix of operations, key names, request distributions, scan lengths.
//!
//! Departures, all on purpose: record values are a function of the key number, so that every store holds the same; a
//! missing record is an error instead of a count; random numbers come from the comparison's seed.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::contract::{Client, Done, Position, Recorder, SizedBy, Spec, Unit, Workload, split};
use super::distribution::{AcknowledgedCounter, Latest, ScrambledZipfian, fnv, stream};
use super::error::Error;
use super::records::Records;
use super::setting::Setting;
use super::sources::Sources;
use super::stopped::go_on;
use crate::share::Share;
use sealstone_store::{Record, Row, Store, StoreError, Table};

const fn spec(name: &'static str, description: &'static str, settings: &'static [Setting]) -> Spec {
    Spec {
        name,
        base: name,
        setting: Setting::Warm,
        settings,
        description,
        unit: Unit::Operations,
        dataset: "ycsb",
        clients: None,
        cold: false,
        from_empty: false,
        sized_by: SizedBy::Records,
        cache_hits_min: 0.0,
        remark: None,
    }
}

const READS: &[Setting] = &[Setting::Cold];
const READS_AND_WRITES: &[Setting] = &[Setting::Cold, Setting::Sync];

pub(super) const A: Spec = spec("a", "YCSB a: 50 % reads, 50 % updates of one field; zipfian", READS_AND_WRITES);
pub(super) const B: Spec = spec("b", "YCSB b: 95 % reads, 5 % updates of one field; zipfian", READS_AND_WRITES);
pub(super) const C: Spec = spec("c", "YCSB c: reads only; zipfian", READS);
pub(super) const D: Spec = spec("d", "YCSB d: 95 % reads of the latest records, 5 % inserts", READS_AND_WRITES);
pub(super) const E: Spec = spec("e", "YCSB e: 95 % scans of 1 to 100 records, 5 % inserts; zipfian", READS_AND_WRITES);
pub(super) const F: Spec = spec("f", "YCSB f: 50 % reads, 50 % read-modify-writes; zipfian", READS_AND_WRITES);

/// Longest scan, in records; the shortest is 1.
const SCAN_RECORDS_MAX: usize = 100;

/// Records that loading passes to the store at once.
const LOAD_ROWS: usize = 256;

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

/// What the workloads a to f share: the table, its records, and what each variant's store contains.
#[derive(Debug)]
pub(super) struct DataSet {
    tables: [Arc<Table>; 1],
    records: Arc<Records>,
    count: u64,
    seed: u64,
    /// Whose records the inserted ones are, where several clients insert.
    share: Share,
    variants: Mutex<HashMap<usize, Arc<Growth>>>,
    /// As it is after loading; its sum is costly, so it is taken once, and only if a workload needs it.
    latest: OnceLock<Latest>,
}

/// The records of one variant's store.
#[derive(Debug)]
struct Growth {
    /// Hands out the numbers of new records.
    counter: AcknowledgedCounter,
    /// Kept at the size of the last client made, so that the next need not add the new part again.
    latest: Mutex<Option<Latest>>,
}

impl DataSet {
    fn new(sources: &Sources) -> Result<Self, Error> {
        let data = sources.data;
        if data.records == 0 {
            return Err(Error::Plan("the workloads a to f need at least 1 record, not 0".into()));
        }
        let records = sources.records()?;
        let table = Table { id: 0, name: "usertable".into(), fields: records.fields().to_vec() };
        let variants = Mutex::default();
        Ok(Self {
            tables: [Arc::new(table)],
            records,
            count: data.records,
            seed: data.seed,
            share: data.share,
            variants,
            latest: OnceLock::new(),
        })
    }

    fn growth(&self, variant: usize) -> Arc<Growth> {
        let mut variants = self.variants.lock().expect("no code that holds this lock panics");
        let new = || {
            let counter = AcknowledgedCounter::new(self.count);
            Arc::new(Growth { counter, latest: Mutex::default() })
        };
        Arc::clone(variants.entry(variant).or_insert_with(new))
    }
}

/// One of the six.
struct Ycsb {
    spec: &'static Spec,
    data: Arc<DataSet>,
    mix: Mix,
    /// Keys are drawn from this many, some of which are not yet inserted.
    key_space: u64,
    operations: u64,
}

pub(super) fn make(spec: &'static Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
    let data = sources.shared(spec.dataset, DataSet::new)?;
    let mix = Mix::of(spec.base);
    if mix.latest && data.latest.get().is_none() {
        let latest = Latest::until(data.count - 1, || go_on(sources.stop()))?;
        data.latest.set(latest).expect("workloads are made one after the other");
    }
    let operations = sources.data.operations;
    // as in YCSB, room for twice the inserts that are expected, so that popular keys stay the same ones
    let expected_inserts = operations * sources.data.rounds as u64 * u64::from(mix.insert) / 100 * 2;
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
        let mut rows: Vec<Row> = vec![Row::default(); LOAD_ROWS];
        let mut numbers = split(self.data.count, part, parts);
        loop {
            let mut filled = 0;
            for ((key, record), number) in rows.iter_mut().zip(numbers.by_ref()) {
                key_name(number, key);
                self.data.records.fill(number, record);
                filled += 1;
            }
            if filled == 0 {
                return Ok(());
            }
            store.insert_many(&self.data.tables[0], &rows[..filled])?;
            progress(filled as u64);
        }
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
            let loaded = || self.data.latest.get().expect("made with the workload").clone();
            let latest = latest.get_or_insert_with(loaded);
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
            random: stream(self.data.seed, self.spec.base, &place),
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
    /// Separate, because how often a key must be redrawn depends on what other clients have inserted so far, and the
    /// following draws must not.
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
        key_name(self.data.share.record(self.data.count, number), &mut self.key);
    }

    /// Draws a field and a new value for it.
    fn choose_change(&mut self) -> usize {
        let field = self.random.random_range(0..self.table.fields.len());
        self.data.records.draw_value(field, &mut self.random, &mut self.value);
        field
    }

    fn missing(&self) -> StoreError {
        StoreError::Differs(format!(
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
        let record = self.data.share.record(self.data.count, number);
        key_name(record, &mut self.key);
        self.data.records.fill(record, &mut self.record);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null_store::NullStore;
    use crate::plan::Plan;
    use crate::workload::build;
    use crate::workload::testing::{Journal, alone, assert_distributed, load, make, plan, run, tally};
    use sealstone_store::MemoryStore;

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn name(number: u64) -> String {
        let mut key = Vec::new();
        key_name(number, &mut key);
        String::from_utf8(key).unwrap()
    }

    /// Numbers of records by name.
    fn numbers(count: u64) -> HashMap<String, u64> {
        (0..count).map(|number| (name(number), number)).collect()
    }

    #[test]
    fn keys_are_named_as_in_ycsb() {
        let known = [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (3, "user4052466453699787802"),
            (999, "user2071219101098386137"),
        ];
        known.into_iter().for_each(|(number, key)| assert_eq!(name(number), key));
    }

    #[test]
    fn operations_have_the_shares_of_the_core_workloads() {
        let shares: [(&str, &[(&str, f64)]); 6] = [
            ("a", &[("read", 0.5), ("update", 0.5)]),
            ("b", &[("read", 0.95), ("update", 0.05)]),
            ("c", &[("read", 1.0)]),
            ("d", &[("read", 0.95), ("insert", 0.05)]),
            ("e", &[("scan", 0.95), ("insert", 0.05)]),
            ("f", &[("read-only", 0.5), ("read-modify-write", 0.5)]),
        ];
        for (workload, shares) in shares {
            let (store, workload) = (NullStore::new(), make(&plan(), workload));
            load(&*workload, &store, 1);
            let (mut names, done) = run(&mut *workload.client(alone(0, 0)), &store, 50_000);
            // a read-modify-write is measured as its read, its update, and the whole
            let both = names.count("read-modify-write");
            if both > 0 {
                assert_eq!(names.count("update"), both);
                let mut parts = names.0.split(|name| *name == "read-modify-write");
                assert!(parts.by_ref().take(both).all(|before| before.ends_with(&["read", "update"])));
                names.0.retain(|name| *name != "update");
                let reads = names.count("read") - both;
                names.0.retain(|name| *name != "read");
                names.0.extend(std::iter::repeat_n("read-only", reads));
            }
            let counts: Vec<u64> = shares.iter().map(|(name, _)| names.count(name) as u64).collect();
            assert_eq!(counts.iter().sum::<u64>(), 50_000);
            assert!(done.rows >= 50_000);
            if shares.len() > 1 {
                assert_distributed(&counts, &shares.iter().map(|(_, share)| *share).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn loading_in_parts_stores_what_loading_at_once_does() {
        let workload = make(&plan(), "a");
        let [whole, parts] = [1, 7].map(|parts| {
            let store = MemoryStore::new();
            assert_eq!(load(&*workload, &store, parts), workload.load_rows());
            let mut rows = Vec::new();
            let mut collect = |key: &[u8], record: &Record| rows.push((key.to_vec(), record.clone()));
            store.scan(&workload.tables()[0], b"", 2_000, &mut collect).unwrap();
            rows
        });
        assert_eq!(whole.len(), 1_000);
        assert_eq!(whole, parts);
        assert!(whole.iter().all(|(_, record)| record.len() == 10 && record.iter().all(|value| value.len() == 100)));
        assert!(whole.iter().all(|(_, record)| record.joined().iter().all(|byte| (b' '..=b'_').contains(byte))));
        assert_eq!(workload.data_bytes(), 1_000_000);
        assert_eq!(workload.tables()[0].name, "usertable");
        let names: Vec<_> = workload.tables()[0].fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names[..2], ["field0", "field1"]);
    }

    #[test]
    fn two_variants_are_asked_the_same_and_two_rounds_are_not() {
        for name in NAMES {
            let workload = make(&plan(), name);
            let calls = |variant, round| {
                let store = Journal::default();
                load(&*workload, &store, 1);
                store.take();
                run(&mut *workload.client(alone(variant, round)), &store, 500);
                store.take()
            };
            let first = calls(0, 0);
            assert_eq!(first, calls(1, 0), "{name}");
            assert_ne!(first, calls(2, 1), "{name}");
        }
    }

    #[test]
    fn reads_take_all_fields_and_updates_write_one_of_them_evenly() {
        let (store, workload) = (Journal::default(), make(&plan(), "a"));
        load(&*workload, &store, 1);
        store.take();
        run(&mut *workload.client(alone(0, 0)), &store, 20_000);
        let calls = store.take();
        assert!(calls.iter().filter(|call| call.starts_with("read ")).all(|call| call.ends_with(" None")));
        let updates: Vec<Vec<&str>> =
            calls.iter().filter(|call| call.starts_with("update ")).map(|call| call.splitn(5, ' ').collect()).collect();
        assert!(updates.iter().all(|update| update[4].len() == 100));
        let fields = updates.iter().map(|update| update[3].parse().unwrap());
        assert_distributed(&tally(fields, 10), &[0.1; 10]);
    }

    #[test]
    fn requests_of_a_are_scrambled_zipfian_over_the_records_there_are() {
        let (records, draws) = (100, 100_000);
        let workload = make(&Plan { records: vec![records], ..plan() }, "c");
        let (store, numbers) = (Journal::default(), numbers(records));
        load(&*workload, &store, 1);
        store.take();
        run(&mut *workload.client(alone(0, 0)), &store, draws);
        let key = |call: &String| numbers[call.split(' ').nth(2).unwrap()];
        let counts = tally(store.take().iter().map(key), records as usize);
        // as YCSB, one more key than there are records; a draw of that one is repeated
        let mut random = stream(1, "reference", &[]);
        let scrambled = ScrambledZipfian::new(records + 1);
        let reference = (0..20_000_000).map(|_| scrambled.draw(&mut random)).filter(|&number| number < records);
        let reference = tally(reference, records as usize);
        let total = reference.iter().sum::<u64>() as f64;
        assert_distributed(&counts, &reference.iter().map(|&count| count as f64 / total).collect::<Vec<_>>());
    }

    #[test]
    fn scans_are_one_to_a_hundred_records_long_evenly() {
        let (store, workload) = (Journal::default(), make(&plan(), "e"));
        load(&*workload, &store, 1);
        store.take();
        run(&mut *workload.client(alone(0, 0)), &store, 20_000);
        let numbers = numbers(10_000);
        let mut lengths = Vec::new();
        for call in store.take().iter().filter(|call| call.starts_with("scan ")) {
            let mut words = call.split(' ').skip(2);
            assert!(numbers.contains_key(words.next().unwrap()));
            lengths.push(words.next().unwrap().parse::<u64>().unwrap() - 1);
        }
        assert_distributed(&tally(lengths, 100), &[0.01; 100]);
    }

    #[test]
    fn inserts_get_the_next_numbers_and_the_latest_are_asked_for() {
        let (store, workload) = (Journal::default(), make(&plan(), "d"));
        load(&*workload, &store, 1);
        store.take();
        let mut client = workload.client(alone(0, 0));
        let (names, _) = run(&mut *client, &store, 20_000);
        let numbers = numbers(3_000);
        let (mut next, mut newest, mut reads) = (1_000, 0_u64, 0_u64);
        for call in store.take() {
            let number = numbers[call.split(' ').nth(2).unwrap()];
            if call.starts_with("insert ") {
                assert_eq!(number, next);
                next += 1;
            } else {
                assert!(number < next);
                newest += u64::from(number == next - 1);
                reads += 1;
            }
        }
        assert_eq!(next, 1_000 + names.count("insert") as u64);
        // the sum over 1,000 to 2,000 items makes the first rank's share 0.122 to 0.133
        let share = newest as f64 / reads as f64;
        assert!((0.115..0.14).contains(&share), "{share}");
        // the next slice of the same variant continues, another variant starts over
        for (variant, next) in [(0, next), (1, 1_000)] {
            run(&mut *workload.client(alone(variant, 1)), &store, 200);
            let insert = store.take().into_iter().find(|call| call.starts_with("insert ")).unwrap();
            assert_eq!(numbers[insert.split(' ').nth(2).unwrap()], next);
        }
    }

    #[test]
    fn workloads_of_one_comparison_know_of_each_others_inserts() {
        let workloads = build(&plan().data(), &["d", "e"]).unwrap();
        let store = Journal::default();
        load(&*workloads[0], &store, 1);
        let (names, _) = run(&mut *workloads[0].client(alone(0, 0)), &store, 1_000);
        store.take();
        run(&mut *workloads[1].client(alone(0, 0)), &store, 1_000);
        let insert = store.take().into_iter().find(|call| call.starts_with("insert ")).unwrap();
        let number = 1_000 + names.count("insert") as u64;
        assert_eq!(insert.split(' ').nth(2).unwrap(), name(number));
    }

    #[test]
    fn clients_side_by_side_find_every_record() {
        let workloads = build(&plan().data(), &["d", "e", "a"]).unwrap();
        let store = MemoryStore::new();
        load(&*workloads[0], &store, 1);
        for workload in &workloads {
            let client = |client| {
                let mut client = workload.client(Position { client, clients: 4, ..alone(0, 0) });
                run(&mut *client, &store, 2_000);
            };
            std::thread::scope(|scope| (0..4).for_each(|number| drop(scope.spawn(move || client(number)))));
        }
    }

    #[test]
    fn a_missing_record_is_an_error() {
        let workload = make(&Plan { records: vec![1], ..plan() }, "c");
        let error =
            workload.client(alone(0, 0)).next(&MemoryStore::new(), &mut crate::workload::testing::Names::default());
        assert_eq!(
            error.unwrap_err().to_string(),
            "record user6284781860667377211 of usertable is not in the store, although writing it succeeded"
        );
    }
}
