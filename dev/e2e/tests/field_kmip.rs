//! Columns of files and tables under a key on a real key server: sealed by the command, opened by
//! it and by Python, under an older version of the key too; servers that are gone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::python_package::{installed, python, with_package};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{Transcript, run, sealstone};

const PEOPLE: &str = "id,phone,memo\n1,010-1234-5678,first\n2,010-8765-4321,second\n";

fn call(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, arguments))
}

fn seal(dir: &Path, url: &str, out: &str) -> Transcript {
    let columns = ["--column", "phone=ff1:phone", "--column", "memo=aead"];
    call(
        dir,
        &[&["field", "seal", "people.csv", "--key", url, "--out", out], &columns[..]].concat(),
    )
}

fn walk_through(kind: Kind, name: &str) {
    let Some((certificates, mut server)) = started(kind, name) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    let path = |name: &str| dir.join(name);
    fs::write(path("people.csv"), PEOPLE).unwrap();
    let url = certificates.url(server.port, "people", "&retries=0");
    call(dir, &["keys", "new", &url]).done();
    seal(dir, &url, "sealed.csv").done();
    let sealed = fs::read_to_string(path("sealed.csv")).unwrap();
    assert!(!sealed.contains("010-1234-5678") && !sealed.contains("first"), "{sealed}");
    call(dir, &["keys", "rotate", &url]).done();
    let open = ["field", "open", "sealed.csv", "--key", &url, "--out", "opened.csv"];
    call(dir, &open).done();
    assert_eq!(fs::read_to_string(path("opened.csv")).unwrap(), PEOPLE);
    let reseal = ["field", "reseal", "sealed.csv", "--key", &url, "--out", "again.csv", "--json"];
    let said = call(dir, &reseal).done();
    assert!(said.contains("\"key_version\":2") || said.contains("\"key_version\": 2"), "{said}");
    opens_in_python(dir, &url, name);

    server.kill();
    fs::remove_file(path("opened.csv")).unwrap();
    for said in [call(dir, &open), seal(dir, &url, "more.csv")] {
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains("no key server answered"), "{}", said.stderr);
    }
    assert!(!path("opened.csv").exists() && !path("more.csv").exists());
}

/// Python fetches the key itself, and seals what the command opens.
fn opens_in_python(dir: &Path, url: &str, name: &str) {
    let Some(python) = python(name) else { return };
    let installed = installed();
    let text = "import pathlib, sys, pyarrow as pa, pyarrow.csv, sealstone\n\
                texts = \
                pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in \
                ('id', 'phone', 'memo')})\n\
                sealed = pyarrow.csv.read_csv('again.csv', convert_options=texts)\n\
                manifest = pathlib.Path('again.csv.sealed.toml')\n\
                people = sealstone.open(sealed, manifest, key=sys.argv[1])\n\
                print(people['memo'].to_pylist(), people['phone'].to_pylist())\n\
                assert sealstone.seal(people, manifest=manifest, key=sys.argv[1]).data['phone'] == \
                sealed['phone']\n";
    let mut command = with_package(&python, &installed);
    let said = run(command.current_dir(dir).args(["-c", text, url])).done();
    assert_eq!(said, "['first', 'second'] ['010-1234-5678', '010-8765-4321']\n");
}

#[test]
fn columns_under_a_key_on_pykmip() {
    walk_through(Kind::PyKmip, "columns_under_a_key_on_pykmip");
}

#[test]
fn columns_under_a_key_on_the_go_server() {
    walk_through(Kind::Go, "columns_under_a_key_on_the_go_server");
}

/// Returns the identifiers of the versions of a key, ascending.
fn versions(shown: &str) -> Vec<String> {
    let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
    let versions = shown["versions"].as_array().unwrap().iter();
    versions.map(|version| version["id"].as_str().unwrap().to_owned()).collect()
}

/// Each version of a key on a server has a name of its own, and a mark in a table has the number.
fn a_table_under_rotation(kind: Kind, name: &str) {
    let Some((certificates, server)) = started(kind, name) else { return };
    if !SqlKind::MariaDb.is_available(name) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o711)).unwrap();
    let sql = SqlServer::start(SqlKind::MariaDb, &dir.join("server"));
    let mut session = sql.session();
    session.done("CREATE TABLE people (id INT PRIMARY KEY, phone VARCHAR(20), memo TEXT)");
    session.done(
        "INSERT INTO people VALUES (1, '010-1234-5678', 'first'), (2, '010-8765-4321', 'second')",
    );
    fs::write(dir.join("address"), sql.url()).unwrap();
    let url = certificates.url(server.port, "people", "&retries=0");
    let table = ["@address", "--table", "people", "--key", &url];
    let run = |words: &[&str], more: &[&str]| call(dir, &[words, &table, more].concat());
    call(dir, &["keys", "new", &url]).done();
    let columns = ["--column", "phone=ff1:phone", "--column", "memo=aead"];
    let migrate = ["field", "migrate"];
    run(&migrate, &[&columns[..], &["--yes", "--quiet"]].concat()).done();
    call(dir, &["keys", "rotate", &url]).done();
    let retire = ["keys", "retire", &url, "--version", "1", "--table", "@address#people"];
    let refused = call(dir, &retire);
    assert!(refused.stderr.contains("table people on"), "{}", refused.stderr);
    let old = session.done("SELECT phone FROM people WHERE id = 1");
    // values under the old version, and under both
    let scan = || run(&["field", "scan"], &[]).done();
    assert_eq!(scan(), PEOPLE);
    session.done("INSERT INTO people (id, phone, memo) VALUES (3, '010-5555-6666', 'third')");
    run(&migrate, &["--reseal", "--yes", "--quiet"]).done();
    let all = format!("{PEOPLE}3,010-5555-6666,third\n");
    assert_eq!(scan(), all);
    // by an identifier, marks would stand for other versions: nothing is opened under them
    let ids = versions(&call(dir, &["keys", "show", &url, "--json"]).done());
    let by_id = certificates.url(server.port, &ids[1], "&retries=0");
    let new = session.done("SELECT phone FROM people WHERE id = 1");
    let set = |session: &mut SqlSession, value: &str, mark: i32| {
        session.done(&format!(
            "UPDATE people SET phone = '{value}', phone_sealed = {mark} WHERE id = 1"
        ));
    };
    set(&mut session, &old[0][0], -1);
    assert_eq!(scan(), all);
    let refused = call(dir, &["field", "scan", "@address", "--table", "people", "--key", &by_id]);
    let said = (refused.code, refused.stdout.as_str());
    assert_eq!(said, (Some(2), "id,phone,memo\n"), "{}", refused.stderr);
    assert!(refused.stderr.contains(" does not have "), "{}", refused.stderr);
    set(&mut session, &new[0][0], -2);
    call(dir, &retire).done();
    assert_eq!(scan(), all);
    run(&migrate, &["--open", "--yes", "--quiet"]).done();
    let plain = [["010-1234-5678"], ["010-8765-4321"], ["010-5555-6666"]];
    let rows = |session: &mut SqlSession| session.done("SELECT phone FROM people ORDER BY id");
    assert_eq!(rows(&mut session), plain);

    // an identifier is of one version, whose number is 1: it is not version 1 of the name
    let id = &ids[1];
    let table = ["field", "migrate", "@address", "--table", "people", "--yes", "--quiet", "--key"];
    call(dir, &[&table[..], &[&by_id], &columns[..]].concat()).done();
    fs::write(dir.join("people.csv"), PEOPLE).unwrap();
    let seal = ["field", "seal", "people.csv", "--column", "memo=aead", "--out", "sealed.csv"];
    call(dir, &[&seal[..], &["--key", &by_id]].concat()).done();
    // what was sealed by an identifier keeps that version, which the name counts as another
    call(dir, &["keys", "rotate", &url]).done();
    for place in [["--field", "sealed.csv"], ["--table", "@address#people"]] {
        let retire = ["keys", "retire", &url, "--version", "2"];
        let refused = call(dir, &[&retire[..], &place].concat());
        assert_eq!(refused.code, Some(1), "{place:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("was not retired"), "{}", refused.stderr);
    }
    let refused = call(dir, &[&table[..], &[&url, "--reseal"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let wanted = format!("does not have {id} version 1 under that number");
    assert!(refused.stderr.contains(&wanted), "{}", refused.stderr);
    call(dir, &[&table[..], &[&by_id, "--open"]].concat()).done();
    assert_eq!(rows(&mut session), plain);
}

#[test]
fn a_table_under_a_key_on_pykmip_is_resealed() {
    a_table_under_rotation(Kind::PyKmip, "a_table_under_a_key_on_pykmip_is_resealed");
}

#[test]
fn a_table_under_a_key_on_the_go_server_is_resealed() {
    a_table_under_rotation(Kind::Go, "a_table_under_a_key_on_the_go_server_is_resealed");
}
