//! A volume under a key on a key server, with an anchor on it: made, rotated, checked, exchanged
//! for another volume, and without the server. Not here: older states of a volume (the tests of
//! `adapters/volume`).

use std::fs;
use std::path::Path;

use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_e2e::volume_place::is_skipped;

fn call(dir: &Path, line: &str) -> Transcript {
    run(&mut sealstone(dir, &line.split(' ').collect::<Vec<_>>()))
}

/// Copies the files of the volume `from`, and those of its log.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn under_a_key_on_the_server(kind: Kind, test: &str) {
    let Some((certificates, mut server)) = started(kind, test) else { return };
    let home = tempfile::tempdir().unwrap();
    let dir = home.path();
    let key = certificates.url(server.port, "orders", "&retries=0");
    let anchor = certificates.url(server.port, "orders-anchor", "&retries=0");
    call(dir, &format!("keys new {key} --cipher aria-256")).done();
    call(dir, &format!("volume create vol --size 16MiB --key {key}")).done();
    let status = call(dir, "volume status vol").done();
    assert!(status.contains("aria-256"), "the cipher that the server recorded: {status}");
    let verify = format!("volume verify vol --key {key} --anchor {anchor}");
    assert!(call(dir, &verify).done().starts_with("vol is whole: "));

    // the header under the next version, and a new volume from it
    call(dir, &format!("keys rotate {key}")).done();
    call(dir, &format!("volume rotate vol --key {key}")).done();
    assert!(call(dir, &verify).done().starts_with("vol is whole: "));
    call(dir, &format!("volume reseal vol --key {key} --cipher lea-256 --out new")).done();
    let said = call(dir, &format!("volume verify new --key {key}")).done();
    assert!(said.starts_with("new is whole: "), "{said}");

    // the anchor is of `vol`, and another volume is refused
    copy(&dir.join("vol"), &dir.join("kept"));
    copy(&dir.join("new"), &dir.join("vol"));
    let other = call(dir, &verify);
    let said = other.stdout + &other.stderr;
    assert_ne!(other.code, Some(0), "{said}");
    assert!(said.contains("orders-anchor on 127.0.0.1"), "{said}");
    copy(&dir.join("kept"), &dir.join("vol"));
    assert!(call(dir, &verify).done().starts_with("vol is whole: "));

    // a stranger's certificate, and no server
    let stranger = certificates.query("other-client", "ca");
    let stranger = format!("kmip://127.0.0.1:{}/orders?{stranger}&retries=0", server.port);
    let refused = call(dir, &format!("volume verify vol --key {stranger}"));
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("no key server answered"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("cannot read"), "{}", refused.stderr);
    server.kill();
    let gone = call(dir, &verify);
    assert_eq!(gone.code, Some(2), "{}", gone.stdout);
    assert!(gone.stderr.contains("no key server answered"), "{}", gone.stderr);
}

/// The process that serves a mounted volume asks for the key itself, and needs no server once it
/// has it.
#[test]
fn a_volume_under_a_key_of_pykmip_is_mounted() {
    let test = "a_volume_under_a_key_of_pykmip_is_mounted";
    let Some((certificates, mut server)) = started(Kind::PyKmip, test) else { return };
    let home = tempfile::tempdir().unwrap();
    let dir = home.path();
    let key = certificates.url(server.port, "orders", "&retries=0");
    call(dir, &format!("keys new {key} --cipher aria-256")).done();
    call(dir, &format!("volume create vol --size 64MiB --key {key}")).done();
    fs::create_dir(dir.join("m")).unwrap();
    let mount = format!("volume mount vol m --key {key} --runtime-dir run");
    let mounted = call(dir, &format!("{mount} --mkfs ext4"));
    if is_skipped(test, &mounted) {
        return;
    }
    mounted.done();
    server.kill();
    fs::write(dir.join("m/file"), "text").unwrap();
    call(dir, "volume unmount m --runtime-dir run").done();
    let gone = call(dir, &mount);
    assert_eq!(gone.code, Some(2), "{}", gone.stdout);
    assert!(gone.stderr.contains("no key server answered"), "{}", gone.stderr);
    assert_eq!(fs::read_dir(dir.join("m")).unwrap().count(), 0, "nothing is mounted");
}

#[test]
fn a_volume_under_a_key_of_pykmip() {
    under_a_key_on_the_server(Kind::PyKmip, "a_volume_under_a_key_of_pykmip");
}

#[test]
fn a_volume_under_a_key_of_the_go_server() {
    under_a_key_on_the_server(Kind::Go, "a_volume_under_a_key_of_the_go_server");
}
