//! The user's own workloads with the real program and a real store: a TOML file, the guide's file,
//! YCSB's property files, and refusals before any measurement.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{Transcript, run, sealstone};
use serde_json::Value;
use tempfile::TempDir;

const WORKLOADA: &str = "# Yahoo! Cloud System Benchmark\n# Workload A: Update heavy workload\n\n\
                         recordcount=1000\n\
                         operationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\n\
                         readallfields=true\n\n\
                         readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\n\
                         insertproportion=0\n\n\
                         requestdistribution=zipfian\n";

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Compares AES-256 with no encryption under `workloads`, as briefly as can be.
fn compare(dir: &Path, workloads: &str, more: &[&str]) -> Transcript {
    let few = [
        "--ciphers",
        "none,aes-256",
        "--rounds",
        "1",
        "--set",
        "pairs=6",
        "--set",
        "slice-ms=1",
        "--quiet",
    ];
    run(&mut sealstone(dir, &[&["compare", "--workloads", workloads], &few[..], more].concat()))
}

fn results(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join("sealstone-results/results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the operations whose latency the cells of `workload` have, the same in every cell.
fn operations(results: &Value, workload: &str) -> BTreeSet<String> {
    let cells = results["groups"][0]["cells"].as_array().unwrap();
    let mut found: Vec<BTreeSet<String>> = cells
        .iter()
        .filter(|cell| cell["workload"] == workload)
        .map(|cell| cell["latency"].as_object().unwrap().keys().cloned().collect())
        .collect();
    assert_eq!(found.len(), 2, "{workload}: none and aes-256");
    assert_eq!(found[0], found[1]);
    found.swap_remove(0)
}

/// Returns the file in the guide.
fn guide() -> String {
    let page = include_str!("../../../docs/guide/workloads.md");
    page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn the_file_in_the_guide_runs_beside_the_workloads_of_the_table() {
    let dir = empty();
    let out = dir.path().join("files");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("orders.toml"), guide()).unwrap();
    fs::write(
        out.join("customers.csv"),
        "id,name,address\nc-1,Kim,\"1 Sejong-daero, Seoul\"\nc-2,Lee,Busan\n",
    )
    .unwrap();
    let screen = compare(dir.path(), "c,files/orders.toml,orders-cold", &["--threads", "2"]).done();
    assert!(screen.contains("orders"), "{screen}");
    let results = results(dir.path());
    assert_eq!(results["plan"]["records"].to_string(), "20000");
    assert_eq!(results["plan"]["workloads"], serde_json::json!(["c", "orders", "orders-cold"]));
    let all = ["delete", "insert", "read", "read-modify-write", "scan", "transaction", "update"];
    for workload in ["orders", "orders-cold"] {
        assert_eq!(operations(&results, workload), all.map(String::from).into());
    }
    // the report is drawn again without the file
    fs::remove_dir_all(&out).unwrap();
    let report =
        run(&mut sealstone(dir.path(), &["report", "sealstone-results/results.json"])).done();
    assert!(report.contains("orders"), "{report}");
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(
        page.contains("mostly reads of recent orders, old ones are removed"),
        "what it does is not in the report"
    );
    assert!(!page.contains("not known to this build"));
    assert!(page.contains("clients pause between operations"));
}

#[test]
fn a_property_file_of_ycsb_runs_as_it_is() {
    let dir = empty();
    fs::create_dir(dir.path().join("workloads")).unwrap();
    fs::write(dir.path().join("workloads/workloada"), WORKLOADA).unwrap();
    let ran = compare(
        dir.path(),
        "workloads/workloada",
        &["--threads", "2", "-p", "readproportion=0.6", "-p", "status=true"],
    );
    let said = "-p: property status is ignored: it has no meaning here\n\
                from workloads/workloada: records 1000, operations 1000; flags come before it\n";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    ran.done();
    let results = results(dir.path());
    let own = &results["plan"]["own-workloads"][0];
    assert_eq!((own["name"].as_str(), own["mix"]["read"].as_f64()), (Some("workloada"), Some(0.6)));
    assert_eq!(operations(&results, "workloada"), ["read", "update"].map(String::from).into());
    assert_eq!(
        (&results["plan"]["records"], &results["plan"]["operations"]),
        (&1000.into(), &1000.into())
    );
    // the recorded plan runs the same again, without the file
    let flags =
        ["compare", "--workloads", "workloads/workloada", "--records", "7", "--print-config"];
    let printed = run(&mut sealstone(dir.path(), &flags)).done();
    assert!(
        printed.contains("[[own-workloads]]") && printed.contains("records = 7\n"),
        "{printed}"
    );
    fs::write(dir.path().join("plan.toml"), &printed).unwrap();
    fs::remove_dir_all(dir.path().join("workloads")).unwrap();
    let again =
        run(&mut sealstone(dir.path(), &["compare", "--config", "plan.toml", "--print-config"]))
            .done();
    assert_eq!(again, printed);
}

#[test]
fn a_workload_of_the_table_is_printed_as_a_file_that_is_it() {
    let dir = empty();
    for name in ["a", "b", "c", "d", "e", "f", "c-cold"] {
        let printed = run(&mut sealstone(dir.path(), &["workloads", "--print", name])).done();
        fs::write(dir.path().join("one.toml"), &printed).unwrap();
        let config = run(&mut sealstone(
            dir.path(),
            &["compare", "--workloads", "one.toml", "--print-config"],
        ))
        .done();
        assert!(
            config.contains(&format!("workloads = [\"{name}\"]\n"))
                && !config.contains("own-workloads"),
            "{config}"
        );
    }
    run(&mut sealstone(dir.path(), &["workloads", "--print", "batch-scan"])).fails_with(
        "sealstone: workload batch-scan cannot be written as a file: it is no mix of operations on \
         one table\n  those that can: a, b, c, d, e, f\n",
    );
}

#[test]
fn what_is_wrong_is_said_before_anything_is_measured() {
    let dir = empty();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let fails = |workloads: &str, more: &[&str], want: &str| {
        let flags = [&["compare", "--workloads", workloads], more].concat();
        run(&mut sealstone(dir.path(), &flags)).fails_with(want);
    };
    write("x.toml", "name = \"x\"\n[mix]\nread = -5\n");
    fails(
        "x.toml",
        &[],
        "sealstone: x.toml:3: mix.read is -5: a weight is a number from 0 to 1000000000\n",
    );
    write("a.toml", "name = \"a\"\n[mix]\nread = 1\n");
    let taken = "sealstone: a.toml: \"a\" is a name of sealstone's own, and this workload is \
                 another one\n  give it another name\n";
    fails("a.toml", &[], taken);
    write("one.toml", "name = \"mine\"\n[mix]\nread = 1\n");
    write("two.toml", "name = \"mine\"\n[mix]\nread = 2\n");
    let twice =
        "sealstone: two.toml: two workloads are called \"mine\"\n  give one of them another name\n";
    fails("one.toml,two.toml", &[], twice);
    let no_file = "sealstone: -p fieldlength=… belongs to no file: none of the workloads a is one \
                   of YCSB's property files\n  name one, such as --workloads workloads/workloada\n";
    fails("a", &["-p", "fieldlength=5"], no_file);
    fails(
        "./none.toml",
        &[],
        "sealstone: cannot read the workload ./none.toml: No such file or directory (os error 2)\n",
    );
    write("y.properties", "recordcount=5\n");
    write("z.properties", "recordcount=6\n");
    fails(
        "y.properties,z.properties",
        &[],
        "sealstone: records is 5 in y.properties and 6 in z.properties, and all workloads have the \
         same\n  set it with --records\n",
    );
    assert!(!dir.path().join("sealstone-results").exists());
}
