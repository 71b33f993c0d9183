//! go-ycsb and our stores read each other's records on a real server, for every store that both
//! support.

use std::collections::BTreeMap;

use sealstone_bench::workload::Workload;
use sealstone_store::{OpenStore, Record, Row, Store};
use sealstone_ycsb_rivals::go_ycsb::{GoYcsb, Job, failed};
use sealstone_ycsb_rivals::its_records::{its_number, key, value};
use sealstone_ycsb_rivals::our_client;
use sealstone_ycsb_rivals::shared::{Running, STORES, Shared};

const RECORDS: u64 = 300;

/// A server, both clients on it, and the workload whose table our client uses.
struct Site {
    store: OpenStore,
    workload: Box<dyn Workload>,
    ours: our_client::Job,
    rival: GoYcsb,
    shared: &'static Shared,
    // ends last
    server: Running,
    _dir: tempfile::TempDir,
}

/// One site for every store whose server and rival are here; a SKIP for each other one.
fn sites(test: &str) -> Vec<Site> {
    let site = |shared: &'static Shared| {
        let dir = tempfile::tempdir().unwrap();
        let running = shared.rival("", None).and_then(|_| shared.start(dir.path()));
        let server = match running {
            Ok(server) => server,
            Err(error) => {
                let reason = error.to_string();
                println!(
                    "SKIP: {test}_{}: {}",
                    shared.name,
                    reason.lines().next().unwrap_or_default()
                );
                return None;
            }
        };
        let ours = our_client::Job {
            workload: "c".into(),
            records: RECORDS,
            operations: 500,
            threads: 2,
            target: None,
            round: 0,
        };
        let workload = ours.workload().unwrap();
        let store = shared.open(&server.address, 2, workload.tables()).unwrap();
        let rival = shared.rival(&server.address, None).unwrap();
        Some(Site { store, workload, ours, rival, shared, server, _dir: dir })
    };
    STORES.iter().filter_map(site).collect()
}

impl Site {
    fn records(&self) -> &dyn Store {
        self.store.target().records("a test").unwrap()
    }

    fn read(&self, key: &str) -> Option<Vec<Vec<u8>>> {
        let mut record = Record::new();
        let found = self
            .store
            .target()
            .records("a test")
            .unwrap()
            .read(&self.workload.tables()[0], key.as_bytes(), None, &mut record)
            .unwrap();
        found.then(|| record.iter().map(<[u8]>::to_vec).collect())
    }

    /// Returns how many operations `job` of go-ycsb did that found their record, and how many that
    /// did not.
    fn run(&self, job: &Job) -> (u64, u64) {
        let unfound = || self.shared.unfound(&self.server.address).unwrap();
        let before = unfound();
        let said = self.rival.run(job).unwrap();
        let unfound = unfound() - before;
        (said.get("TOTAL").map_or(0, |figures| figures.count) - unfound, failed(&said) + unfound)
    }
}

/// Returns a job of go-ycsb on `count` records from `first` on, in which it can verify that a value
/// is its own.
fn job(first: u64, count: u64, more: &[(&'static str, &str)]) -> Job {
    let mut properties = vec![
        ("insertstart", first.to_string()),
        ("insertcount", count.to_string()),
        ("recordcount", (first + count).to_string()),
        ("operationcount", "1000".to_owned()),
        ("dataintegrity", "true".to_owned()),
        ("requestdistribution", "uniform".to_owned()),
        ("readproportion", "1".to_owned()),
        ("updateproportion", "0".to_owned()),
    ];
    properties.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    Job { load: false, threads: 2, target: None, properties }
}

/// Returns the values that go-ycsb writes into the record `key`.
fn its_values(site: &Site, key: &str) -> Vec<Vec<u8>> {
    site.workload.tables()[0].fields.iter().map(|field| value(key, &field.name)).collect()
}

#[test]
fn what_go_ycsb_loads_is_read_here() {
    for site in sites("what_go_ycsb_loads_is_read_here") {
        assert_eq!(site.run(&Job { load: true, ..job(0, RECORDS, &[]) }), (RECORDS, 0));
        for number in 0..RECORDS {
            let key = key(number);
            assert_eq!(site.read(&key), Some(its_values(&site, &key)), "{key}");
        }
        assert_eq!(site.read(&key(RECORDS)), None);
    }
}

#[test]
fn a_scan_finds_its_records_and_no_others() {
    for site in sites("a_scan_finds_its_records_and_no_others") {
        // its Redis binding keeps no index to scan by
        if !site.shared.scans {
            continue;
        }
        site.rival.run(&Job { load: true, ..job(0, RECORDS, &[]) }).unwrap();
        let mut rows = BTreeMap::new();
        let table = &site.workload.tables()[0];
        let each = &mut |key: &[u8], record: &Record| {
            rows.insert(
                String::from_utf8(key.to_vec()).unwrap(),
                record.iter().map(<[u8]>::to_vec).collect(),
            );
        };
        site.records().scan(table, b"", 2 * RECORDS as usize, each).unwrap();
        let want: BTreeMap<String, Vec<Vec<u8>>> =
            (0..RECORDS).map(key).map(|key| (key.clone(), its_values(&site, &key))).collect();
        assert_eq!(rows, want);
    }
}

/// Our keys are those of YCSB itself. go-ycsb makes the same ones of other numbers.
#[test]
fn what_a_workload_loads_here_go_ycsb_reads() {
    for site in sites("what_a_workload_loads_here_go_ycsb_reads") {
        site.ours.load(&*site.workload, &site.store).unwrap();
        let reads = |number: u64| {
            let values_are_ours = [("dataintegrity", "false"), ("operationcount", "20")];
            site.run(&job(its_number(number), 1, &values_are_ours))
        };
        for number in [0, 1, 2, 99, 127, 256] {
            assert_eq!(reads(number), (20, 0), "record {number}");
        }
        // there are no more
        assert_eq!(reads(RECORDS + 256), (0, 20));
        assert!(site.ours.run(&*site.workload, &site.store).is_ok());
    }
}

#[test]
fn what_is_written_here_under_its_keys_go_ycsb_takes_for_its_own() {
    for site in sites("what_is_written_here_under_its_keys_go_ycsb_takes_for_its_own") {
        let table = &site.workload.tables()[0];
        let row = |number| -> Row {
            let (key, mut record) = (key(number), Record::new());
            its_values(&site, &key).iter().for_each(|value| record.push(value));
            (key.into_bytes(), record)
        };
        let rows: Vec<Row> = (0..RECORDS).map(row).collect();
        site.records().insert_many(table, &rows).unwrap();
        assert_eq!(site.run(&job(0, RECORDS, &[])), (1000, 0));

        // its updates are read here, ours there
        let updates = [("readproportion", "0.5"), ("updateproportion", "0.5")];
        assert_eq!(site.run(&job(0, RECORDS, &updates)), (1000, 0));
        for (key, record) in &rows {
            let key = std::str::from_utf8(key).unwrap();
            assert_eq!(site.read(key), Some(record.iter().map(<[u8]>::to_vec).collect()), "{key}");
        }
        // and it looks at the values
        let (damaged, _) = &rows[7];
        assert!(site.records().update(table, damaged, &[(3, b"something else")]).unwrap());
        let error = site.rival.run(&job(7, 1, &[])).unwrap_err().to_string();
        assert!(
            error.contains("unexpected deterministic value") && error.contains("something else"),
            "{error}"
        );
    }
}
