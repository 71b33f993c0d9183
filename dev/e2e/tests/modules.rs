//! The commands with `--module`: keys, stores, volumes and files of columns are made, used and
//! moved with a cryptographic module; one that is missing, lacks what is needed or dies midway is
//! one error, and nothing is written.
//!
//! `make test-modules` runs these tests with a program whose own ciphers, derivation and random
//! bytes panic, too: then a module alone does all of it.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_e2e::binary::is_alone;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_e2e::volume_place::VolumePlace;
use sealstone_modules::testing::compiled;
use sealstone_rocksdb::{DbOptions, PlainEnv};
use serde_json::Value;

const MODULE: &str = "openssl:default";
const PEOPLE: &str = "id,name,memo\n1,Kim,call before noon\n2,Lee,\n3,Park,PLANTED-MARKER-q7Zx2\n";
/// The columns that are sealed.
const COLUMNS: &str = "--column memo=aead --tweak memo=row:id --index memo --cipher aria-256";

/// Runs `sealstone` in `dir` with the words of `line`.
fn call(dir: &Path, line: &str) -> Transcript {
    run(&mut sealstone(dir, &line.split(' ').collect::<Vec<_>>()))
}

/// Runs it in the module.
fn within(dir: &Path, line: &str) -> Transcript {
    call(dir, &format!("{line} --module {MODULE}"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

/// Returns the module that made the files of the store in `dir`, and their number.
fn made_by(dir: &Path, store: &str) -> Vec<(Option<String>, u64)> {
    let status = json(&call(dir, &format!("rest status {store} --json")).done());
    let totals = status["totals"].as_array().expect("a list").iter();
    totals
        .map(|total| {
            let module = total["module"].as_str().map(str::to_owned);
            (module, total["files"].as_u64().expect("a number"))
        })
        .collect()
}

/// Makes a store of some records in the clear.
fn plain_store(dir: &Path) {
    let text = "create_if_missing=true;compression=kNoCompression".into();
    let options = DbOptions { text, ..DbOptions::default() };
    let db = PlainEnv::new().open(dir, &options).expect("a plain store");
    for n in 0..2000 {
        let value = format!("PLANTED-MARKER-q7Zx2 {n}");
        db.put(format!("order{n:05}").as_bytes(), value.as_bytes(), false).expect("room");
    }
    db.flush().expect("room");
    db.close().expect("a clean end");
}

fn shows_marker(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    entries.map(|entry| entry.path()).any(|path| {
        path.is_dir() && shows_marker(&path)
            || path.is_file()
                && memchr::memmem::find(&fs::read(&path).expect("a file"), b"PLANTED-MARKER")
                    .is_some()
    })
}

#[test]
fn the_commands_seal_with_a_module_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    if is_alone() {
        let own = call(dir, "keys new own.key");
        assert_eq!(own.code, Some(101), "a program without ciphers of its own makes no key");
    }
    within(dir, "keys new orders.key --id orders").done();
    let checked = within(dir, "keys check orders.key --cipher aria-256").done();
    assert!(checked.contains("wraps and unwraps"), "{checked}");

    // a store
    plain_store(&dir.join("db"));
    let reseal = "rest reseal db --key orders.key --cipher aria-256";
    within(dir, &format!("{reseal} --from-plain --yes")).done();
    assert!(!shows_marker(&dir.join("db")));
    let made = made_by(dir, "db");
    assert!(
        made.iter().all(|(module, _)| module.as_deref().is_some_and(|m| m.starts_with(MODULE))),
        "{made:?}"
    );
    let shown = call(dir, "rest status db").done();
    assert!(shown.contains("MODULE") && shown.contains("openssl:default 3."), "{shown}");
    within(dir, "rest verify db --key orders.key").done();
    let got = within(dir, "rest get db order00017 --key orders.key").done();
    assert!(got.contains("PLANTED-MARKER-q7Zx2 17"), "{got}");
    let scanned = within(dir, "rest scan db --key orders.key --prefix order0001").done();
    assert_eq!(scanned.matches("PLANTED-MARKER-q7Zx2 1").count(), 10, "{scanned}");
    assert_eq!(within(dir, "rest dump db --key orders.key").done().lines().count(), 2000);
    within(dir, "keys rotate orders.key").done();
    within(dir, "rest rotate db --key orders.key").done();
    within(dir, "rest verify db --key orders.key").done();
    within(dir, "keys retire orders.key --version 1 --store db").done();
    within(dir, "rest unseal db --key orders.key --out copy").done();
    assert!(shows_marker(&dir.join("copy")));

    // a volume
    within(dir, "volume create v --key orders.key --size 16MiB --cipher aria-256").done();
    let status = json(&call(dir, "volume status v --json").done());
    assert!(status["module"].as_str().expect("a title").starts_with(MODULE), "{status}");
    within(dir, "volume verify v --key orders.key").done();
    within(dir, "keys rotate orders.key").done();
    within(dir, "volume rotate v --key orders.key").done();
    within(dir, "volume reseal v --key orders.key --out w --cipher aes-256").done();
    within(dir, "volume verify w --key orders.key").done();

    // a file of columns
    fs::write(dir.join("people.csv"), PEOPLE).expect("room");
    let seal = format!("field seal people.csv {COLUMNS} --key orders.key --out");
    within(dir, &format!("{seal} sealed.csv")).done();
    let manifest = fs::read_to_string(dir.join("sealed.csv.sealed.toml")).expect("a manifest");
    assert!(manifest.contains("module = \"openssl:default 3."), "{manifest}");
    assert!(!fs::read_to_string(dir.join("sealed.csv")).expect("a file").contains("PLANTED"));
    within(dir, "field open sealed.csv --key orders.key --out opened.csv").done();
    assert_eq!(fs::read_to_string(dir.join("opened.csv")).expect("a file"), PEOPLE);
    within(dir, "keys rotate orders.key").done();
    within(dir, "field reseal sealed.csv --key orders.key --out again.csv").done();
    within(dir, "field open again.csv --key orders.key --out twice.csv").done();
    assert_eq!(fs::read_to_string(dir.join("twice.csv")).expect("a file"), PEOPLE);
    for command in ["status db w", "audit db w --out verified"] {
        within(dir, &format!("{command} --key orders.key --verify")).done();
    }

    // an auditor is shown the module for each of them
    call(dir, "audit db w sealed.csv --out audited").done();
    let audit = json(&fs::read_to_string(dir.join("audited/audit.json")).expect("an audit"));
    let places = audit["places"].as_array().expect("a list");
    assert_eq!(places.len(), 3, "{audit}");
    for place in places {
        let maker = &place["sealed"][0]["maker"]["module"];
        assert!(maker.as_str().is_some_and(|title| title.starts_with(MODULE)), "{place}");
    }
    let page = fs::read_to_string(dir.join("audited/audit.html")).expect("a page");
    assert_eq!(page.matches("openssl:default 3.").count(), 3, "{page}");
}

/// Data that a module sealed opens with our own code, and the other way round, by the commands.
#[test]
fn what_one_sealed_the_other_opens() {
    if is_alone() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    within(dir, "keys new orders.key").done();
    fs::write(dir.join("people.csv"), PEOPLE).expect("room");
    let seal = format!("field seal people.csv {COLUMNS} --key orders.key --out");
    within(dir, &format!("{seal} by-module.csv")).done();
    call(dir, &format!("{seal} by-us.csv")).done();
    call(dir, "field open by-module.csv --key orders.key --out one.csv").done();
    within(dir, "field open by-us.csv --key orders.key --out other.csv").done();
    for name in ["one.csv", "other.csv"] {
        assert_eq!(fs::read_to_string(dir.join(name)).expect("a file"), PEOPLE);
    }
    // rows are found by the same index, no matter which made it
    let index = |name: &str| {
        let text = fs::read_to_string(dir.join(name)).expect("a file");
        let last = |line: &str| line.rsplit(',').next().unwrap_or_default().to_owned();
        text.lines().map(last).collect::<Vec<_>>()
    };
    assert_eq!(index("by-module.csv"), index("by-us.csv"));
    assert_eq!(index("by-us.csv")[0], "memo_index");
    // the manifest records who sealed it, and cannot record anything else
    let path = dir.join("by-module.csv.sealed.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    fs::write(&path, text.replace("openssl:default", "openssl:fips")).expect("room");
    let refused = call(dir, "field open by-module.csv --key orders.key --out three.csv");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(!dir.join("three.csv").exists());

    plain_store(&dir.join("db"));
    let reseal = "rest reseal db --key orders.key --cipher aria-256";
    call(dir, &format!("{reseal} --from-plain --yes")).done();
    assert!(made_by(dir, "db").iter().all(|(module, _)| module.is_none()));
    within(dir, "rest verify db --key orders.key").done();
    // it moves into the module, which alone rotates its key then, and out again
    within(dir, reseal).done();
    assert!(made_by(dir, "db").iter().any(|(module, _)| module.is_some()));
    call(dir, "rest verify db --key orders.key").done();
    within(dir, "keys rotate orders.key").done();
    let refused = call(dir, "rest rotate db --key orders.key");
    assert_ne!(refused.code, Some(0));
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("it was made by module openssl:default 3."), "{said}");
    within(dir, "rest rotate db --key orders.key").done();
    call(dir, reseal).done();
    let tables: Vec<_> = made_by(dir, "db");
    assert!(tables.iter().all(|(module, _)| module.is_none()), "{tables:?}");
    call(dir, "rest verify db --key orders.key").done();

    within(dir, "volume create v --key orders.key --size 16MiB").done();
    call(dir, "volume verify v --key orders.key").done();
    within(dir, "volume reseal v --key orders.key --out w --new-module none").done();
    let status = json(&call(dir, "volume status w --json").done());
    assert_eq!(status["module"], Value::Null, "{status}");
}

#[test]
fn a_module_that_is_of_no_use_is_one_error_and_writes_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    within(dir, "keys new orders.key").done();
    let before: Vec<_> =
        fs::read_dir(dir).expect("a directory").map(|e| e.unwrap().path()).collect();
    let untouched = |what: &str| {
        let now: Vec<_> =
            fs::read_dir(dir).expect("a directory").map(|e| e.unwrap().path()).collect();
        assert_eq!(now, before, "{what} left something behind");
    };
    let fails = |line: &str, wanted: &str| {
        let Transcript { code, stderr, .. } = call(dir, line);
        assert_eq!(code, Some(2), "{line}: {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
        untouched(line);
    };
    let key = "--key orders.key";
    fails("keys new k --module openssl:nope", "OpenSSL cannot load its provider nope: ");
    fails("keys new k --module opensll:fips", "did you mean openssl?");
    fails("keys new k --module /nonexistent.so", "cannot load module /nonexistent.so");
    for (cipher, lacks) in [("seed-128", "gcm with seed-128"), ("3des", "ctr+mac with 3des")] {
        let line =
            format!("volume create v {key} --size 16MiB --cipher {cipher} --module {MODULE}");
        fails(&line, &format!("module openssl:default has no {lacks}"));
    }
    let place = tempfile::tempdir().expect("a directory");
    let shim = |define: &str| {
        let defines = ["NAME=\"broken\"", define];
        compiled(place.path(), "failing.c", &defines).display().to_string()
    };
    fails(&format!("keys new k --module {}", shim("FAILS_TEST")), "failed its self test");
    fails(&format!("keys new k --module {}", shim("HALF_BLOCKS")), "for CBC, and not all");
    fails(&format!("keys new k --module {}", shim("NO_RANDOM")), "has no generator of random");
    fails(&format!("keys new k --module {}", shim("FAILS_RANDOM")), "failed: drawing random bytes");
    let volume = format!("volume create v {key} --size 16MiB --module");
    fails(&format!("{volume} {}", shim("NO_AEAD")), "has no gcm with aes-256");
    fails(&format!("{volume} {}", shim("FAILS_SEAL")), "failed: encrypting");

    fs::write(dir.join("people.csv"), PEOPLE).expect("room");
    for (define, wanted) in [
        ("NO_CMAC", "module broken has no cmac with aes-256"),
        ("FAILS_CMAC", "module broken failed: computing CMAC"),
    ] {
        let seal = format!("field seal people.csv --out s.csv {key} --column memo=aead");
        let refused = call(dir, &format!("{seal} --index memo --module {}", shim(define)));
        assert_eq!(refused.code, Some(2), "{define}: {}", refused.stdout);
        assert!(refused.stderr.contains(wanted), "{define}: {}", refused.stderr);
        assert!(!dir.join("s.csv").exists(), "{define}");
    }

    // what only our own code has: FF1, passphrases
    fs::write(dir.join("words"), "correct horse\n").expect("room");
    fs::set_permissions(dir.join("words"), Permissions::from_mode(0o600)).expect("a mode");
    let before: Vec<_> =
        fs::read_dir(dir).expect("a directory").map(|e| e.unwrap().path()).collect();
    let seal = format!("field seal people.csv --out s.csv {key} --module {MODULE} --column");
    for (line, wanted) in [
        (format!("{seal} name=ff1:alphabet:A-Za-z"), "module openssl:default has no ff1 with"),
        (
            format!("keys new k --passphrase-file words --module {MODULE}"),
            "has a passphrase, and module openssl:default opens none",
        ),
    ] {
        let Transcript { code, stderr, .. } = call(dir, &line);
        assert_eq!(code, Some(2), "{line}: {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
        let now: Vec<_> =
            fs::read_dir(dir).expect("a directory").map(|e| e.unwrap().path()).collect();
        assert_eq!(now, before, "{line} left something behind");
    }
}

/// A module that goes into an error state while a file is sealed: no file, no remainder of one.
#[test]
fn a_module_that_dies_midway_leaves_no_half() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    within(dir, "keys new orders.key").done();
    let rows: String = (0..5000).map(|n| format!("{n},Kim,memo {n}\n")).collect();
    fs::write(dir.join("people.csv"), format!("id,name,memo\n{rows}")).expect("room");
    let place = tempfile::tempdir().expect("a directory");
    let dying = ["NAME=\"dying\"", "FAILS_SEAL", "CALLS=700"];
    let dying = compiled(place.path(), "failing.c", &dying).display().to_string();
    let seal = format!("field seal people.csv {COLUMNS} --key orders.key --out");
    let died = call(dir, &format!("{seal} sealed.csv --module {dying}"));
    assert_eq!(died.code, Some(2), "{}", died.stdout);
    assert!(died.stderr.contains("module dying failed: encrypting"), "{}", died.stderr);
    let mut left: Vec<_> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["orders.key", "people.csv"]);

    // a store that is being resealed: what is there stays readable, and the next run goes on
    plain_store(&dir.join("db"));
    let reseal = "rest reseal db --key orders.key --cipher aria-256";
    within(dir, &format!("{reseal} --from-plain --yes")).done();
    for calls in [2, 10, 40, 80] {
        let (name, limit) = (format!("NAME=\"dying-{calls}\""), format!("CALLS={calls}"));
        let dying = compiled(place.path(), "failing.c", &[&name, "FAILS_SEAL", &limit]);
        let died = call(dir, &format!("{reseal} --module {}", dying.display()));
        assert_eq!(died.code, Some(2), "{calls}: {}", died.stdout);
        let named = format!("module dying-{calls} failed: encrypting");
        assert!(died.stderr.contains(&named), "{calls}: {}", died.stderr);
        assert!(!died.stderr.contains("this is a bug"), "{calls}: {}", died.stderr);
        let got = within(dir, "rest get db order01999 --key orders.key").done();
        assert!(got.contains("PLANTED-MARKER-q7Zx2 1999"), "{got}");
    }
    within(dir, reseal).done();
    let got = within(dir, "rest get db order01999 --key orders.key").done();
    assert!(got.contains("PLANTED-MARKER-q7Zx2 1999"), "{got}");
}

/// A volume is written by the module that made it, behind a real file system; our own code reads
/// it, and does not write to it.
#[test]
fn a_mounted_volume_is_written_by_its_module() {
    let test = "a_mounted_volume_is_written_by_its_module";
    let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let place = VolumePlace::with_key(home, &["--module", MODULE]);
    let create = ["volume", "create", "vol", "--size", "64MiB", "--key", "k.key"];
    let module = ["--cipher", "aria-256", "--module", MODULE];
    let created = place.sealstone(&[&create[..], &module].concat()).done();
    let next = "next: sealstone volume mount vol PATH --key k.key --module openssl:default ";
    assert!(created.contains(next), "{created}");
    let mounted = place.mount(&["--mkfs", "ext4", "--module", MODULE]);
    if sealstone_e2e::volume_place::is_skipped(test, &mounted) {
        return;
    }
    mounted.done();
    fs::write(place.at("m").join("data"), "PLANTED-MARKER-q7Zx2".repeat(1000)).expect("room");
    assert!(place.status()["module"].as_str().expect("a title").starts_with(MODULE));
    place.volume(&["unmount", "m"]).done();
    assert!(!shows_marker(&place.at("vol")));
    let verify = ["volume", "verify", "vol", "--key", "k.key", "--module", MODULE];
    place.sealstone(&verify).done();
    if is_alone() {
        return;
    }
    place.verify().done();
    let refused = place.mount(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    let said = refused.stderr;
    assert!(said.contains("it was made by module openssl:default 3."), "{said}");
    place.mount(&["--module", MODULE]).done();
    let data = fs::read_to_string(place.at("m").join("data")).expect("a file");
    assert_eq!(data, "PLANTED-MARKER-q7Zx2".repeat(1000));
    place.volume(&["unmount", "m"]).done();
}

/// Other programs are led to the module from wherever they run, with what was stated about it.
#[test]
fn a_module_is_handed_on_as_it_was_named() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    let library = compiled(dir, "reference.c", &["NAME=\"vendor\""]);
    let name = library.file_name().expect("a name").to_str().expect("text");
    let stated = "?certificate=17/2026";
    let absolute = |name: &str| format!("{}/{name}{stated}", dir.canonicalize().unwrap().display());
    within(dir, "keys new orders.key").done();
    within(dir, "volume create v --key orders.key --size 16MiB").done();
    fs::write(dir.join("libsealstone_wiredtiger.so"), "any").expect("room");
    for (module, wanted) in [
        (format!("./{name}{stated}"), absolute(name)),
        (format!("{MODULE}{stated}"), format!("{MODULE}{stated}")),
    ] {
        let module = format!("--module {module}");
        let unit = call(dir, &format!("volume unit v /mnt/v --key orders.key {module}")).done();
        assert!(unit.contains(&wanted), "{unit}");
        let config = "mongo config --dbpath db --key orders.key --extension";
        let config = call(dir, &format!("{config} libsealstone_wiredtiger.so {module}")).done();
        assert!(config.contains(&wanted), "{config}");
    }
}

/// The process of a mounted volume whose module goes into an error state: writes fail from then on,
/// no block reaches the disk in another way, and what was synced before is there under the module
/// once it works again.
#[test]
fn a_mounted_volume_whose_module_dies_keeps_what_was_synced() {
    let test = "a_mounted_volume_whose_module_dies_keeps_what_was_synced";
    let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let libraries = tempfile::tempdir().expect("a directory");
    let library = |calls: &str| {
        let defines = ["NAME=\"mortal\"", "FAILS_SEAL", calls];
        compiled(libraries.path(), "failing.c", &defines).display().to_string()
    };
    let (steady, dying) = (library("CALLS=1000000000"), library("CALLS=1500"));
    let place = VolumePlace::with_key(home, &["--module", &steady]);
    let create = ["volume", "create", "vol", "--size", "64MiB", "--key", "k.key"];
    let module = ["--cipher", "aria-256", "--module", &steady];
    place.sealstone(&[&create[..], &module].concat()).done();
    let mounted = place.mount(&["--mkfs", "ext4", "--module", &steady]);
    if sealstone_e2e::volume_place::is_skipped(test, &mounted) {
        return;
    }
    mounted.done();
    place.volume(&["unmount", "m"]).done();
    place.mount(&["--module", &dying]).done();
    let synced = |number: usize| {
        let mut file = fs::File::create(place.at("m").join(format!("file{number}")))?;
        file.write_all(&[number as u8; 40_000])?;
        file.sync_all()
    };
    let whole = (0..1000).take_while(|number| synced(*number).is_ok()).count();
    assert!((1..500).contains(&whole), "{whole}");
    assert!(synced(1000).is_err(), "a module that failed works again");
    place.kill();
    place.unmount();
    place.mount(&["--module", &steady]).done();
    for number in 0..whole {
        let found = fs::read(place.at("m").join(format!("file{number}"))).expect("a file");
        assert!(found == [number as u8; 40_000], "{number} of {whole}");
    }
    place.volume(&["unmount", "m"]).done();
    let verify = ["volume", "verify", "vol", "--key", "k.key", "--module", &steady];
    place.sealstone(&verify).done();
}

/// A module is an axis of a comparison; a policy that requires one recommends nothing else, and
/// results record which it was.
#[test]
fn a_comparison_has_modules_as_an_axis() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    let line = "compare --ciphers none,aes-256 --workloads c --records 2000 --operations 500 \
                --rounds 3 --set pairs=6 --set slice-ms=5";
    if is_alone() {
        // the key of the run, too, which is forgotten or kept beside the stores
        call(dir, &format!("{line} --module {MODULE} --out out")).done();
        call(dir, &format!("{line} --module {MODULE} --keep kept --out more")).done();
        return;
    }
    let line = format!("{line} --module none,openssl:default?certificate=TEXT");
    let said = call(dir, &format!("{line} --policy fips-module --out out")).done();
    let results = json(&fs::read_to_string(dir.join("out/results.json")).expect("results"));
    let labels: Vec<_> = results["variants"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|variant| variant["label"].as_str().expect("a label").to_owned())
        .collect();
    assert_eq!(labels, ["none", "aes-256", "aes-256 openssl:default"]);
    let rest = &results["variants"][2]["layers"]["rest"];
    assert_eq!(rest["backend"], MODULE);
    let module = rest["module"].as_str().expect("a title");
    assert!(
        module.starts_with("openssl:default 3.") && module.ends_with(", certificate TEXT"),
        "{module}"
    );
    assert_eq!(results["variants"][1]["layers"]["rest"]["module"], Value::Null);
    let page = fs::read_to_string(dir.join("out/report.html")).expect("a report");
    let barred = "computed by sealstone itself, which is no validated module";
    assert!(page.contains(barred), "{said}");
    assert!(page.contains("Sealstone is not a validated module"));
    assert!(page.contains("certificate TEXT"));
    // a name that is none is an error before anything is measured
    let refused = call(dir, "compare --module openssl:nope --out nope");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("OpenSSL cannot load its provider nope"), "{}", refused.stderr);
    assert!(!dir.join("nope").exists());
}
