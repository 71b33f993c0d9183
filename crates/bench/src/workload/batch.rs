//! `batch-load` and `batch-scan`: the two halves of a nightly batch. One writes a whole data set
//! past log and memory table, the other reads all of it from a cold cache and checks every byte.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_64;

use super::contract::{Client, Done, Position, Recorder, SizedBy, Spec, Unit, Workload, split};
use super::entry::{Entry, Make};
use super::error::Error;
use super::records::Records;
use super::setting::Setting;
use super::sorted_load::load_sorted;
use super::sources::Sources;
use super::stop::{Stopped, go_on};
use sealstone_store::{Record, Row, Store, StoreError, Table, Target};

/// The row of loading.
pub(super) const LOAD: Entry = Entry::row(LOAD_SPEC, &Load);

/// The row of scanning.
pub(super) const SCAN: Entry = Entry::row(SCAN_SPEC, &Scan);

const LOAD_SPEC: Spec = Spec {
    name: "batch-load",
    base: "batch-load",
    setting: Setting::Warm,
    settings: &[],
    label: "bulk load",
    description: "bulk insert of sorted rows into an empty store, as a direct-path load",
    unit: Unit::Bytes,
    dataset: "batch",
    clients: Some(1),
    device: false,
    cold: false,
    from_empty: true,
    sized_by: SizedBy::Bytes,
    checks_values: false,
    cache_hits_min: 0.0,
    remark: None,
};

const SCAN_SPEC: Spec = Spec {
    name: "batch-scan",
    base: "batch-scan",
    setting: Setting::Warm,
    settings: &[],
    label: "full scan",
    description: "full scan from a cold cache, every row checked",
    unit: Unit::Bytes,
    dataset: "batch",
    clients: Some(1),
    device: false,
    cold: true,
    from_empty: false,
    sized_by: SizedBy::Bytes,
    checks_values: true,
    cache_hits_min: 0.0,
    remark: None,
};

/// Bytes of values in a chunk, about: large enough that a chunk is at least one file.
const CHUNK_BYTES: u64 = 16 << 20;

/// The rows of both: row `n` has the zero-padded decimal `n` as key.
#[derive(Debug)]
pub(super) struct DataSet {
    tables: [Arc<Table>; 1],
    records: Arc<Records>,
    rows: u64,
    /// A round loads or scans the rows in this many pieces, one per operation.
    chunks: u64,
}

impl DataSet {
    fn new(sources: &Sources) -> Result<Self, Error> {
        let records = sources.records()?;
        let rows = (sources.data.bytes as f64 / records.mean_bytes().max(1.0)) as u64;
        if rows == 0 {
            let message = format!(
                "{} bytes are less than one row of the batch workloads",
                sources.data.bytes
            );
            return Err(Error::Plan(message));
        }
        let chunks = (sources.data.bytes / CHUNK_BYTES).next_power_of_two().clamp(8, 64).min(rows);
        let table = Table { id: 0, name: "batch".into(), fields: records.fields().to_vec() };
        Ok(Self { tables: [Arc::new(table)], records, rows, chunks })
    }

    fn table(&self) -> &Table {
        &self.tables[0]
    }

    fn chunk(&self, number: u64) -> Range<u64> {
        split(self.rows, number as usize, self.chunks as usize)
    }

    fn bytes(&self) -> u64 {
        (self.rows as f64 * self.records.mean_bytes()) as u64
    }

    fn generate(&self, numbers: Range<u64>) -> impl Iterator<Item = Row> {
        let capacity = self.records.mean_bytes() as usize + 32;
        numbers.map(move |number| {
            let mut record = Record::with_capacity(self.records.fields().len(), capacity);
            self.records.fill(number, &mut record);
            (key(number), record)
        })
    }

    fn load(
        &self,
        store: &dyn Store,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        load_sorted(store, self.table(), self.generate(split(self.rows, part, parts)), progress)
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("{number:016}").into_bytes()
}

/// A fingerprint of rows in their order: keys, values, and where one value ends and the next
/// begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Checksum(u64);

impl Checksum {
    fn add(&mut self, key: &[u8], record: &Record) {
        let odd = 0x9E37_79B9_7F4A_7C15_u64;
        let lengths = record
            .iter()
            .fold(0_u64, |sum, value| sum.wrapping_mul(odd).wrapping_add(value.len() as u64 + 1));
        let row = xxh3_64(record.joined()) ^ lengths;
        self.0 = (self.0.rotate_left(5) ^ row).wrapping_mul(odd).wrapping_add(xxh3_64(key));
    }
}

/// Common part of both workloads: the data set, taken in chunks, one for each operation.
struct Batch {
    spec: Spec,
    data: Arc<DataSet>,
    /// Checksums that scanning each chunk must return; none if the operations load.
    checksums: Option<Arc<Vec<Checksum>>>,
}

/// Kind of the workload that loads.
#[derive(Debug)]
struct Load;

impl Make for Load {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        let data = sources.shared(spec.dataset, DataSet::new)?;
        Ok(Box::new(Batch { spec: spec.clone(), data, checksums: None }))
    }
}

/// Kind of the workload that scans.
#[derive(Debug)]
struct Scan;

impl Make for Scan {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        let data = sources.shared(spec.dataset, DataSet::new)?;
        let mut record = Record::new();
        let mut checksum = |chunk| -> Result<Checksum, Stopped> {
            let mut checksum = Checksum::default();
            for number in data.chunk(chunk) {
                go_on(sources.stop())?;
                data.records.fill(number, &mut record);
                checksum.add(&key(number), &record);
            }
            Ok(checksum)
        };
        let checksums = (0..data.chunks).map(&mut checksum).collect::<Result<_, _>>()?;
        Ok(Box::new(Batch { spec: spec.clone(), data, checksums: Some(Arc::new(checksums)) }))
    }
}

impl Workload for Batch {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tables(&self) -> &[Arc<Table>] {
        &self.data.tables
    }

    fn load_rows(&self) -> u64 {
        self.data.rows
    }

    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        self.data.load(target.records("loading")?, part, parts, progress)
    }

    fn data_bytes(&self) -> u64 {
        self.data.bytes()
    }

    fn operations(&self) -> u64 {
        self.data.chunks
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let (data, chunks) = (Arc::clone(&self.data), at.share(self.data.chunks));
        match &self.checksums {
            None => Box::new(LoadClient { data, chunks }),
            Some(checksums) => {
                Box::new(ScanClient { data, checksums: Arc::clone(checksums), chunks })
            }
        }
    }
}

struct LoadClient {
    data: Arc<DataSet>,
    chunks: Range<u64>,
}

impl Client for LoadClient {
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let store = target.records("batch-load")?;
        let bulk = store
            .bulk()
            .ok_or_else(|| StoreError::Lacks { caller: "batch-load", ability: "bulk loading" })?;
        let chunk = self.chunks.next().ok_or_else(|| past_the_end("batch-load"))?;
        let rows = self.data.chunk(chunk);
        let wanted = rows.end - rows.start;
        let mut bytes = 0;
        let start = Instant::now();
        let mut generated =
            self.data.generate(rows).inspect(|(_, record)| bytes += record.bytes() as u64);
        let loaded = bulk.bulk_load(self.data.table(), &mut generated)?;
        recorder.record("load", start);
        drop(generated);
        if loaded != wanted {
            return Err(StoreError::Differs(format!(
                "bulk loading took {loaded} rows of {wanted}"
            )));
        }
        Ok(Done { rows: loaded, bytes })
    }
}

/// Returns the error that a client was requested to run more operations than its `Position::share`.
fn past_the_end(workload: &str) -> StoreError {
    StoreError::Differs(format!(
        "{workload} was asked for a piece beyond its share; this is a bug, please report it"
    ))
}

struct ScanClient {
    data: Arc<DataSet>,
    checksums: Arc<Vec<Checksum>>,
    chunks: Range<u64>,
}

impl Client for ScanClient {
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let store = target.records("batch-scan")?;
        let chunk = self.chunks.next().ok_or_else(|| past_the_end("batch-scan"))?;
        let rows = self.data.chunk(chunk);
        // one more than there are at the end of the table, so that surplus rows are noticed too
        let asked = rows.end - rows.start + u64::from(rows.end == self.data.rows);
        let mut checksum = Checksum::default();
        let mut bytes = 0;
        let start = Instant::now();
        let found = store.scan(
            self.data.table(),
            &key(rows.start),
            asked as usize,
            &mut |key, record| {
                checksum.add(key, record);
                bytes += record.bytes() as u64;
            },
        )? as u64;
        recorder.record("scan", start);
        if found != rows.end - rows.start {
            let wanted = rows.end - rows.start;
            return Err(StoreError::Differs(format!(
                "scanning batch from row {} gave {found} rows of {wanted}",
                rows.start
            )));
        }
        if checksum != self.checksums[chunk as usize] {
            let Range { start, end } = rows;
            let message = format!(
                "rows {start} to {} of batch are not what was loaded: checksum mismatch",
                end - 1
            );
            return Err(StoreError::Differs(message));
        }
        Ok(Done { rows: found, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::build;
    use crate::workload::testing::{Journal, Names, alone, load, make, plan, run};
    use sealstone_store::MemoryStore;

    fn both() -> Vec<Box<dyn Workload>> {
        build(&plan().data(), &["batch-load", "batch-scan"]).unwrap()
    }

    #[test]
    fn what_the_load_writes_in_slices_the_scan_finds_in_others() {
        let workloads = both();
        let [writer, reader] = &workloads[..] else { unreachable!() };
        let store = Journal::default();
        let mut written = Done::default();
        for slice in 0..3 {
            let at = Position { slice, slices: 3, ..alone(0, 0) };
            let share = at.share(writer.operations());
            let (names, done) = run(&mut *writer.client(at), &store, share.end - share.start);
            assert_eq!(names.count("load") as u64, share.end - share.start);
            written.rows += done.rows;
            written.bytes += done.bytes;
        }
        let keys: Vec<String> =
            store.take().iter().map(|call| call.split(' ').nth(2).unwrap().to_owned()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "ascending over all chunks");
        assert_eq!((written.rows, written.bytes), (400, 400_000));
        assert_eq!((writer.load_rows(), writer.data_bytes()), (400, 400_000));

        let (names, read) = run(&mut *reader.client(alone(1, 1)), &store, reader.operations());
        assert_eq!(names.count("scan") as u64, reader.operations());
        assert_eq!((read.rows, read.bytes), (400, 400_000));
    }

    #[test]
    fn loading_is_in_bulk_where_the_store_can_and_row_by_row_where_not() {
        let workload = make(&plan(), "batch-scan");
        for (plain, call) in [(false, "bulk "), (true, "insert ")] {
            let store = Journal { plain, ..Journal::default() };
            assert_eq!(load(&*workload, &store, 3), 400);
            assert!(store.take().iter().all(|line| line.starts_with(call)));
            run(&mut *workload.client(alone(0, 0)), &store, workload.operations());
        }
    }

    /// Returns what the scan reports about a store after `spoil`.
    fn scan_error(spoil: impl FnOnce(&MemoryStore, &Table)) -> String {
        let workload = make(&plan(), "batch-scan");
        let store = MemoryStore::new();
        load(&*workload, &store, 1);
        spoil(&store, &workload.tables()[0]);
        let mut client = workload.client(alone(0, 0));
        let results =
            (0..workload.operations()).map(|_| client.next((&store).into(), &mut Names::default()));
        results.filter_map(Result::err).map(|error| error.to_string()).next().expect("an error")
    }

    #[test]
    fn the_scan_notices_wrong_data() {
        let wrong = "rows 50 to 99 of batch are not what was loaded: checksum mismatch";
        let changed = scan_error(|store, table| {
            let mut record = Record::new();
            store.read(table, &key(70), None, &mut record).unwrap();
            let flipped = [&[record.get(3).unwrap()[0] ^ 1], &record.get(3).unwrap()[1..]].concat();
            store.update(table, &key(70), &[(3, &flipped)]).unwrap();
        });
        assert_eq!(changed, wrong);
        let swapped = scan_error(|store, table| {
            let [mut one, mut two] = [Record::new(), Record::new()];
            store.read(table, &key(60), None, &mut one).unwrap();
            store.read(table, &key(61), None, &mut two).unwrap();
            store.insert(table, &key(60), &two).unwrap();
            store.insert(table, &key(61), &one).unwrap();
        });
        assert_eq!(swapped, wrong);
        let shifted = scan_error(|store, table| {
            let mut record = Record::new();
            store.read(table, &key(99), None, &mut record).unwrap();
            let (one, two) = (record.get(0).unwrap().to_vec(), record.get(1).unwrap().to_vec());
            let joined = [&one[..], &two[..]].concat();
            store.update(table, &key(99), &[(0, &joined[..99]), (1, &joined[99..])]).unwrap();
        });
        assert_eq!(shifted, wrong);
    }

    #[test]
    fn the_scan_notices_rows_too_few_and_too_many() {
        let workload = make(&plan(), "batch-scan");
        let empty =
            workload.client(alone(0, 0)).next((&MemoryStore::new()).into(), &mut Names::default());
        assert_eq!(empty.unwrap_err().to_string(), "scanning batch from row 0 gave 0 rows of 50");
        let more = scan_error(|store, table| {
            store.insert(table, b"0000000000000400", &Record::new()).unwrap()
        });
        assert_eq!(more, "scanning batch from row 350 gave 51 rows of 50");
        let between = scan_error(|store, table| {
            store.insert(table, b"0000000000000060x", &Record::new()).unwrap()
        });
        assert_eq!(between, "rows 50 to 99 of batch are not what was loaded: checksum mismatch");
    }

    #[test]
    fn a_load_needs_a_store_that_can() {
        let store = Journal { plain: true, ..Journal::default() };
        let mut client = both()[0].client(alone(0, 0));
        let error = client.next((&store).into(), &mut Names::default()).unwrap_err();
        assert_eq!(error.to_string(), "batch-load needs bulk loading, which this store lacks");
    }

    #[test]
    fn nothing_is_done_beyond_the_share() {
        let workload = &both()[0];
        let store = MemoryStore::new();
        let mut client = workload.client(alone(0, 0));
        run(&mut *client, &store, workload.operations());
        let error = client.next((&store).into(), &mut Names::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "batch-load was asked for a piece beyond its share; this is a bug, please report it"
        );
    }
}
