//! The table of workloads.
//!
//! A workload chooses the operations on a store and their order. It is independent of encryption,
//! of the timing of a run, and of the use of the figures. Not here: its interface for the runner
//! (`contract`).

pub(crate) mod exact_sleep;

mod batch;
mod block;
mod block_shape;
mod contract;
mod csv_column;
mod csv_records;
mod data;
mod definition;
mod definition_check;
mod definition_file;
pub(crate) mod distribution;
mod entry;
mod error;
mod file_error;
mod key_names;
mod lengths;
mod mix;
mod mix_client;
mod mix_data;
mod name_pool;
mod oltp;
pub(crate) mod records;
mod requests;
mod setting;
mod sorted_load;
mod sources;
mod stop;
#[cfg(test)]
mod testing;
mod ycsb;
mod ycsb_properties;

pub use distribution::fnv;

use std::sync::LazyLock;

pub use block_shape::BlockShape;
pub use contract::{Client, Done, Position, Recorder, SizedBy, Spec, Unit, Workload, split};
pub use data::Data;
pub use definition::Definition;
pub use definition_check::Fault;
pub use entry::Entry;
pub use error::Error;
pub use file_error::FileError;
pub(crate) use name_pool::intern;
use sealstone_message::Unknown;
use sealstone_message::nearest;
pub use setting::{COLD_SHARE, Setting, cold_cache_bytes, cold_share_words};
use sources::Sources;
pub use sources::Watch;
pub use ycsb_properties::read_properties;

/// Every workload. A new workload is a file and a line here.
static TABLE: [Entry; 19] = [
    ycsb::A,
    ycsb::B,
    ycsb::C,
    ycsb::D,
    ycsb::E,
    ycsb::F,
    oltp::OLTP,
    batch::LOAD,
    batch::SCAN,
    block::SEQ_READ,
    block::SEQ_WRITE,
    block::SEQ_MIX,
    block::CONST_READ,
    block::CONST_WRITE,
    block::CONST_MIX,
    block::RAND_READ,
    block::RAND_WRITE,
    block::RAND_MIX,
    block::STREAM,
];

/// The workloads of the table under their other settings: `c-cold`, `oltp-sync`.
static UNDER_SETTINGS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let under =
        |entry: &'static Entry| entry.spec.settings.iter().map(|setting| entry.under(*setting));
    TABLE.iter().flat_map(under).collect()
});

/// Returns the table of workloads, in the order of help and report, each under its usual setting.
pub fn workloads() -> impl ExactSizeIterator<Item = &'static Spec> + Clone {
    TABLE.iter().map(|entry| &entry.spec)
}

/// Returns every workload under every setting that it can have: the table, then `a-cold`, `a-sync`
/// and so on.
pub fn under_every_setting() -> impl Iterator<Item = &'static Spec> + Clone {
    workloads().chain(UNDER_SETTINGS.iter().map(|entry| &entry.spec))
}

/// Returns the names in the table, in its order.
pub fn names() -> Vec<&'static str> {
    workloads().map(|spec| spec.name).collect()
}

/// Returns the specification of the workload called `name`.
///
/// # Errors
/// [`Error::Unknown`], with the nearest name.
pub fn workload(name: &str) -> Result<&'static Spec, Error> {
    entry(name).map(|entry| &entry.spec)
}

/// Returns the workload called `name`, from `own` or the table.
///
/// # Errors
/// As [`workload`].
pub fn find(name: &str, own: &[Definition]) -> Result<Entry, Error> {
    let of_own = own.iter().find_map(|definition| {
        let setting =
            Setting::ALL.into_iter().find(|setting| setting.named(&definition.name) == name)?;
        Some(mix::entry(definition, setting))
    });
    of_own.map_or_else(|| entry(name).cloned(), Ok)
}

/// Returns what the workload called `name` in the table demands of a store.
///
/// # Errors
/// As [`workload`]; [`Error::NoFile`] for one that is no mix of operations.
pub fn definition(name: &str) -> Result<Definition, Error> {
    entry(name)?.definition().ok_or_else(|| Error::NoFile {
        name: name.into(),
        can: TABLE
            .iter()
            .filter(|entry| entry.definition().is_some())
            .map(|entry| entry.spec.name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Puts `definition` among `own`, and returns the name for it. A definition that is unchanged in
/// the table stays there.
///
/// # Errors
/// [`Error::Taken`], [`Error::Twice`].
pub fn add(own: &mut Vec<Definition>, definition: Definition) -> Result<String, Error> {
    let name = definition.setting.named(&definition.name);
    if self::definition(&name).is_ok_and(|known| known == definition) {
        return Ok(name);
    }
    own.push(definition);
    check_own(own).map(|()| name)
}

/// Checks that every workload in `own` makes sense and has a unique name.
///
/// # Errors
/// [`Error::Own`], [`Error::Taken`], [`Error::Twice`].
pub fn check_own(own: &[Definition]) -> Result<(), Error> {
    for (at, definition) in own.iter().enumerate() {
        let name = &definition.name;
        definition.check().map_err(|fault| Error::Own { name: name.clone(), fault })?;
        if workloads().any(|spec| spec.name == name || spec.dataset == name) {
            return Err(Error::Taken { name: name.clone() });
        }
        if own[..at].iter().any(|other| other.name == *name) {
            return Err(Error::Twice { name: name.clone() });
        }
    }
    Ok(())
}

/// Makes the workloads called `names`, in that order, from `data`. Workloads of one data set share
/// one source of records, and track together what each variant's store contains; so each comparison
/// needs its own.
///
/// # Errors
/// A name that is not in the table, a CSV file that cannot be used, a size that is too small.
pub fn build<S: AsRef<str>>(data: &Data, names: &[S]) -> Result<Vec<Box<dyn Workload>>, Error> {
    let entries = names.iter().map(|name| find(name.as_ref(), &data.own));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    build_watched(data, &entries, &Watch::nobody())
}

/// Makes the workloads `entries` as [`build`] does, which takes minutes for large data sets, with
/// somebody who waits for it.
///
/// # Errors
/// As [`build`]; [`Error::Stopped`].
pub(crate) fn build_watched(
    data: &Data,
    entries: &[Entry],
    watch: &Watch<'_>,
) -> Result<Vec<Box<dyn Workload>>, Error> {
    let sources = Sources::new(data, watch);
    entries.iter().map(|entry| entry.make(&sources)).collect()
}

fn entry(name: &str) -> Result<&'static Entry, Error> {
    let mut all = TABLE.iter().chain(UNDER_SETTINGS.iter());
    all.find(|entry| entry.spec.name == name).ok_or_else(|| {
        let nearest = nearest(name, under_every_setting().map(|spec| spec.name)).to_owned();
        Error::Unknown(Unknown { nearest, ..Unknown::new("workload", name, names()) })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::study::plan::Plan;
    use crate::workload::testing::plan;

    #[test]
    fn the_table_has_every_workload_once() {
        assert_eq!(
            names()[..9],
            ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"]
        );
        let on_devices =
            workloads().filter(|spec| spec.device).map(|spec| spec.name).collect::<Vec<_>>();
        assert_eq!(on_devices, names()[9..]);
        assert_eq!(on_devices.len(), 10, "{on_devices:?}");
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
        let known = "known workloads: a, b, c, d, e, f, oltp, batch-load, batch-scan, seq-read, \
                     seq-write, seq-mix, const-read, const-write, const-mix, rand-read, \
                     rand-write, rand-mix, stream; most also run as NAME-cold and NAME-sync";
        assert_eq!(
            error("bach-scan"),
            format!("unknown workload \"bach-scan\"; did you mean batch-scan?\n{known}")
        );
        assert_eq!(
            error("OLTP"),
            format!("unknown workload \"OLTP\"; did you mean oltp?\n{known}")
        );
        assert_eq!(error("A"), format!("unknown workload \"A\"; did you mean \"a\"?\n{known}"));
        assert!(build(&plan().data(), &["a", "g"]).is_err());
    }

    #[test]
    fn computing_a_data_set_ends_when_asked() {
        // hours of computing each
        let huge = Plan { records: vec![1 << 40], bytes: 1 << 50, ..plan() };
        for name in ["d", "batch-scan"] {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let making = scope.spawn(|| {
                    let entries = [find(name, &[]).unwrap()];
                    build_watched(&huge.data(), &entries, &Watch { stop: &stop, note: &|_| () })
                        .err()
                });
                std::thread::sleep(std::time::Duration::from_millis(100));
                assert!(!making.is_finished(), "{name} takes longer");
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
                assert!(matches!(making.join().unwrap(), Some(Error::Stopped)), "{name}");
            });
        }
    }

    #[test]
    fn a_delimiter_that_is_no_comma_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("people.csv");
        std::fs::write(&path, "name;age\nann;31\n").unwrap();
        let said = std::cell::RefCell::new(Vec::new());
        let watch = Watch {
            stop: &AtomicBool::new(false),
            note: &|text| said.borrow_mut().push(text.to_owned()),
        };
        let plan = Plan { records_from: Some(path.clone()), ..plan() };
        let entries = ["a", "batch-scan"].map(|name| find(name, &[]).unwrap());
        build_watched(&plan.data(), &entries, &watch).unwrap();
        assert_eq!(
            said.into_inner(),
            [format!("{}: 2 columns, separated by semicolon", path.display())]
        );
    }

    #[test]
    fn no_records_at_all_are_an_error() {
        let error =
            build(&Plan { records: vec![0], ..plan() }.data(), &["a"]).err().unwrap().to_string();
        assert_eq!(error, "the workloads a to f need at least 1 record, not 0");
        let error =
            build(&Plan { bytes: 10, ..plan() }.data(), &["batch-load"]).err().unwrap().to_string();
        assert_eq!(error, "10 bytes are less than one row of the batch workloads");
    }
}
