//! Plans that are read, refused, and cut into groups.

use sealstone_cipher::Backend;

use super::*;
use crate::words::axes::Point;
use crate::words::max_time::MaxTime;
use crate::workload::SizedBy;

fn labels(ciphers: &[&str], accel: &[&str]) -> (Vec<String>, Vec<String>) {
    let list = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    let plan = Plan { ciphers: list(ciphers), accel: list(accel), ..Plan::default() };
    let (variants, notes) = plan.variants(&Protections::of(&plan.algorithms().unwrap())).unwrap();
    (variants.into_iter().map(|variant| variant.label).collect(), notes)
}

#[test]
fn the_baseline_comes_first_and_is_added_where_missing() {
    let (found, notes) = labels(&["aes-256", "none"], &["auto"]);
    assert_eq!((found, notes.len()), (vec!["none".to_owned(), "aes-256".into()], 0));
    let (found, notes) = labels(&["aria-256"], &["auto"]);
    assert_eq!(found, ["none", "aria-256"]);
    assert!(notes[0].starts_with("added `none`"), "{notes:?}");
}

#[test]
fn a_setting_by_name_takes_what_its_line_of_toml_takes_and_less_quotation() {
    let with = |name: &str, text: &str| Plan::default().with_setting(name, text);
    assert_eq!(with("pairs", "8").unwrap().pairs, 8);
    assert_eq!(with("seed", "5k").unwrap().seed, 5_000);
    assert_eq!(with("path", "kernel,sealstone").unwrap().path, ["kernel", "sealstone"]);
    assert_eq!(with("path", "[\"kernel\"]").unwrap().path, ["kernel"]);
    assert_eq!(with("delimiter", "tab").unwrap().delimiter, Some(Delimiter::Tab));
    let threads = BTreeMap::from([("a".to_owned(), 16), ("c-cold".to_owned(), 4)]);
    assert_eq!(with("threads-of", "a=16,c-cold=4").unwrap().threads_of, threads);
    assert_eq!(with("threads-of", "{ a = 16, c-cold = 4 }").unwrap().threads_of, threads);
    let refused = |name: &str, text: &str| with(name, text).unwrap_err().to_string();
    for (name, text) in [
        ("pairs", "many"),
        ("pairs", "-1"),
        ("delimiter", "stroke"),
        ("seed", ""),
        ("depth", "[1]"),
    ] {
        assert!(
            refused(name, text).starts_with(&format!("{name} is {text}: ")),
            "{}",
            refused(name, text)
        );
    }
    assert_eq!(
        refused("threads-of", "16"),
        "threads-of is 16: expected names with a value each, such as a=16,c-cold=4"
    );
    let unknown = refused("pears", "8");
    assert!(
        unknown.starts_with("unknown setting \"pears\"; did you mean pairs?\nknown settings: "),
        "{unknown}"
    );
}

#[test]
fn labels_are_unique() {
    assert_eq!(labels(&["none", "none"], &["auto"]).0, ["none", "none (2)"]);
    assert_eq!(
        labels(&["none", "aes-256", "AES-256"], &["auto"]).0,
        ["none", "aes-256", "aes-256 (2)"]
    );
    let (found, _) = labels(&["none", "aes-256", "aria-256"], &["auto", "portable"]);
    assert_eq!(found, ["none", "aes-256", "aes-256 portable", "aria-256", "aria-256 portable"]);
}

#[test]
fn one_backend_under_two_names_is_said() {
    let best = Backend::auto().name();
    let (_, notes) = labels(&["none", "aes-256"], &["auto", best]);
    assert!(notes[0].contains("same backend") && notes[0].contains(best), "{notes:?}");
    assert!(labels(&["none", "aes-256"], &["auto", "auto"]).1[0].contains("twice"));
}

fn read(text: &str) -> Result<Plan, PlanError> {
    Plan::from_toml(text, Path::new("plan.toml"))
}

#[test]
fn toml_fills_in_what_is_missing_and_reads_sizes() {
    let plan = read(
        "records = 5\ncache = \"512MiB\"\nbytes = \"2GB\"\npolicy = \"kcmvp\"\nslice-ms = 50\n",
    )
    .unwrap();
    assert_eq!((plan.records[0], plan.cache, plan.bytes), (5, Some(512 << 20), 2_000_000_000));
    assert_eq!(
        (plan.policy, plan.slice_ms, plan.threads),
        (Policy::Kcmvp, 50, Plan::default().threads)
    );
    assert_eq!(read("").unwrap(), Plan::default());
}

#[test]
fn counts_in_toml_are_written_as_on_the_command_line() {
    let text = "records = [\"10k\", \"1M\"]\nnodes = \"3\"\nthreads = [1, \"1k\"]\noperations = \
                \"2.5M\"\n\
                rounds = \"1_0\"\npairs = \"1k\"\nslice-ms = \"1k\"\nseed = \"4G\"\n";
    let plan = read(text).unwrap();
    assert_eq!(
        (plan.records, plan.nodes, plan.threads),
        (vec![10_000, 1_000_000], vec![3], vec![1, 1_000])
    );
    assert_eq!((plan.operations, plan.rounds, plan.pairs), (2_500_000, 10, 1_000));
    assert_eq!((plan.slice_ms, plan.seed), (1_000, 4_000_000_000));
    assert_eq!(read("records = \"1M\"").unwrap().records, [1_000_000]);
    let expected = "expected a whole number below 2^64 such as 5000, 1_000_000, 100k or 5M";
    for (text, found) in [
        ("rounds = -1", "invalid value: integer `-1`"),
        ("rounds = 1.5", "invalid type: floating point `1.5`"),
        ("records = [1, true]", "invalid type: boolean `true`"),
    ] {
        assert_eq!(
            read(text).unwrap_err().to_string(),
            format!("plan.toml:1: {found}, {expected}")
        );
    }
}

#[test]
fn settings_that_need_each_other_are_checked_wherever_they_come_from() {
    let refused = |text: &str| read(text).unwrap().check().unwrap_err().to_string();
    assert!(
        refused("fail-if = \"5%\"")
            .starts_with("fail-if is 5%: a cost grows only since an earlier run; ")
    );
    assert!(
        refused("delimiter = \";\"").starts_with("delimiter is semicolon: there is no CSV file ")
    );
    assert!(refused("records-from = \"/dev/null\"").contains("it is no regular file"));
    read("fail-if = \"5%\"\nbaseline = \"old.json\"").unwrap().check().unwrap();
    assert!(read("delimiter = \"x\"").unwrap_err().to_string().contains("unknown delimiter \"x\""));
}

#[test]
fn a_plan_survives_its_own_toml() {
    let full = Plan {
        cache: Some(1 << 30),
        target: Some(Target::Rate(5e3)),
        keep: Some("k".into()),
        delimiter: Some(Delimiter::Tab),
        key: Some("kmip:kms.toml".into()),
        passphrase_file: Some("p".into()),
        baseline: Some("old.json".into()),
        fail_if: Some(0.07),
        margin: 0.00123,
        // more than a number of TOML can be
        seed: u64::MAX,
        ..Plan::default()
    };
    let max =
        Plan { target: Some(Target::Max), p99: Some(Limit { limit_us: 1e4 }), ..Plan::default() };
    assert!(max.to_toml().contains("target = \"max\"\np99 = \"10ms\"\n"), "{}", max.to_toml());
    for plan in [full, max, Plan::default()] {
        assert_eq!(read(&plan.to_toml()).unwrap(), plan);
    }
}

#[test]
fn mistakes_in_toml_are_named_with_their_line() {
    let message = |text| read(text).unwrap_err().to_string();
    let unknown = message("records = 5\n\nthread = 4\n");
    assert!(
        unknown.starts_with("plan.toml:3: unknown setting \"thread\"; did you mean threads?\n"),
        "{unknown}"
    );
    for setting in ["records-from", "cache", "target", "keep", "slice-ms"] {
        assert!(unknown.contains(setting), "{setting} is not listed in: {unknown}");
    }
    assert!(message("slice_ms = 4").contains("did you mean slice-ms?"));
    assert!(message("records = 5\nrounds = \"many\"\n").starts_with("plan.toml:2: "));
    assert!(message("bytes = \"2 parsecs\"\n").contains("is not a size"));
    assert!(message("records = \n").starts_with("plan.toml:1: "));
    assert!(
        message("[records]\nx = 1\n").contains("only the settings of single stores are tables")
    );
}

#[test]
fn every_absurd_value_is_refused_with_its_reason() {
    let refused = |plan: Plan, setting: &str| match plan.check() {
        Err(PlanError::Value { setting: found, reason, .. }) => {
            assert_eq!(found, setting);
            assert!(!reason.is_empty());
        }
        other => panic!("{setting}: {other:?}"),
    };
    let plan = Plan::default;
    refused(Plan { records: vec![0], ..plan() }, "records");
    refused(Plan { records: vec![u64::MAX], ..plan() }, "records");
    refused(Plan { operations: 0, ..plan() }, "operations");
    refused(Plan { threads: vec![0], ..plan() }, "threads");
    refused(Plan { threads: vec![1_000_000], ..plan() }, "threads");
    refused(Plan { rounds: 0, ..plan() }, "rounds");
    refused(Plan { pairs: 0, ..plan() }, "pairs");
    // pairs of all rounds together are what an interval needs
    refused(Plan { pairs: 5, rounds: 1, ..plan() }, "pairs");
    // those of the run that they are added to count, too
    Plan { pairs: 5, rounds: 1, earlier_rounds: 5, ..plan() }.check().unwrap();
    refused(Plan { pairs: 1, rounds: 1, earlier_rounds: 4, ..plan() }, "pairs");
    for until in [0.0, 0.0009, 0.51, -0.02, f64::NAN, f64::INFINITY] {
        refused(Plan { until: Some(until), ..plan() }, "until");
    }
    for seconds in [0.0, 0.9, -5.0, 31.0 * 86_400.0, f64::NAN] {
        refused(Plan { max_time: Some(MaxTime { seconds }), ..plan() }, "max-time");
    }
    refused(Plan { slice_ms: 0, ..plan() }, "slice-ms");
    refused(Plan { bytes: 0, ..plan() }, "bytes");
    refused(Plan { cache: Some(0), ..plan() }, "cache");
    for target in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(Plan { target: Some(Target::Rate(target)), ..plan() }, "target");
    }
    let (max, reads) = (Some(Target::Max), vec!["c".to_owned()]);
    refused(Plan { target: max, workloads: reads.clone(), ..plan() }, "target");
    for limit_us in [0.0, -1.0, 1e9] {
        let p99 = Some(Limit { limit_us });
        refused(Plan { target: max, p99, workloads: reads.clone(), ..plan() }, "p99");
    }
    let p99 = Some(Limit { limit_us: 1e4 });
    for target in [None, Some(Target::Rate(10.0))] {
        refused(Plan { target, p99, workloads: reads.clone(), ..plan() }, "p99");
    }
    refused(Plan { target: max, p99, ..plan() }, "workloads");
    refused(Plan { target: Some(Target::Rate(10.0)), ..plan() }, "workloads");
    Plan { target: max, p99, workloads: reads, ..plan() }.check().unwrap();
    refused(Plan { records_from: Some("/does/not/exist.csv".into()), ..plan() }, "records-from");
    refused(Plan { workloads: vec![], ..plan() }, "workloads");
    refused(Plan { ciphers: vec![], ..plan() }, "ciphers");
    refused(Plan { accel: vec![], ..plan() }, "accel");
    refused(Plan { workloads: vec!["a".into(), "a".into()], ..plan() }, "workloads");
    plan().check().unwrap();
}

#[test]
fn a_pass_of_an_open_loop_is_as_long_as_its_percentiles_need() {
    let operations = |rate: f64, rounds: usize, workload: &str| {
        let target = Some(Target::Rate(rate));
        let workloads = vec![workload.into()];
        Plan { target, rounds, workloads, operations: 20_000, pairs: 6, ..Plan::default() }
            .data()
            .operations
    };
    // three rounds of it have twice the requests that a p99 needs
    assert_eq!(operations(2_000.0, 3, "a"), 6_667);
    // no slow rate makes a pass last longer than twenty seconds
    assert_eq!(operations(100.0, 3, "a"), 2_000);
    // every client has an operation in each of 6 slices
    assert_eq!((operations(1.0, 3, "a"), operations(1.0, 3, "oltp")), (48, 480));
    assert_eq!(operations(1e6, 3, "a"), 20_000);
    assert_eq!(Plan::default().data().operations, Plan::default().operations);
}

#[test]
fn every_point_of_the_axes_is_a_group_and_nothing_is_measured_twice() {
    let workloads = ["a", "oltp", "batch-load"].map(String::from).to_vec();
    let plan =
        Plan { threads: vec![1, 8], records: vec![1_000, 9_000], workloads, ..Plan::default() };
    plan.check().unwrap();
    let groups = plan.groups().unwrap();
    let shown: Vec<_> = groups.iter().map(|group| (group.point(), group.workloads.len())).collect();
    let at = |records, clients| Point {
        store: "rocksdb".into(),
        members: 1,
        records,
        clients,
        link: None,
    };
    // oltp and the batches fix their clients and have their own data
    assert_eq!(shown, [(at(1_000, 1), 3), (at(1_000, 8), 1), (at(9_000, 1), 1), (at(9_000, 8), 1)]);
    let fixed = Plan { workloads: vec!["oltp".into()], ..plan.clone() };
    assert_eq!(fixed.groups().unwrap().len(), 1);
    let kept = Plan { keep: Some("x".into()), ..plan }.check().unwrap_err().to_string();
    assert!(kept.contains("stores can be kept of only one point"), "{kept}");
}

#[test]
fn lists_are_one_value_or_several_in_brackets() {
    let plan = read("threads = [1, 8]\nrecords = 5\nstore = [\"rocksdb\"]\n").unwrap();
    assert_eq!(
        (plan.threads, plan.records, plan.store),
        (vec![1, 8], vec![5], vec!["rocksdb".to_owned()])
    );
    let one = Plan { threads: vec![8], ..Plan::default() };
    assert!(
        one.to_toml().contains("threads = 8\n") && !Plan::default().to_toml().contains("threads")
    );
    assert!(read("threads = []\n").unwrap_err().to_string().contains("an empty list"));
    let twice = Plan { threads: vec![8, 8], ..Plan::default() }.check().unwrap_err().to_string();
    assert!(twice.starts_with("threads is 8: it is listed twice"), "{twice}");
    let across = Plan {
        against: Some("rocksdb".into()),
        store: vec!["rocksdb".into(), "mongodb".into()],
        ..Plan::default()
    };
    across.check().unwrap();
    across.groups().unwrap().iter().for_each(|group| group.check().unwrap());
    for (against, store) in [("mongodb", vec!["rocksdb"]), ("rocksdb", vec!["rocksdb"])] {
        let store = store.into_iter().map(String::from).collect();
        let plan = Plan { against: Some(against.into()), store, ..Plan::default() };
        assert!(plan.check().unwrap_err().to_string().contains("name one of several stores"));
    }
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    let message = |plan: Plan| plan.algorithms().unwrap_err().to_string();
    let plan = Plan::default;
    assert!(
        message(Plan { ciphers: vec!["aria256".into()], ..plan() })
            .contains("did you mean aria-256")
    );
    let backend = message(Plan { accel: vec!["portabel".into()], ..plan() });
    assert!(backend.contains("portable"), "{backend}");
    let workload = Plan { workloads: vec!["batch-lod".into()], ..plan() }.check().unwrap_err();
    assert!(workload.to_string().contains("batch-load"), "{workload}");
}

#[test]
fn a_disk_or_memory_too_small_is_reported_before_anything_runs() {
    let huge = Plan { records: vec![1 << 40], ..Plan::default() };
    let error = huge.check_room(3, &[SizedBy::Records]).unwrap_err();
    assert!(matches!(error, PlanError::Space { .. }), "{error}");
    assert!(error.to_string().contains("are free there"), "{error}");
    let hungry = Plan { records: vec![10], cache: Some(1 << 49), ..Plan::default() };
    assert!(matches!(hungry.check_room(3, &[SizedBy::Records]), Err(PlanError::Memory { .. })));
    Plan { records: vec![10], ..Plan::default() }.check_room(3, &[SizedBy::Records]).unwrap();
}
