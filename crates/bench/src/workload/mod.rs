//! What the runner needs of a workload, and the table of workloads.
//!
//! A workload decides what is asked of a store and in which order. It knows nothing about encryption, about how a run
//! is timed, or what is done with the figures.

mod batch;
mod csv_records;
mod data;
pub mod distribution;
mod loading;
mod oltp;
pub mod records;
#[cfg(test)]
mod testing;
mod ycsb;

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

pub use data::Data;
use records::Records;
use sealstone_cipher::nearest::nearest;
use sealstone_store::{Store, StoreError, Table};

/// In what a workload's throughput is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations (or transactions) a second.
    Operations,
    /// Bytes of records a second.
    Bytes,
}

/// How a workload has to be run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name in flags and reports, such as `a` or `batch-scan`.
    pub name: &'static str,
    /// One line for help and report.
    pub description: &'static str,
    /// In what its throughput is counted.
    pub unit: Unit,
    /// Workloads with the same data set share one loaded store: `ycsb`, `oltp`, `batch`.
    pub dataset: &'static str,
    /// Number of clients, if the workload itself fixes it (80 for `oltp`, 1 for the batches).
    pub clients: Option<usize>,
    /// Caches are dropped before every slice, and the data is loaded again before every pass over it; so it may share
    /// its data set only with workloads that leave it as it was loaded.
    pub cold: bool,
    /// Starts every round with an empty store (the workload is itself a load).
    pub from_empty: bool,
}

/// What one call of `Client::next` did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Rows touched.
    pub rows: u64,
    /// Bytes of record values moved.
    pub bytes: u64,
}

/// Receives latencies. `start` is when the work began; with a target rate the recorder also counts from when the
/// operation was due.
pub trait Recorder {
    /// Records one operation called `operation` (`read`, `update`, `read-modify-write`, …) that began at `start`
    /// and ends now.
    fn record(&mut self, operation: &'static str, start: Instant);
}

/// A workload over one data set: it loads, and makes clients that run operations.
///
/// Its whole run is a function of the seed: every variant sees the same operations in the same round.
pub trait Workload: Send + Sync {
    /// How it has to be run.
    fn spec(&self) -> &Spec;

    /// The tables it uses.
    fn tables(&self) -> &[Arc<Table>];

    /// Number of rows that loading writes, for progress.
    fn load_rows(&self) -> u64;

    /// Loads part `part` of `parts` of the data set into an empty store; parts may be loaded side by side.
    /// `progress` gets the number of rows written since its last call.
    ///
    /// # Errors
    /// What the store says.
    fn load(&self, store: &dyn Store, part: usize, parts: usize, progress: &dyn Fn(u64)) -> Result<(), StoreError>;

    /// Approximate bytes of record values that loading stores, by which a cache is sized; 0 where that is unknown.
    fn data_bytes(&self) -> u64 {
        0
    }

    /// Number of operations that one round runs, all slices and clients together. A client runs those of
    /// [`Position::share`].
    fn operations(&self) -> u64;

    /// Makes client number `client` of `clients` for slice `slice` of `slices` of round `round`, running on
    /// variant number `variant`. Two variants get clients that do the same operations.
    /// State that must follow the store from slice to slice (how many records there are) is kept per variant.
    fn client(&self, at: Position) -> Box<dyn Client>;

    /// Checks, after clients have run and while none is running, that the store still holds what the workload
    /// must have left there. Reads the whole data set.
    ///
    /// # Errors
    /// What is inconsistent, or what the store says.
    fn check(&self, _store: &dyn Store) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Which client of which slice.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Variant number within the comparison.
    pub variant: usize,
    /// Round, from 0.
    pub round: usize,
    /// Slice within the round, from 0.
    pub slice: usize,
    /// Slices in a round.
    pub slices: usize,
    /// Client, from 0.
    pub client: usize,
    /// Clients in this slice.
    pub clients: usize,
}

impl Position {
    /// The operations this client runs, out of `total` in a round: slices divide the round, clients divide the slice.
    pub fn share(&self, total: u64) -> Range<u64> {
        let slice = split(total, self.slice, self.slices);
        let share = split(slice.end - slice.start, self.client, self.clients);
        slice.start + share.start..slice.start + share.end
    }
}

/// Part `part` of `parts` of the numbers below `total`: contiguous, in order, and equal but for one.
pub fn split(total: u64, part: usize, parts: usize) -> Range<u64> {
    let bound = |part: usize| (u128::from(total) * part as u128 / parts.max(1) as u128) as u64;
    bound(part)..bound(part + 1)
}

/// One client: one thread runs it.
pub trait Client: Send {
    /// Runs the next operation and records its latency.
    ///
    /// # Errors
    /// What the store says; the run then ends.
    fn next(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError>;
}

/// Why workloads could not be made from a plan.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is not in the table.
    #[error("unknown workload `{name}`; did you mean `{nearest}`?\nworkloads are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name in the table that resembles it most.
        nearest: &'static str,
        /// All names in the table.
        known: String,
    },
    /// A CSV file that cannot serve as source of records.
    #[error(transparent)]
    Records(#[from] records::Error),
    /// A setting with which a workload cannot run.
    #[error("{0}")]
    Plan(String),
}

/// Makes a workload from what all workloads of one comparison share.
type Make = fn(&'static Spec, &Sources) -> Result<Box<dyn Workload>, Error>;

/// Every workload: how it has to be run, and how it is made. Adding one is a file and a line here.
static TABLE: [(Spec, Make); 9] = [
    (ycsb::A, ycsb::make),
    (ycsb::B, ycsb::make),
    (ycsb::C, ycsb::make),
    (ycsb::D, ycsb::make),
    (ycsb::E, ycsb::make),
    (ycsb::F, ycsb::make),
    (oltp::OLTP, oltp::make),
    (batch::LOAD, batch::make_load),
    (batch::SCAN, batch::make_scan),
];

/// The table of workloads, in the order of help and report.
pub fn workloads() -> impl ExactSizeIterator<Item = &'static Spec> + Clone {
    TABLE.iter().map(|(spec, _)| spec)
}

/// The names in the table, in its order.
pub fn names() -> Vec<&'static str> {
    workloads().map(|spec| spec.name).collect()
}

/// How the workload called `name` has to be run.
///
/// # Errors
/// [`Error::Unknown`], with the nearest name.
pub fn workload(name: &str) -> Result<&'static Spec, Error> {
    entry(name).map(|(spec, _)| spec)
}

/// Makes the workloads called `names`, in that order, from `data`. Workloads of one data set share one source of
/// records, and track together what each variant's store contains; so each comparison needs its own.
///
/// # Errors
/// A name that is not in the table, a CSV file that cannot be used, a size that is too small.
pub fn build<S: AsRef<str>>(data: &Data, names: &[S]) -> Result<Vec<Box<dyn Workload>>, Error> {
    let entries = names.iter().map(|name| entry(name.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let sources = Sources { data, records: OnceCell::new(), ycsb: OnceCell::new(), batch: OnceCell::new() };
    entries.into_iter().map(|(spec, make)| make(spec, &sources)).collect()
}

fn entry(name: &str) -> Result<&'static (Spec, Make), Error> {
    TABLE.iter().find(|(spec, _)| spec.name == name).ok_or_else(|| Error::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, names()),
        known: names().join(", "),
    })
}

/// What the workloads of one comparison share, made when first needed.
struct Sources<'a> {
    data: &'a Data,
    records: OnceCell<Arc<Records>>,
    ycsb: OnceCell<Arc<ycsb::DataSet>>,
    batch: OnceCell<Arc<batch::DataSet>>,
}

impl Sources<'_> {
    /// The source of records that is asked for.
    fn records(&self) -> Result<Arc<Records>, Error> {
        shared(&self.records, || {
            Ok(match &self.data.records_from {
                Some(path) => Records::from_csv(path)?,
                None => Records::ycsb(self.data.seed),
            })
        })
    }
}

/// The value of `cell`, made by `make` the first time.
fn shared<T>(cell: &OnceCell<Arc<T>>, make: impl FnOnce() -> Result<T, Error>) -> Result<Arc<T>, Error> {
    if let Some(value) = cell.get() {
        return Ok(Arc::clone(value));
    }
    let value = Arc::new(make()?);
    Ok(Arc::clone(cell.get_or_init(|| value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::workload::testing::plan;

    #[test]
    fn the_table_has_every_workload_once() {
        assert_eq!(names(), ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"]);
        for spec in workloads() {
            assert_eq!(workload(spec.name).unwrap().description, spec.description);
            assert!(spec.description.len() <= 72, "{}", spec.name);
        }
        let built = build(&plan().data(), &names()).unwrap();
        assert!(built.iter().map(|workload| workload.spec().name).eq(names()));
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let error = |name: &str| workload(name).unwrap_err().to_string();
        let known = "workloads are a, b, c, d, e, f, oltp, batch-load, batch-scan";
        assert_eq!(error("bach-scan"), format!("unknown workload `bach-scan`; did you mean `batch-scan`?\n{known}"));
        assert_eq!(error("OLTP"), format!("unknown workload `OLTP`; did you mean `oltp`?\n{known}"));
        assert_eq!(error("A"), format!("unknown workload `A`; did you mean `a`?\n{known}"));
        assert!(build(&plan().data(), &["a", "g"]).is_err());
    }

    #[test]
    fn parts_are_contiguous_and_equal_but_for_one() {
        for (total, parts) in [(0, 3), (2, 5), (10, 3), (100, 7), (1 << 50, 9)] {
            let mut next = 0;
            for part in 0..parts {
                let range = split(total, part, parts);
                assert_eq!(range.start, next);
                assert!((total / parts as u64..=total.div_ceil(parts as u64)).contains(&(range.end - range.start)));
                next = range.end;
            }
            assert_eq!(next, total);
        }
    }

    #[test]
    fn shares_of_all_slices_and_clients_make_up_the_round() {
        let mut next = 0;
        for slice in 0..3 {
            for client in 0..4 {
                let at = Position { variant: 0, round: 0, slice, slices: 3, client, clients: 4 };
                let share = at.share(1_003);
                assert_eq!(share.start, next);
                next = share.end;
            }
        }
        assert_eq!(next, 1_003);
    }

    #[test]
    fn no_records_at_all_are_an_error() {
        let error = build(&Plan { records: vec![0], ..plan() }.data(), &["a"]).err().unwrap().to_string();
        assert_eq!(error, "the workloads a to f need at least 1 record, not 0");
        let error = build(&Plan { bytes: 10, ..plan() }.data(), &["batch-load"]).err().unwrap().to_string();
        assert_eq!(error, "10 bytes are less than one row of the batch workloads");
    }
}
