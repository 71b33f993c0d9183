//! A real, unmodified mongod whose blocks a cryptographic module seals: it and our own code read
//! each other's, and a module that dies ends the server and loses nothing.

use bson::doc;
use sealstone_e2e::binary::is_alone;
use sealstone_e2e::mongod_place::{DataDirectory, documents, engine, load, with_marker};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_modules::testing::compiled;

/// A module computes what mongod stores, and a server without it reads that; one that is missing or
/// lacks the cipher keeps mongod from starting.
#[test]
fn a_module_seals_what_mongod_stores() {
    let Some(place) = DataDirectory::new("a_module_seals_what_mongod_stores") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let key = place.key().display().to_string();
    let with = |cipher: &str, module: &str| {
        engine(&key, cipher, "orders", &format!(",module=\"{module}\""))
    };
    place.refused(&with("aria-256", "openssl:nope"), "OpenSSL cannot load its provider nope");
    place.refused(&with("seed-128", "openssl:default"), "has no gcm with seed-128");
    let server = place.start(&with("aria-256", "openssl:default"));
    let server = server.unwrap_or_else(|dead| panic!("mongod does not start:\n{}", dead.log));
    let greeting = server.sealstone().remove(0);
    assert!(
        greeting.starts_with("sealing with aria-256 in gcm (openssl:default) under key orders"),
        "{greeting}"
    );
    load(&server, 0, 2000);
    server.checkpoint();
    server.stop();
    if is_alone() {
        // an extension without ciphers of its own reads what it wrote
        let server = place.start(&with("aria-256", "openssl:default"));
        let server = server.unwrap_or_else(|dead| panic!("mongod does not start:\n{}", dead.log));
        assert_eq!(server.count("orders"), 2000);
        return server.stop();
    }
    // our own code reads it, and the module reads ours
    let server = place.sealed("aria-256");
    assert_eq!(server.count("orders"), 2000);
    load(&server, 2000, 500);
    server.stop();
    let server = place.start(&with("aria-256", "openssl:default"));
    let server = server.unwrap_or_else(|dead| panic!("mongod does not start:\n{}", dead.log));
    assert_eq!(server.count("orders"), 2500);
    server.stop();

    // the module derives what blocks show of their key
    let call =
        |line: String| run(&mut sealstone(place.dir(), &line.split(' ').collect::<Vec<_>>()));
    call(format!("keys rotate {key} --module openssl:default")).done();
    let retire = format!("keys retire {key} --version 1 --store data --module openssl:default");
    let refused = call(retire);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("key orders version 1 was not retired: "), "{refused:?}");
    assert!(refused.stderr.contains("blocks are still under it in data"), "{refused:?}");
}

/// A module that goes into an error state under a running server: the server ends with one line of
/// ours as the reason, and once the module works again every write that was acknowledged as
/// journaled is there.
#[test]
fn a_module_that_dies_under_mongod_loses_nothing() {
    let Some(place) = DataDirectory::new("a_module_that_dies_under_mongod_loses_nothing") else {
        return;
    };
    KeyFile::create(place.key(), "orders").unwrap();
    let key = place.key().display().to_string();
    let libraries = tempfile::tempdir().unwrap();
    let start = |calls: &str| {
        let library =
            compiled(libraries.path(), "failing.c", &["NAME=\"mortal\"", "FAILS_SEAL", calls]);
        let module = format!(",module=\"{}\"", library.display());
        let server = place.start(&engine(&key, "aria-256", "orders", &module));
        server.unwrap_or_else(|dead| panic!("mongod does not start:\n{}", dead.log))
    };
    let server = start("CALLS=1000000000");
    load(&server, 0, 100);
    server.stop();
    let server = start("CALLS=500");
    let concern = doc! { "w": 1, "j": true };
    let is_journaled = |n: i32| {
        let documents = documents(n, 1);
        let insert =
            doc! { "insert": "orders", "documents": documents, "writeConcern": concern.clone() };
        let answer = server.try_command("test", insert);
        answer.is_ok_and(|answer| {
            !answer.contains_key("writeErrors") && !answer.contains_key("writeConcernError")
        })
    };
    let journaled = (100..5000).take_while(|n| is_journaled(*n)).count() as i32;
    assert!((1..4000).contains(&journaled), "{journaled}");
    server.died().assert_says_first("module mortal failed: encrypting");
    let server = start("CALLS=1000000000");
    let count = server.count("orders");
    // the one that failed may be there, too
    assert!((100 + journaled..=101 + journaled).contains(&count), "{count}, {journaled}");
    server.stop();
    assert!(with_marker(&place.db()).is_empty());
}
