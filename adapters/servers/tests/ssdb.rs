//! A real SSDB: started, ended, found again by another process. No package has it: SKIP where
//! `SEALSTONE_SSDB_SERVER` names no program.

mod life_cycle;

use std::fs;

use life_cycle::{a_lab_takes, ends_and_is_found_again};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{LabError, SSDB_PROGRAM, SSDB_SERVER, SsdbOptions, start_ssdb};

#[test]
fn an_ssdb_starts_ends_and_is_found_again() {
    if !is_installed(&SSDB_PROGRAM, "an_ssdb_starts_ends_and_is_found_again") {
        return;
    }
    // a name that its settings would have to quote
    let home = tempfile::tempdir().unwrap();
    let dirs = ["# a: \"b\"", "other"].map(|name| home.path().join(name));
    let options = SsdbOptions { cache_bytes: 3 << 20, ..SsdbOptions::default() };
    let first = start_ssdb(&dirs[0], options.clone()).unwrap();
    let mut second = start_ssdb(&dirs[1], options.clone()).unwrap();
    assert_ne!(first.port(), second.port());
    assert_eq!(first.uri(), format!("ssdb://{}", first.address()));
    assert!(matches!(start_ssdb(&dirs[0], options), Err(LabError::Running { .. })));
    let log = fs::read_to_string(first.log_path()).unwrap();
    assert!(log.contains("cache_size       : 3 MB"), "{log}");
    ends_and_is_found_again(&dirs[0], first);
    assert!(second.is_running());
}

#[test]
fn an_ssdb_without_its_data_says_so() {
    if !is_installed(&SSDB_PROGRAM, "an_ssdb_without_its_data_says_so") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    fs::write(dir.path().join("data/data"), "in the way").unwrap();
    let error = start_ssdb(dir.path(), SsdbOptions::default()).unwrap_err().to_string();
    assert!(error.contains("could not open data db: data/data"), "{error}");
}

#[test]
fn a_lab_has_an_ssdb() {
    if is_installed(&SSDB_PROGRAM, "a_lab_has_an_ssdb") {
        a_lab_takes(&SSDB_SERVER, "ssdb://127.0.0.1:");
    }
}
