//! Results as data, of real runs: the table of findings beside the results that it is made of, the
//! published schema, compressed results, and what is refused in their place. Not here: fields that
//! few runs have (`crates/bench/tests/results_schema.rs`).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sealstone_e2e::transcript::{run, sealstone};
use serde_json::Value;

/// Arguments of a comparison that takes a second.
const SMALL: [&str; 15] = [
    "compare",
    "--records=500",
    "--threads=1",
    "--ciphers=none,aes-256",
    "--workloads=a,c-cold",
    "--operations=300",
    "--bytes=1MB",
    "--rounds=2",
    "--set=pairs=3",
    "--set=slice-ms=5",
    "--out=out",
    "--quiet",
    "--label=my, \"machine\"",
    "--margin=2%",
    "--policy=any",
];

/// Returns these arguments, with `more` in place of those of the same name.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let name = |argument: &str| match argument.strip_prefix("--set=") {
        Some(setting) => setting.split('=').next().unwrap().to_owned(),
        None => argument.split('=').next().unwrap().to_owned(),
    };
    let stays = |argument: &&&str| more.iter().all(|other| name(other) != name(argument));
    SMALL.iter().filter(stays).copied().chain(more.iter().copied()).collect()
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

fn findings(dir: &Path, arguments: &[&str]) -> Vec<csv::StringRecord> {
    let text = run(&mut sealstone(dir, arguments)).done();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap()).collect()
}

/// Returns the entry of `column` in row `row`, the first row after the head being 1.
fn entry<'a>(rows: &'a [csv::StringRecord], row: usize, column: &str) -> &'a str {
    let at = rows[0].iter().position(|name| name == column);
    &rows[row][at.unwrap_or_else(|| panic!("no column {column}"))]
}

fn number(rows: &[csv::StringRecord], row: usize, column: &str) -> f64 {
    entry(rows, row, column).parse().unwrap_or_else(|_| panic!("{column} in row {row}"))
}

#[test]
fn findings_are_the_conclusions_of_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    run(&mut sealstone(at, &SMALL)).done();
    let rows = findings(at, &["report", "out/results.json", "--findings", "-"]);
    assert_eq!(rows.len(), 3, "a head, and a row for each workload");
    // as the page has them: judged by this version
    let said = run(&mut sealstone(at, &["report", "out/results.json", "--json"])).done();
    let judged: Value = serde_json::from_str(&said).unwrap();
    let cells = judged["comparisons"][0]["groups"][0]["cells"].as_array().unwrap();
    let of = |workload: &str, variant: u64| {
        let is = |cell: &&Value| cell["workload"] == workload && cell["variant"] == variant;
        cells.iter().find(is).unwrap()
    };
    for (row, workload) in [(1, "a"), (2, "c-cold")] {
        assert_eq!(entry(&rows, row, "workload"), workload);
        let (plain, sealed) = (of(workload, 0), of(workload, 1));
        let overhead = &sealed["overhead"];
        for (column, want) in [
            ("ratio", &overhead["ratio"]),
            ("low", &overhead["low"]),
            ("high", &overhead["high"]),
            ("cpu_ratio", &overhead["cpu_ratio"]),
            ("pairs", &overhead["pairs"]),
            ("plain_per_s", &plain["throughput"]),
            ("sealed_per_s", &sealed["throughput"]),
        ] {
            let (is, want) = (number(&rows, row, column), want.as_f64().unwrap());
            assert_eq!(is.to_bits(), want.to_bits(), "{column} of {workload}");
        }
        assert_eq!(entry(&rows, row, "words"), overhead["words"].as_str().unwrap());
        assert_eq!(entry(&rows, row, "verdict"), overhead["verdict"].as_str().unwrap());
        let operation = entry(&rows, row, "latency_of");
        assert!(["read", "update"].contains(&operation), "{operation}");
        for (column, cell, field) in [
            ("plain_p50_us", plain, "p50_us"),
            ("plain_p99_us", plain, "p99_us"),
            ("sealed_p50_us", sealed, "p50_us"),
            ("sealed_p99_us", sealed, "p99_us"),
        ] {
            let want = cell["latency"][operation][field].as_f64().unwrap();
            assert_eq!(number(&rows, row, column).to_bits(), want.to_bits(), "{column}");
        }
        assert_eq!(entry(&rows, row, "machine"), "my, \"machine\"");
        let place = ["store", "members", "records", "clients", "variant", "layer", "cipher"]
            .map(|column| entry(&rows, row, column));
        assert_eq!(place, ["rocksdb", "1", "500", "1", "aes-256", "rest", "aes-256"]);
    }
    assert_eq!(entry(&rows, 2, "setting"), "cold");

    // a file stays, unless it may be replaced; the page is not written
    let to_file = |more: &[&str]| {
        let arguments = ["report", "out/results.json", "--findings", "f.csv"];
        run(&mut sealstone(at, &[&arguments[..], more].concat()))
    };
    assert_eq!(to_file(&[]).done(), "f.csv\n");
    assert_eq!(fs::read_to_string(at.join("f.csv")).unwrap().lines().count(), 3);
    assert!(!at.join("report.html").exists());
    to_file(&[]).fails_with(
        "sealstone: f.csv is there already\n  name another file with --findings, or give --replace \
         to write over it\n",
    );
    to_file(&["--replace"]).done();
    let over = ["report", "out/results.json", "--findings", "out/results.json", "--replace"];
    run(&mut sealstone(at, &over)).fails_with(
        "sealstone: the report would replace the results out/results.json\n  name another file for \
         it\n",
    );
}

#[test]
fn at_a_rate_findings_compare_the_99th_percentile() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let rate = ["--target=4000", "--workloads=a", "--set=pairs=6", "--set=slice-ms=500"];
    run(&mut sealstone(at, &small(&rate))).done();
    let rows = findings(at, &["report", "out/results.json", "--findings", "-"]);
    assert_eq!(entry(&rows, 1, "compared"), "p99");
    assert_eq!(entry(&rows, 1, "target_per_s"), "4000");
    assert_eq!(entry(&rows, 1, "latency_of"), "all requests");
    let results = results(at);
    let at_rate = &results["groups"][0]["cells"][1]["open_loop"]["at_rate"];
    let want = at_rate["p99"]["us"].as_f64().unwrap();
    assert_eq!(number(&rows, 1, "sealed_p99_us").to_bits(), want.to_bits());
    if let Some(ratio) = at_rate["p99"]["against"]["ratio"]["ratio"].as_f64() {
        assert_eq!(number(&rows, 1, "ratio").to_bits(), ratio.to_bits());
    }
}

#[test]
fn real_results_are_as_the_schema_says() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schema = fs::read(schema.join("results.schema.json")).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let check = |value: &Value, about: &str| {
        let fault = |error: jsonschema::ValidationError| {
            format!("{}: {error}", error.instance_path()).chars().take(300).collect::<String>()
        };
        let faults: Vec<String> = validator.iter_errors(value).map(fault).collect();
        assert!(faults.is_empty(), "{about}: {faults:?}");
    };
    for more in [
        &["--workloads=a,e,batch-load,batch-scan,oltp,c-cold"][..],
        &["--target=2000", "--workloads=a"],
        &["--target=max", "--p99=50ms", "--workloads=c", "--set=slice-ms=50"],
        &["--protect-from=disk-thief", "--layer=rest,field", "--workloads=a"],
        &["--records=300,500", "--threads=1,2", "--workloads=a"],
        &["--workloads=own.toml", "--store=rocksdb", "--rocksdb-block=8KiB"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let own = "name = \"own\"\n[mix]\nread = 1\ninsert = 1\n[requests]\ntheta = 0.5\n";
        fs::write(dir.path().join("own.toml"), own).unwrap();
        let said = run(&mut sealstone(dir.path(), &small(more)));
        assert_eq!(said.code, Some(0), "{more:?}: {}", said.stderr);
        let found = results(dir.path());
        check(&found, &format!("results.json of {more:?}"));
        let said = run(&mut sealstone(dir.path(), &["report", "out/results.json", "--json"]));
        check(&serde_json::from_str(&said.done()).unwrap(), &format!("report of {more:?}"));
        let mut other = found.clone();
        other["groups"][0]["cells"][0]["new_field"] = true.into();
        assert!(!validator.is_valid(&other), "a field that nobody described");
    }
}

#[test]
fn compressed_results_are_read_and_other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    run(&mut sealstone(at, &SMALL)).done();
    let json = fs::read(at.join("out/results.json")).unwrap();
    let mut packed =
        GzEncoder::new(File::create(at.join("r.json.gz")).unwrap(), Compression::best());
    packed.write_all(&json).unwrap();
    packed.finish().unwrap();
    let markdown = |path: &str| run(&mut sealstone(at, &["report", path, "--markdown"])).done();
    assert_eq!(markdown("r.json.gz"), markdown("out/results.json"));
    let fails = |path: &str, want: &str| {
        run(&mut sealstone(at, &["report", path])).fails_with(want);
    };
    fails(
        "out/results.csv",
        "sealstone: out/results.csv is not a result set: it is a results.csv: the samples of a \
         run, without its settings and conclusions\n  name the results.json beside it\n",
    );
    fails(
        "out/report.html",
        "sealstone: out/report.html is not a result set: it is a page, such as a report that was \
         drawn already\n  name the results.json beside it\n",
    );
    fs::write(at.join("cut.json.gz"), &fs::read(at.join("r.json.gz")).unwrap()[..200]).unwrap();
    let cut = run(&mut sealstone(at, &["report", "cut.json.gz"]));
    assert_eq!(cut.code, Some(2));
    assert!(cut.stderr.starts_with("sealstone: cannot unpack results cut.json.gz: "));
    fs::write(at.join("x.txt"), "name,age\nKim,40\n").unwrap();
    fails(
        "x.txt",
        "sealstone: x.txt is not a result set: it is a CSV, which has neither settings nor \
         conclusions\n  name the results.json beside it\n",
    );
    fs::write(at.join("x.txt"), "name: Kim\n").unwrap();
    fails(
        "x.txt",
        "sealstone: x.txt is not a result set: it is no JSON\n  name a results.json that sealstone \
         compare wrote\n",
    );
    run(&mut sealstone(at, &["compare", "--baseline", "out/results.csv"])).fails_with(
        "sealstone: out/results.csv is not a result set: it is a results.csv: the samples of a \
         run, without its settings and conclusions\n  name the results.json beside it\n",
    );
}
