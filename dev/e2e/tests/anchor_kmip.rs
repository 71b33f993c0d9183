//! An anchor on a real key server: `sealstone rest verify --anchor kmip:…`, and a store that is
//! opened with it.
//!
//! Not here: anchors in files (`cli.rs`), and the requests to the server (`kmip_pykmip.rs`,
//! `kmip_go.rs`).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{Db, DbOptions, Error, KmipAnchor, SealedEnv, Sealing};

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Opens the store `dir/db` with the key `dir/orders.key`, and the anchor at `anchor`, if any.
fn open(dir: &Path, anchor: Option<&str>) -> Result<Db, Error> {
    let key = KeyFile::open(dir.join("orders.key")).unwrap();
    let mut sealing = Sealing::new(Arc::new(key), cipher("aria-256").unwrap(), Backend::auto());
    sealing.anchor = anchor.map(|url| Arc::new(KmipAnchor::open(url).unwrap()) as _);
    SealedEnv::with(sealing).open(&dir.join("db"), &DbOptions::default())
}

fn write(dir: &Path, anchor: Option<&str>, value: &[u8]) {
    let db = open(dir, anchor).unwrap();
    db.put(b"17", value, true).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
}

fn walk_through(kind: Kind, name: &str) {
    let Some((certificates, mut server)) = started(kind, name) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    let url = certificates.url(server.port, "orders-anchor", "&retries=0");
    let place = format!("orders-anchor on 127.0.0.1:{}", server.port);
    let verify = |anchor: &str| -> Transcript {
        run(&mut sealstone(
            dir,
            &["rest", "verify", "db", "--key", "orders.key", "--anchor", anchor],
        ))
    };
    KeyFile::create(dir.join("orders.key"), "orders").unwrap();
    write(dir, None, b"old");

    let first = verify(&url).done();
    assert!(
        first.contains(&format!("\nthe anchor {place} remembers this state from now on: ")),
        "{first}"
    );
    // the same address from a file
    let path = |name: &str| certificates.path(name).display().to_string();
    let address = format!(
        "key_id = 'orders-anchor'\nservers = ['127.0.0.1:{}']\ncert = '{}'\nkey = '{}'\nca = \
         '{}'\n",
        server.port,
        path("client.pem"),
        path("client-key.pem"),
        path("ca.pem")
    );
    fs::write(dir.join("kms.toml"), address).unwrap();
    let again = verify("kmip:kms.toml").done();
    assert!(again.contains(&format!("\nas new as the anchor {place} remembers: ")), "{again}");

    copy(&dir.join("db"), &dir.join("older"));
    write(dir, None, b"new");
    let newer = verify(&url).done();
    assert!(newer.contains(&format!("\nnewer than the anchor {place} remembered: ")), "{newer}");
    // opened with the anchor, the store updates it automatically
    write(dir, Some(&url), b"now");
    let kept = verify(&url).done();
    assert!(kept.contains(&format!("\nas new as the anchor {place} remembers: ")), "{kept}");

    // whole, and genuine, and older
    copy(&dir.join("db"), &dir.join("newest"));
    copy(&dir.join("older"), &dir.join("db"));
    let found = verify(&url);
    assert_eq!(found.code, Some(1), "{}", found.stdout);
    let older =
        format!("SEALSTONE-CATALOGUE-1: older than its anchor {place} remembers: the store is at ");
    assert!(found.stdout.contains(&older), "{}", found.stdout);
    let refused = open(dir, Some(&url)).unwrap_err().to_string();
    assert!(refused.contains(&format!("older than its anchor {place} remembers")), "{refused}");
    // the newest is not, and neither refusal changed what the server remembers
    copy(&dir.join("newest"), &dir.join("db"));
    assert_eq!(open(dir, Some(&url)).unwrap().get(b"17").unwrap().unwrap(), b"now");

    // impossible anchors
    let said = |anchor: &str, wanted: &str| {
        let refused = verify(anchor);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{}", refused.stderr);
        assert!(refused.stderr.contains(wanted), "{anchor}: {}", refused.stderr);
    };
    said(&certificates.url(server.port, "", ""), "it does not name the anchor");
    said("kmip:none.toml", "cannot read KMIP address file none.toml");
    server.kill();
    said(&url, "cannot read anchor orders-anchor: no key server answered (127.0.0.1:");
}

#[test]
fn anchor_on_pykmip() {
    walk_through(Kind::PyKmip, "anchor_on_pykmip");
}

#[test]
fn anchor_on_the_go_server() {
    walk_through(Kind::Go, "anchor_on_the_go_server");
}
