//! A real, unmodified mongod with our extension: its work on sealed data, and its refusals.
//!
//! Not here: replica sets and `sealstone mongo` (`mongo_*.rs`), WiredTiger alone (`wiredtiger.rs`).

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bson::{Binary, Document, doc, spec::BinarySubtype};
use sealstone_cipher::cipher_row;
use sealstone_e2e::binary::wiredtiger_extension;
use sealstone_e2e::kmip_cases::Place;
use sealstone_e2e::kmip_server::Kind;
use sealstone_e2e::mongod::{Mongod, data_dir};
use sealstone_e2e::mongod_place::{DataDirectory, MARKER, documents, engine, load, with_marker};
use sealstone_e2e::promtool;
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::wiredtiger_files::{
    Block, assert_no_nonce_twice, blocks, blocks_of, change_under_checksum, files,
};
use sealstone_keys::{KeyFile, KeySource, Keyring};
use sealstone_servers::MONGOD_PROGRAM;
use sealstone_servers::testing::is_installed;
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

#[test]
fn sealed_data_lives_through_restart_and_kill() {
    let Some(place) = DataDirectory::new("sealed_data_lives_through_restart_and_kill") else {
        return;
    };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aria-256");
    let greeting = &server.sealstone()[0];
    assert!(greeting.starts_with("sealing with aria-256 in gcm ("), "{greeting}");
    assert!(greeting.contains(") under key orders version 1 from key file "), "{greeting}");
    load(&server, 0, 5000);
    let index = doc! { "key": { "name": 1 }, "name": "by_name" };
    server.command(doc! { "createIndexes": "orders", "indexes": [index] });
    let groups = doc! { "$group": { "_id": "$group", "n": { "$sum": 1 } } };
    let answer = server.command(doc! { "aggregate": "orders", "pipeline": [groups], "cursor": {} });
    let groups = answer.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    assert_eq!(groups.len(), 10);
    assert!(groups.iter().all(|group| group.as_document().unwrap().get_i32("n").ok() == Some(500)));
    server.stop();

    let server = place.sealed("aria-256");
    assert_eq!(server.count("orders"), 5000);
    load(&server, 5000, 1000);
    server.kill();

    // acknowledged writes are in the journal
    let server = place.sealed("aria-256");
    assert_eq!(server.count("orders"), 6000);
    let name = format!("{}-5999", std::str::from_utf8(MARKER).unwrap());
    let found =
        server.command(doc! { "find": "orders", "filter": { "name": name }, "hint": "by_name" });
    assert_eq!(found.get_document("cursor").unwrap().get_array("firstBatch").unwrap().len(), 1);
    load(&server, 6000, 500);
    server.checkpoint();
    server.kill();

    assert_eq!(with_marker(&place.db()), Vec::<PathBuf>::new());
    let blocks = blocks(&place.db());
    assert!(
        blocks
            .iter()
            .all(|block| block.info.cipher.name == "aria-256" && block.info.key_version == 1)
    );
    let sealed: BTreeSet<&str> = blocks
        .iter()
        .map(|block| {
            block.file.file_name().unwrap().to_str().unwrap().split(['-', '.']).next().unwrap()
        })
        .collect();
    for kind in ["collection", "index", "WiredTiger", "_mdb_catalog", "WiredTigerLog"] {
        assert!(sealed.contains(kind), "no sealed block in files of {kind}: {sealed:?}");
    }
    // each opening draws its own
    let salts: BTreeSet<[u8; 16]> = blocks.iter().map(|block| block.info.salt).collect();
    assert!(salts.len() >= 2, "{} salts", salts.len());
    assert_no_nonce_twice(&blocks);
    clear_files_are_those_of_the_guide(&place.db());
}

/// The server's process counts, and its counts are metrics of the monitor.
#[test]
fn a_server_counts_what_it_seals_and_opens() {
    let Some(place) = DataDirectory::new("a_server_counts_what_it_seals_and_opens") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aes-256");
    load(&server, 0, 3000);
    server.stop();
    let db = place.db().display().to_string();
    let metrics = run(&mut sealstone(place.dir(), &["status", &db, "--prometheus"])).stdout;
    let sample = |name: &str| promtool::sample(&metrics, name, &[]);
    // the values alone, each of them in a page and in the journal
    assert!(sample("sealstone_bytes_sealed_total") > 3000.0 * 320.0, "{metrics}");
    assert!(sample("sealstone_blocks_sealed_total") > 10.0, "{metrics}");
    assert_eq!(sample("sealstone_failures_total"), 0.0, "{metrics}");
    assert!(sample("sealstone_counts_timestamp_seconds") > 1_700_000_000.0, "{metrics}");
    // no part of what is sealed, or in the clear
    let account = run(&mut sealstone(place.dir(), &["mongo", "check", &db])).stdout;
    assert!(account.contains("SEALSTONE-COUNTS"), "{account}");

    // a process counts for itself
    let server = place.sealed("aes-256");
    assert_eq!(server.count("orders"), 3000);
    server.stop();
    let again = run(&mut sealstone(place.dir(), &["status", &db, "--prometheus"])).stdout;
    let sample = |name: &str| promtool::sample(&again, name, &[]);
    assert!(sample("sealstone_blocks_opened_total") > 0.0, "{again}");
    assert!(sample("sealstone_bytes_sealed_total") < 3000.0 * 320.0, "{again}");

    // what anybody puts there is no finding, and nobody waits for it
    let counts = place.db().join("SEALSTONE-COUNTS");
    fs::remove_file(&counts).unwrap();
    nix::unistd::mkfifo(&counts, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let without = run(&mut sealstone(place.dir(), &["status", &db, "--prometheus"])).stdout;
    assert!(!without.contains("sealstone_bytes_sealed_total{"), "{without}");
}

/// Every file without a sealed block is listed in SECURITY.md and the guide.
fn clear_files_are_those_of_the_guide(db: &Path) {
    let known = [
        "WiredTiger",
        "WiredTiger.lock",
        "WiredTiger.turtle",
        "mongod.lock",
        "storage.bson",
        "SEALSTONE-COUNTS",
        "diagnostic.data",
        "journal/SEALSTONE-JOURNAL",
    ];
    let texts = [
        ("SECURITY.md", include_str!("../../../SECURITY.md")),
        ("the guide", include_str!("../../../docs/guide/mongodb.md")),
    ];
    for file in files(db) {
        let path = file.strip_prefix(db).unwrap().to_str().unwrap();
        let first = path.split('/').next().unwrap();
        let first = if path == "journal/SEALSTONE-JOURNAL" { path } else { first };
        if known.contains(&first) {
            for (name, text) in texts {
                // a directory is followed by a slash
                let listed =
                    text.contains(&format!("`{first}`")) || text.contains(&format!("`{first}/`"));
                assert!(listed, "{name} does not list {first}");
            }
        } else {
            // log files that are prepared and empty
            let ready = path.contains("WiredTigerPreplog");
            assert!(
                ready || path.ends_with(".wt") || path.contains("WiredTigerLog."),
                "{path} is of no known kind"
            );
        }
    }
}

/// A user without rights, as packages make one for the server.
const OTHER_USER: u32 = 65_534;

/// A mongod of another user, started in a directory that it can enter.
struct OthersServer {
    dir: TempDir,
}

impl OthersServer {
    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Gives a file or directory an owner and a mode.
    fn give(&self, name: &str, owner: u32, mode: u32) {
        chown(self.at(name), Some(owner), Some(owner)).unwrap();
        fs::set_permissions(self.at(name), Permissions::from_mode(mode)).unwrap();
    }

    /// Returns what the server logged until it was serving or had ended.
    fn starts(&self) -> String {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let key = self.at("keys/orders.key");
        let engine = engine(&key.display().to_string(), "aria-256", "orders", "").replace(
            &wiredtiger_extension().display().to_string(),
            &self.at("extension.so").display().to_string(),
        );
        let mut child = Command::new(self.at("mongod"))
            .args([
                "--dbpath",
                "data",
                "--bind_ip",
                "127.0.0.1",
                "--nounixsocket",
                "--port",
                &port.to_string(),
            ])
            .args(["--wiredTigerEngineConfigString", &engine])
            .current_dir(self.dir.path())
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .stdout(fs::File::create(self.at("log")).unwrap())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        let log = loop {
            let log = fs::read_to_string(self.at("log")).unwrap();
            if log.contains("Waiting for connections") || child.try_wait().unwrap().is_some() {
                break fs::read_to_string(self.at("log")).unwrap();
            }
            assert!(
                begin.elapsed() < Duration::from_secs(120),
                "it neither serves nor ends:\n{log}"
            );
            thread::sleep(Duration::from_millis(50));
        };
        let _ = child.kill();
        child.wait().unwrap();
        log
    }
}

/// As it is installed: root installs, and the server is another user's.
#[test]
fn a_server_of_another_user_needs_a_library_and_a_key_that_it_can_read() {
    let test = "a_server_of_another_user_needs_a_library_and_a_key_that_it_can_read";
    if !is_installed(&MONGOD_PROGRAM, test) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        println!("SKIP: {test}: only root starts servers of other users");
        return;
    }
    let server = OthersServer { dir: tempfile::tempdir().unwrap() };
    server.give("", 0, 0o755);
    fs::copy(MONGOD_PROGRAM.find(None).unwrap(), server.at("mongod")).unwrap();
    fs::copy(wiredtiger_extension(), server.at("extension.so")).unwrap();
    fs::create_dir(server.at("keys")).unwrap();
    fs::create_dir(server.at("data")).unwrap();
    KeyFile::create(server.at("keys/orders.key"), "orders").unwrap();
    server.give("mongod", 0, 0o755);
    let good = || {
        server.give("extension.so", 0, 0o644);
        server.give("keys", 0, 0o755);
        server.give("keys/orders.key", OTHER_USER, 0o600);
        server.give("data", OTHER_USER, 0o700);
    };
    for (name, owner, mode, said) in [
        ("keys/orders.key", 0, 0o600, "sealstone: cannot read key file "),
        ("keys/orders.key", OTHER_USER, 0o640, "sealstone: key file "),
        ("keys", 0, 0o700, "sealstone: cannot read key file "),
        ("extension.so", 0, 0o600, "cannot open shared object file: Permission denied"),
    ] {
        good();
        server.give(name, owner, mode);
        let log = server.starts();
        assert!(
            log.contains(said) && !log.contains("Waiting for connections"),
            "{name} {mode:o}: {log}"
        );
    }
    good();
    let log = server.starts();
    assert!(
        log.contains("sealing with aria-256") && log.contains("Waiting for connections"),
        "{log}"
    );
}

/// Options of a collection or an index that WiredTiger takes as "not encrypted".
const IN_THE_CLEAR: [&str; 4] = [
    "encryption=(name=none)",
    "encryption=(name=\"none\",keyid=)",
    "\"encryption\"={keyid=\"\",name=none}",
    "encryption=(name=sealstone),encryption=(name=none)",
];

fn engine_options(options: &str) -> Document {
    doc! { "wiredTiger": { "configString": options } }
}

/// Anyone who may create a collection or an index may request it in the clear. The creation fails,
/// and nothing else does.
#[test]
fn nothing_is_created_in_the_clear() {
    let Some(place) = DataDirectory::new("nothing_is_created_in_the_clear") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aria-256");
    load(&server, 0, 1000);
    for options in IN_THE_CLEAR {
        let create = doc! { "create": "clear", "storageEngine": engine_options(options) };
        let error = server.try_command("test", create).unwrap_err().to_string();
        println!("{options}: {error}");
        let index = doc! { "key": { "name": 1 }, "name": "by_name",
        "storageEngine": engine_options(options) };
        let error =
            server.try_command("test", doc! { "createIndexes": "orders", "indexes": [index] });
        println!("{options}: {}", error.unwrap_err());
    }
    let refused = |line: &String| {
        line.contains(" was to be left in the clear, by encryption=(name=none) in the options")
    };
    assert!(server.sealstone().iter().any(refused), "{:#?}", server.sealstone());
    // other options, and the same names without any
    server.command(
        doc! { "create": "usual", "storageEngine": engine_options("memory_page_max=5MB") },
    );
    server.insert("clear", documents(0, 100));
    server.command(doc! { "createIndexes": "orders", "indexes": [{ "key": { "name": 1 },
    "name": "by_name" }] });
    load(&server, 1000, 1000);
    server.checkpoint();
    server.kill();
    let server = place.sealed("aria-256");
    assert_eq!((server.count("orders"), server.count("clear")), (2000, 100));
    server.stop();
    assert_eq!(with_marker(&place.db()), Vec::<PathBuf>::new());
}

/// If the file is accepted, log and check name it; and a server that has such a file starts without
/// that setting, too.
#[test]
fn what_was_created_in_the_clear_is_named() {
    let Some(place) = DataDirectory::new("what_was_created_in_the_clear_is_named") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let engine =
        engine(&place.key().display().to_string(), "aria-256", "orders", ",clear_files=accept");
    let server = place.start(&engine).unwrap_or_else(|dead| panic!("{}", dead.log));
    load(&server, 0, 1000);
    server.command(
        doc! { "create": "clear", "storageEngine": engine_options("encryption=(name=none)") },
    );
    server.insert("clear", documents(0, 1000));
    server.checkpoint();
    let of_file = |server: &Mongod| {
        let said = server.sealstone();
        let lines = said.iter().filter(|line| {
            line.contains(" is not sealed: its collection or index was created with")
        });
        let lines: Vec<&String> = lines.collect();
        assert_eq!(lines.len(), 1, "{said:#?}");
        let (path, _) =
            lines[0].strip_prefix("warning: ").unwrap().split_once(" is not sealed").unwrap();
        PathBuf::from(path)
    };
    let file = of_file(&server);
    assert_eq!(with_marker(&place.db()), std::slice::from_ref(&file));
    let name = file.file_name().unwrap().to_str().unwrap();
    let check = run(&mut sealstone(place.dir(), &["mongo", "check", "data"]));
    assert_eq!(check.code, Some(1));
    let (_, rest) = check
        .stdout
        .split_once("not all of it is sealed:\n")
        .unwrap_or_else(|| panic!("{}", check.stdout));
    assert!(rest.starts_with(&format!("  {name}: ")), "{rest}");
    assert!(
        rest.contains("created with encryption=(name=none): copy it into one without that option"),
        "{rest}"
    );
    // the same for a monitor, while the server runs
    let metrics = run(&mut sealstone(place.dir(), &["status", "data", "--prometheus"]));
    assert_eq!(metrics.code, Some(1), "{}", metrics.stderr);
    let ratio = metrics.stdout.lines().find_map(|line| {
        line.strip_prefix("sealstone_sealed_ratio{")?.rsplit(' ').next()?.parse::<f64>().ok()
    });
    let is_part = ratio.is_some_and(|ratio| 0.0 < ratio && ratio < 1.0);
    assert!(is_part, "{ratio:?}: {}", metrics.stdout);
    let cipher = "cipher=\"aria-256\"";
    let sealed = metrics.stdout.lines().find(|line| line.starts_with("sealstone_sealed_blocks{"));
    assert!(sealed.is_some_and(|line| line.contains(cipher)), "{}", metrics.stdout);
    server.stop();

    let server = place.sealed("aria-256");
    assert_eq!(server.count("clear"), 1000);
    assert_eq!(of_file(&server), file);
    // the remedy, as the guide has it
    let out = doc! { "$out": "sealed" };
    server.command(doc! { "aggregate": "clear", "pipeline": [out], "cursor": {} });
    server.command(doc! { "drop": "clear" });
    server.command(doc! { "createIndexes": "sealed", "indexes": [{ "key": { "name": 1 },
    "name": "by_name" }] });
    server.checkpoint();
    server.stop();
    // mongod removes the file of a dropped collection at its next start at the latest
    let server = place.sealed("aria-256");
    assert_eq!(server.count("sealed"), 1000);
    server.stop();
    assert_eq!(with_marker(&place.db()), Vec::<PathBuf>::new());
    run(&mut sealstone(place.dir(), &["mongo", "check", "data"])).done();
}

/// The same without the extension: the marker is found, so looking for it is a test.
#[test]
fn without_the_extension_the_marker_is_there() {
    let Some(place) = DataDirectory::new("without_the_extension_the_marker_is_there") else {
        return;
    };
    let server = place.start("").unwrap_or_else(|dead| panic!("{}", dead.log));
    load(&server, 0, 1000);
    server.stop();
    assert_ne!(with_marker(&place.db()), Vec::<PathBuf>::new());
    assert!(blocks(&place.db()).is_empty());
    // and the existing data is not taken for sealed data
    KeyFile::create(place.key(), "orders").unwrap();
    let engine = engine(&place.key().display().to_string(), "aria-256", "orders", "");
    assert!(place.start(&engine).is_err(), "plain data was opened as sealed data");
    let server = place.start("").unwrap_or_else(|dead| panic!("{}", dead.log));
    assert_eq!(server.count("orders"), 1000);
}

#[test]
fn a_rotated_key_seals_new_blocks_and_opens_old_ones() {
    let Some(place) = DataDirectory::new("a_rotated_key_seals_new_blocks_and_opens_old_ones")
    else {
        return;
    };
    let key = KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aes-256");
    load(&server, 0, 3000);
    server.stop();
    key.rotate().unwrap();
    let server = place.sealed("aes-256");
    let greeting = &server.sealstone()[0];
    assert!(greeting.contains("under key orders version 2 from"), "{greeting}");
    assert!(greeting.ends_with("; version 1 opens old data"), "{greeting}");
    assert_eq!(server.count("orders"), 3000);
    load(&server, 3000, 1000);
    server.stop();
    let versions: BTreeSet<u32> =
        blocks(&place.db()).iter().map(|block| block.info.key_version).collect();
    assert_eq!(versions, BTreeSet::from([1, 2]));

    // the new version alone does not open the old blocks
    let newest = place.dir().join("newest.key");
    key.export(Some(2), &newest, None).unwrap();
    let only_new = engine(&newest.display().to_string(), "aes-256", "orders", "");
    match place.start(&only_new) {
        // where only new data is read at the start, the first read of old data is refused
        Ok(server) => {
            let count = doc! { "aggregate": "orders", "pipeline": [{ "$match": { "noise": 1 } }],
            "cursor": {} };
            server.try_command("test", count).unwrap_err();
            server.died().assert_says_first("a block is sealed under key version 1 (fingerprint ");
        }
        Err(dead) => dead.assert_says_first("a block is sealed under key version 1 (fingerprint "),
    }
    let server = place.sealed("aes-256");
    assert_eq!(server.count("orders"), 4000);
}

/// A copy of the files is opened elsewhere, and both are written: their blocks share no nonce.
#[test]
fn copies_that_are_both_written_share_no_nonce() {
    let Some(place) = DataDirectory::new("copies_that_are_both_written_share_no_nonce") else {
        return;
    };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aria-256");
    load(&server, 0, 2000);
    server.stop();
    let other = tempfile::tempdir().unwrap();
    copy(&place.db(), &data_dir(other.path()));
    let salts =
        |blocks: &[Block]| blocks.iter().map(|block| block.info.salt).collect::<BTreeSet<_>>();
    let before = blocks(&place.db());
    let engine = engine(&place.key().display().to_string(), "aria-256", "orders", "");
    let here = place.sealed("aria-256");
    let there = Mongod::start(other.path(), &engine).unwrap_or_else(|dead| panic!("{}", dead.log));
    for server in [&here, &there] {
        assert_eq!(server.count("orders"), 2000);
    }
    // the same data in both, so that equal keys and nonces would show
    for from in [2000, 3000, 4000] {
        for server in [&here, &there] {
            load(server, from, 1000);
        }
    }
    here.stop();
    there.stop();
    let (here, there) = (blocks(&place.db()), blocks(&data_dir(other.path())));
    let new = |blocks: &[Block]| &salts(blocks) - &salts(&before);
    assert!(!new(&here).is_empty() && !new(&there).is_empty(), "nothing new was sealed");
    assert!(new(&here).is_disjoint(&new(&there)), "two openings drew one salt");
    assert!(
        !salts(&here).is_disjoint(&salts(&there)),
        "none of the old blocks is left to be mistaken for a new one"
    );
    let all = [before, here, there].concat();
    assert_no_nonce_twice(&all);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_damaged() {
    let Some(place) = DataDirectory::new("what_does_not_fit_is_refused_and_nothing_is_damaged")
    else {
        return;
    };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aria-256");
    load(&server, 0, 2000);
    server.stop();
    let key = place.key().display().to_string();

    let wrong = place.dir().join("wrong.key");
    KeyFile::create(&wrong, "orders").unwrap();
    let wrong = wrong.display().to_string();
    place.refused(
        &engine(&wrong, "aria-256", "orders", ""),
        "wrong key: a block is sealed under fingerprint ",
    );
    let other = place.dir().join("other.key");
    KeyFile::create(&other, "others").unwrap();
    let other = other.display().to_string();
    place.refused(
        &engine(&other, "aria-256", "others", ""),
        "wrong key: a block is sealed under fingerprint ",
    );
    place.refused(&engine(&key, "aria-256", "others", ""), " names another key than key file ");
    place.refused(
        &engine(&key, "aria-256", "", ""),
        "encryption.keyid is missing; write encryption=(name=sealstone,keyid=",
    );
    let secret = engine(&key, "aria-256", "orders", "").replace("keyid=", "secretkey=abc,keyid=");
    place.refused(&secret, "encryption.secretkey is never used");
    place.refused(
        &engine(&key, "aes-256", "orders", ""),
        "a block is sealed with aria-256, and this opening is set to aes-256",
    );
    place.refused(&engine(&key, "", "orders", ""), "no cipher is named, and key file ");
    place.refused(&engine(&key, "aria-265", "orders", ""), "unknown cipher");
    place.refused(&engine(&key, "aria-256", "orders", ",accel=sse9"), "unknown backend");
    place.refused(&engine(&key, "aria-256", "orders", ",speed=high"), "unknown setting");
    place.refused(
        &engine(&key, "aria-256", "orders", ",series=\"8.0\""),
        "says series 8.0, and this server has WiredTiger ",
    );
    let missing = place.dir().join("missing.key").display().to_string();
    place.refused(&engine(&missing, "aria-256", "orders", ""), "no key file at ");
    place.refused(&engine("kmip://127.0.0.1:1/orders", "aria-256", "orders", ""), "kmip");

    let server = place.sealed("aria-256");
    assert_eq!(server.count("orders"), 2000);
    load(&server, 2000, 100);
    assert_eq!(server.count("orders"), 2100);
    server.stop();
}

/// A page that was changed so that WiredTiger's checksum does not notice.
#[test]
fn a_changed_page_is_refused() {
    let Some(place) = DataDirectory::new("a_changed_page_is_refused") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aes-256");
    load(&server, 0, 3000);
    server.stop();
    let mut found: Vec<_> = blocks(&place.db())
        .into_iter()
        .filter(|block| {
            block.file.file_name().unwrap().to_str().unwrap().starts_with("collection-")
        })
        .collect();
    // the file with the most of them is that of the orders; reading it meets a changed block
    let largest = found.iter().map(|block| block.page_bytes).max().unwrap();
    let file = found.iter().find(|block| block.page_bytes == largest).unwrap().file.clone();
    found.retain(|block| block.file == file && block.page_bytes > 200);
    assert!(!found.is_empty());
    for block in &found {
        change_under_checksum(&file, block.at + 100);
    }
    let key = place.key().display().to_string();
    let dead = match place.start(&engine(&key, "aes-256", "orders", "")) {
        Ok(server) => {
            let all = doc! { "aggregate": "orders", "pipeline": [{ "$match": { "noise": 1 } }],
            "cursor": {} };
            server.try_command("test", all).unwrap_err();
            server.died()
        }
        Err(dead) => dead,
    };
    dead.assert_says_first(" failed authentication: it was changed after it was sealed");
    assert!(
        dead.sealstone()
            .iter()
            .any(|line| line.contains("under key orders version 1 (aes-256, from key file "))
    );
    // a monitor learns of it, although the server ended itself at once
    let db = place.db().display().to_string();
    let metrics = run(&mut sealstone(place.dir(), &["status", &db, "--prometheus"])).stdout;
    assert!(promtool::sample(&metrics, "sealstone_failures_total", &[]) > 0.0, "{metrics}");
    for block in &found {
        change_under_checksum(&file, block.at + 100);
    }
    let server = place.sealed("aes-256");
    assert_eq!(server.count("orders"), 3000);
}

/// A changed record of the journal stops recovery: it is not a torn end.
#[test]
fn a_changed_journal_is_refused() {
    let Some(place) = DataDirectory::new("a_changed_journal_is_refused") else { return };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("aes-256");
    server.checkpoint();
    load(&server, 0, 2000);
    server.kill();
    let journal: Vec<PathBuf> = files(&place.db())
        .into_iter()
        .filter(|file| file.to_str().unwrap().contains("WiredTigerLog."))
        .collect();
    let records: Vec<_> = journal
        .iter()
        .flat_map(|file| blocks_of(file))
        .filter(|block| block.page_bytes > 10_000)
        .collect();
    let record = records.last().expect("a record with documents");
    change_under_checksum(&record.file, record.at + 100);
    let engine = engine(&place.key().display().to_string(), "aes-256", "orders", "");
    place.refused(&engine, " failed authentication: it was changed after it was sealed");
    change_under_checksum(&record.file, record.at + 100);
    // and without the record it is not a crash
    let whole = fs::read(&record.file).unwrap();
    fs::write(&record.file, &whole[..record.at]).unwrap();
    place.refused(&engine, ": records are missing");
    fs::write(&record.file, whole).unwrap();
    let server = place.sealed("aes-256");
    assert_eq!(server.count("orders"), 2000);
}

/// A 64-bit cipher: requested by name, with a warning; documents longer than it allows under one
/// key.
#[test]
fn a_cipher_of_64_bit_blocks_changes_its_key_in_time() {
    let Some(place) = DataDirectory::new("a_cipher_of_64_bit_blocks_changes_its_key_in_time")
    else {
        return;
    };
    KeyFile::create(place.key(), "orders").unwrap();
    let server = place.sealed("3des");
    let said = server.sealstone();
    assert!(said[0].starts_with("sealing with 3des in ctr+mac ("), "{said:?}");
    assert!(said[1].starts_with("warning: 3des is legacy: NIST disallows it"), "{said:?}");
    let mut state = 1u64;
    let mut noise = Vec::new();
    while noise.len() < 12 << 20 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.extend_from_slice(&(state >> 16).to_le_bytes()[..6]);
    }
    let long = |n: i32| {
        let bytes = noise.clone();
        doc! { "_id": n, "noise": Binary { subtype: BinarySubtype::Generic, bytes } }
    };
    for n in 0..2 {
        server.insert("long", vec![long(n)]);
    }
    load(&server, 0, 10_000);
    server.stop();
    let server = place.sealed("3des");
    let found = server.command(doc! { "find": "long", "filter": { "_id": 1 } });
    let batch = found.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    assert_eq!(batch[0].as_document().unwrap(), &long(1));
    assert_eq!(server.count("orders"), 10_000);
    server.stop();
    let blocks = blocks(&place.db());
    assert_no_nonce_twice(&blocks);
    assert!(blocks.iter().any(|block| block.info.in_parts));
    for block in blocks.iter().filter(|block| !block.info.in_parts) {
        let used = block.info.counter + (block.page_bytes as u64).div_ceil(8);
        assert!(used <= 1 << 20, "{used} blocks of 3DES under one key");
    }
}

/// The key comes from a key server, once: after that the server may be down, until the next start.
#[test]
fn a_key_server_is_asked_at_the_start() {
    let test = "a_key_server_is_asked_at_the_start";
    let Some(place) = DataDirectory::new(test) else { return };
    let Some(mut kms) = Place::start(Kind::PyKmip, test) else { return };
    let url = |key: &str| kms.certificates.url(kms.server.port, key, "&retries=0");
    let ring = Keyring::open(&url("")).unwrap();
    ring.create("orders", cipher_row("aria-256")).unwrap();
    let engine_of = |cipher: &str| engine(&url("orders"), cipher, "orders", "");
    // the key names its cipher
    let sealed = engine_of("");
    let start = || place.start(&sealed).unwrap_or_else(|dead| panic!("{}", dead.log));
    let server = start();
    let greeting = &server.sealstone()[0];
    assert!(greeting.starts_with("sealing with aria-256 in gcm ("), "{greeting}");
    assert!(greeting.contains(" from KMIP server 127.0.0.1:"), "{greeting}");
    load(&server, 0, 1000);
    server.stop();
    ring.rotate("orders").unwrap();
    let server = start();
    assert!(
        server.sealstone()[0].ends_with("; version 1 opens old data"),
        "{:?}",
        server.sealstone()
    );
    let source = sealstone_keys::KmipSource::open(&url("orders")).unwrap();
    assert_eq!(source.all().unwrap().len(), 2);
    kms.server.kill();
    load(&server, 1000, 1000);
    assert_eq!(server.count("orders"), 2000);
    server.kill();
    place.refused(&sealed, "no key server answered");
    let versions: BTreeSet<u32> =
        blocks(&place.db()).iter().map(|block| block.info.key_version).collect();
    assert_eq!(versions, BTreeSet::from([1, 2]));
}

/// The passphrase of a key file comes from a file that the settings or the environment name.
#[test]
fn a_protected_key_file_needs_its_passphrase() {
    let Some(place) = DataDirectory::new("a_protected_key_file_needs_its_passphrase") else {
        return;
    };
    let word = place.dir().join("word");
    fs::write(&word, "open sesame\n").unwrap();
    assert!(Command::new("chmod").arg("600").arg(&word).status().unwrap().success());
    let passphrase = sealstone_keys::Passphrase::from_file(&word).unwrap();
    let cost = sealstone_keys::Cost { memory_kib: 64, passes: 1, lanes: 1 };
    KeyFile::create_protected(place.key(), "orders", &passphrase, cost).unwrap();
    let key = place.key().display().to_string();
    place.refused(
        &engine(&key, "lea-256", "orders", ""),
        "is protected by a passphrase, and none was given: a server cannot ask",
    );
    let more = format!(",passphrase_file=\"{}\"", word.display());
    let server = place
        .start(&engine(&key, "lea-256", "orders", &more))
        .unwrap_or_else(|dead| panic!("{}", dead.log));
    load(&server, 0, 10);
    server.stop();
    fs::write(&word, "open says me\n").unwrap();
    place.refused(
        &engine(&key, "lea-256", "orders", &more),
        "the passphrase does not open key file ",
    );
}
