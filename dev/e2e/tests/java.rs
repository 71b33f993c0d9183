//! The classes of the Java artefact over the library under test, compiled by `javac` without Maven
//! and used by a small program (`adapters/java/src/test/java/org/sealstone/WithoutMaven.java`).
//!
//! Not here: the artefact's own tests, tables of servers, and Spark (`make test-java`,
//! `make test-java-spark`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::binary::fields_library;
use sealstone_e2e::transcript::{plain, run, sealstone};

const POLICY: &str = "[tables.people.columns.name]\nmethod = \"ff1\"\nformat = \"hangul\"\n\
    [tables.people.columns.memo]\nmethod = \"aead\"\ntweak = \"row:id\"\n";
const PEOPLE: &str = "id,name,memo\n1,홍길동,first\n2,김철수,second\n3,남궁민수,셋째 🔑\n";

const SAID: &str = "\
one by one: 홍길동, first
by marks: 김철수, in the clear
names: [홍길동, 김철수, 남궁민수]
memos: [first, second, 셋째 🔑]
sealed alike: true
sealed again: 넷째 🔑
null: null [null, 남궁민수]
moved: NOT_GENUINE 1
does not fit: MISFIT 2
no row: ARGUMENT -1
a row too much: ARGUMENT -1
without a mark: NOT_GENUINE -1
without a version: KEY -1
offsets [0, 3]: ARGUMENT -1
offsets [-1, 2]: ARGUMENT -1
offsets [2, 1]: ARGUMENT 0
offsets [0, 2147483647]: ARGUMENT -1
offsets [-2147483648, 0]: ARGUMENT -1
another key: NOT_GENUINE -1
no key: KEY -1
closed: CLOSED -1
";

/// Returns whether a Java that compiles is here, and prints a SKIP if none is.
fn has_java(test: &str) -> bool {
    let works = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let has_java = works("javac") && works("java");
    if !has_java {
        println!("SKIP: {test}: no javac or java here; sh dev/setup.sh java installs both");
    }
    has_java
}

/// Returns the sources of the artefact and the program.
fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/java/src");
    let main = fs::read_dir(folder.join("main/java/org/sealstone")).unwrap();
    let mut sources: Vec<PathBuf> = main.map(|entry| entry.unwrap().path()).collect();
    sources.push(folder.join("test/java/org/sealstone/WithoutMaven.java"));
    sources
}

#[test]
fn a_program_in_java_uses_the_library() {
    if !has_java("a_program_in_java_uses_the_library") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let done = |arguments: &[&str]| run(&mut sealstone(dir.path(), arguments)).done();
    fs::write(path("fields.toml"), POLICY).unwrap();
    fs::write(path("people.csv"), PEOPLE).unwrap();
    done(&["keys", "new", "people.key", "--id", "people"]);
    done(&["keys", "new", "other.key", "--id", "people"]);
    let seal = ["field", "seal", "people.csv", "--policy", "fields.toml", "--key", "people.key"];
    done(&[&seal[..], &["--out", "sealed.csv"]].concat());

    // Maven fills the version in
    fs::create_dir_all(path("classes/org/sealstone")).unwrap();
    let version = format!("version={}\n", env!("CARGO_PKG_VERSION"));
    fs::write(path("classes/org/sealstone/version.properties"), version).unwrap();
    let options =
        ["--release", "17", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d", "classes"];
    let mut javac = plain(Path::new("javac"), dir.path(), &options);
    run(javac.args(sources())).done();

    let mut library = std::ffi::OsString::from("-Dsealstone.library=");
    library.push(fields_library());
    let mut java = plain(Path::new("java"), dir.path(), &["-Xcheck:jni"]);
    java.arg(library).args(["-cp", "classes", "org.sealstone.WithoutMaven", "."]);
    let said = run(java.env_remove("SEALSTONE_PASSPHRASE_FILE")).done();
    assert_eq!(said, SAID);
}
