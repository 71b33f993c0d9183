//! Tests of fields on a disk that fills up: under the file that is written, and under the server
//! whose table is sealed. Each is one error, nothing is lost, and the same command goes on once
//! there is room.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{Transcript, plain, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_servers::testing::{SmallDisk, reachable};

fn sealed_phone(number: usize) -> String {
    format!("010-{:04}-{:04}", number / 10_000, number % 10_000)
}

fn csv(path: &Path) {
    let rows: String =
        (0..200_000).map(|number| format!("{number},{}\n", sealed_phone(number))).collect();
    fs::write(path, format!("id,phone\n{rows}")).unwrap();
}

fn parquet(path: &Path) {
    let schema =
        Arc::new(parse_message_type("message people { required binary phone (STRING); }").unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let phones: Vec<ByteArray> =
        (0..200_000).map(|number| ByteArray::from(sealed_phone(number).as_str())).collect();
    column.typed::<ByteArrayType>().write_batch(&phones, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn under_a_file_leaves_nothing(file: &str, make: fn(&Path)) {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    make(&dir.join(file));
    KeyFile::create(dir.join("people.key"), "people").unwrap();
    let before = names(dir);
    // a limit on the size of files simulates a disk that fills up
    let limited = |command: &str, from: &str, to: &str, more: &str| -> Transcript {
        let binary = sealstone_e2e::binary::sealstone().display();
        let script = format!(
            "trap '' XFSZ; ulimit -f 1000; exec '{binary}' field {command} {from} --key people.key \
             --out {to} --quiet {more}"
        );
        run(&mut plain(Path::new("bash"), dir, &["-c", &script]))
    };
    let is_refused = |said: Transcript, to: &str| {
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        assert!(
            said.stderr.contains(to) && said.stderr.contains("File too large"),
            "{}",
            said.stderr
        );
        assert_eq!(said.stderr.matches("sealstone: ").count(), 1, "{}", said.stderr);
    };
    let sealed = format!("sealed.{file}");
    is_refused(limited("seal", file, &sealed, "--column phone=ff1:phone"), &sealed);
    assert_eq!(names(dir), before);
    let seal =
        ["field", "seal", file, "--key", "people.key", "--column", "phone=ff1:phone", "--quiet"];
    run(&mut sealstone(dir, &[&seal[..], &["--out", &sealed]].concat())).done();
    let before = names(dir);
    is_refused(limited("open", &sealed, "opened", ""), "opened");
    is_refused(limited("reseal", &sealed, "again", ""), "again");
    assert_eq!(names(dir), before);
}

#[test]
fn under_a_csv_file_leaves_nothing() {
    under_a_file_leaves_nothing("people.csv", csv);
}

#[test]
fn under_a_parquet_file_leaves_nothing() {
    under_a_file_leaves_nothing("people.parquet", parquet);
}

#[test]
fn under_a_table_loses_no_row() {
    const NAME: &str = "under_a_table_loses_no_row";
    if !SqlKind::Postgres.is_available(NAME) {
        return;
    }
    let scratch = reachable();
    let dir = scratch.path().canonicalize().unwrap();
    // mounted where the server looks for it
    let small = match SmallDisk::mount(&dir.join("small"), "size=8m,mode=0777") {
        Ok(small) => small,
        Err(reason) => {
            println!("SKIP: {NAME}: no file system of its own: {reason}");
            return;
        }
    };
    let mut server = SqlServer::start(SqlKind::Postgres, &dir.join("server"));
    let mut session = server.session();
    session.done(&format!("CREATE TABLESPACE small LOCATION '{}'", small.path().display()));
    session.done(
        "CREATE TABLE people (id BIGINT PRIMARY KEY, phone VARCHAR(20), memo TEXT) \
         TABLESPACE small",
    );
    session.done("ALTER TABLE people SET (autovacuum_enabled = false)");
    session.done(
        "INSERT INTO people SELECT n, '010-' || lpad((n / 10000)::text, 4, '0') || '-' || lpad((n \
         % 10000)::text, 4, '0'), repeat('x', 200) FROM generate_series(1, 6000) AS n",
    );
    session.done(
        "CREATE TABLE filler TABLESPACE small AS SELECT repeat('y', 500) FROM \
         generate_series(1, 8400)",
    );
    let before = session.done("SELECT id, phone, memo FROM people ORDER BY id");
    fs::write(dir.join("address"), server.url()).unwrap();
    KeyFile::create(dir.join("people.key"), "people").unwrap();
    let migrate = |more: &[&str]| {
        let begin = [
            "field",
            "migrate",
            "@address",
            "--key",
            "people.key",
            "--yes",
            "--quiet",
            "--table",
            "people",
        ];
        run(&mut sealstone(&dir, &[&begin[..], more].concat()))
    };
    let columns = ["--column", "phone=ff1:phone", "--column", "memo=aead"];
    let said = migrate(&columns);
    assert_eq!(said.code, Some(2), "{}\n{}", said.stdout, said.stderr);
    let where_it_is =
        format!(" table people on PostgreSQL at {}: its disk is full\n", server.address());
    assert!(said.stderr.contains(&where_it_is), "{}", said.stderr);
    assert!(said.stderr.contains("free space on the server's disk"), "{}", said.stderr);
    assert_eq!(session.done("SELECT count(*) FROM people"), [["6000"]]);

    session.done("DROP TABLE filler; VACUUM FULL people");
    let clear = "SELECT count(*) FROM people WHERE memo_sealed IS NULL OR phone_sealed IS NULL";
    let left: u64 = session.done(clear)[0][0].parse().unwrap();
    assert!(left > 0 && left < 6000, "{left} rows are in the clear: the disk was not full midway");
    migrate(&columns).done();
    assert_eq!(session.done(clear), [["0"]]);
    session.done("VACUUM FULL people");
    migrate(&["--open"]).done();
    assert_eq!(session.done("SELECT id, phone, memo FROM people ORDER BY id"), before);
    server.kill();
}
