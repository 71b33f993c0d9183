//! The data of workloads that are a mix of operations on one table: records by number, and the
//! contents of each variant's store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::contract::split;
use super::definition::{Definition, FIELD_BYTES, Spread};
use super::distribution::{AcknowledgedCounter, Latest, THETA};
use super::error::Error;
use super::key_names::KeyNames;
use super::lengths::Lengths;
use super::records::Records;
use super::sorted_load::load_sorted;
use super::sources::Sources;
use super::stop::go_on;
use crate::words::share::Share;
use sealstone_store::{Record, Row, Store, StoreError, Table};

/// Records that loading passes to the store at once.
const LOAD_ROWS: usize = 256;

/// Data that workloads on the same stores share: the table, its records, and what each variant's
/// store contains.
#[derive(Debug)]
pub(super) struct DataSet {
    pub(super) tables: [Arc<Table>; 1],
    pub(super) records: Arc<Records>,
    names: KeyNames,
    pub(super) count: u64,
    pub(super) seed: u64,
    /// The client's share of inserted records, where several clients insert.
    share: Share,
    variants: Mutex<HashMap<usize, Arc<Growth>>>,
    /// The numbers of the records in the order of their keys, for a load in bulk; made once, since
    /// stores are loaded again and again.
    sorted: OnceLock<Vec<u32>>,
    /// The state after loading; its sum is costly, so it is taken once, and only if a workload
    /// needs it.
    latest: OnceLock<Latest>,
}

/// The records of one variant's store.
#[derive(Debug)]
pub(super) struct Growth {
    /// Hands out the numbers of new records.
    pub(super) counter: AcknowledgedCounter,
    /// Records with numbers below this are deleted, or about to be.
    deleted: AtomicU64,
    /// Next number in sequence.
    pub(super) sequence: AtomicU64,
    /// Kept at the size of the last client made, so that the next need not add the new part again.
    latest: Mutex<Option<Latest>>,
}

impl Growth {
    /// Returns the number of the oldest record that is there.
    #[inline]
    pub(super) fn oldest(&self) -> u64 {
        self.deleted.load(Ordering::Acquire)
    }

    /// Returns the number of the oldest record, which is not requested from now on; none if only
    /// `left` records would be left.
    pub(super) fn take_oldest(&self, left: u64) -> Option<u64> {
        let next =
            |oldest: u64| (oldest + left < self.counter.acknowledged()).then_some(oldest + 1);
        self.deleted.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }
}

impl DataSet {
    /// Makes the data of `definition` from `sources`.
    pub(super) fn new(definition: &Definition, sources: &Sources) -> Result<Self, Error> {
        let data = sources.data;
        if data.records == 0 {
            return Err(Error::Plan("the workloads a to f need at least 1 record, not 0".into()));
        }
        let records = records(definition, sources)?;
        let table = Table { id: 0, name: "usertable".into(), fields: records.fields().to_vec() };
        Ok(Self {
            tables: [Arc::new(table)],
            records,
            names: KeyNames::new(&definition.keys, sources)?,
            count: data.records,
            seed: data.seed,
            share: data.share,
            variants: Mutex::default(),
            sorted: OnceLock::new(),
            latest: OnceLock::new(),
        })
    }

    /// Puts the name of the record that this client counts as `number` into `key`, cleared first.
    #[inline]
    pub(super) fn put_name(&self, number: u64, key: &mut Vec<u8>) {
        self.names.put(self.share.record(self.count, number), key);
    }

    /// Puts the fields of that record into `record`.
    #[inline]
    pub(super) fn fill(&self, number: u64, record: &mut Record) {
        self.records.fill(self.share.record(self.count, number), record);
    }

    /// Prepares for requests for the latest records.
    pub(super) fn prepare_latest(
        &self,
        theta: Option<f64>,
        sources: &Sources,
    ) -> Result<(), Error> {
        if self.latest.get().is_none() {
            let latest =
                Latest::until(self.count - 1, theta.unwrap_or(THETA), || go_on(sources.stop()))?;
            self.latest.set(latest).expect("workloads are made one after the other");
        }
        Ok(())
    }

    /// Returns the distribution of requests for the latest records of `growth` in its current
    /// state.
    pub(super) fn latest(&self, growth: &Growth) -> Latest {
        let mut latest = growth.latest.lock().expect("no code that holds this lock panics");
        let loaded = || self.latest.get().expect("made with the workload").clone();
        let latest = latest.get_or_insert_with(loaded);
        latest.grow(growth.counter.acknowledged() - 1);
        latest.clone()
    }

    /// Returns what the store of `variant` contains.
    pub(super) fn growth(&self, variant: usize) -> Arc<Growth> {
        let mut variants = self.variants.lock().expect("no code that holds this lock panics");
        let new = || {
            Arc::new(Growth {
                counter: AcknowledgedCounter::new(self.count),
                deleted: AtomicU64::new(0),
                sequence: AtomicU64::new(0),
                latest: Mutex::default(),
            })
        };
        Arc::clone(variants.entry(variant).or_insert_with(new))
    }

    /// Forgets what the store of `variant` contains: it is about to be loaded again.
    pub(super) fn reloaded(&self, variant: usize) {
        self.variants.lock().expect("no code that holds this lock panics").remove(&variant);
    }

    /// Returns the numbers of the records in the order of their keys; none of so many that sorting
    /// them would take long.
    fn sorted(&self) -> Option<&[u32]> {
        const MOST: u64 = 4_000_000;
        let make = || {
            let name = |number: u32| {
                let mut key = Vec::new();
                self.put_name(number.into(), &mut key);
                key
            };
            let mut numbers: Vec<u32> = (0..self.count as u32).collect();
            numbers.sort_by_cached_key(|number| name(*number));
            numbers
        };
        (self.count <= MOST).then(|| self.sorted.get_or_init(make).as_slice())
    }

    /// Loads part `part` of `parts` of the records: past log and memory table where the store can
    /// do that, so that loading again is cheap.
    pub(super) fn load(
        &self,
        store: &dyn Store,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        if let (Some(_), Some(sorted)) = (store.bulk(), self.sorted()) {
            let part = split(self.count, part, parts);
            let row = |number: &u32| {
                let mut row = Row::default();
                self.put_name((*number).into(), &mut row.0);
                self.fill((*number).into(), &mut row.1);
                row
            };
            let rows = sorted[part.start as usize..part.end as usize].iter().map(row);
            return load_sorted(store, &self.tables[0], rows, progress);
        }
        let mut rows: Vec<Row> = vec![Row::default(); LOAD_ROWS];
        let mut numbers = split(self.count, part, parts);
        loop {
            let mut filled = 0;
            for ((key, record), number) in rows.iter_mut().zip(numbers.by_ref()) {
                self.put_name(number, key);
                self.fill(number, record);
                filled += 1;
            }
            if filled == 0 {
                return Ok(());
            }
            store.insert_many(&self.tables[0], &rows[..filled])?;
            progress(filled as u64);
        }
    }
}

/// Returns the records of `definition`: its own fields, or the comparison's.
fn records(definition: &Definition, sources: &Sources) -> Result<Arc<Records>, Error> {
    let fields = &definition.fields;
    if fields.are_usual() {
        return sources.records();
    }
    if let Some(path) = &sources.data.records_from {
        return Err(Error::Plan(format!(
            "workload {} has fields of its own, and records come from {}\n\
             leave out either its [fields] or records-from",
            definition.name,
            path.display()
        )));
    }
    let lengths = match (&fields.size, &fields.from, &fields.column) {
        (Spread::Column, Some(from), Some(column)) => Lengths::of(&sources.column(from, column)?),
        (spread, ..) => {
            let most = fields.bytes_max.unwrap_or(FIELD_BYTES);
            Lengths::new(*spread, fields.bytes_min.unwrap_or(1).min(most), most)
        }
    };
    Ok(Arc::new(Records::drawn(sources.data.seed, fields.count as usize, lengths)))
}
