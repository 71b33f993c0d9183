//! The six core workloads of YCSB 0.17, exactly: mix of operations, key names, request
//! distributions, scan lengths. Not here: running them (`mix`).

use super::contract::{SizedBy, Spec, Unit, Workload};
use super::definition::{Definition, Mix, RequestDistribution, Requests};
use super::entry::{Entry, Make};
use super::error::Error;
use super::mix::{self, READS, READS_AND_WRITES};
use super::setting::Setting;
use super::sources::Sources;

/// Returns a row of the table.
const fn row(
    name: &'static str,
    label: &'static str,
    description: &'static str,
    core: &'static Core,
) -> Entry {
    let settings = if core.mix.read == 100.0 { READS } else { READS_AND_WRITES };
    let spec = Spec {
        name,
        base: name,
        setting: Setting::Warm,
        settings,
        label,
        description,
        unit: Unit::Operations,
        dataset: "ycsb",
        clients: None,
        device: false,
        cold: false,
        from_empty: false,
        sized_by: SizedBy::Records,
        checks_values: false,
        cache_hits_min: 0.0,
        remark: None,
    };
    Entry::row(spec, core)
}

/// Core workload: its mix of operations, and the distribution of the records requested.
#[derive(Debug)]
struct Core {
    mix: Mix,
    distribution: RequestDistribution,
}

impl Core {
    /// Returns the usual: requests that are zipfian.
    const fn zipfian(mix: Mix) -> Self {
        Self { mix, distribution: RequestDistribution::Zipfian }
    }
}

pub(super) const A: Entry = row(
    "a",
    "reads and updates",
    "YCSB a: 50 % reads, 50 % updates of one field; zipfian",
    &Core::zipfian(Mix { read: 50.0, update: 50.0, ..Mix::NONE }),
);
pub(super) const B: Entry = row(
    "b",
    "mostly reads",
    "YCSB b: 95 % reads, 5 % updates of one field; zipfian",
    &Core::zipfian(Mix { read: 95.0, update: 5.0, ..Mix::NONE }),
);
pub(super) const C: Entry = row(
    "c",
    "reads",
    "YCSB c: reads only; zipfian",
    &Core::zipfian(Mix { read: 100.0, ..Mix::NONE }),
);
pub(super) const D: Entry = row(
    "d",
    "reads of new records",
    "YCSB d: 95 % reads of the latest records, 5 % inserts",
    &Core {
        mix: Mix { read: 95.0, insert: 5.0, ..Mix::NONE },
        distribution: RequestDistribution::Latest,
    },
);
pub(super) const E: Entry = row(
    "e",
    "short scans",
    "YCSB e: 95 % scans of 1 to 100 records, 5 % inserts; zipfian",
    &Core::zipfian(Mix { scan: 95.0, insert: 5.0, ..Mix::NONE }),
);
pub(super) const F: Entry = row(
    "f",
    "reads and rewrites",
    "YCSB f: 50 % reads, 50 % read-modify-writes; zipfian",
    &Core::zipfian(Mix { read: 50.0, read_modify_write: 50.0, ..Mix::NONE }),
);

impl Make for Core {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        mix::make(spec, self.demands(spec).into(), sources)
    }

    fn definition(&self, spec: &Spec) -> Option<Definition> {
        Some(self.demands(spec))
    }
}

impl Core {
    /// Returns what it demands of a store under `spec`.
    fn demands(&self, spec: &Spec) -> Definition {
        Definition {
            name: spec.base.into(),
            description: spec.description.into(),
            setting: spec.setting,
            mix: self.mix,
            requests: Requests { distribution: self.distribution, ..Requests::default() },
            ..Definition::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::measure::null_store::NullStore;
    use crate::study::plan::Plan;
    use crate::workload::build;
    use crate::workload::contract::Position;
    use crate::workload::distribution::{ScrambledZipfian, stream};
    use crate::workload::key_names::KeyNames;
    use crate::workload::testing::{
        Journal, alone, assert_distributed, load, make, plan, run, tally,
    };
    use sealstone_store::{MemoryStore, Record, Store};

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn name(number: u64) -> String {
        let mut key = Vec::new();
        KeyNames::Hashed(1).put(number, &mut key);
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
                assert!(
                    parts.by_ref().take(both).all(|before| before.ends_with(&["read", "update"]))
                );
                names.0.retain(|name| *name != "update");
                let reads = names.count("read") - both;
                names.0.retain(|name| *name != "read");
                names.0.extend(std::iter::repeat_n("read-only", reads));
            }
            let counts: Vec<u64> =
                shares.iter().map(|(name, _)| names.count(name) as u64).collect();
            assert_eq!(counts.iter().sum::<u64>(), 50_000);
            assert!(done.rows >= 50_000);
            if shares.len() > 1 {
                assert_distributed(
                    &counts,
                    &shares.iter().map(|(_, share)| *share).collect::<Vec<_>>(),
                );
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
            let mut collect =
                |key: &[u8], record: &Record| rows.push((key.to_vec(), record.clone()));
            store.scan(&workload.tables()[0], b"", 2_000, &mut collect).unwrap();
            rows
        });
        assert_eq!(whole.len(), 1_000);
        assert_eq!(whole, parts);
        assert!(
            whole
                .iter()
                .all(|(_, record)| record.len() == 10
                    && record.iter().all(|value| value.len() == 100))
        );
        assert!(
            whole
                .iter()
                .all(|(_, record)| record.joined().iter().all(|byte| (b' '..=b'_').contains(byte)))
        );
        assert_eq!(workload.data_bytes(), 1_000_000);
        assert_eq!(workload.tables()[0].name, "usertable");
        let names: Vec<_> =
            workload.tables()[0].fields.iter().map(|field| field.name.as_str()).collect();
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
        assert!(
            calls
                .iter()
                .filter(|call| call.starts_with("read "))
                .all(|call| call.ends_with(" None"))
        );
        let updates: Vec<Vec<&str>> = calls
            .iter()
            .filter(|call| call.starts_with("update "))
            .map(|call| call.splitn(5, ' ').collect())
            .collect();
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
        let reference =
            (0..20_000_000).map(|_| scrambled.draw(&mut random)).filter(|&number| number < records);
        let reference = tally(reference, records as usize);
        let total = reference.iter().sum::<u64>() as f64;
        assert_distributed(
            &counts,
            &reference.iter().map(|&count| count as f64 / total).collect::<Vec<_>>(),
        );
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
            std::thread::scope(|scope| {
                (0..4).for_each(|number| drop(scope.spawn(move || client(number))))
            });
        }
    }

    #[test]
    fn a_missing_record_is_an_error() {
        let workload = make(&Plan { records: vec![1], ..plan() }, "c");
        let error = workload
            .client(alone(0, 0))
            .next((&MemoryStore::new()).into(), &mut crate::workload::testing::Names::default());
        assert_eq!(
            error.unwrap_err().to_string(),
            "record user6284781860667377211 of usertable is not in the store, although writing it \
             succeeded"
        );
    }
}
