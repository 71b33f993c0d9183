//! RocksDB's own programs with our plug-in: their writes are sealed, they read our library's files,
//! and every fault stops them with a message and without a write.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sealstone_cipher::Backend;
use sealstone_e2e::binary::is_alone;
use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::promtool::sample;
use sealstone_e2e::rocksdb_tools::{MARKER, Store};
use sealstone_e2e::transcript::{Transcript, plain, run, sealstone};
use sealstone_keys::{Cost, KeyFile, Passphrase};
use sealstone_rocksdb::{Db, DbOptions, SealedEnv};

const LDB: &[&str] = &["ldb"];
const DB_BENCH: &[&str] = &["db_bench", "ldb"];

/// Opens the store with our own library.
fn opened(store: &Store, cipher: &str) -> Db {
    let keys = Arc::new(KeyFile::open(store.key()).unwrap());
    let env = SealedEnv::new(keys, sealstone_cipher::cipher(cipher).unwrap(), Backend::auto());
    env.open(&store.db(), &DbOptions::default()).unwrap()
}

/// Asserts that a program failed and printed `what`.
fn refused(transcript: &Transcript, what: &str) {
    let said = format!("{}{}", transcript.stdout, transcript.stderr);
    assert!(said.contains(what), "wanted {what:?}, found:\n{said}");
    assert_ne!(transcript.code, Some(0), "it went on after {what:?}:\n{said}");
}

#[test]
fn ldb_writes_what_the_library_reads_and_the_other_way_round() {
    let Some(store) = Store::new("ldb_writes_what_the_library_reads_and_the_other_way_round", LDB)
    else {
        return;
    };
    let settings = store.settings("&cipher=aria-256&page_bytes=16KiB");
    for n in 0..20 {
        let value = format!("{MARKER} {n}");
        store
            .ldb(&settings, &["--create_if_missing", "put", &format!("ldb {n:02}"), &value])
            .done();
    }
    store.ldb(&settings, &["compact"]).done();
    store.assert_sealed("aria-256");
    let db = opened(&store, "aes-256");
    assert_eq!(db.get(b"ldb 07").unwrap(), Some(format!("{MARKER} 7").into_bytes()));
    for n in 0..1000 {
        db.put(format!("lib {n:03}").as_bytes(), format!("{MARKER} {n}").as_bytes(), false)
            .unwrap();
    }
    db.flush().unwrap();
    db.put(b"lib in the log", b"not in a table yet", true).unwrap();
    db.close().unwrap();

    assert_eq!(store.ldb(&settings, &["get", "lib 999"]).done(), format!("{MARKER} 999\n"));
    assert_eq!(store.ldb(&settings, &["get", "lib in the log"]).done(), "not in a table yet\n");
    let scan = store.ldb(&settings, &["scan"]).done();
    assert_eq!((scan.lines().count(), scan.matches(MARKER).count()), (1021, 1020), "{scan}");
    store.ldb(&settings, &["checkconsistency"]).done();
    store.assert_sealed("aria-256");
    let backup = format!("--backup_dir={}", store.dir().join("backup").display());
    store.ldb(&settings, &["backup", &backup]).done();
    fs::remove_dir_all(store.db()).unwrap();
    let sealed = format!("--backup_fs_uri=sealstone://?{settings}");
    store.ldb(&settings, &["restore", &backup, &sealed]).done();
    assert_eq!(store.ldb(&settings, &["scan"]).done(), scan);
    store.assert_sealed("aria-256");
    // without the plug-in there is nothing to read
    let db = format!("--db={}", store.db().display());
    let without = run(&mut plain(Path::new("ldb"), store.dir(), &[&db, "scan"]));
    assert!(!without.stdout.contains("lib ") && !without.stdout.contains("ldb "), "{without:?}");
}

/// A program counts if its settings ask for it, and its counts are metrics of the monitor.
#[test]
fn a_program_counts_what_it_seals_if_it_is_asked_to() {
    let Some(store) = Store::new("a_program_counts_what_it_seals_if_it_is_asked_to", LDB) else {
        return;
    };
    let put = |settings: &str| {
        store.ldb(settings, &["--create_if_missing", "put", "one", &MARKER.repeat(1000)]).done();
    };
    let counts = store.db().join("SEALSTONE-COUNTS");
    put(&store.settings("&cipher=aria-256"));
    assert!(!counts.exists(), "nobody asked for it");
    let settings = store.settings(&format!("&cipher=aria-256&counts_dir={}", store.db().display()));
    put(&settings);
    let db = store.db().display().to_string();
    let status = || run(&mut sealstone(store.dir(), &["status", &db, "--prometheus"]));
    let metrics = status().done();
    let of = |name: &str| sample(&metrics, name, &[]);
    assert!(of("sealstone_bytes_sealed_total") > 1000.0 * MARKER.len() as f64, "{metrics}");
    assert!(of("sealstone_bytes_opened_total") > 0.0, "{metrics}");
    assert_eq!(of("sealstone_failures_total"), 0.0, "{metrics}");
    assert_eq!(of("sealstone_sealed_ratio"), 1.0, "{metrics}");
    // the store is whole with it, and a program without the setting opens it
    let key = store.key().display().to_string();
    run(&mut sealstone(store.dir(), &["rest", "verify", &db, "--key", &key])).done();
    store.ldb(&store.settings("&cipher=aria-256"), &["get", "one"]).done();

    // a changed byte is a failure that is counted
    let log = fs::read_dir(store.db()).unwrap().flatten().map(|entry| entry.path());
    let log = log.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
    let log = log.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
    let at = log.metadata().unwrap().len() - 20;
    file.write_all_at(b"!!!!", at).unwrap();
    let failed = store.ldb(&settings, &["get", "one"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    let metrics = run(&mut sealstone(store.dir(), &["status", &db, "--prometheus"])).stdout;
    assert!(sample(&metrics, "sealstone_failures_total", &[]) > 0.0, "{metrics}");
}

#[test]
fn an_environment_is_as_good_as_a_file_system() {
    let Some(store) = Store::new("an_environment_is_as_good_as_a_file_system", DB_BENCH) else {
        return;
    };
    let db = format!("--db={}", store.db().display());
    let uri = format!("--env_uri=id=sealstone://?{}", store.settings("&cipher=lea-256"));
    run(&mut store.with_plugin("ldb", &[&db, &uri, "--create_if_missing", "put", "one", MARKER]))
        .done();
    let read = run(&mut store.with_plugin("ldb", &[&db, &uri, "get", "one"])).done();
    assert_eq!(read, format!("{MARKER}\n"));
    let more = ["--benchmarks=fillrandom", "--num=2000"];
    run(&mut store.with_plugin("db_bench", &[&[db.as_str(), &uri], more.as_slice()].concat()))
        .done();
    store.assert_sealed("lea-256");
}

#[test]
fn db_bench_runs_on_a_sealed_store() {
    let Some(store) = Store::new("db_bench_runs_on_a_sealed_store", DB_BENCH) else { return };
    let settings = store.settings("&cipher=aes-256");
    let benchmarks =
        "fillseq,overwrite,readrandom,seekrandom,readseq,compact,verifychecksum,multireadrandom";
    let ran =
        run(&mut store.db_bench(&settings, benchmarks, &["--num=20000", "--threads=2"])).done();
    for benchmark in benchmarks.split(',') {
        assert!(ran.contains(&format!("\n{benchmark} ")), "{benchmark} in:\n{ran}");
    }
    assert!(ran.contains("(20000 of 20000 found)"), "{ran}");
    store.assert_sealed("aes-256");
    let direct = ["--num=20000", "--use_existing_db", "--use_direct_reads"];
    let ran = run(&mut store.db_bench(&settings, "readrandom", &direct)).done();
    assert!(ran.contains("(20000 of 20000 found)"), "{ran}");
    let mapped =
        run(&mut store.db_bench(&settings, "readrandom", &["--use_existing_db", "--mmap_read"]));
    refused(&mapped, "a sealed file cannot be mapped into memory");
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let Some(store) = Store::new("what_is_wrong_is_said_and_nothing_is_written", DB_BENCH) else {
        return;
    };
    let at = |name: &str| store.dir().join(name);
    let safe = at("safe.key");
    let passphrase = Passphrase::new("open sesame".into(), "the test").unwrap();
    KeyFile::create_protected(
        &safe,
        "orders",
        &passphrase,
        Cost { memory_kib: 64, passes: 1, lanes: 1 },
    )
    .unwrap();
    for (name, words) in [("right", "open sesame"), ("wrong", "open barley")] {
        fs::write(at(name), words).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let protected = |file: &str| {
        format!("key={}&cipher=aes-256&passphrase_file={}", safe.display(), at(file).display())
    };
    let missing = format!("key={}&cipher=aes-256", at("no.key").display());
    for (settings, what) in [
        (String::new(), "no key is named\nadd key="),
        (store.settings("&ciper=aria-256"), "unknown setting \"ciper\"; did you mean cipher?"),
        (store.settings("&cipher=aria256"), "unknown cipher \"aria256\"; did you mean aria-256?"),
        (store.settings(""), "no cipher is named, and key file "),
        (
            store.settings("&cipher=aes-256&page_bytes=5000"),
            "write a power of two from 1024 to 65536",
        ),
        (store.settings("&cipher=aes-256&accel=sse9"), "unknown backend \"sse9\""),
        (missing, "no key file at "),
        (
            format!("key={}&cipher=aes-256", safe.display()),
            "is protected by a passphrase, and none was given",
        ),
        (protected("wrong"), "the passphrase does not open key file "),
    ] {
        refused(&store.ldb(&settings, &["--create_if_missing", "put", "one", MARKER]), what);
        refused(&run(&mut store.db_bench(&settings, "fillseq", &["--num=10"])), what);
        assert!(!store.db().exists(), "{settings}");
    }
    // the settings are in the message, so that they can be identified
    let said = store.ldb("key=/nonexistent/a.key&cipher=aes-256", &["get", "one"]);
    refused(&said, "\nin: sealstone://?key=/nonexistent/a.key&cipher=aes-256");
    store.ldb(&protected("right"), &["--create_if_missing", "put", "one", MARKER]).done();
    assert_eq!(store.ldb(&protected("right"), &["get", "one"]).done(), format!("{MARKER}\n"));
    // a cipher for old data is reported each time
    let old = store.ldb(&protected("right").replace("aes-256", "3des"), &["get", "one"]);
    assert!(old.stderr.contains("sealstone: warning: 3des is legacy: "), "{}", old.stderr);
    store.assert_nothing_in_the_clear();
}

#[test]
fn another_key_and_a_changed_byte_are_errors() {
    let Some(store) = Store::new("another_key_and_a_changed_byte_are_errors", LDB) else { return };
    let settings = store.settings("&cipher=aes-256");
    store.ldb(&settings, &["--create_if_missing", "put", "one", MARKER]).done();
    store.ldb(&settings, &["compact"]).done();
    let other = store.dir().join("other.key");
    KeyFile::create(&other, "orders").unwrap();
    let with_other = format!("key={}&cipher=aes-256", other.display());
    refused(
        &store.ldb(&with_other, &["get", "one"]),
        "does not open the header: another key bears the same name",
    );
    refused(
        &store.ldb(&with_other, &["put", "two", MARKER]),
        "does not open the header: another key bears the same name",
    );

    let mut names = fs::read_dir(store.db()).unwrap().map(|entry| entry.unwrap().path());
    let table =
        names.find(|path| path.extension().is_some_and(|ending| ending == "sst")).expect("a table");
    let file = fs::File::options().read(true).write(true).open(&table).unwrap();
    let mut byte = [0];
    let offset = file.metadata().unwrap().len() - 100;
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
    refused(&store.ldb(&settings, &["scan"]), "failed authentication");
    file.write_all_at(&byte, offset).unwrap();
    assert_eq!(store.ldb(&settings, &["get", "one"]).done(), format!("{MARKER}\n"));
    store.assert_sealed("aes-256");
}

#[test]
fn a_plain_store_is_not_taken_for_a_sealed_one() {
    let Some(store) = Store::new("a_plain_store_is_not_taken_for_a_sealed_one", LDB) else {
        return;
    };
    let db = format!("--db={}", store.db().display());
    run(&mut plain(
        Path::new("ldb"),
        store.dir(),
        &[&db, "--create_if_missing", "put", "one", "1"],
    ))
    .done();
    let settings = store.settings("&cipher=aes-256");
    refused(&store.ldb(&settings, &["get", "one"]), "not a sealed file");
    refused(
        &store.ldb(&settings, &["--create_if_missing", "put", "two", MARKER]),
        "not a sealed file",
    );
    let read = run(&mut plain(Path::new("ldb"), store.dir(), &[&db, "get", "one"])).done();
    assert_eq!(read, "1\n");
}

#[test]
fn a_killed_db_bench_leaves_a_whole_store() {
    let Some(store) = Store::new("a_killed_db_bench_leaves_a_whole_store", DB_BENCH) else {
        return;
    };
    let settings = store.settings("&cipher=aria-256");
    run(&mut store.db_bench(&settings, "fillseq", &["--num=5000"])).done();
    for round in 0..3 {
        let more =
            ["--num=5000", "--duration=60", "--use_existing_db", "--write_buffer_size=65536"];
        let mut command = store.db_bench(&settings, "overwrite", &more);
        let mut bench =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("db_bench starts");
        let written = || fs::read_dir(store.db()).unwrap().count();
        let (before, begin) = (written(), Instant::now());
        // until it writes tables and logs, and then a different moment in each round
        while written() < before + 3 && begin.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100 + 130 * round));
        assert!(bench.try_wait().unwrap().is_none(), "db_bench ended by itself");
        bench.kill().unwrap();
        bench.wait().unwrap();
        let read =
            run(&mut store.db_bench(&settings, "readrandom", &["--num=5000", "--use_existing_db"]))
                .done();
        assert!(read.contains("(5000 of 5000 found)"), "{read}");
        store.assert_sealed("aria-256");
    }
}

/// Benchmarks that begin with a new store do not go with `--use_existing_db`: db_bench opens the
/// store a second time, which its own assertion stops where it has assertions, as in Debian. That
/// has nothing to do with the seal.
#[test]
fn db_bench_ends_on_an_existing_store_as_without_the_plug_in() {
    let name = "db_bench_ends_on_an_existing_store_as_without_the_plug_in";
    let Some(store) = Store::new(name, DB_BENCH) else { return };
    let settings = store.settings("&cipher=aes-256");
    let db = format!("--db={}", store.dir().join("plain").display());
    let without = |benchmarks: &str, more: &str| {
        let benchmarks = format!("--benchmarks={benchmarks}");
        run(&mut plain(
            Path::new("db_bench"),
            store.dir(),
            &[db.as_str(), &benchmarks, "--num=2000", more],
        ))
    };
    run(&mut store.db_bench(&settings, "fillseq", &["--num=2000"])).done();
    without("fillseq", "--compression_type=none").done();
    for benchmarks in ["fillsync", "fillseq", "overwrite"] {
        let sealed =
            run(&mut store.db_bench(&settings, benchmarks, &["--num=2000", "--use_existing_db=1"]));
        let plain = without(benchmarks, "--use_existing_db=1");
        assert_eq!(sealed.code, plain.code, "{benchmarks}: {sealed:?}\n{plain:?}");
        assert!(
            sealed.code == Some(0) || sealed.stderr.contains("Assertion `db_.db == nullptr'"),
            "{sealed:?}"
        );
        store.assert_sealed("aes-256");
    }
    run(&mut store.db_bench(
        &settings,
        "overwrite",
        &["--num=50", "--use_existing_db=1", "--sync=1"],
    ))
    .done();
    store.assert_sealed("aes-256");
}

#[test]
fn a_second_process_is_refused() {
    let Some(store) = Store::new("a_second_process_is_refused", DB_BENCH) else { return };
    let settings = store.settings("&cipher=aes-256");
    // fillseq would begin with a new store, so that for a moment there is none
    let mut command = store.db_bench(&settings, "overwrite", &["--num=2000", "--duration=120"]);
    let mut bench =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("db_bench starts");
    // the options are written last, under another name at first, which a kill at that moment would
    // leave behind
    let written =
        |path: &Path| path.to_string_lossy().contains("/OPTIONS-") && path.extension().is_none();
    let opened = || {
        fs::read_dir(store.db())
            .is_ok_and(|mut files| files.any(|file| written(&file.unwrap().path())))
    };
    let begin = Instant::now();
    while !opened() && begin.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(10));
    }
    refused(&store.ldb(&settings, &["put", "one", MARKER]), "LOCK");
    assert!(bench.try_wait().unwrap().is_none(), "db_bench ended by itself");
    bench.kill().unwrap();
    bench.wait().unwrap();
    store.ldb(&settings, &["put", "one", MARKER]).done();
    store.assert_sealed("aes-256");
}

#[test]
fn a_repaired_store_is_whole_with_what_the_repair_took_out() {
    let name = "a_repaired_store_is_whole_with_what_the_repair_took_out";
    let Some(store) = Store::new(name, LDB) else { return };
    let settings = store.settings("&cipher=aes-256");
    store.ldb(&settings, &["--create_if_missing", "put", "one", MARKER]).done();
    store.ldb(&settings, &["compact"]).done();
    store.ldb(&settings, &["put", "two", MARKER]).done();
    for _ in 0..2 {
        store.ldb(&settings, &["repair"]).done();
        let lost: Vec<PathBuf> = fs::read_dir(store.db().join("lost"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(lost.iter().any(|path| path.to_string_lossy().contains("/MANIFEST-")), "{lost:?}");
        store.assert_sealed("aes-256");
        assert_eq!(
            store.ldb(&settings, &["scan"]).done(),
            format!("one : {MARKER}\ntwo : {MARKER}\n")
        );
    }
    // it is checked like everything else
    let mut lost =
        fs::read_dir(store.db().join("lost")).unwrap().map(|entry| entry.unwrap().path());
    let manifest = lost.find(|path| path.to_string_lossy().contains("/MANIFEST-")).unwrap();
    fs::remove_file(&manifest).unwrap();
    let (db, key) = (store.db().display().to_string(), store.key().display().to_string());
    let checked = run(&mut sealstone(store.dir(), &["rest", "verify", &db, "--key", &key]));
    refused(&checked, "lost/MANIFEST-");
}

#[test]
fn an_older_copy_is_refused_with_an_anchor() {
    let Some(store) = Store::new("an_older_copy_is_refused_with_an_anchor", LDB) else { return };
    let outside = tempfile::tempdir().unwrap();
    let settings = store
        .settings(&format!("&cipher=aes-256&anchor={}", outside.path().join("mark").display()));
    store.ldb(&settings, &["--create_if_missing", "put", "one", "old"]).done();
    let copy = store.dir().join("copy");
    let copied = |from: &Path, to: &Path| {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    };
    copied(&store.db(), &copy);
    store.ldb(&settings, &["put", "one", "new"]).done();
    assert_eq!(store.ldb(&settings, &["get", "one"]).done(), "new\n");
    fs::remove_dir_all(store.db()).unwrap();
    copied(&copy, &store.db());
    refused(&store.ldb(&settings, &["put", "two", "2"]), "older than its anchor");
    // a program that only reads takes no lock, and compares all the same
    for reading in [&["get", "one"][..], &["scan"]] {
        refused(&store.ldb(&settings, reading), "older than its anchor");
    }
    // ldb prints the error and ends with 0 here, whatever the error is
    let families = store.ldb(&settings, &["list_column_families"]);
    let said = format!("{}{}", families.stdout, families.stderr);
    assert!(said.contains("older than its anchor") && !said.contains("{default"), "{said}");
}

#[test]
fn a_key_on_a_key_server() {
    let Some(store) = Store::new("a_key_on_a_key_server", LDB) else { return };
    let Some((certificates, mut server)) = started(Kind::PyKmip, "a_key_on_a_key_server") else {
        return;
    };
    let url = certificates.url(server.port, "orders", "&retries=0");
    run(&mut sealstone(store.dir(), &["keys", "new", &url, "--cipher", "aria-256"])).done();
    // the key's attributes name the cipher; its address has ampersands of its own
    let settings = format!("key={}", url.replace('%', "%25").replace('&', "%26"));
    store.ldb(&settings, &["--create_if_missing", "put", "one", MARKER]).done();
    assert_eq!(store.ldb(&settings, &["get", "one"]).done(), format!("{MARKER}\n"));
    store.assert_nothing_in_the_clear();
    refused(
        &store.ldb(&format!("key={url}"), &["get", "one"]),
        "setting key is given twice\nwrite it once; in the",
    );
    server.kill();
    refused(&store.ldb(&settings, &["get", "one"]), "127.0.0.1");
}

/// The setting `module` has a module compute; what it lacks stops the program.
#[test]
fn a_module_seals_what_ldb_writes() {
    let Some(store) = Store::new("a_module_seals_what_ldb_writes", LDB) else { return };
    let module = store.settings("&cipher=aria-256&module=openssl:default");
    store.ldb(&module, &["--create_if_missing", "put", "one", MARKER]).done();
    let db = store.db().display().to_string();
    let status = run(&mut sealstone(store.dir(), &["rest", "status", &db])).done();
    assert!(status.contains("openssl:default 3."), "{status}");
    assert_eq!(store.ldb(&module, &["get", "one"]).done(), format!("{MARKER}\n"));
    if is_alone() {
        return;
    }
    store.assert_sealed("aria-256");
    let own = store.settings("&cipher=aria-256");
    assert_eq!(store.ldb(&own, &["get", "one"]).done(), format!("{MARKER}\n"));
    for (settings, what) in [
        ("&cipher=aria-256&module=openssl:nope", "OpenSSL cannot load its provider nope"),
        ("&cipher=lea-256&module=openssl:default", "has no gcm with lea-256"),
        ("&cipher=aria-256&module=nothing", "names none"),
    ] {
        let settings = store.settings(settings);
        refused(&store.ldb(&settings, &["put", "two", MARKER]), what);
    }
    assert_eq!(store.ldb(&module, &["scan"]).done().lines().count(), 1);
}
