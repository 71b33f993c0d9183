//! Property files as YCSB ships them, and refusals.

use std::fs;

use super::*;
use crate::workload::definition;

/// Contents of the files that YCSB 0.17 ships, each beside the workload of the table that it
/// describes.
const SHIPPED: [(&str, &[&str]); 6] = [
    (
        "a",
        &["readproportion=0.5", "updateproportion=0.5", "scanproportion=0", "insertproportion=0"],
    ),
    (
        "b",
        &["readproportion=0.95", "updateproportion=0.05", "scanproportion=0", "insertproportion=0"],
    ),
    ("c", &["readproportion=1", "updateproportion=0", "scanproportion=0", "insertproportion=0"]),
    (
        "d",
        &[
            "readproportion=0.95",
            "updateproportion=0",
            "insertproportion=0.05",
            "requestdistribution=latest",
        ],
    ),
    (
        "e",
        &[
            "readproportion=0",
            "updateproportion=0",
            "scanproportion=0.95",
            "insertproportion=0.05",
            "maxscanlength=100",
            "scanlengthdistribution=uniform",
        ],
    ),
    (
        "f",
        &[
            "readproportion=0.5",
            "updateproportion=0",
            "insertproportion=0",
            "readmodifywriteproportion=0.5",
        ],
    ),
];

fn read(text: &[u8], over: &[(&str, &str)]) -> Result<(Definition, Vec<String>), String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("workloada");
    fs::write(&path, text).unwrap();
    let over: Vec<(String, String)> =
        over.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let dir = format!("{}/", dir.path().display());
    let named = |notes: Vec<String>| notes.into_iter().map(|note| note.replace(&dir, "")).collect();
    read_properties(&path, &over)
        .map(|(definition, notes)| (definition, named(notes)))
        .map_err(|error| error.to_string().replace(&dir, ""))
}

#[test]
fn the_files_that_ycsb_ships_are_its_workloads() {
    for (name, lines) in SHIPPED {
        let head = "# Yahoo! Cloud System Benchmark\n# Workload\n\nrecordcount=1000\n\
                    operationcount=1000\n\
                    workload=site.ycsb.workloads.CoreWorkload\n\nreadallfields=true\n\n\
                    requestdistribution=zipfian\n";
        let (found, notes) = read(format!("{head}{}\n", lines.join("\n")).as_bytes(), &[]).unwrap();
        assert_eq!(
            (found.name.as_str(), found.records, found.operations),
            ("workloada", Some(1_000), Some(1_000))
        );
        assert!(notes.is_empty(), "{notes:?}");
        let known = definition(name).unwrap();
        for ((key, _, ours), (_, _, theirs)) in
            known.mix.weights().into_iter().zip(found.mix.weights())
        {
            assert!(
                (ours / known.mix.sum() - theirs / found.mix.sum()).abs() < 1e-12,
                "{name}: {key}"
            );
        }
        let same = Definition { scans: known.scans.clone(), ..found.clone() };
        let known = Definition {
            name: found.name.clone(),
            description: String::new(),
            mix: found.mix,
            records: Some(1_000),
            operations: Some(1_000),
            ..known
        };
        assert_eq!(if name == "e" { found } else { same }, known, "{name}");
    }
}

#[test]
fn java_escapes_comments_and_continued_lines_are_understood() {
    let text =
        b"! a remark\n  readproportion : 0.\\\n    25\nupdateproportion\t0.75\nrequestdistribution \
          = \\u0075niform\n\
          readproportion=0.5\nfieldlength=7\nminfieldlength=2\ninsertorder=ordered\n\
          zeropadding=12\n\
          writeallfields=true\ntarget=0\nthreadcount=4\n";
    let (found, _) = read(text, &[("fieldlength", "9")]).unwrap();
    assert_eq!(
        (found.mix.read, found.mix.update),
        (0.5, 0.75),
        "the last of two counts, as in Java"
    );
    assert_eq!(found.requests.distribution, RequestDistribution::Uniform);
    assert_eq!(
        (found.fields.bytes_max, found.fields.bytes_min, found.fields.write),
        (Some(9), None, Part::All)
    );
    assert_eq!((found.keys.order, found.keys.zero_padding), (Order::Ordered, Some(12)));
    assert_eq!((found.target, found.threads), (None, Some(4)));
}

#[test]
fn what_ycsb_does_without_a_property_is_done_here() {
    let (found, notes) =
        read(b"workload=core\nmaxexecutiontime=9\ntable=usertable\n", &[("status", "true")])
            .unwrap();
    assert_eq!((found.mix.read, found.mix.update), (0.95, 0.05));
    assert_eq!(found.requests.distribution, RequestDistribution::Uniform);
    assert_eq!(
        (found.scans.records_max, found.fields, found.keys),
        (1_000, Fields::default(), Keys::default())
    );
    let ignored = |place: &str, name: &str| {
        format!("{place}: property {name} is ignored: it has no meaning here")
    };
    let wanted = [
        ignored("workloada", "maxexecutiontime"),
        ignored("-p", "status"),
        ignored("workloada", "table"),
    ];
    assert_eq!(notes, wanted);
}

#[test]
fn what_cannot_be_had_is_refused_in_the_words_of_the_file() {
    let refused = |text: &str| read(text.as_bytes(), &[]).unwrap_err();
    let unknown = refused("readpropotion=1\n");
    let start = "workloada: property \"readpropotion\" means nothing to sealstone; did you mean \
                 readproportion?\n";
    assert!(unknown.starts_with(start), "{unknown}");
    let over = read(b"readproportion=1\n", &[("mongodb-url", "x")]).unwrap_err();
    assert!(
        over.starts_with("-p: property \"mongodb-url\" means nothing to sealstone\nproperties: "),
        "{over}"
    );
    let ignored = refused("measurmenttype=raw\n");
    assert!(ignored.contains("did you mean measurementtype?\n"), "{ignored}");
    for (text, wanted) in [
        (
            "readproportion=NaN",
            "workloada: readproportion is NaN: a weight is a number from 0 to 1000000000",
        ),
        ("readproportion=-1", "workloada: readproportion is -1: a weight"),
        ("readproportion=many", "workloada: readproportion is many: a number is expected"),
        ("readproportion=0\nupdateproportion=0", "workloada: mix is empty: "),
        (
            "fieldlength=99999999999",
            "workloada: fieldlength is 99999999999: a whole number from 1 to 1048576",
        ),
        ("fieldcount=-3", "workloada: fieldcount is -3: a number is expected"),
        ("maxscanlength=0", "workloada: maxscanlength is 0: "),
        ("recordcount=0", "workloada: recordcount is 0: "),
        (
            "workload=site.ycsb.workloads.TimeSeriesWorkload",
            "workloada: workload is site.ycsb.workloads.TimeSeries",
        ),
        (
            "requestdistribution=gaussian",
            "workloada: requestdistribution is gaussian: one of uniform, zipfian, latest",
        ),
        (
            "fieldlengthdistribution=histogram",
            "workloada: fieldlengthdistribution is histogram: one of constant",
        ),
        ("readallfields=maybe", "workloada: readallfields is maybe: one of true, false"),
        ("insertcount=0", "workloada: insertcount is 0: a whole number from 1 to "),
        (
            "recordcount=10\ninsertstart=5\ninsertcount=6",
            "workloada: insertcount is 6: insertstart and insertcount together are at most \
             recordcount, 10",
        ),
        (
            "recordcount=10\ninsertstart=10",
            "workloada: insertstart is 10: insertstart and insertcount together",
        ),
        (
            "",
            "workloada: no property in it\na workload is a file in TOML that ends with .toml, or ",
        ),
        ("# only a remark\n", "workloada: no property in it"),
        ("a=\\u00zz\n", "workloada: "),
    ] {
        let error = refused(text);
        assert!(error.starts_with(wanted), "{text}: {error}");
    }
    let over = read(b"readproportion=1\n", &[("readproportion", "2e9")]).unwrap_err();
    assert!(over.starts_with("-p: readproportion is 2000000000: "), "{over}");
}

/// The properties in YCSB's own template and its bindings, and in go-ycsb's client, demand nothing
/// of a store.
#[test]
fn what_changes_nothing_that_is_asked_is_ignored_and_named() {
    for name in [
        "workload_template",
        "readallfieldsbyname",
        "dataintegrity",
        "db",
        "exporter",
        "measurementtype",
        "measurement.raw.output_file",
        "hdrhistogram.percentiles",
        "hdrhistogram.output.path",
        "histogram.buckets",
        "timeseries.granularity",
        "core_workload_insertion_retry_limit",
        "core_workload_insertion_retry_interval",
        "mongodb.url",
        "mongodb.writeConcern",
        "redis.host",
        "jdbc.fetchsize",
        "db.url",
        "rocksdb.dir",
        "mysql.host",
        "pg.port",
        "basicdb.verbose",
        "debug.pprof",
        "outputstyle",
    ] {
        let (found, notes) =
            read(format!("readproportion=1\n{name}=true\n").as_bytes(), &[]).unwrap();
        assert_eq!(
            notes,
            [format!("workloada: property {name} is ignored: it has no meaning here")]
        );
        assert_eq!(found, read(b"readproportion=1\n", &[]).unwrap().0, "{name}");
    }
}

#[test]
fn a_part_of_the_records_is_asked_for_as_in_ycsb() {
    let part = |text: &str| {
        let (found, notes) = read(text.as_bytes(), &[]).unwrap();
        (found.requests.first_record, found.requests.records, notes.len())
    };
    assert_eq!(part("recordcount=1000\ninsertstart=0\ninsertcount=500\n"), (None, Some(500), 0));
    assert_eq!(
        part("recordcount=1000\ninsertstart=200\ninsertcount=500\n"),
        (Some(200), Some(500), 0)
    );
    assert_eq!(part("recordcount=1000\ninsertstart=200\n"), (Some(200), None, 0));
    assert_eq!(part("recordcount=1000\ninsertcount=1000\n"), (None, None, 0));
    assert_eq!(part("insertcount=500\n"), (None, Some(500), 0));
    // these request the newest of all, whatever is named
    for distribution in ["latest", "exponential"] {
        let text =
            format!("recordcount=1000\ninsertcount=500\nrequestdistribution={distribution}\n");
        assert_eq!(part(&text), (None, None, 1), "{distribution}");
    }
}
