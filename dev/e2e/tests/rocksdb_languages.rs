//! Programs in C++, Python and Go that open a sealed store through our plug-in, the ones that
//! docs/guide/rocksdb.md shows; and programs with a RocksDB that the plug-in was not built for.

use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::binary::rocksdb_plugin;
use sealstone_e2e::rocksdb_tools::{MARKER, Store};
use sealstone_e2e::transcript::{Transcript, plain, run};
use sealstone_rocksdb::library;

/// Returns a file of the plug-in's folder.
fn of_plugin(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/rocksdb-plugin").join(name)
}

/// Returns the directory in which the linker and the loader find the plug-in.
fn library_folder() -> &'static Path {
    rocksdb_plugin().parent().expect("a folder")
}

/// Returns `program` on the store of `store` with the key file `key` and `cipher`.
fn on_store(store: &Store, program: &Path, first: &[&str], key: &Path, cipher: &str) -> Transcript {
    let (db, key) = (store.db().display().to_string(), key.display().to_string());
    let mut command = plain(program, store.dir(), &[first, &[&db, &key, cipher]].concat());
    command.env("LD_LIBRARY_PATH", library_folder());
    run(&mut command)
}

/// Checks what every one of the programs must do: `program` is started with the arguments `first`
/// before its own three.
fn writes_and_reads(store: &Store, program: &Path, first: &[&str]) {
    let said = on_store(store, program, first, &store.key(), "aria-256").done();
    assert!(said.ends_with("289 apples\n"), "{said}");
    store.assert_sealed("aria-256");
    let settings = store.settings("&cipher=aria-256");
    assert_eq!(store.ldb(&settings, &["get", "order 0017"]).done(), "289 apples\n");
    let again = on_store(store, program, first, &store.key(), "aes-256").done();
    assert!(again.ends_with("289 apples\n"), "{again}");

    let missing = store.dir().join("no.key");
    let refused = on_store(store, program, first, &missing, "aria-256");
    assert!(refused.code != Some(0) && refused.stderr.contains("no key file at "), "{refused:?}");
    let refused = on_store(store, program, first, &store.key(), "area-256");
    assert!(
        refused.stderr.contains("unknown cipher \"area-256\"; did you mean aria-256?"),
        "{refused:?}"
    );
    assert_ne!(refused.code, Some(0), "{refused:?}");
}

/// Compiles `source` with the options `more` to `to`; the compiler is one that building our library
/// needed.
fn compile(source: &Path, to: &Path, more: &[&str]) {
    let folder = library_folder().display();
    let mut command = Command::new("c++");
    command
        .args(["-std=c++20", "-O1", "-I"])
        .arg(of_plugin("include"))
        .arg(source)
        .arg(format!("-L{folder}"));
    let output = command.args(more).arg("-o").arg(to).output().expect("a C++ compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_in_cxx() {
    let Some(store) = Store::new("a_program_in_cxx", &["ldb"]) else { return };
    let program = store.dir().join("sealed_store");
    compile(
        &of_plugin("examples/sealed_store.cc"),
        &program,
        &["-lsealstone_rocksdb_plugin", "-lrocksdb"],
    );
    writes_and_reads(&store, &program, &[]);
}

#[test]
fn a_program_in_python() {
    let Some(store) = Store::new("a_program_in_python", &["ldb", "python3"]) else { return };
    let script = of_plugin("examples/sealed_store.py").display().to_string();
    writes_and_reads(&store, Path::new("python3"), &[&script]);
}

#[test]
fn a_program_in_go() {
    let Some(store) = Store::new("a_program_in_go", &["ldb", "go"]) else { return };
    let program = store.dir().join("sealed_store");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(of_plugin("examples/sealed_store.go"));
    build.env("CGO_CFLAGS", format!("-I{}", of_plugin("include").display()));
    build.env("CGO_LDFLAGS", format!("-L{}", library_folder().display()));
    // cgo, whatever this machine's default is, and no network
    build.env("CGO_ENABLED", "1").env("GO111MODULE", "off").env("GOTOOLCHAIN", "local");
    let output = build.output().expect("go starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writes_and_reads(&store, &program, &[]);
}

/// Returns a file with nothing but another answer to the question which version is loaded, before
/// RocksDB's own.
fn another_version(store: &Store) -> PathBuf {
    let (source, library) = (store.dir().join("version.cc"), store.dir().join("version.so"));
    let text = "#include <rocksdb/version.h>\n\
                std::string rocksdb::GetRocksVersionAsString(bool) { return \"99.9.1\"; }\n";
    std::fs::write(&source, text).unwrap();
    compile(&source, &library, &["-shared", "-fPIC"]);
    library
}

#[test]
fn another_rocksdb_is_refused() {
    let Some(store) = Store::new("another_rocksdb_is_refused", &["ldb", "python3"]) else { return };
    let other = another_version(&store);
    let what = format!(
        "sealstone was built for RocksDB {}, and RocksDB 99.9 is loaded",
        library::built_for()
    );
    let uri = format!("=sealstone://?{}", store.settings("&cipher=aes-256"));
    for flag in ["--fs_uri", "--env_uri=id"] {
        let db = format!("--db={}", store.db().display());
        let arguments =
            [db.as_str(), &format!("{flag}{uri}"), "--create_if_missing", "put", "one", MARKER];
        let mut ldb = plain(Path::new("ldb"), store.dir(), &arguments);
        ldb.env("LD_PRELOAD", format!("{}:{}", other.display(), rocksdb_plugin().display()));
        let refused = run(&mut ldb);
        assert!(refused.stderr.contains(&what) && refused.code == Some(127), "{refused:?}");
    }
    assert!(!store.db().exists());
    // a program that requests the environment itself gets the error there
    let script = of_plugin("examples/sealed_store.py").display().to_string();
    let (db, key) = (store.db().display().to_string(), store.key().display().to_string());
    let mut python = plain(Path::new("python3"), store.dir(), &[&script, &db, &key, "aes-256"]);
    let refused = run(python.env("LD_LIBRARY_PATH", library_folder()).env("LD_PRELOAD", &other));
    assert!(refused.stderr.matches(&what).count() == 2 && refused.code == Some(1), "{refused:?}");
    assert!(!store.db().exists());
}

/// Nothing but the functions of the header is visible, so that nothing of ours takes the place of
/// something of the program's; and no second RocksDB is inside.
#[test]
fn the_library_shows_its_functions_only() {
    let header = std::fs::read_to_string(of_plugin("include/sealstone_rocksdb.h")).unwrap();
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(rocksdb_plugin())
        .output()
        .expect("nm starts");
    let names = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> =
        names.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in &names {
        assert!(
            name.starts_with("sealstone_rocksdb_") && header.contains(&format!("{name}(")),
            "{name}"
        );
    }
    let output =
        Command::new("readelf").arg("-d").arg(rocksdb_plugin()).output().expect("readelf starts");
    let dynamic = String::from_utf8(output.stdout).unwrap();
    for want in ["[librocksdb.so", "Library soname: [libsealstone_rocksdb_plugin.so]", "NODELETE"] {
        assert!(dynamic.contains(want), "{want} in:\n{dynamic}");
    }
}
