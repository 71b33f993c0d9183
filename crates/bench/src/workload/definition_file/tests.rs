//! Workloads as TOML files: both ways, and refusals.

use std::fs;

use super::*;
use crate::workload::definition;
use crate::workload::{Error, workloads};

fn read(text: &str) -> Result<Definition, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.toml");
    fs::write(&path, text).unwrap();
    let dir = format!("{}/", dir.path().display());
    Definition::read(&path).map_err(|error| error.to_string().replace(&dir, ""))
}

fn refused(text: &str) -> String {
    read(text).unwrap_err()
}

#[test]
fn every_workload_of_the_table_survives_its_own_file() {
    let mut written = 0;
    for spec in workloads() {
        for setting in [Setting::Warm].iter().chain(spec.settings) {
            let name = setting.named(spec.name);
            let known = match definition(&name) {
                Ok(known) => known,
                Err(error) => {
                    assert!(matches!(error, Error::NoFile { .. }), "{name}: {error}");
                    assert!(
                        error.to_string().ends_with("those that can: a, b, c, d, e, f"),
                        "{error}"
                    );
                    continue;
                }
            };
            assert_eq!(read(&known.to_toml()).unwrap(), known, "{name}");
            // the same again is not one of the user's own, whatever is changed is
            let mut own = Vec::new();
            assert_eq!(crate::workload::add(&mut own, known.clone()).unwrap(), name);
            assert!(own.is_empty());
            let other = Definition { records: Some(5), ..known };
            assert!(matches!(crate::workload::add(&mut own, other), Err(Error::Taken { .. })));
            written += 1;
        }
    }
    assert_eq!(written, 6 + 6 + 5, "a to f, all cold, all but c synced");
}

#[test]
fn a_file_says_what_it_must_and_the_rest_is_as_in_ycsb() {
    let short = read("[mix]\nread = 3\ninsert = 1\n").unwrap();
    assert_eq!(
        (short.name.as_str(), short.words().as_str()),
        ("my", "75 % reads, 25 % inserts; zipfian")
    );
    assert_eq!((short.fields.count, short.scans.records_max, short.dataset()), (10, 100, "ycsb"));
    assert_eq!(read(&short.to_toml()).unwrap(), short);
    let deleting = read("[mix]\ninsert = 1\ndelete = 1\n").unwrap();
    assert_eq!(deleting.dataset(), "my", "its records are not those of others");
}

#[test]
fn mistakes_are_named_with_their_line_and_the_nearest_key() {
    let top = refused("nam = \"x\"\n[mix]\nread = 1\n");
    assert!(
        top.starts_with("my.toml:1: unknown key \"nam\"; did you mean name?\nknown keys: "),
        "{top}"
    );
    let inner = refused("[mix]\nread = 1\nread_modify_write = 1\n");
    let wanted = "my.toml:3, [mix]: unknown key \"read_modify_write\"; did you mean \
                  read-modify-write?\n";
    assert!(inner.starts_with(wanted), "{inner}");
    assert!(
        inner.ends_with(
            "known keys: delete, insert, read, read-modify-write, scan, transaction, update"
        ),
        "{inner}"
    );
    assert!(
        refused("mix = 5\n")
            .starts_with("my.toml:1: mix is a table: write [mix], and below it some of delete, ")
    );
    assert!(
        refused("[mix]\nread = \"much\"\n").starts_with("my.toml:2: invalid type: string \"much\"")
    );
    assert!(refused("[mix]\nread = 1\nread = 2\n").starts_with("my.toml:3: duplicate key"));
    assert!(refused("[mix\n").starts_with("my.toml:1: "));
    assert!(refused("setting = \"hot\"\n[mix]\nread = 1\n").contains("unknown variant `hot`"));
    assert!(refused("[mix]\nread = 1\n[fields]\ncount = -1\n").starts_with("my.toml:4: "));
    let error = Definition::read(Path::new("/no/such.toml")).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot read the workload /no/such.toml: No such file or directory (os error 2)"
    );
    assert!(Definition::read(Path::new("/")).is_err());
    assert!(refused("\0").starts_with("my.toml:1: "));
}

#[test]
fn values_that_make_no_sense_are_refused_with_what_is_allowed() {
    let weight = "a weight is a number from 0 to 1000000000";
    for (value, shown) in
        [("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf"), ("-0.5", "-0.5"), ("1e300", "1")]
    {
        let error = refused(&format!("[mix]\nupdate = 1\nread = {value}\n"));
        assert!(
            error.starts_with(&format!("my.toml:3: mix.read is {shown}"))
                && error.ends_with(weight),
            "{error}"
        );
    }
    let empty = "mix is empty: give at least one of read, update, insert, scan, read-modify-write, \
                 delete, transaction a weight above 0";
    assert_eq!(refused(""), format!("my.toml: {empty}"));
    assert_eq!(refused("[mix]\nread = 0\n"), format!("my.toml:1: {empty}"));
    let drained = refused("[mix]\ninsert = 1\ndelete = 2\n");
    assert!(
        drained
            .starts_with("my.toml:3: mix.delete is 2: at most as much as mix.insert, which is 1: "),
        "{drained}"
    );
    for (lines, key) in [
        ("[requests]\ntheta = 1.0", "requests.theta"),
        ("[requests]\ntheta = nan", "requests.theta"),
        ("[requests]\ndistribution = \"uniform\"\ntheta = 0.5", "requests.theta"),
        ("[requests]\nhot-records = 0.5", "requests.hot-records"),
        ("[requests]\ndistribution = \"hotspot\"\nhot-records = 0", "requests.hot-records"),
        ("[requests]\ndistribution = \"hotspot\"\nhot-requests = 1.1", "requests.hot-requests"),
        (
            "[requests]\ndistribution = \"exponential\"\nnewest-requests = 1",
            "requests.newest-requests",
        ),
        ("[scans]\nlength = \"column\"", "scans.length"),
        ("[scans]\nrecords-max = 0", "scans.records-max"),
        ("[scans]\nrecords-max = 9999999999", "scans.records-max"),
        ("[scans]\nrecords-min = 101", "scans.records-min"),
        ("[fields]\ncount = 0", "fields.count"),
        ("[fields]\ncount = 1000000", "fields.count"),
        ("[fields]\nbytes-max = 0", "fields.bytes-max"),
        ("[fields]\nbytes-max = 9223372036854775807", "fields.bytes-max"),
        ("[fields]\ncount = 100\nbytes-max = 1048576", "fields.bytes-max"),
        ("[fields]\nbytes-min = 5", "fields.bytes-min"),
        ("[fields]\nsize = \"uniform\"\nbytes-min = 101", "fields.bytes-min"),
        ("[fields]\nsize = \"column\"", "fields.from"),
        ("[fields]\nsize = \"column\"\nfrom = \"x.csv\"", "fields.column"),
        (
            "[fields]\nsize = \"column\"\nfrom = \"x.csv\"\ncolumn = \"a\"\nbytes-max = 5",
            "fields.bytes-max",
        ),
        ("[fields]\nfrom = \"x.csv\"", "fields.from"),
        ("[keys]\nfrom = \"x.csv\"", "keys.from"),
        ("[keys]\ncolumn = \"a\"", "keys.column"),
        ("[keys]\nzero-padding = 0", "keys.zero-padding"),
        ("[keys]\nzero-padding = 101", "keys.zero-padding"),
        ("[transactions]\nreads = 0\nwrites = 0", "transactions.reads"),
        ("[transactions]\nwrites = 101", "transactions.writes"),
        ("[think-time]\nmean-us = 5", "think-time.mean-us"),
        ("[think-time]\ndistribution = \"constant\"", "think-time.mean-us"),
        ("[think-time]\ndistribution = \"constant\"\nmean-us = nan", "think-time.mean-us"),
        ("[think-time]\ndistribution = \"exponential\"\nmean-us = -1", "think-time.mean-us"),
        ("[think-time]\ndistribution = \"exponential\"\nmean-us = 1e9", "think-time.mean-us"),
    ] {
        let error = refused(&format!("[mix]\nread = 1\n{lines}\n"));
        assert!(
            error.starts_with("my.toml") && error.contains(&format!(" {key} is ")),
            "{lines}: {error}"
        );
    }
    for (lines, key) in [
        ("name = \"\\n\"", "name"),
        ("name = \"../x\"", "name"),
        ("name = \"my-cold\"", "name"),
        ("description = \"two\\nlines\"", "description"),
        ("setting = \"sync\"", "setting"),
        ("records = 0", "records"),
        ("operations = 0", "operations"),
        ("threads = 0", "threads"),
        ("target = nan", "target"),
        ("target = 5\nthink-time = { distribution = \"constant\", mean-us = 5 }", "target"),
    ] {
        let error = refused(&format!("{lines}\nmix = {{ read = 1 }}\n"));
        assert!(error.contains(&format!(": {key} is ")), "{lines}: {error}");
    }
}

#[test]
fn columns_are_looked_for_next_to_the_file_and_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.toml");
    fs::write(
        &path,
        "[mix]\nread = 1\n[fields]\nsize = \"column\"\nfrom = \"p.csv\"\ncolumn = \"nane\"\n",
    )
    .unwrap();
    let error = || Definition::read(&path).unwrap_err().to_string();
    assert!(
        error().contains("cannot read records from") && error().contains("p.csv: No such file"),
        "{}",
        error()
    );
    fs::write(dir.path().join("p.csv"), "name,age\nann\n").unwrap();
    assert!(error().contains("p.csv, line 2: 1 field, the header has 2"), "{}", error());
    fs::write(dir.path().join("p.csv"), "name,age\nann,3\n").unwrap();
    assert!(
        error().ends_with("has no column \"nane\"; did you mean name?\ncolumns: name, age"),
        "{}",
        error()
    );
}

#[test]
fn names_of_the_tables_are_not_taken_and_none_twice() {
    let mut own = Vec::new();
    let mine = |name: &str| read(&format!("name = \"{name}\"\nmix = {{ read = 1 }}\n")).unwrap();
    for name in ["a", "oltp", "batch-load", "ycsb", "batch"] {
        assert!(
            matches!(crate::workload::add(&mut Vec::new(), mine(name)), Err(Error::Taken { .. })),
            "{name}"
        );
    }
    assert_eq!(crate::workload::add(&mut own, mine("orders")).unwrap(), "orders");
    assert!(matches!(crate::workload::add(&mut own, mine("orders")), Err(Error::Twice { .. })));
}
