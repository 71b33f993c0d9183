//! `sealstone keys` and `sealstone rest rotate` with a key on a real key server.
//!
//! Not here: the client itself (`kmip_pykmip.rs`, `kmip_go.rs`), key files (`keys.rs`).

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KmipSource;
use sealstone_rocksdb::{DbOptions, SealedEnv};
use serde_json::Value;

fn keys(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, arguments))
}

fn json(text: &str) -> Value {
    let value: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(value["schema"], 1, "{text}");
    value
}

/// Makes a small sealed store in `dir/db` under the key at `url`.
fn store(dir: &Path, url: &str) {
    let key = KmipSource::open(url).unwrap();
    let env = SealedEnv::new(Arc::new(key), cipher("aria-256").unwrap(), Backend::auto());
    let db = env.open(&dir.join("db"), &DbOptions::default()).unwrap();
    db.put(b"17", b"seventeen", true).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
}

fn walk_through(kind: Kind, name: &str) {
    let Some((certificates, mut server)) = started(kind, name) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    let url = certificates.url(server.port, "orders", "&retries=0");

    let made = keys(dir, &["keys", "new", &url, "--cipher", "aes-256", "--json"]);
    assert!(made.stderr.starts_with("made key orders version 1 ("), "{}", made.stderr);
    let made = json(&made.done());
    assert_eq!(
        (&made["versions"][0]["version"], &made["versions"][0]["state"]),
        (&1.into(), &"Active".into())
    );
    assert_eq!(made["versions"][0]["cipher"], "aes-256");
    let again = keys(dir, &["keys", "new", &url]);
    assert_eq!(again.code, Some(2), "{}", again.stdout);
    let checked = json(&keys(dir, &["keys", "check", &url, "--json"]).done());
    assert!(checked["open_ms"].as_f64().unwrap() > 0.0);
    let listed = json(&keys(dir, &["keys", "list", &url, "--json"]).done());
    assert_eq!(listed["keys"][0]["names"][0], "orders");
    assert!(keys(dir, &["keys", "list", &url]).done().contains("orders"));

    store(dir, &url);
    let newest = ["keys", "retire", &url, "--version", "1", "--store", "db"];
    let refused = keys(dir, &newest);
    assert!(
        refused.stderr.contains("it seals new files and cannot be retired\n"),
        "{}",
        refused.stderr
    );
    keys(dir, &["keys", "rotate", &url]).done();
    let refused = keys(dir, &newest);
    assert!(refused.stderr.contains(" still under it in db, such as "), "{}", refused.stderr);
    assert_eq!(refused.code, Some(1));
    let done = keys(dir, &["rest", "rotate", "db", "--key", &url]).done();
    assert!(done.contains(" version 2, "), "{done}");
    let whole = keys(dir, &["rest", "verify", "db", "--key", &url]).done();
    assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
    let retired = json(
        &keys(dir, &["keys", "retire", &url, "--version", "1", "--store", "db", "--json"]).done(),
    );
    let state = |version: u64| {
        let versions = retired["versions"].as_array().unwrap();
        versions
            .iter()
            .find(|found| found["version"] == version)
            .map(|found| found["state"].clone())
    };
    assert_eq!((state(1), state(2)), (Some("Deactivated".into()), Some("Active".into())));
    let whole = keys(dir, &["rest", "verify", "db", "--key", &url]).done();
    assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
    let export = keys(dir, &["keys", "export", &url, "--out", "a.key"]);
    assert!(
        export.stderr.contains("are not moved into or out of key files\n"),
        "{}",
        export.stderr
    );

    server.kill();
    let down = keys(dir, &["rest", "rotate", "db", "--key", &url]);
    assert_eq!((down.code, down.stdout.as_str()), (Some(2), ""), "{}", down.stderr);
    assert!(down.stderr.contains("no key server answered"), "{}", down.stderr);
}

#[test]
fn keys_on_pykmip() {
    walk_through(Kind::PyKmip, "keys_on_pykmip");
}

#[test]
fn keys_on_the_go_server() {
    walk_through(Kind::Go, "keys_on_the_go_server");
}
