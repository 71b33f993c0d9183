//! The library for applications (`adapters/fields-c`): a program in C that opens what the command
//! sealed, in a file and in tables in use, and seals it again; codes of failures; what the library
//! and its header show to programs; that the Java artefact is of the same version.
//!
//! Not here: hostile pointers and lengths (`adapters/fields-c/src/ffi.rs`), Java (`java.rs`, `make
//! test-java`).

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use sealstone_e2e::binary::fields_library;
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{Transcript, finish, plain, run, sealstone};
use tempfile::TempDir;

const POLICY: &str = "cipher = \"aria-256\"\n\
    [tables.people.columns.name]\nmethod = \"ff1\"\nformat = \"hangul\"\n\
    [tables.people.columns.rrn]\nmethod = \"ff1\"\nformat = \"rrn\"\n\
    [tables.people.columns.memo]\nmethod = \"aead\"\ntweak = \"row:id\"\nempty = \"keep\"\n";
const PEOPLE: [[&str; 4]; 3] = [
    ["1", "홍길동", "870605-1234567", "first"],
    ["2", "김철수", "000101-3000002", ""],
    ["3", "남궁민수", "991231-2345678", "셋째 🔑"],
];

/// Returns a file of the folder of an adapter.
fn of_adapter(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters").join(name)
}

/// Returns the compiled example, under AddressSanitizer where the compiler has it: memory of the
/// library that is used wrongly, or left, ends the program.
fn program() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("people");
        let compile = |more: &[&str]| {
            Command::new("cc")
                .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-g"])
                .arg("-I")
                .arg(of_adapter("fields-c/include"))
                .arg(of_adapter("fields-c/examples/people.c"))
                .arg("-L")
                .arg(fields_library().parent().expect("a folder"))
                .args(["-lsealstone_fields", "-o"])
                .arg(&program)
                .args(more)
                .output()
                .expect("a C compiler")
        };
        if !compile(&["-fsanitize=address,undefined"]).status.success() {
            let output = compile(&[]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        (dir, program)
    });
    program
}

/// Runs the program with `lines` as its input.
fn people(dir: &Path, arguments: &[&str], lines: &[String]) -> Transcript {
    let mut command = plain(program(), dir, arguments);
    command
        .env("LD_LIBRARY_PATH", fields_library().parent().expect("a folder"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    // a program that fails early closes it
    let _ = input.write_all((lines.join("\n") + "\n").as_bytes());
    drop(input);
    finish(child)
}

/// A directory with a sealed file, its policy and its key.
fn sealed() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("fields.toml"), POLICY).unwrap();
    let rows = PEOPLE.map(|person| person.join(",") + "\n").concat();
    fs::write(path("people.csv"), format!("id,name,rrn,memo\n{rows}")).unwrap();
    let done = |arguments: &[&str]| run(&mut sealstone(dir.path(), arguments)).done();
    done(&["keys", "new", "people.key", "--id", "people"]);
    let seal = ["field", "seal", "people.csv", "--policy", "fields.toml", "--key", "people.key"];
    done(&[&seal[..], &["--out", "sealed.csv"]].concat());
    dir
}

/// Returns the values of a column of the sealed file, each with the mark 1 and its row.
fn values(dir: &Path, column: usize) -> Vec<String> {
    let text = fs::read_to_string(dir.join("sealed.csv")).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    text.lines().skip(1).map(cells).map(|row| format!("{}\t1\t{}", row[column], row[0])).collect()
}

/// Returns the two columns that the program prints.
fn printed(said: &str) -> (Vec<&str>, Vec<&str>) {
    said.lines().map(|line| line.split_once('\t').expect("two columns")).unzip()
}

#[test]
fn a_program_in_c_opens_what_the_command_sealed() {
    let dir = sealed();
    for (kind, described) in
        [("policy", "fields.toml"), ("text", "fields.toml"), ("manifest", "sealed.csv.sealed.toml")]
    {
        for (at, column) in [(1, "name"), (2, "rrn"), (3, "memo")] {
            let lines = values(dir.path(), at);
            let run = |lines: &[String]| {
                people(dir.path(), &[kind, described, "people.key", "people", column], lines).done()
            };
            let said = run(&lines);
            let (opened, again) = printed(&said);
            assert_eq!(opened, PEOPLE.map(|person| person[at]), "{kind} {column}");
            let before: Vec<&str> =
                lines.iter().map(|line| line.split('\t').next().unwrap()).collect();
            if column == "memo" {
                assert!(again[0] != before[0] && again[1].is_empty(), "a fresh nonce");
                let rows =
                    again.iter().zip(PEOPLE).map(|(value, row)| format!("{value}\t1\t{}", row[0]));
                let said = run(&rows.collect::<Vec<_>>());
                assert_eq!(printed(&said).0, opened, "it opens what it sealed");
            } else {
                assert_eq!(again, before, "equal values are sealed alike");
            }
        }
    }
}

#[test]
fn failures_are_codes_and_words_without_values() {
    let dir = sealed();
    let path = |name: &str| dir.path().join(name);
    let done = |arguments: &[&str]| run(&mut sealstone(dir.path(), arguments)).done();
    let memo = |key: &str, lines: &[String]| {
        people(dir.path(), &["policy", "fields.toml", key, "people", "memo"], lines)
    };
    let fails = |said: Transcript, code: i32, want: &str| {
        assert!(said.code == Some(code) && said.stderr.contains(want), "{said:?}\nwant: {want}");
        assert!(said.stdout.is_empty() && !said.stderr.contains("홍"), "{said:?}");
    };
    let lines = values(dir.path(), 3);
    let failed = "the sealed value failed authentication: changed, or moved";
    // moved to another row, changed, cut, no sealed value
    let moved: Vec<String> = lines.iter().map(|line| line.replace("\t1\t3", "\t1\t1")).collect();
    fails(memo("people.key", &moved), 5, &format!("value 2: open: code 5: {failed}"));
    let mut changed = lines[0].clone().into_bytes();
    let at = lines[0].find('\t').unwrap() - 30;
    changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    fails(
        memo("people.key", &[lines[0].clone(), changed]),
        5,
        &format!("value 1: open: code 5: {failed}"),
    );
    fails(memo("people.key", &["AAAA\t1\t1".into()]), 5, "not a sealed value");
    fails(memo("people.key", &["not base64\t1\t1".into()]), 5, "not a sealed value");
    // an empty text is another row
    let missing = lines[0].replace("\t1\t1", "\t1\t");
    fails(memo("people.key", &[missing]), 5, failed);
    // a version that the key does not have
    fails(memo("people.key", &[lines[0].replace("\t1\t", "\t7\t")]), 3, "version 7");
    // one that it has, and another than that of the value
    done(&["keys", "rotate", "people.key"]);
    fails(
        memo("people.key", &[lines[0].replace("\t1\t", "\t2\t")]),
        5,
        "its mark names key people version 2, and the value itself key people version 1",
    );
    fails(memo("no.key", &lines), 3, "no key file at no.key");
    let name =
        |kind: &str, described: &str, key: &str, table: &str, column: &str, lines: &[String]| {
            people(dir.path(), &[kind, described, key, table, column], lines)
        };
    let of_name =
        |lines: &[String]| name("policy", "fields.toml", "people.key", "people", "name", lines);
    fails(of_name(&["홍길동x".into()]), 4, "code 4: character 4 is a lower-case letter");
    fails(
        name("policy", "fields.toml", "people.key", "people", "nmae", &[]),
        2,
        "did you mean name?",
    );
    fails(
        name("policy", "fields.toml", "people.key", "poeple", "name", &[]),
        2,
        "did you mean people?",
    );
    fails(name("policy", "no.toml", "people.key", "people", "name", &[]), 2, "cannot read policy");
    // another key of the same name, and one of another name
    fs::rename(path("people.key"), path("right.key")).unwrap();
    done(&["keys", "new", "people.key", "--id", "people"]);
    fails(memo("people.key", &lines), 5, failed);
    let manifest =
        |key: &str| name("manifest", "sealed.csv.sealed.toml", key, "people", "memo", &lines);
    fails(manifest("people.key"), 2, "does not fit the manifest: another key bears the same name");
    done(&["keys", "new", "orders.key"]);
    fails(memo("orders.key", &lines), 3, "value 0: open: code 3: ");
    fails(manifest("orders.key"), 3, "people version 1");
    let text = fs::read_to_string(path("sealed.csv.sealed.toml")).unwrap();
    let changed = text.replace("hangul", "letters");
    assert_ne!(changed, text);
    fs::write(path("sealed.csv.sealed.toml"), changed).unwrap();
    fails(manifest("right.key"), 2, "does not fit the manifest");
}

/// Values of a table whose marks name two versions of the key, or none.
fn a_table_in_use(kind: SqlKind, test: &str) {
    if !kind.is_available(test) {
        return;
    }
    let dir = sealed();
    let server = SqlServer::start(kind, &dir.path().join("server"));
    let mut session = server.session();
    fs::write(dir.path().join("address"), server.url()).unwrap();
    let ending = kind.table_ending();
    session.done(&format!(
        "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), rrn VARCHAR(14), memo \
         TEXT){ending}"
    ));
    for person in PEOPLE {
        session.done(&format!("INSERT INTO people VALUES ('{}')", person.join("', '")));
    }
    let migrate = |more: &[&str]| {
        let begin = ["field", "migrate", "@address", "--table", "people", "--key", "people.key"];
        let all = [&begin[..], &["--yes", "--quiet"], more].concat();
        run(&mut sealstone(dir.path(), &all)).done()
    };
    migrate(&["--policy", "fields.toml"]);
    let manifest = |session: &mut sealstone_e2e::sql_server::SqlSession| {
        let rows =
            session.done("SELECT manifest FROM sealstone_fields WHERE table_name = 'people'");
        let lines: Vec<String> = rows.into_iter().map(|row| row.join("\t")).collect();
        fs::write(dir.path().join("manifest"), lines.join("\n") + "\n").unwrap();
    };
    let opens = |described: [&str; 2],
                 session: &mut sealstone_e2e::sql_server::SqlSession,
                 people_now: &[[&str; 4]]| {
        for (at, column) in [(1, "name"), (2, "rrn"), (3, "memo")] {
            let rows = session.done(&format!(
                "SELECT {column}, coalesce({column}_sealed, 0), id FROM people ORDER BY id"
            ));
            let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
            let [kind, file] = described;
            let said = people(dir.path(), &[kind, file, "people.key", "people", column], &lines);
            let said = said.done();
            let wanted: Vec<&str> = people_now.iter().map(|person| person[at]).collect();
            assert_eq!(printed(&said).0, wanted, "{column} by {kind}");
        }
    };
    manifest(&mut session);
    opens(["policy", "fields.toml"], &mut session, &PEOPLE);
    opens(["manifest", "manifest"], &mut session, &PEOPLE);
    // one row of another version, put in by an application, and one in the clear
    run(&mut sealstone(dir.path(), &["keys", "rotate", "people.key"])).done();
    let said = people(
        dir.path(),
        &["policy", "fields.toml", "people.key", "people", "name"],
        &["강감찬\t0\t".to_owned()],
    )
    .done();
    let sealed_name = printed(&said).1[0].to_owned();
    session
        .done(&format!("UPDATE people SET name = '{sealed_name}', name_sealed = -2 WHERE id = 1"));
    session.done("UPDATE people SET name = '을지문덕' WHERE id = 2");
    let mut now = PEOPLE;
    (now[0][1], now[1][1]) = ("강감찬", "을지문덕");
    let marks = session.done("SELECT coalesce(name_sealed, 0) FROM people ORDER BY id");
    assert_eq!(marks.concat(), ["2", "0", "1"]);
    opens(["policy", "fields.toml"], &mut session, &now);
    opens(["manifest", "manifest"], &mut session, &now);
    migrate(&["--reseal"]);
    manifest(&mut session);
    opens(["manifest", "manifest"], &mut session, &now);
    migrate(&["--open"]);
    let names = session.done("SELECT name FROM people ORDER BY id");
    assert_eq!(names.concat(), now.map(|person| person[1]));
}

#[test]
fn a_program_in_c_opens_a_table_of_mariadb() {
    a_table_in_use(SqlKind::MariaDb, "a_program_in_c_opens_a_table_of_mariadb");
}

#[test]
fn a_program_in_c_opens_a_table_of_postgres() {
    a_table_in_use(SqlKind::Postgres, "a_program_in_c_opens_a_table_of_postgres");
}

/// Nothing is visible but the functions of the header and the methods of Java, so that nothing of
/// ours takes the place of something of the program's.
#[test]
fn the_library_shows_its_functions_only() {
    let header = fs::read_to_string(of_adapter("fields-c/include/sealstone_fields.h")).unwrap();
    let java =
        fs::read_to_string(of_adapter("java/src/main/java/org/sealstone/Native.java")).unwrap();
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(fields_library())
        .output()
        .expect("nm starts");
    let names = String::from_utf8(output.stdout).unwrap();
    let mut found: Vec<&str> =
        names.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    found.sort_unstable();
    let before = |text: &str| {
        let begin = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        text[begin..].to_owned()
    };
    let of_header = header.match_indices('(').map(|(at, _)| before(&header[..at]));
    let of_header = of_header.filter(|name| name.starts_with("sealstone_"));
    let native = java.lines().filter(|line| line.trim_start().starts_with("static native"));
    let native = native.map(|line| {
        format!("Java_org_sealstone_Native_{}", before(&line[..line.find('(').unwrap()]))
    });
    let mut wanted: Vec<String> = of_header.chain(native).collect();
    wanted.sort_unstable();
    wanted.dedup();
    assert_eq!(found, wanted);
}

#[test]
fn the_header_is_c99_and_cxx() {
    for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        let output = Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x"])
            .arg(language)
            .arg(of_adapter("fields-c/include/sealstone_fields.h"))
            .output()
            .expect("a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_java_artefacts_are_of_this_version() {
    for (pom, artefact) in [
        ("java/pom.xml", "sealstone-fields"),
        ("java/spark/pom.xml", "sealstone-spark"),
        ("java/example/pom.xml", "sealstone-example"),
    ] {
        let pom = fs::read_to_string(of_adapter(pom)).unwrap();
        let own = pom.split(&format!("<artifactId>{artefact}</artifactId>")).nth(1).unwrap();
        let version = own.split("<version>").nth(1).and_then(|rest| rest.split('<').next());
        assert_eq!(version, Some(env!("CARGO_PKG_VERSION")), "{artefact}");
    }
}
