//! Parquet files, from a user's view: sealed and opened by the command, files and keys mixed up,
//! values changed, runs killed and measured.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_servers::cache_directory;
use serde_json::Value;
use tempfile::TempDir;

const SCHEMA: &str = "message people { required int64 id; required binary name (STRING); \
                      required binary phone (STRING); optional binary memo (STRING); }";
const SEAL: [&str; 6] =
    ["seal", "people.parquet", "--key", "people.key", "--out", "sealed.parquet"];
const COLUMNS: [&str; 8] = [
    "--column",
    "name=ff1:hangul",
    "--column",
    "phone=ff1:phone",
    "--column",
    "memo=aead",
    "--tweak",
    "memo=row:id",
];
const OPEN: [&str; 6] =
    ["open", "sealed.parquet", "--key", "people.key", "--out", "opened.parquet"];
const OTHER_FILE: &str = "sealstone: sealed.parquet is not the file that \
                          sealed.parquet.sealed.toml was written for: changed, cut short, or \
                          another one\n  restore it from a backup; if it was changed on purpose, \
                          open it with --changed\n";

/// The values of one row; a memo may be null.
type Row = (i64, String, String, Option<String>);

fn people(count: i64) -> Vec<Row> {
    let name = |n: i64| ["홍길동", "김철수", "이영희"][(n % 3) as usize].to_owned();
    let memo = |n: i64| (n % 4 != 1).then(|| format!("clear memo {n}"));
    (0..count)
        .map(|n| (n, name(n), format!("010-{:04}-{:04}", n / 10_000, n % 10_000), memo(n)))
        .collect()
}

/// Writes a file of `groups`, compressed by zstd.
fn write(path: &Path, groups: impl Iterator<Item = Vec<Row>>) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut writer =
        SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, Arc::new(properties))
            .unwrap();
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.0).collect();
        column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        for texts in [texts(&rows, |row| &row.1), texts(&rows, |row| &row.2)] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let memos: Vec<ByteArray> =
            rows.iter().filter_map(|row| row.3.as_deref()).map(ByteArray::from).collect();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.3.is_some())).collect();
        column.typed::<ByteArrayType>().write_batch(&memos, Some(&levels), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn texts(rows: &[Row], text: impl Fn(&Row) -> &str) -> Vec<ByteArray> {
    rows.iter().map(|row| ByteArray::from(text(row))).collect()
}

fn rows(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

/// Returns a directory with `people.parquet` and a key file `people.key`.
fn scene() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    write(
        &dir.path().join("people.parquet"),
        [people(1000), people(2500)[1000..].to_vec()].into_iter(),
    );
    KeyFile::create(dir.path().join("people.key"), "people").expect("a key file");
    dir
}

fn command(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, &[&["field"], arguments].concat()))
}

fn seal(dir: &Path) {
    command(dir, &[&SEAL[..], &COLUMNS[..]].concat()).done();
}

/// Asserts that opening fails with `want`, and leaves nothing.
fn refused(dir: &Path, more: &[&str], want: &str) {
    command(dir, &[&OPEN[..], more].concat()).fails_with(want);
    let left =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        left.filter(|name| name.contains("opened.parquet")).count(),
        0,
        "something was left"
    );
}

#[test]
fn a_file_is_sealed_checked_opened_and_sealed_again() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    let check = command(dir.path(), &[&["check", "people.parquet"], &COLUMNS[..6]].concat()).done();
    assert!(check.contains("all of 2500 rows fit"), "{check}");
    let index = ["--index", "phone=24", "--json"];
    let said = command(dir.path(), &[&SEAL[..], &COLUMNS[..], &index[..]].concat()).done();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["rows"].as_u64(), said["rejected_rows"].as_u64()), (Some(2500), Some(0)));
    let manifest = fs::read_to_string(path("sealed.parquet.sealed.toml")).unwrap();
    assert!(
        manifest.contains("version = 2\n") && manifest.contains("layout = \"parquet\"\n"),
        "{manifest}"
    );
    assert!(!manifest.contains("delimiter") && !manifest.contains("encoding"), "{manifest}");
    let (before, after) = (rows(&path("people.parquet")), rows(&path("sealed.parquet")));
    assert!(before.iter().zip(&after).all(|(before, after)| before != after));
    assert!(after[1].contains("memo: null") && after[0].contains("phone_index: "), "{}", after[0]);
    let sealed = fs::read(path("sealed.parquet")).unwrap();
    assert!(memchr::memmem::find(&sealed, "홍길동".as_bytes()).is_none());
    // the name of a file has no meaning
    fs::rename(path("sealed.parquet"), path("sealed.csv")).unwrap();
    fs::rename(path("sealed.parquet.sealed.toml"), path("sealed.csv.sealed.toml")).unwrap();
    let open = ["open", "sealed.csv", "--key", "people.key", "--out", "opened.data"];
    command(dir.path(), &open).done();
    assert_eq!(rows(&path("opened.data")), before);
    assert_eq!(path("opened.data").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    run(&mut sealstone(dir.path(), &["keys", "rotate", "people.key"])).done();
    let reseal = [
        "reseal",
        "sealed.csv",
        "--key",
        "people.key",
        "--out",
        "again.parquet",
        "--cipher",
        "aria-256",
        "--json",
    ];
    let said: Value = serde_json::from_str(&command(dir.path(), &reseal).done()).unwrap();
    assert_eq!(
        (said["key_version"].as_u64(), said["cipher"].as_str()),
        (Some(2), Some("aria-256"))
    );
    assert!(rows(&path("again.parquet")).iter().zip(&after).all(|(again, before)| again != before));
    let open = ["open", "again.parquet", "--key", "people.key", "--out", "opened.data", "--yes"];
    command(dir.path(), &open).done();
    assert_eq!(rows(&path("opened.data")), before);
}

#[test]
fn other_keys_and_other_files_are_each_one_clear_error() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    seal(dir.path());
    let sealed = fs::read(path("sealed.parquet")).unwrap();
    // a key of the same name and version
    fs::rename(path("people.key"), path("right.key")).unwrap();
    KeyFile::create(path("people.key"), "people").unwrap();
    refused(
        dir.path(),
        &[],
        "sealstone: manifest sealed.parquet.sealed.toml: key people version 1 from key file \
         people.key does not fit the manifest: another key bears the same name, or the manifest \
         was changed\n  give the key source under which the file was sealed; if it is the right \
         one, restore the manifest from a backup\n",
    );
    fs::rename(path("right.key"), path("people.key")).unwrap();
    // one byte of a value, of another column, of the footer; cut; another file
    for at in [sealed.len() / 2, 20, sealed.len() - 20] {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        fs::write(path("sealed.parquet"), changed).unwrap();
        refused(dir.path(), &[], OTHER_FILE);
    }
    fs::write(path("sealed.parquet"), &sealed[..sealed.len() - 1]).unwrap();
    refused(dir.path(), &[], OTHER_FILE);
    fs::copy(path("people.parquet"), path("sealed.parquet")).unwrap();
    refused(dir.path(), &[], OTHER_FILE);
    // on purpose: authenticated values are still checked
    let said = command(dir.path(), &[&OPEN[..], &["--changed"]].concat());
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains(
            "sealed.parquet, row 1, column memo: it is not a sealed value: not base64url text"
        ),
        "{}",
        said.stderr
    );
    let created = memchr::memmem::find(&sealed, b"parquet-rs").expect("who wrote it");
    let mut changed = sealed.clone();
    changed[created] = b'P';
    fs::write(path("sealed.parquet"), changed).unwrap();
    refused(dir.path(), &[], OTHER_FILE);
    command(dir.path(), &[&OPEN[..], &["--changed"]].concat());
    assert_eq!(rows(&path("opened.parquet")), rows(&path("people.parquet")));
}

#[test]
fn what_is_no_whole_file_is_not_sealed() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    let whole = fs::read(path("people.parquet")).unwrap();
    let fails_with = |content: &[u8], columns: &[&str], want: &str| {
        fs::write(path("people.parquet"), content).unwrap();
        let said = command(dir.path(), &[&SEAL[..], columns].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.starts_with(want), "{}\nwant: {want}", said.stderr);
        let left = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.contains("sealed")).count(), 0, "something was left");
    };
    let fails = |content: &[u8], more: &[&str], want: &str| {
        fails_with(content, &[&COLUMNS[..], more].concat(), want)
    };
    fails(
        &whole[..whole.len() / 2],
        &[],
        "sealstone: people.parquet, it does not both begin and end as a Parquet file\n\
         \x20 is it cut short, or still being",
    );
    fails(b"PAR1", &[], "sealstone: people.parquet, it is too short for a Parquet file\n");
    fails(
        &[b"PARE", &whole[4..whole.len() - 4], b"PARE"].concat(),
        &[],
        "sealstone: people.parquet, it is encrypted by Parquet's own encryption, under a key that \
         sealstone does not have\n  decrypt it with the program that wrote it",
    );
    fails_with(
        &whole,
        &["--column", "id=ff1:digits"],
        "sealstone: people.parquet, column id is of type INT64, and a sealed value is text\n  \
         write the column as text",
    );
    fails(
        &whole,
        &["--delimiter", "comma"],
        "sealstone: people.parquet is a Parquet file, which has neither a delimiter nor an \
         encoding\n  leave out",
    );
    // the content of the pages of a sealed column
    let mut broken = whole.clone();
    fs::write(path("people.parquet"), &whole).unwrap();
    let reader =
        SerializedFileReader::new(fs::File::open(path("people.parquet")).unwrap()).unwrap();
    let (start, length) = reader.metadata().row_group(0).column(2).byte_range();
    broken[(start + length / 2) as usize..(start + length - 10) as usize].fill(0xff);
    let said = {
        fs::write(path("people.parquet"), &broken).unwrap();
        command(dir.path(), &[&SEAL[..], &COLUMNS[..]].concat())
    };
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(!path("sealed.parquet").exists());
}

#[test]
fn rows_that_do_not_fit_are_named_and_never_passed_through() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    let mut wrong = people(2500);
    wrong[4].1 = "Kim".into();
    wrong[2000].2 = "none".into();
    write(&path("people.parquet"), wrong.chunks(900).map(<[Row]>::to_vec));
    let seal = [&SEAL[..], &COLUMNS[..]].concat();
    command(dir.path(), &seal).fails_with(
        "sealstone: people.parquet, row 5, column name: character 1 is an upper-case letter, \
         expected a Hangul syllable\n  nothing was written; to leave such rows out and list them: \
         --on-error report\n",
    );
    let check =
        command(dir.path(), &[&["check", "people.parquet", "--json"], &COLUMNS[..6]].concat());
    let found: Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!((check.code, found["rows_that_do_not"].as_u64()), (Some(1), Some(2)));
    assert_eq!(found["misfits"][1]["row"].as_u64(), Some(2001));
    let report = command(dir.path(), &[&seal[..], &["--on-error", "report"]].concat());
    assert_eq!(report.code, Some(1), "{}", report.stderr);
    assert!(
        report.stdout.contains("2 rows left out, listed by row in sealed.parquet.rejects.csv"),
        "{}",
        report.stdout
    );
    let rejects = fs::read_to_string(path("sealed.parquet.rejects.csv")).unwrap();
    assert!(
        rejects.starts_with("row,column,reason\n5,name,") && rejects.contains("\n2001,phone,"),
        "{rejects}"
    );
    assert!(!rejects.contains("Kim") && !rejects.contains("none"));
    command(dir.path(), &OPEN).done();
    let kept: Vec<Row> =
        wrong.into_iter().filter(|row| row.1 != "Kim" && row.2 != "none").collect();
    write(&path("kept.parquet"), std::iter::once(kept));
    assert_eq!(rows(&path("opened.parquet")), rows(&path("kept.parquet")));
}

/// A killed run leaves no half file, and a long file takes no more memory than a short one.
#[test]
fn a_long_file_takes_bounded_memory_and_a_killed_run_leaves_no_half_file() {
    const GROUPS: i64 = 30;
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    let group = |group: i64| -> Vec<Row> {
        people(40_000)
            .into_iter()
            .map(|row| (row.0 + group * 40_000, row.1, row.2, row.3))
            .collect()
    };
    write(&path("people.parquet"), (0..GROUPS).map(group));
    let start = || {
        let flags = [&["field"], &SEAL[..], &COLUMNS[..], &["--quiet", "--yes"]].concat();
        let mut command = sealstone(dir.path(), &flags);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut killed = 0;
    for wait_ms in [0, 20, 60, 150, 300] {
        let mut child = start();
        thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        let was_killed = !child.wait().unwrap().success();
        killed += u32::from(was_killed);
        assert!(!was_killed || !path("sealed.parquet").exists(), "half a file after {wait_ms} ms");
        let _ = fs::remove_file(path("sealed.parquet"));
        let _ = fs::remove_file(path("sealed.parquet.sealed.toml"));
    }
    assert!(killed > 0);
    let mut child = start();
    let most_mb = most_memory_mb(&mut child);
    assert!(child.wait().unwrap().success());
    let reader =
        SerializedFileReader::new(fs::File::open(path("sealed.parquet")).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), GROUPS * 40_000);
    assert!((1..200).contains(&most_mb), "{most_mb} MB were in use");
}

/// Returns the most memory that `child` has in use until it ends, in megabytes.
fn most_memory_mb(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb: u64 =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        most = most.max(kb / 1000);
        thread::sleep(Duration::from_millis(10));
    }
    most
}

/// A table with what libraries of Python put into a file, written by three of them.
const PYTHON_WRITES: &str = r#"
import datetime, decimal, duckdb, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq
n = 3000
frame = pd.DataFrame({
    "id": range(n), "name": [f"Clear{i:05}" if i % 9 else None for i in range(n)],
    "kind": pd.Categorical([["amber", "beryl", "coral"][i % 3] for i in range(n)]),
    "since": pd.date_range("2020-01-01", periods=n, freq="h", tz="Asia/Seoul"),
    "took": pd.to_timedelta(range(n), unit="s"), "score": [i / 7 if i % 4 else None for i in range(n)],
    "price": [decimal.Decimal(i) / 100 for i in range(n)], "tags": [[f"t{i}"] * (i % 3) for i in range(n)],
}, index=pd.RangeIndex(n, name="row"))
table = pa.Table.from_pandas(frame)
pq.write_table(table, "pyarrow.parquet", compression="zstd", row_group_size=700, write_page_index=True,
               data_page_version="2.0", sorting_columns=[pq.SortingColumn(0)])
pl.from_arrow(table.drop(["price"])).write_parquet("polars.parquet", row_group_size=1000)
arrow = table.drop(["took"])
duckdb.sql("copy (select * from arrow) to 'duckdb.parquet' (format parquet, row_group_size 2048)")
"#;

/// Program that checks that `sealed.parquet` and `opened.parquet` are what all readers expect
/// beside the file that is the first argument.
const PYTHON_READS: &str = r#"
import sys, duckdb, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq
plain, sealed, opened = (pq.read_table(name) for name in (sys.argv[1], "sealed.parquet", "opened.parquet"))
# a dictionary of values that are all different has longer numbers, and keeps them
kind = plain.schema.get_field_index("kind")
as_text = lambda table: table.set_column(kind, "kind", table["kind"].cast(pa.string()))
assert as_text(opened).equals(as_text(plain)) and opened.to_pandas().equals(plain.to_pandas())
assert opened.schema.names == plain.schema.names
changed = {"name", "kind"}
assert sealed.schema.names == plain.schema.names + ["name_index"], sealed.schema.names
text = lambda column: column.cast(pa.string())
for name in plain.schema.names:
    before, after = plain[name], sealed[name]
    if name not in changed:
        fields = plain.schema.field(name), sealed.schema.field(name)
        assert after.equals(before) and fields[0].equals(fields[1], check_metadata=True), name
    else:
        assert after.null_count == before.null_count and text(after) != text(before), name
assert len(set(text(sealed["kind"]).to_pylist())) == len(sealed), "every value is another one"
assert sealed["name_index"].null_count == plain["name"].null_count
kept = [name for name in plain.schema.names if name not in changed]
of_pandas = [name for name in kept if name != "row"]
frames = [pd.read_parquet(name)[of_pandas] for name in (sys.argv[1], "sealed.parquet")]
pd.testing.assert_frame_equal(*frames)
assert pl.read_parquet("sealed.parquet")[kept].equals(pl.read_parquet(sys.argv[1])[kept])
one = sealed["name_index"].to_pylist()[1]
lazy = pl.scan_parquet("sealed.parquet").filter(pl.col("name_index") == one).select("id")
found = duckdb.sql(f"select id from 'sealed.parquet' where name_index = '{one}'").fetchall()
assert found == lazy.collect().rows() == [(1,)], found
clear = open("sealed.parquet", "rb").read()
assert b"Clear0" not in clear and b"amber" not in clear
print(sealed.num_rows)
"#;

/// Tables without rows, without values, and of JSON.
const PYTHON_WRITES_LITTLE: &str = r#"
import duckdb, pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "memo": pa.nulls(2)}), "nulls.parquet")
pq.write_table(pa.table({"id": pa.array([], pa.int64()), "memo": pa.array([], pa.string())}), "empty.parquet")
duckdb.sql("copy (select 1 as id, '{\"a\": 1}'::json as memo) to 'json.parquet' (format parquet)")
"#;

/// Program that checks that `sealed.parquet` can be read, and that `opened.parquet` is the file
/// that is the first argument.
const PYTHON_READS_LITTLE: &str = r#"
import sys, duckdb, pyarrow.parquet as pq
plain, sealed, opened = (pq.read_table(name) for name in (sys.argv[1], "sealed.parquet", "opened.parquet"))
assert opened.equals(plain) and sealed.schema.names == plain.schema.names and sealed["id"].equals(plain["id"])
rows = lambda name: duckdb.sql(f"select id, memo::varchar from '{name}'").fetchall()
assert rows("opened.parquet") == rows(sys.argv[1])
assert [row[0] for row in duckdb.sql("select id from 'sealed.parquet'").fetchall()] == plain["id"].to_pylist()
print("same")
"#;

#[test]
fn what_python_wrote_is_sealed_and_read_by_python() {
    let python = cache_directory().join("python/bin/python");
    let works =
        Command::new(&python).args(["-c", "import duckdb, pandas, polars, pyarrow"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!(
            "SKIP: what_python_wrote_is_sealed_and_read_by_python: no Python environment here; sh \
             dev/setup.sh python makes one"
        );
        return;
    }
    let dir = scene();
    let run_python = |arguments: &[&str]| {
        run(Command::new(&python).args(arguments).current_dir(dir.path())).done()
    };
    run_python(&["-c", PYTHON_WRITES]);
    for file in ["pyarrow.parquet", "polars.parquet", "duckdb.parquet"] {
        let columns = [
            "--column",
            "name=ff1:alphanumerics",
            "--index",
            "name=48",
            "--column",
            "kind=aead",
            "--tweak",
            "kind=row:id",
        ];
        let seal = ["seal", file, "--key", "people.key", "--out", "sealed.parquet", "--yes"];
        command(dir.path(), &[&seal[..], &columns[..]].concat()).done();
        command(dir.path(), &[&OPEN[..], &["--yes"]].concat()).done();
        assert_eq!(run_python(&["-c", PYTHON_READS, file]).trim(), "3000", "{file}");
    }
    run_python(&["-c", PYTHON_WRITES_LITTLE]);
    for file in ["nulls.parquet", "empty.parquet", "json.parquet"] {
        let seal = [
            "seal",
            file,
            "--column",
            "memo=aead",
            "--key",
            "people.key",
            "--out",
            "sealed.parquet",
            "--yes",
        ];
        command(dir.path(), &seal).done();
        command(dir.path(), &[&OPEN[..], &["--yes"]].concat()).done();
        assert_eq!(run_python(&["-c", PYTHON_READS_LITTLE, file]).trim(), "same", "{file}");
    }
}
