//! Columns of files, from a user's view: real records sealed and opened, files and keys mixed up,
//! values changed and swapped, runs killed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;
use serde_json::Value;
use tempfile::TempDir;

const PEOPLE: &str = "id,이름,주민등록번호,phone,memo\n\
                      1,홍길동,870605-1234567,010-1234-5678,first\n\
                      2,김철수,000101-3000002,010-8765-4321,\"second, quoted\"\n\
                      3,이영희,991231-2345678,010-1111-2222,\n";

/// The columns of `PEOPLE` that are sealed.
const COLUMNS: [&str; 8] = [
    "--column",
    "이름=ff1:hangul",
    "--column",
    "주민등록번호=ff1:rrn",
    "--column",
    "phone=ff1:phone",
    "--column",
    "memo=aead",
];

/// Returns a directory with `people.csv` and a key file `people.key`.
fn scene() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("people.csv"), PEOPLE).unwrap();
    KeyFile::create(dir.path().join("people.key"), "people").expect("a key file");
    dir
}

fn command(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, &[&["field"], arguments].concat()))
}

/// Seals `people.csv` as `sealed.csv`.
fn seal(dir: &Path) -> String {
    command(
        dir,
        &[&["seal", "people.csv"], &COLUMNS[..], &["--key", "people.key", "--out", "sealed.csv"]]
            .concat(),
    )
    .done();
    fs::read_to_string(dir.join("sealed.csv")).unwrap()
}

const OPEN: [&str; 6] = ["open", "sealed.csv", "--key", "people.key", "--out", "opened.csv"];

/// Asserts that opening fails with `want`, and leaves nothing.
fn refused(dir: &Path, more: &[&str], want: &str) {
    command(dir, &[&OPEN[..], more].concat()).fails_with(want);
    let left: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let left = left.iter().filter(|name| name.to_string_lossy().contains("opened.csv")).count();
    assert_eq!(left, 0, "something was left of opened.csv");
}

const OTHER_FILE: &str = "sealstone: sealed.csv is not the file that sealed.csv.sealed.toml was \
                          written for: changed, cut short, or another one\n  restore it from a \
                          backup; if it was changed on purpose, open it with --changed\n";

#[test]
fn health_checks_are_sealed_and_come_back() {
    let records =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/bench/tests/health-checks.csv");
    let plain = fs::read_to_string(records).unwrap();
    let dir = scene();
    fs::write(dir.path().join("people.csv"), &plain).unwrap();
    let columns = [
        "--column",
        "가입자일련번호=ff1:digits",
        "--column",
        "총콜레스테롤=aead",
        "--tweak",
        "총콜레스테롤=row:시도코드",
        "--index",
        "총콜레스테롤=16",
    ];
    let flags = ["seal", "people.csv", "--key", "people.key", "--out", "sealed.csv", "--json"];
    let said = command(dir.path(), &[&flags[..], &columns[..]].concat()).done();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["rows"].as_u64(), said["rejected_rows"].as_u64()), (Some(1_000), Some(0)));
    let sealed = fs::read_to_string(dir.path().join("sealed.csv")).unwrap();
    assert_eq!(plain.lines().count(), sealed.lines().count());
    let mut serials = std::collections::HashSet::new();
    for (number, (before, after)) in plain.lines().zip(sealed.lines()).enumerate() {
        let (before, after): (Vec<&str>, Vec<&str>) =
            (before.split(',').collect(), after.split(',').collect());
        assert_eq!(after.len(), before.len() + 1);
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            // a value may be sealed as itself: once in a million here
            let is_sealed = number > 0 && (at == 1 && before != after || at == 15);
            assert_eq!(before != after, is_sealed, "line {}, column {}", number + 1, at + 1);
        }
        serials.insert(after[1].to_owned());
        assert_eq!(after[1].len(), before[1].len());
    }
    assert_eq!(serials.len(), 1_001, "every serial is another one");
    command(dir.path(), &OPEN).done();
    assert!(fs::read_to_string(dir.path().join("opened.csv")).unwrap() == plain);
    let mode = dir.path().join("opened.csv").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn other_keys_and_other_files_are_each_one_clear_error() {
    let dir = scene();
    let sealed = seal(dir.path());
    let path = |name: &str| dir.path().join(name);
    assert!(
        !sealed.contains("홍길동") && !sealed.contains("1234567") && !sealed.contains("second")
    );
    // a key of the same name and version
    fs::rename(path("people.key"), path("right.key")).unwrap();
    KeyFile::create(path("people.key"), "people").unwrap();
    refused(
        dir.path(),
        &[],
        "sealstone: manifest sealed.csv.sealed.toml: key people version 1 from key file people.key \
         does not fit the manifest: another key bears the same name, or the manifest was \
         changed\n  give the key source under which the file was sealed; if it is the right one, \
         restore the manifest from a backup\n",
    );
    fs::remove_file(path("people.key")).unwrap();
    KeyFile::create(path("people.key"), "orders").unwrap();
    let said = command(dir.path(), &OPEN);
    assert!(said.code == Some(2) && said.stderr.contains("people version 1"), "{}", said.stderr);
    fs::rename(path("right.key"), path("people.key")).unwrap();

    // the file of another table, though sealed under the same key
    fs::copy(path("people.csv"), path("orders.csv")).unwrap();
    let flags = ["seal", "orders.csv", "--key", "people.key", "--out", "other.csv"];
    command(dir.path(), &[&flags[..], &COLUMNS[..]].concat()).done();
    fs::copy(path("other.csv"), path("sealed.csv")).unwrap();
    // an authenticated value reveals it before the whole file is read
    refused(
        dir.path(),
        &["--manifest", "sealed.csv.sealed.toml"],
        "sealstone: sealed.csv, line 2, column memo: the sealed value failed authentication: \
         changed, or moved from another table, column or row\n  nothing was written; to leave such \
         rows out and list them: --on-error report\n",
    );
    let named = "sealstone: other.csv.sealed.toml";
    let wrong =
        command(dir.path(), &[&OPEN[..], &["--manifest", "other.csv.sealed.toml"]].concat());
    assert!(
        wrong.code == Some(0) && !wrong.stderr.contains(named),
        "the other's manifest opens the other"
    );
    fs::remove_file(path("opened.csv")).unwrap();

    // a manifest with another content
    fs::write(path("sealed.csv"), &sealed).unwrap();
    let manifest = fs::read_to_string(path("sealed.csv.sealed.toml")).unwrap();
    for (from, to) in [
        ("table = \"people\"", "table = \"orders\""),
        ("rows = 3", "rows = 2"),
        ("\"ff1\"", "\"ff1\" "),
    ] {
        let changed = manifest.replacen(from, to, 1);
        assert_ne!(changed, manifest, "{from}");
        fs::write(path("sealed.csv.sealed.toml"), changed).unwrap();
        // text that TOML ignores is no change
        let is_same = to.ends_with(' ');
        assert_eq!(command(dir.path(), &OPEN).code, Some(if is_same { 0 } else { 2 }), "{to}");
    }
    fs::remove_file(path("opened.csv")).unwrap();
    fs::remove_file(path("sealed.csv.sealed.toml")).unwrap();
    refused(
        dir.path(),
        &[],
        "sealstone: no manifest sealed.csv.sealed.toml: it says how sealed.csv is sealed, and \
         under which version of which key\n  it was written beside the file; name it with \
         --manifest, or restore it from a backup\n",
    );
}

#[test]
fn what_was_changed_swapped_or_cut_is_not_opened() {
    let dir = scene();
    let sealed = seal(dir.path());
    let lines: Vec<&str> = sealed.lines().collect();
    let write = |text: &str| fs::write(dir.path().join("sealed.csv"), text).unwrap();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    // rows swapped, a row left out, a row twice, cut within a row, an ff1 value changed
    let digit = lines[1].find("010-").unwrap() + 4;
    let mut changed = sealed.clone();
    let at = sealed.find(lines[1]).unwrap() + digit;
    let other = if &sealed[at..=at] == "7" { "8" } else { "7" };
    changed.replace_range(at..=at, other);
    for text in [
        joined(&[lines[0], lines[2], lines[1], lines[3]]),
        joined(&[lines[0], lines[1], lines[3]]),
        joined(&[lines[0], lines[1], lines[1], lines[2], lines[3]]),
        sealed[..sealed.len() - 1].to_owned(),
        changed.clone(),
    ] {
        write(&text);
        refused(dir.path(), &[], OTHER_FILE);
    }
    write(&sealed[..sealed.len() - 20]);
    assert_eq!(command(dir.path(), &OPEN).code, Some(2));
    // on purpose: authenticated values are still checked, one by one
    write(&joined(&[lines[0], lines[3], lines[1]]));
    let said = command(dir.path(), &[&OPEN[..], &["--changed"]].concat());
    assert_eq!(
        said.stderr,
        "the file is not as it was sealed: nothing shows whether an ff1 value was changed, or \
         which rows were added\n"
    );
    let opened = fs::read_to_string(dir.path().join("opened.csv")).unwrap();
    let plain: Vec<&str> = PEOPLE.lines().collect();
    assert_eq!(opened, joined(&[plain[0], plain[3], plain[1]]));
    fs::remove_file(dir.path().join("opened.csv")).unwrap();
    let mut tampered = sealed.clone().into_bytes();
    let at = sealed.find(lines[1]).unwrap() + lines[1].len() - 10;
    tampered[at] = if tampered[at] == b'A' { b'B' } else { b'A' };
    write(std::str::from_utf8(&tampered).unwrap());
    refused(
        dir.path(),
        &["--changed"],
        "sealstone: sealed.csv, line 2, column memo: the sealed value failed authentication: \
         changed, or moved from another table, column or row\n  nothing was written; to leave such \
         rows out and list them: --on-error report\n",
    );
}

#[test]
fn a_rotated_key_opens_and_reseal_brings_the_newest() {
    let dir = scene();
    let before = seal(dir.path());
    let keys =
        |arguments: &[&str]| run(&mut sealstone(dir.path(), &[&["keys"], arguments].concat()));
    keys(&["rotate", "people.key"]).done();
    command(dir.path(), &OPEN).done();
    assert_eq!(fs::read_to_string(dir.path().join("opened.csv")).unwrap(), PEOPLE);
    let reseal = [
        "reseal",
        "sealed.csv",
        "--key",
        "people.key",
        "--out",
        "again.csv",
        "--cipher",
        "aria-256",
        "--json",
    ];
    let said: Value = serde_json::from_str(&command(dir.path(), &reseal).done()).unwrap();
    assert_eq!(
        (said["key_version"].as_u64(), said["cipher"].as_str()),
        (Some(2), Some("aria-256"))
    );
    let again = fs::read_to_string(dir.path().join("again.csv")).unwrap();
    for (line, other) in before.lines().zip(again.lines()).skip(1) {
        assert_ne!(line.split(',').nth(2), other.split(',').nth(2));
    }
    let open = ["open", "again.csv", "--key", "people.key", "--out", "opened.csv", "--yes"];
    command(dir.path(), &open).done();
    assert_eq!(fs::read_to_string(dir.path().join("opened.csv")).unwrap(), PEOPLE);
    // changed files are not sealed again as if they were genuine
    fs::write(dir.path().join("sealed.csv"), before.replacen("010-", "011-", 1)).unwrap();
    fs::remove_file(dir.path().join("again.csv")).unwrap();
    assert_eq!(command(dir.path(), &reseal).code, Some(2));
    assert!(!dir.path().join("again.csv").exists());
}

#[test]
fn rows_that_do_not_fit_are_named_and_never_passed_through() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("people.csv"), format!("{PEOPLE}4,Kim,870605-1234567,none,x\n")).unwrap();
    let seal =
        [&["seal", "people.csv"], &COLUMNS[..], &["--key", "people.key", "--out", "sealed.csv"]]
            .concat();
    command(dir.path(), &seal).fails_with(
        "sealstone: people.csv, line 5, column 이름: character 1 is an upper-case letter, expected a \
         Hangul syllable\n  nothing was written; to leave such rows out and list them: --on-error \
         report\n",
    );
    let check = command(dir.path(), &[&["check", "people.csv"], &COLUMNS[..]].concat());
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    for part in [
        "1 of 4 rows do not fit:\n  line 5, column 이름: character 1 is an upper-case letter, \
         expected a Hangul syllable",
        "line 5, column phone: character 1 is a lower-case letter",
        "phone: which values are equal; the digits that stay, the length",
        "memo: the length",
    ] {
        assert!(check.stdout.contains(part), "{}\nwant: {part}", check.stdout);
    }
    let report = command(dir.path(), &[&seal[..], &["--on-error", "report"]].concat());
    assert_eq!(report.code, Some(1));
    assert!(
        report.stdout.contains("1 row left out, listed by line in sealed.csv.rejects.csv"),
        "{}",
        report.stdout
    );
    let rejects = fs::read_to_string(path("sealed.csv.rejects.csv")).unwrap();
    assert_eq!(rejects.lines().count(), 3);
    assert!(
        rejects.starts_with("line,column,reason\n5,이름,")
            && !rejects.contains("Kim")
            && !rejects.contains("none")
    );
    assert_eq!(fs::read_to_string(path("sealed.csv")).unwrap().lines().count(), 4);
    command(dir.path(), &OPEN).done();
    assert_eq!(fs::read_to_string(path("opened.csv")).unwrap(), PEOPLE);
    // nothing is replaced unasked, a list of rows neither
    command(dir.path(), &seal).fails_with(
        "sealed.csv and sealed.csv.rejects.csv are there already\nsealstone: nothing was changed: \
         this has to be confirmed, and there is no terminal to ask on\n  add --yes\n",
    );
    command(
        dir.path(),
        &[
            "seal",
            "people.csv",
            "--column",
            "memo=aead",
            "--key",
            "people.key",
            "--out",
            "people.csv",
        ],
    )
    .fails_with(
        "sealstone: the output would replace the file that is read\n  give another \
         name with --out\n",
    );
}

/// Clear values must not be written into or through anything prepared at their destination, and
/// nothing waits.
#[test]
fn clear_values_are_written_into_nothing_that_was_prepared() {
    let dir = scene();
    let path = |name: &str| dir.path().join(name);
    seal(dir.path());
    fs::write(path("victim"), "precious").unwrap();
    symlink("victim", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    mkfifo(&path("fifo"), Mode::S_IRWXU).unwrap();
    fs::create_dir(path("folder")).unwrap();
    let open = |out: &str| {
        ["open", "sealed.csv", "--key", "people.key", "--yes", "--out", out].map(str::to_owned)
    };
    let run = |out: &str| command(dir.path(), &open(out).each_ref().map(String::as_str));
    for (out, found) in [
        ("link", "it is a symbolic link to victim, and links are not written through"),
        ("dangling", "it is a symbolic link to nowhere, and links are not written through"),
        ("fifo", "it is a FIFO (a pipe), and only a file can be replaced"),
        (
            "/dev/stdout",
            "it is a symbolic link to /proc/self/fd/1, and links are not written through",
        ),
        ("/dev/null", "it is a character device, and only a file can be replaced"),
    ] {
        let said = run(out);
        assert!(
            said.stderr.starts_with(&format!("sealstone: cannot write {out}: {found}\n")),
            "{}",
            said.stderr
        );
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    }
    assert_eq!(fs::read(path("victim")).unwrap(), b"precious");
    // leftovers of a killed run of an earlier version, open to all, and a link by its name
    let [left, prepared] =
        [".opened.csv.sealstone-partial", ".opened.csv.0123456789abcdef.sealstone-partial"];
    fs::write(path(left), "").unwrap();
    fs::set_permissions(path(left), fs::Permissions::from_mode(0o666)).unwrap();
    symlink("victim", path(prepared)).unwrap();
    run("opened.csv").done();
    assert_eq!(fs::read_to_string(path("opened.csv")).unwrap(), PEOPLE);
    assert_eq!(fs::metadata(path("opened.csv")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read(path("victim")).unwrap(), b"precious");
    assert_eq!(fs::read(path(left)).unwrap(), b"");
    // where everybody may put another file in its place
    fs::create_dir(path("shared")).unwrap();
    fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o777)).unwrap();
    let said = run("shared/opened.csv");
    assert!(said.stderr.contains(
        "everybody may put another file in its place: the directory shared has mode 0777"
    ));
    assert_eq!(fs::read_dir(path("shared")).unwrap().count(), 0);
    if fs::metadata(path("victim")).unwrap().uid() == 0 {
        chown(path("victim"), Some(65534), None).unwrap();
        assert!(run("victim").stderr.contains("it belongs to user 65534"));
        assert_eq!(fs::read(path("victim")).unwrap(), b"precious");
    }
}

#[test]
fn files_of_other_programs_come_back_byte_for_byte() {
    for (name, content, column) in [
        ("quote.csv", include_str!("../../../crates/fields/tests/csv-bare-quote.csv"), "item=aead"),
        (
            "hangul.csv",
            include_str!("../../../crates/fields/tests/csv-nfd-hangul.csv"),
            "이름=aead",
        ),
        ("excel.csv", "sep=;\r\nid;memo\r\n1;a,b\r\n2;\"c;d\"\r\n", "memo=aead"),
    ] {
        let dir = scene();
        fs::write(dir.path().join(name), content).unwrap();
        let seal = ["seal", name, "--column", column, "--key", "people.key", "--out", "sealed.csv"];
        command(dir.path(), &seal).done();
        assert_ne!(fs::read_to_string(dir.path().join("sealed.csv")).unwrap(), content);
        command(dir.path(), &OPEN).done();
        assert_eq!(fs::read_to_string(dir.path().join("opened.csv")).unwrap(), content, "{name}");
    }
}

#[test]
fn names_that_are_not_known_come_with_the_nearest() {
    let dir = scene();
    let fails = |column: &str, want: &str| {
        let flags = [
            "seal",
            "people.csv",
            "--column",
            column,
            "--key",
            "people.key",
            "--out",
            "sealed.csv",
        ];
        let said = command(dir.path(), &flags);
        assert_eq!(said.code, Some(2));
        assert!(said.stderr.starts_with(want), "{}", said.stderr);
        assert!(!dir.path().join("sealed.csv").exists());
    };
    fails(
        "phnoe=ff1:phone",
        "sealstone: people.csv, line 1: no column \"phnoe\"; did you mean phone?\n",
    );
    fails(
        "phone=ff1:phnoe",
        "sealstone: column phone: unknown format \"phnoe\"; did you mean phone?\n",
    );
    fails(
        "phone=ff2:phone",
        "sealstone: column phone: unknown method \"ff2\"; did you mean ff1?\n",
    );
    fails("phone", "sealstone: \"phone\" names no column and method\n");
    fails(
        "id=ff1:date:2000-01-01..2001-01-01",
        "sealstone: column id: format \"date:2000-01-01..2001-01-01\" has 367 ",
    );
}

#[test]
fn a_policy_says_it_once() {
    let dir = scene();
    let policy = "cipher = \"lea-256\"\nkey = \"people.key\"\n\
                  [tables.people.columns.phone]\nmethod = \"ff1\"\nformat = \"phone\"\ntweak = \
                  \"row:id\"\n\
                  [tables.people.columns.memo]\nmethod = \"aead\"\nindex = \
                  { bits = 24, name = \"memo_key\" }\n\
                  empty = \"keep\"\n";
    fs::write(dir.path().join("fields.toml"), policy).unwrap();
    let seal = ["seal", "people.csv", "--policy", "fields.toml", "--out", "sealed.csv"];
    let said = command(dir.path(), &seal).done();
    assert!(said.contains("table people, lea-256, key people version 1"), "{said}");
    let sealed = fs::read_to_string(dir.path().join("sealed.csv")).unwrap();
    assert!(sealed.starts_with("id,이름,주민등록번호,phone,memo,memo_key\n"), "{sealed}");
    assert!(
        sealed.lines().nth(3).unwrap().ends_with(",,"),
        "an empty memo stays empty and has no index: {sealed}"
    );
    command(dir.path(), &OPEN).done();
    assert_eq!(fs::read_to_string(dir.path().join("opened.csv")).unwrap(), PEOPLE);
    fs::write(dir.path().join("fields.toml"), policy.replace("tweak", "tweek")).unwrap();
    command(dir.path(), &[&seal[..], &["--yes"]].concat()).fails_with(
        "sealstone: policy fields.toml, tables.people.columns.phone: unknown key \"tweek\"; did \
         you mean tweak?\n  known keys: method, format, tweak, index, empty, small-domain\n",
    );
}

/// A killed run leaves no half file under the target's name, and the next run needs no cleaning up.
#[test]
fn a_killed_run_leaves_no_half_file() {
    let dir = scene();
    let rows: String =
        (0..400_000).map(|n| format!("{n},홍길동,870605-1234567,010-1234-5678,x\n")).collect();
    fs::write(dir.path().join("people.csv"), format!("{}\n{rows}", PEOPLE.lines().next().unwrap()))
        .unwrap();
    let columns = ["--column", "이름=ff1:hangul", "--column", "phone=ff1:phone"];
    let flags =
        ["field", "seal", "people.csv", "--key", "people.key", "--out", "sealed.csv", "--quiet"];
    let (mut killed, target): (u32, PathBuf) = (0, dir.path().join("sealed.csv"));
    for wait_ms in [0, 20, 60, 120, 200, 300] {
        let mut command = sealstone(dir.path(), &[&flags[..], &columns[..]].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        let was_killed = !child.wait().unwrap().success();
        killed += u32::from(was_killed);
        assert!(!was_killed || !target.exists(), "half a file after {wait_ms} ms");
        let _ = fs::remove_file(&target);
        let _ = fs::remove_file(dir.path().join("sealed.csv.sealed.toml"));
    }
    assert!(killed > 0);
    run(&mut sealstone(dir.path(), &[&flags[..], &columns[..]].concat())).done();
    assert_eq!(fs::read_to_string(&target).unwrap().lines().count(), 400_001);
    let left = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    assert_eq!(left, ["people.csv", "people.key", "sealed.csv", "sealed.csv.sealed.toml"]);
}

#[test]
fn a_version_that_files_need_is_not_retired() {
    let dir = scene();
    let dir = dir.path();
    seal(dir);
    let key = KeyFile::open(dir.join("people.key")).unwrap();
    key.rotate().unwrap();
    fs::create_dir_all(dir.join("archive/2026")).unwrap();
    fs::create_dir(dir.join("empty")).unwrap();
    for ending in ["", ".sealed.toml"] {
        let sealed = format!("sealed.csv{ending}");
        fs::copy(dir.join(&sealed), dir.join("archive/2026").join(&sealed)).unwrap();
    }
    let retire = |named: &[&str]| {
        let begin = ["keys", "retire", "people.key", "--version", "1", "--field"];
        run(&mut sealstone(dir, &[&begin[..], named].concat()))
    };
    let kept = |named: &[&str], code: i32, want: &str| {
        let said = retire(named);
        let want = format!("sealstone: key people version 1 was not retired: {want}\n");
        assert_eq!((said.code, said.stderr), (Some(code), want), "{named:?}");
        assert_eq!(KeyFile::open(dir.join("people.key")).unwrap().versions().count(), 2);
    };
    let remedy = |file: &str| {
        format!(
            "seal them again under the newest version first, with: sealstone field reseal {file} \
             --key people.key --out FILE"
        )
    };
    let one = format!(
        "1 file with sealed columns is still under it, such as sealed.csv\n  {}",
        remedy("sealed.csv")
    );
    kept(&["sealed.csv"], 1, &one);
    kept(&["sealed.csv.sealed.toml"], 1, &one);
    let first = "archive/2026/sealed.csv";
    let two = format!(
        "2 files with sealed columns are still under it, such as {first}\n  {}",
        remedy(first)
    );
    kept(&["archive", "sealed.csv"], 1, &two);
    kept(
        &["empty"],
        2,
        "no sealed column in empty\n  give the directory of files with sealed columns, each with \
         its manifest beside it",
    );
    let missing = "no manifest people.csv.sealed.toml: it says under which version of which key \
                   people.csv is sealed\n  it was written beside the file; name it instead, or \
                   restore it from a backup";
    kept(&["people.csv"], 2, missing);
    kept(
        &["nothing.csv"],
        2,
        "cannot read nothing.csv: there is no such file\n  give files with sealed columns, or \
         directories of such",
    );
    fs::write(dir.join("empty/x.csv.sealed.toml"), "version = 9\n").unwrap();
    kept(
        &["empty"],
        2,
        "manifest empty/x.csv.sealed.toml: format version 9, this program knows versions up to \
         2\n  use the sealstone that wrote it, or a newer one",
    );

    // targets of links: a directory, a file whose manifest is beside the file itself, a manifest
    std::os::unix::fs::symlink("archive", dir.join("linked")).unwrap();
    let first = "linked/2026/sealed.csv";
    kept(
        &["linked"],
        1,
        &format!(
            "1 file with sealed columns is still under it, such as {first}\n  {}",
            remedy(first)
        ),
    );
    for (at, name, to) in [
        ("files", "people", "sealed.csv"),
        ("manifests", "x.csv.sealed.toml", "sealed.csv.sealed.toml"),
    ] {
        fs::create_dir(dir.join(at)).unwrap();
        std::os::unix::fs::symlink(dir.join(to), dir.join(at).join(name)).unwrap();
        let said = retire(&[at]);
        assert_eq!(said.code, Some(1), "{at}: {}", said.stderr);
        assert!(
            said.stderr.contains("1 file with sealed columns is still under it"),
            "{at}: {}",
            said.stderr
        );
    }
    let said = retire(&["files/people"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    // a file that cannot be read
    fs::create_dir(dir.join("unknown")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("unknown/gone.csv")).unwrap();
    kept(
        &["unknown"],
        2,
        "cannot look at unknown/gone.csv: it is a symbolic link to nowhere, and nothing is there",
    );
    fs::remove_file(dir.join("unknown/gone.csv")).unwrap();
    nix::unistd::mkfifo(&dir.join("unknown/x.csv.sealed.toml"), nix::sys::stat::Mode::S_IRWXU)
        .unwrap();
    kept(
        &["unknown"],
        2,
        "cannot look at unknown/x.csv.sealed.toml: it is a FIFO (a pipe), not a file",
    );

    // a row of the old file, pasted into the new one
    let old = fs::read_to_string(dir.join("sealed.csv")).unwrap();
    command(dir, &["reseal", "sealed.csv", "--key", "people.key", "--out", "again.csv"]).done();
    let again = fs::read_to_string(dir.join("again.csv")).unwrap();
    fs::write(dir.join("again.csv"), format!("{again}{}\n", old.lines().nth(2).unwrap())).unwrap();
    kept(
        &["again.csv"],
        1,
        "again.csv has values under it, such as in line 5, column memo\n  seal it again under the \
         newest version first, with: sealstone field reseal again.csv --changed --key people.key \
         --out FILE",
    );
    fs::write(dir.join("again.csv"), again).unwrap();
    let retired = retire(&["again.csv"]);
    assert_eq!(
        retired.stderr,
        "key people version 1 is retired; none of 1 file with sealed columns is under it\nnot \
         looked at: stores (--store), tables (--table), backups\n"
    );
    retired.done();
    command(dir, &["open", "again.csv", "--key", "people.key", "--out", "opened.csv"]).done();
    assert_eq!(fs::read_to_string(dir.join("opened.csv")).unwrap(), PEOPLE);
}

/// ARIA is on the Korean list, and FF1 is not, whatever the cipher: reported for each column, and
/// refused where it matters.
#[test]
fn the_lists_of_a_column_are_those_of_its_cipher_in_its_mode() {
    let dir = scene();
    let columns = ["--column", "phone=ff1:phone", "--column", "memo=aead", "--index", "memo"];
    let with = |verb: &[&str], more: &[&str]| command(dir.path(), &[verb, &columns, more].concat());
    let check = |more: &[&str]| with(&["check", "people.csv"], more);
    let sentence =
        "Sealstone is not a validated module; fips and kcmvp speak of algorithm and mode only\n";
    let text = check(&["--cipher", "aria-256"]).done();
    let said = "approved, by cipher and mode:\n  phone: on no list: the cipher aria-256 is on one \
                (KCMVP), ff1 is not\n  memo: KCMVP\n";
    assert!(text.contains(&format!("{said}{sentence}")), "{text}");
    let json: Value =
        serde_json::from_str(&check(&["--cipher", "aria-256", "--json"]).done()).unwrap();
    let approved = |at: usize| {
        (&json["columns"][at]["approved"]["fips"], &json["columns"][at]["approved"]["kcmvp"])
    };
    assert_eq!(approved(0), (&Value::Bool(false), &Value::Bool(false)));
    assert_eq!(approved(1), (&Value::Bool(false), &Value::Bool(true)));
    let seal = ["seal", "people.csv", "--key", "people.key", "--out", "sealed.csv"];
    let text = with(&seal, &[]).done();
    assert!(
        text.contains("    approved, by cipher and mode: FIPS 140\n") && text.contains(sentence),
        "{text}"
    );

    check(&["--approved", "fips"]).done();
    check(&["--cipher", "aria-256", "--approved", "kcmvp"]).fails_with(&format!(
        "sealstone: column phone: ff1 is not on the Korean validation list (KCMVP), whatever the \
         cipher\n  seal it as aead, or leave --approved out\n  {sentence}"
    ));
    let aria = with(
        &["seal", "people.csv", "--key", "people.key", "--out", "other.csv"],
        &["--cipher", "aria-256", "--approved", "fips"],
    );
    assert!(
        aria.code == Some(2)
            && aria.stderr.contains("aria-256 in ff1 is not approved under FIPS 140\n")
    );
    assert!(!dir.path().join("other.csv").exists());
}
