//! A real tgt: started, ended, found again by another process, several side by side.

use std::fs;
use std::net::{TcpListener, TcpStream};

use sealstone_servers::testing::{is_installed, runs};
use sealstone_servers::{
    Lab, LabError, Settings, TGT_PROGRAM, TGT_SERVER, Tgt, TgtOptions, start_tgt,
};

/// Returns whether there is a tgt; prints SKIP if not.
fn available(name: &str) -> bool {
    is_installed(&TGT_PROGRAM, name)
}

fn options() -> TgtOptions {
    TgtOptions { bytes: 8 << 20, ..TgtOptions::default() }
}

#[test]
fn targets_start_side_by_side_end_and_are_found_again() {
    if !available("targets_start_side_by_side_end_and_are_found_again") {
        return;
    }
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut targets = dirs.each_ref().map(|dir| start_tgt(dir.path(), options()).unwrap());
    let [first, second] = &mut targets;
    assert_ne!(first.port(), second.port());
    assert!(
        first.uri().starts_with("iscsi://127.0.0.1:") && first.uri().ends_with(":disk/1"),
        "{}",
        first.uri()
    );
    assert_eq!(fs::metadata(first.disk()).unwrap().len(), 8 << 20);
    assert!(TcpStream::connect(first.address()).is_ok());
    assert!(matches!(start_tgt(dirs[0].path(), options()), Err(LabError::Running { .. })));
    let (port, pid) = (first.port(), first.pid().unwrap());

    first.stop().unwrap();
    assert!(!runs(pid) && second.is_running(), "each has a control socket of its own");
    first.start_again().unwrap();
    assert_eq!(first.port(), port);
    assert!(
        first
            .tgtadm(&["--lld", "iscsi", "--op", "show", "--mode", "target"])
            .unwrap()
            .contains("LUN: 1")
    );
    first.kill().unwrap();
    first.start_again().unwrap();
    let wrong = first
        .tgtadm(&["--lld", "iscsi", "--op", "delete", "--mode", "target", "--tid", "7"])
        .unwrap_err();
    assert!(wrong.to_string().contains("can't find the target"), "{wrong}");

    let pid = first.pid().unwrap();
    let [first, second] = targets;
    first.leave_running();
    drop(second);
    let mut found = Tgt::find(dirs[0].path()).unwrap().unwrap();
    assert_eq!((found.pid(), found.port()), (Some(pid), port));
    found.stop().unwrap();
    assert!(!runs(pid));
}

#[test]
fn what_cannot_start_says_why_and_leaves_nothing() {
    if !available("what_cannot_start_says_why_and_leaves_nothing") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Some(held.local_addr().unwrap().port());
    let error = start_tgt(dir.path(), TgtOptions { port, ..options() }).unwrap_err().to_string();
    assert!(
        error.contains("its port is taken\n") && error.contains("Address already in use"),
        "{error}"
    );
    assert!(Tgt::find(dir.path()).unwrap().unwrap().pid().is_none());

    let disk = Some(dir.path().join("a directory"));
    fs::create_dir(disk.as_ref().unwrap()).unwrap();
    let other = tempfile::tempdir().unwrap();
    let error = start_tgt(other.path(), TgtOptions { disk, ..options() }).unwrap_err().to_string();
    assert!(error.starts_with("cannot give the target its unit on 127.0.0.1:"), "{error}");
    assert!(Tgt::find(other.path()).unwrap().unwrap().pid().is_none(), "it is ended");
}

#[test]
fn a_lab_has_one() {
    if !available("a_lab_has_one") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.set("disk-bytes", "1000");
    let error = (TGT_SERVER.check)(dir.path(), &settings).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot start tgt with disk-bytes 1000: a disk has a mebibyte"),
        "{error}"
    );
    settings.set("disk-bytes", "2097152");
    let mut lab = Lab::new(dir.path());
    lab.start(&TGT_SERVER, &settings).unwrap();
    assert!(lab.standing().serves());
    lab.leave_running();
    let mut lab = Lab::open(dir.path()).unwrap();
    assert!(lab.standing().servers[0].uri.starts_with("iscsi://127.0.0.1:"));
    assert_eq!(lab.stop().unwrap(), 1);
    let lab = Lab::open(dir.path()).unwrap().start_again(None, false).unwrap();
    assert_eq!(lab.stop().unwrap(), 1);
}
