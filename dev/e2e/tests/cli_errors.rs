//! The exact text of every error of the command line: the attempt, its object, the finding, the
//! next step.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sealstone_e2e::transcript::{plain, run, sealstone};
use sealstone_keys::KeyFile;
use tempfile::TempDir;

/// Asserts that `arguments` in `dir` fail with exit code 2, nothing on stdout, and the text `want`
/// on stderr.
fn fails(dir: &Path, arguments: &[&str], want: &str) {
    println!("sealstone {}", arguments.join(" "));
    run(&mut sealstone(dir, arguments)).fails_with(want);
}

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Writes a private file, as a key file must be.
fn write_private(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn unknown_names_come_with_the_nearest() {
    let dir = empty();
    let known = "  known ciphers: aes-128, aes-192, aes-256, aria-128, aria-192, aria-256, \
                 seed-128, lea-128, lea-192, lea-256, hight, pipo-128, pipo-256, 3des, blowfish\n";
    fails(
        dir.path(),
        &["compare", "--ciphers", "none,aes-265"],
        &format!(
            "sealstone: unknown cipher \"aes-265\"; did you mean aes-256?\n{known}  `none` is the \
             baseline, without encryption\n"
        ),
    );
    fails(
        dir.path(),
        &["ciphers", "--ciphers", "aria256"],
        &format!("sealstone: unknown cipher \"aria256\"; did you mean aria-256?\n{known}"),
    );
    fails(
        dir.path(),
        &["compare", "--workloads", "a,bach-load"],
        "sealstone: unknown workload \"bach-load\"; did you mean batch-load?\n  known workloads: \
         a, b, c, d, e, f, oltp, batch-load, batch-scan, seq-read, seq-write, seq-mix, const-read, \
         const-write, const-mix, rand-read, rand-write, rand-mix, stream; most also run as \
         NAME-cold and NAME-sync\n",
    );
    fails(
        dir.path(),
        &["compare", "--workloads", "ycsb-a"],
        "sealstone: unknown workload \"ycsb-a\"; did you mean \"a\"?\n  known workloads: a, b, c, \
         d, e, f, oltp, batch-load, batch-scan, seq-read, seq-write, seq-mix, const-read, \
         const-write, const-mix, rand-read, rand-write, rand-mix, stream; most also run as \
         NAME-cold and NAME-sync\n",
    );
    for (name, meant) in [("aes", "aes-256"), ("aria", "aria-256")] {
        let transcript = run(&mut sealstone(dir.path(), &["compare", "--ciphers", name]));
        let begin = format!("sealstone: unknown cipher \"{name}\"; did you mean {meant}?\n");
        assert!(transcript.stderr.starts_with(&begin), "{}", transcript.stderr);
    }
    fails(
        dir.path(),
        &["compare", "--key", "kmpi:kms.toml"],
        "sealstone: no key file at kmpi:kms.toml, and kmpi: is no kind of key source; did you mean \
         kmip:?\n  name a key file by its path, or a key server as kmip://HOST/KEY or \
         kmip:FILE.toml\n",
    );
    fails(
        dir.path(),
        &["compare", "--recors", "5"],
        "sealstone: unexpected argument '--recors' found\n  tip: a similar argument exists: \
         '--records'\n  Usage: sealstone compare --records <LIST>\n  For more information, try \
         '--help'.\n",
    );
    fails(
        dir.path(),
        &["compar"],
        "sealstone: unrecognized subcommand 'compar'\n  tip: a similar subcommand exists: \
         'compare'\n  Usage: sealstone [OPTIONS] <COMMAND>\n  For more information, try \
         '--help'.\n",
    );
    fails(dir.path(), &[], "sealstone: no command given\n  try: sealstone --help\n");
    // names of backends depend on the CPU, and so does the end of the second line
    let transcript = run(&mut sealstone(dir.path(), &["compare", "--accel", "portible"]));
    assert!(
        transcript.stderr.starts_with(
            "sealstone: unknown backend \"portible\"; did you mean portable?\n  known backends: \
             auto, portable"
        ),
        "{}",
        transcript.stderr
    );
    assert_eq!((transcript.code, transcript.stdout.as_str()), (Some(2), ""));
}

#[test]
fn absurd_settings_say_why() {
    let dir = empty();
    for (flag, value, want) in [
        ("--records", "0", "records is 0: a data set has at least one record"),
        ("--operations", "0", "operations is 0: a pass without operations measures nothing"),
        ("--threads", "0", "threads is 0: somebody has to run the operations; use 1 or more"),
        (
            "--threads",
            "99999999",
            "threads is 99999999: every client is a separate thread, so at most 10000",
        ),
        ("--rounds", "0", "rounds is 0: nothing would be measured; use 1 or more"),
        ("--until", "0%", "until is 0%: half of an interval is between 0.1% and 50%"),
        ("--until", "60%", "until is 60%: half of an interval is between 0.1% and 50%"),
        ("--max-time", "721h", "max-time is 721h: it is between a second and thirty days"),
        ("--bytes", "10", "bytes is 10: a data set has 100 kB to a petabyte, so at least 100000"),
        ("--cache", "5", "cache is 5: a cache has a mebibyte to a petabyte, so at least 1048576"),
        (
            "--target",
            "-1",
            "target is -1: operations a second must be a number above 0; leave it out to run as \
             fast as possible",
        ),
        (
            "--target",
            "nan",
            "target is NaN: operations a second must be a number above 0; leave it out to run as \
             fast as possible",
        ),
        (
            "--target",
            "0",
            "target is 0: operations a second must be a number above 0; leave it out to run as \
             fast as possible",
        ),
        (
            "--target",
            "max",
            "target is max: it needs the latency to stay under, such as --p99 10ms",
        ),
        (
            "--p99",
            "10ms",
            "p99 is 10ms: a limit is for finding the highest rate under it: add --target max, or \
             leave it out",
        ),
        (
            "--set",
            "threads-of=oltp-sync=4",
            "threads-of is oltp-sync=4: workload oltp-sync always has 80",
        ),
        (
            "--set",
            "threads-of=f=4",
            "threads-of is f=4: it is not among the workloads: a, c, c-cold, oltp-sync, \
             batch-load, batch-scan",
        ),
        (
            "--workloads",
            "a,a",
            "workloads is a: it is listed twice; for more of it, raise rounds or pairs",
        ),
    ] {
        fails(dir.path(), &["compare", flag, value], &format!("sealstone: {want}\n"));
    }
    for (flags, want) in [
        (
            &["--target", "max", "--p99", "0"][..],
            "p99 is 0s: a limit on latency is between 1us and 1m",
        ),
        (
            &["--target", "100", "--p99", "1ms"],
            "p99 is 1ms: a limit is for finding the highest rate under it: add --target max, or \
             leave it out",
        ),
        (
            &["--target", "100", "--workloads", "a,batch-load"],
            "workloads is batch-load: requests are due at the rate of the target, and a batch has \
             none: leave it out",
        ),
    ] {
        fails(dir.path(), &[&["compare"], flags].concat(), &format!("sealstone: {want}\n"));
    }
    for (more, want) in [
        (
            ["--preset", "warm", "--cache", "8MiB"],
            "preset is warm: it decides the size of the cache; leave out either the preset or the \
             cache",
        ),
        (
            ["--workloads", "a,c-cold", "--cache", "8MiB"],
            "cache is 8.4 MB: workload c-cold has a cache of its own; leave one out, or name c",
        ),
        (
            ["--preset", "sync", "--workloads", "a,c"],
            "preset is sync: workload c has nothing that it would change; name some of a, b, d, e, \
             f, oltp",
        ),
        (
            ["--preset", "all", "--workloads", "c-cold"],
            "preset is all: workload c-cold has a setting already; name it c, or leave the preset \
             out",
        ),
    ] {
        fails(dir.path(), &[&["compare"], &more[..]].concat(), &format!("sealstone: {want}\n"));
    }
    fails(
        dir.path(),
        &["compare", "--preset", "hot"],
        "sealstone: invalid value 'hot' for '--preset <PRESET>'\n  [possible values: warm, cold, \
         sync, all]\n  For more information, try '--help'.\n",
    );
    let count = "expected a whole number below 2^64 such as 5000, 1_000_000, 100k or 5M";
    for (flag, value, want) in [
        ("--records <LIST>", "many", count),
        ("--records <LIST>", "-1", count),
        ("--records <LIST>", "99999999999999999999", count),
        ("--threads <LIST>", "1.5", count),
        (
            "--bytes <SIZE>",
            "lots",
            "\"lots\" is not a size; write bytes, or a number with kB, MB, GB, KiB, MiB, GiB",
        ),
        (
            "--target <RATE>",
            "fast",
            "\"fast\" is not a rate; write operations a second, such as 2000, or max with --p99 \
             10ms",
        ),
        (
            "--p99 <LATENCY>",
            "10",
            "\"10\" is not a duration; write a number with a unit, such as 10ms, 500us or 1s",
        ),
    ] {
        let name = flag.split(' ').next().unwrap();
        let want = format!(
            "sealstone: invalid value '{value}' for '{flag}': {want}\n  For more information, try \
             '--help'.\n"
        );
        fails(dir.path(), &["compare", name, value], &want);
    }
    for (given, want) in [
        (
            "records=5",
            "expected one of pairs, slice-ms, depth, threads-of, delimiter, seed, path, \
             cold-share; the others have flags of their own",
        ),
        ("pairs", "expected a setting and its value, such as pairs=8"),
    ] {
        let want = format!(
            "sealstone: invalid value '{given}' for '--set <SETTING=VALUE>': {want}\n  For more \
             information, try '--help'.\n"
        );
        fails(dir.path(), &["compare", "--set", given], &want);
    }
    fails(
        dir.path(),
        &["compare", "--policy", "nist"],
        "sealstone: invalid value 'nist' for '--policy <POLICY>'\n  [possible values: any, fips, \
         kcmvp, fips-module, kcmvp-module]\n  For more information, try '--help'.\n",
    );
    fails(
        dir.path(),
        &["ciphers", "--speed", "--sizes", "0"],
        "sealstone: a buffer of 0 bytes is not possible\n  try sizes from 1 to 1GiB, such as: \
         --sizes 64,4KiB,1MiB\n",
    );
    fails(
        dir.path(),
        &["ciphers", "--speed", "--seconds", "0"],
        "sealstone: a measurement of 0 seconds is not possible\n  try: --seconds 0.2\n",
    );
    fails(
        dir.path(),
        &["ciphers", "--speed", "--sizes", "1,2,3,4,5,6,7"],
        "sealstone: 7 sizes do not fit side by side\n  choose up to 6, or add --json\n",
    );
}

#[test]
fn too_much_for_this_machine_is_said_before_the_run() {
    let dir = empty();
    let transcript =
        run(&mut sealstone(dir.path(), &["compare", "--workloads", "a", "--records", "100G"]));
    let lines: Vec<&str> = transcript.stderr.lines().collect();
    assert!(
        lines[0].starts_with("sealstone: the stores need about ")
            && lines[0].ends_with(" are free there"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "  choose fewer records or bytes, fewer ciphers, or another directory");
    assert_eq!(transcript.code, Some(2));
    let transcript =
        run(&mut sealstone(dir.path(), &["compare", "--workloads", "a", "--cache", "900TB"]));
    assert!(
        transcript
            .stderr
            .starts_with("sealstone: a cache of 900.0 TB for each of 3 stores needs 2.7 PB, and ")
    );
    assert!(transcript.stderr.ends_with("\n  choose a smaller cache or fewer ciphers\n"));
    assert_eq!(transcript.code, Some(2));
}

#[test]
fn a_settings_file_is_wrong_with_its_line() {
    let dir = empty();
    for (content, want) in [
        (
            "rounds = 2\nrecords = \"many\"\n",
            "plan.toml:2: invalid value: string \"many\", expected a whole number below 2^64 such \
             as 5000, 1_000_000, 100k or 5M\n",
        ),
        ("records = 5\n[a\n", "plan.toml:2: unclosed table, expected `]`\n"),
        (
            "recods = 5\n",
            "plan.toml:1: unknown setting \"recods\"; did you mean records?\n  known settings: \
             accel, against, baseline, block-bytes, bytes, cache, ciphers, cold-share, delimiter, \
             depth, fail-if, fields, keep, key, layer, links, load-every, margin, max-errors, \
             max-time, module, nodes, operations, out, own-workloads, p99, pairs, passphrase-file, \
             path, policy, protect-from, records, records-from, rounds, seal, seed, slice-ms, \
             store, stores, suites, target, threads, threads-of, until, verify, workloads\n",
        ),
        (
            "bytes = \"2 gigs\"\n",
            "plan.toml:1: \"2 gigs\" is not a size; write bytes, or a number with kB, MB, GB, KiB, \
             MiB, GiB\n",
        ),
    ] {
        fs::write(dir.path().join("plan.toml"), content).unwrap();
        fails(dir.path(), &["compare", "--config", "plan.toml"], &format!("sealstone: {want}"));
    }
    fails(
        dir.path(),
        &["compare", "--config", "nowhere.toml"],
        "sealstone: cannot read the plan nowhere.toml: No such file or directory (os error 2)\n",
    );
    fails(
        dir.path(),
        &["compare", "--study", "tablespaces"],
        "sealstone: unknown study name \"tablespaces\"; did you mean tablespace?\n  known \
         study names: mongodb-kmip, tablespace, redis-ssdb, mysql-columns, iscsi-ipsec\n",
    );
}

/// SSDB acknowledges before anything is on the disk. No server is started for that answer, so any
/// program does.
#[test]
fn a_workload_that_syncs_is_refused_on_ssdb() {
    let dir = empty();
    let sync = ["compare", "--store=ssdb", "--ssdb-server=/bin/true", "--workloads=a-sync"];
    let small = ["--records=100", "--ciphers=none", "--rounds=6", "--quiet"];
    let refused = run(&mut sealstone(dir.path(), &[&sync[..], &small].concat()));
    let said = "writes cannot be synced on SSDB: it acknowledges them before they are on the disk, \
                and has no setting for that\n  name workloads without -sync\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(said), "{}", refused.stderr);
}

#[test]
fn a_csv_file_is_wrong_with_its_line() {
    let dir = empty();
    let quote = "  add or remove fields there, or quote a field that holds a comma\n";
    for (content, want) in [
        (&b"a,b\n1,2\n3\n"[..], format!("people.csv, line 3: 1 field, the header has 2\n{quote}")),
        (b"a,b\n1,2\n3,4,5\n", format!("people.csv, line 3: 3 fields, the header has 2\n{quote}")),
        (b"a,b\n1,\xff\xfe\n", "people.csv, line 2: not UTF-8\n  save the whole file as UTF-8 or \
                                as CP949\n".into()),
        (
            b"a;b\n1;2\n3\n",
            "people.csv, line 3: 1 field, the header has 2\n  add or remove fields there, or quote \
             a field that holds a semicolon\n"
                .into(),
        ),
        (
            b"a,b\n1,2\n3,\"4\n5,6\n",
            "people.csv, line 3: the quote that opens here is never closed\n  close it, or write a \
             quote within a value twice: \"\"\n"
                .into(),
        ),
        (
            b"a,b;c\n1,2;3\n",
            "people.csv, line 1: it is not clear what separates the fields: by comma there are 2, \
             by semicolon there are 2\n  name it, such as: --set delimiter=comma\n"
                .into(),
        ),
        (
            b"a,b\n1,\0\n",
            "people.csv, line 2: a zero byte\n  is this a text file? save it as UTF-8 or as CP949\n"
                .into(),
        ),
        (b"a,b\n", "people.csv has a header line and no records\n  write one record per line below \
                    it\n".into()),
    ] {
        fs::write(dir.path().join("people.csv"), content).unwrap();
        let arguments = ["compare", "--quiet", "--records-from", "people.csv", "--workloads", "a",
            "--records", "100"];
        fails(dir.path(), &arguments, &format!("sealstone: {want}"));
    }
    fails(
        dir.path(),
        &["compare", "--records-from", "nowhere.csv"],
        "sealstone: records-from is nowhere.csv: it cannot be opened: No such file or directory \
         (os error 2)\n",
    );
}

#[test]
fn key_files_are_never_overwritten_guessed_or_quoted() {
    let dir = empty();
    let path = |name: &str| dir.path().join(name);
    run(&mut sealstone(dir.path(), &["keys", "new", "store.key"])).done();
    let before = fs::read(path("store.key")).unwrap();
    fails(
        dir.path(),
        &["keys", "new", "store.key"],
        "sealstone: store.key exists already and was left as it is: overwriting a key file would \
         lose every file sealed under it\n  choose another path, or move the old key file to \
         safety first\n",
    );
    assert_eq!(fs::read(path("store.key")).unwrap(), before);
    fails(
        dir.path(),
        &["keys", "new", "nowhere/store.key"],
        "sealstone: cannot make nowhere/store.key: there is no directory nowhere\n  make it first, \
         with: mkdir -p nowhere\n",
    );
    fails(
        dir.path(),
        &["keys", "new", "other.key", "--id", "two words"],
        "sealstone: not a key id: it holds ' '; letters, digits and - _ . : / are allowed\n",
    );
    for command in [&["keys", "show", "missing.key"][..], &["compare", "--key", "missing.key"]] {
        fails(
            dir.path(),
            command,
            "sealstone: no key file at missing.key\n  name the right one, or put it back from its \
             copy: what is sealed under a key opens with no other\n",
        );
    }
    fs::set_permissions(path("store.key"), fs::Permissions::from_mode(0o644)).unwrap();
    fails(
        dir.path(),
        &["keys", "show", "store.key"],
        "sealstone: key file store.key is open to users other than its owner (mode 0644)\n  \
         restrict it with: chmod 600 store.key; if others may have read it, rotate the key\n",
    );
    let text = String::from_utf8(before).unwrap();
    let secret: String =
        text.split('"').find(|part| part.len() == 64).expect("64 hex digits").to_string();
    write_private(&path("bad.key"), text.replace("secret = \"", "secret = \"x").as_bytes());
    let transcript = run(&mut sealstone(dir.path(), &["keys", "show", "bad.key"]));
    assert!(
        transcript.stderr.starts_with("sealstone: key file bad.key, line "),
        "{}",
        transcript.stderr
    );
    assert!(!transcript.stderr.contains(&secret[..8]) && transcript.code == Some(2));
}

#[test]
fn directories_that_are_not_ours_are_left_alone() {
    let dir = empty();
    fs::create_dir(dir.path().join("photos")).unwrap();
    fs::write(dir.path().join("photos/cat.txt"), "cat").unwrap();
    run(&mut sealstone(dir.path(), &["keys", "new", "store.key"])).done();
    let want = "sealstone: no sealed RocksDB store in photos (1 file)\n  give the directory of a \
                sealed store\n";
    fails(dir.path(), &["rest", "status", "photos"], want);
    fails(dir.path(), &["rest", "verify", "photos", "--key", "store.key"], want);
    fails(
        dir.path(),
        &["compare", "--quiet", "--workloads", "a", "--records", "100", "--keep", "photos"],
        "sealstone: photos for the stores: it is not empty\n  name an empty or new directory; \
         nothing in it was touched\n",
    );
    assert_eq!(fs::read_dir(dir.path().join("photos")).unwrap().count(), 1);
    assert!(!dir.path().join("photos.key").exists());
    let transcript = run(&mut sealstone(dir.path(), &["rest", "status", "nowhere"]));
    assert!(transcript.stderr.contains("No such file or directory"), "{}", transcript.stderr);
    assert_eq!(transcript.code, Some(2));
}

/// A command that gets a directory of another kind names the right command.
#[test]
fn directories_of_another_kind_are_named_with_their_command() {
    let dir = empty();
    let make = |names: &[&str]| {
        for name in names {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
    };
    run(&mut sealstone(dir.path(), &["keys", "new", "store.key"])).done();
    make(&[
        "mongo/WiredTiger",
        "mongo/WiredTiger.wt",
        "rocks/CURRENT",
        "rocks/MANIFEST-000001",
        "lab/lab.lock",
    ]);
    make(&["files/people.csv", "files/people.csv.sealed.toml"]);
    make(&[
        "pg/PG_VERSION",
        "pg/base/1/1",
        "pg/global/1",
        "maria/ibdata1",
        "maria/aria_log_control",
    ]);
    make(&["mysql/ibdata1", "mysql/auto.cnf", "redis/dump.rdb"]);
    let mongo = "it is a data directory of MongoDB\n  see what is sealed in it with: sealstone \
                 mongo check mongo\n";
    let found = "sealstone: no sealed RocksDB store in mongo (2 files): ";
    for command in
        [&["status"][..], &["verify", "--key", "store.key"], &["rotate", "--key", "store.key"]]
    {
        let words = [&["rest", command[0], "mongo"], &command[1..]].concat();
        fails(dir.path(), &words, &format!("{found}{mongo}"));
    }
    for command in
        [&["unseal", "--out", "out"][..], &["reseal"], &["get", "record"], &["scan"], &["dump"]]
    {
        let words =
            [&["rest", command[0], "mongo"], &command[1..], &["--key", "store.key"]].concat();
        fails(dir.path(), &words, &format!("sealstone: no RocksDB store in mongo: {mongo}"));
    }
    let open = "open one with: sealstone field open files/people.csv --key KEY --out FILE\n";
    let files = format!("it has files with sealed columns, such as files/people.csv\n  {open}");
    let lab = "it is a directory of sealstone lab\n  see what is sealed in it with: sealstone lab \
               status lab\n";
    let server = |name: &str| {
        format!(
            "nothing is sealed here; this is a {name} data directory\n  columns of its tables are \
             sealed through the server, with: sealstone field migrate\n"
        )
    };
    let maria = "it is a data directory of MariaDB\n  see what is sealed in it with: sealstone \
                 mysql check maria\n";
    for (at, count, want) in [
        ("files", "2 files", files.as_str()),
        ("lab", "1 file", lab),
        ("pg", "3 files", server("PostgreSQL").as_str()),
        ("maria", "2 files", maria),
        ("mysql", "2 files", server("MySQL").as_str()),
    ] {
        fails(
            dir.path(),
            &["rest", "status", at],
            &format!("sealstone: no sealed RocksDB store in {at} ({count}): {want}"),
        );
        fails(
            dir.path(),
            &["mongo", "check", at],
            &format!("sealstone: no MongoDB data in {at}: {want}"),
        );
    }
    fails(
        dir.path(),
        &["volume", "status", "rocks"],
        "sealstone: no sealed volume in rocks: it is a RocksDB store\n  see what is sealed in it \
         with: sealstone rest status rocks\n",
    );
    fails(
        dir.path(),
        &["mongo", "check", "rocks"],
        "sealstone: no MongoDB data in rocks: it is a RocksDB store\n  see what is sealed in it \
         with: sealstone rest status rocks\n",
    );
    fails(
        dir.path(),
        &["rest", "status", "redis"],
        "sealstone: no sealed RocksDB store in redis (1 file): nothing is sealed here; this is a \
         Redis data directory\n  to seal it, put it on a sealed volume (docs/guide/volumes.md)\n",
    );
}

#[test]
fn files_that_are_not_results_are_refused() {
    let dir = empty();
    fails(
        dir.path(),
        &["report", "nowhere.json"],
        "sealstone: cannot read results nowhere.json: No such file or directory (os error 2)\n",
    );
    fs::write(dir.path().join("empty.json"), "{}").unwrap();
    fails(
        dir.path(),
        &["report", "empty.json"],
        "sealstone: empty.json is not a result set: missing field `schema` at line 1 column 2\n  \
         name a results.json that sealstone compare wrote\n",
    );
    fs::write(dir.path().join("newer.json"), r#"{"schema": 99, "version": "9.9"}"#).unwrap();
    fails(
        dir.path(),
        &["report", "newer.json"],
        "sealstone: results newer.json have schema 99, this build reads schema 1\n  \
         report on them with Sealstone 9.9, which wrote them, or measure again\n",
    );
}

/// Nobody ever writes into this FIFO, so a program that opened it as a file would wait for ever.
#[test]
fn no_input_is_waited_for() {
    let dir = empty();
    mkfifo(&dir.path().join("fifo"), Mode::S_IRWXU).unwrap();
    let at = |name: &str| dir.path().join(name);
    KeyFile::create(at("a.key"), "a").unwrap();
    fs::write(at("p"), "correct horse\n").unwrap();
    fs::set_permissions(at("p"), fs::Permissions::from_mode(0o600)).unwrap();
    run(&mut sealstone(dir.path(), &["keys", "new", "b.key", "--passphrase-file", "p"])).done();
    fs::write(at("a.csv"), "id\n1\n").unwrap();
    fs::write(at("policy.toml"), "[tables.a]\ncolumns = { id = \"aead\" }\n").unwrap();
    let seal = ["field", "seal", "a.csv", "--column", "id=aead", "--out", "out.csv"];
    for arguments in [
        &["field", "check", "fifo", "--column", "id=aead"][..],
        &["field", "seal", "fifo", "--column", "id=aead", "--key", "a.key", "--out", "out.csv"],
        &["field", "seal", "a.csv", "--policy", "fifo", "--key", "a.key", "--out", "out.csv"],
        &[&seal[..], &["--key", "fifo"]].concat()[..],
        &[&seal[..], &["--key", "kmip:fifo"]].concat()[..],
        &[&seal[..], &["--key", "b.key", "--passphrase-file", "fifo"]].concat()[..],
        &["field", "open", "a.csv", "--manifest", "fifo", "--key", "a.key", "--out", "out.csv"],
        &["keys", "show", "fifo"],
        &["keys", "rotate", "fifo"],
        &["compare", "--config", "fifo"],
        &["compare", "--records-from", "fifo"],
        &["compare", "--workloads", "./fifo"],
        &["compare", "--baseline", "fifo"],
        &["report", "fifo"],
    ] {
        let said = run(&mut sealstone(dir.path(), arguments));
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        let words = ["it is a FIFO (a pipe), not a file", "it is no regular file"];
        assert!(
            words.iter().any(|words| said.stderr.contains(words)),
            "{arguments:?}: {}",
            said.stderr
        );
    }
    assert!(!at("out.csv").exists());
    // a directory of a lab in which somebody left pipes, and one in the place of results
    fs::create_dir(at("lab")).unwrap();
    for name in ["lab.toml", "lab.volume.toml", "lab.asked.toml"] {
        mkfifo(&at("lab").join(name), Mode::S_IRWXU).unwrap();
    }
    for arguments in [
        &["compare", "--workloads", "a", "--records", "100", "--out", "fifo"][..],
        &["lab", "status", "lab"],
        &["lab", "down", "lab"],
        &["lab", "up", "redis", "--dir", "lab"],
    ] {
        let said = run(&mut sealstone(dir.path(), arguments));
        assert_eq!(said.code, Some(2), "{arguments:?}: {} {}", said.stdout, said.stderr);
    }
}

/// A monitor writes its file again and again, and nothing else is written over.
#[test]
fn a_status_replaces_a_status_alone() {
    let dir = empty();
    let at = |name: &str| dir.path().join(name);
    KeyFile::create(at("a.key"), "a").unwrap();
    fs::write(at("a.csv"), "id\n1\n").unwrap();
    let seal =
        ["field", "seal", "a.csv", "--column", "id=aead", "--key", "a.key", "--out", "b.csv"];
    run(&mut sealstone(dir.path(), &seal)).done();
    let status =
        |more: &[&str]| run(&mut sealstone(dir.path(), &[&["status", "b.csv"], more].concat()));
    let key = fs::read(at("a.key")).unwrap();
    for taken in ["a.key", "a.csv", "b.csv.sealed.toml"] {
        let said = status(&["--prometheus", "--out", taken]);
        assert_eq!(said.code, Some(2), "{taken}: {}", said.stderr);
        assert!(said.stderr.contains("and no status of an earlier run"), "{}", said.stderr);
    }
    assert_eq!(fs::read(at("a.key")).unwrap(), key);
    // nor does an audit or a lab go where a link leads
    fs::create_dir_all(at("elsewhere")).unwrap();
    fs::create_dir(at("lab")).unwrap();
    for link in ["page", "lab/lab.postgres"] {
        std::os::unix::fs::symlink(at("elsewhere"), at(link)).unwrap();
    }
    for arguments in
        [&["audit", "b.csv", "--out", "page"][..], &["lab", "up", "postgres", "--dir", "lab"]]
    {
        let said = run(&mut sealstone(dir.path(), arguments));
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains("link to"), "{arguments:?}: {}", said.stderr);
    }
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 0);
    fs::write(at("s"), "").unwrap();
    for form in [&["--prometheus"][..], &["--json"], &[], &["--prometheus"]] {
        status(&[form, &["--out", "s"]].concat()).done();
        assert!(fs::metadata(at("s")).unwrap().len() > 0);
    }
}

#[test]
fn files_that_name_keys_are_not_taken_where_everybody_may_change_them() {
    let dir = empty();
    let at = |name: &str| dir.path().join(name);
    KeyFile::create(at("a.key"), "a").unwrap();
    fs::write(at("a.csv"), "id\n1\n").unwrap();
    fs::write(at("policy.toml"), "[tables.a]\ncolumns = { id = \"aead\" }\n").unwrap();
    fs::write(at("plan.toml"), "rounds = 2\n").unwrap();
    fs::write(at("kms.toml"), "key-id = \"a\"\n").unwrap();
    fs::write(at("address"), "mysql://127.0.0.1:9/d\n").unwrap();
    fs::write(at("wire.toml"), "").unwrap();
    let seal = ["field", "seal", "a.csv", "--out", "out.csv"];
    for (file, arguments) in [
        ("policy.toml", &[&seal[..], &["--policy", "policy.toml", "--key", "a.key"]].concat()[..]),
        ("plan.toml", &["compare", "--config", "plan.toml"]),
        ("kms.toml", &[&seal[..], &["--column", "id=aead", "--key", "kmip:kms.toml"]].concat()[..]),
        ("address", &["field", "status", "@address"]),
        ("wire.toml", &["wire", "guard", "--config", "wire.toml"]),
    ] {
        fs::set_permissions(at(file), fs::Permissions::from_mode(0o666)).unwrap();
        let said = run(&mut sealstone(dir.path(), arguments));
        let words = format!(
            "{file}: everybody may write to it (mode 0666)\n  allow that to its owner alone"
        );
        assert!(said.code == Some(2) && said.stderr.contains(&words), "{}", said.stderr);
    }
}

#[test]
fn places_that_cannot_be_written_are_found_before_the_run() {
    let dir = empty();
    fs::write(dir.path().join("file"), "x").unwrap();
    fails(
        dir.path(),
        &["compare", "--workloads", "a", "--records", "100", "--out", "file"],
        "sealstone: cannot write results into file: File exists (os error 17)\n  name another \
         directory with --out\n",
    );
    fails(
        dir.path(),
        &["man", "--out", "file"],
        "sealstone: cannot make the folder file: File exists (os error 17)\n",
    );
}

/// As user `nobody` if the tests run as root, who may write everywhere.
#[test]
fn no_permission_is_said() {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let dir = empty();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let mut command = sealstone(
        dir.path(),
        &["compare", "--workloads", "a", "--records", "100", "--out", "closed/out"],
    );
    if fs::metadata(&closed).unwrap().uid() == 0 {
        // the build's folder may be closed to others, so the binary comes along
        let binary = dir.path().join("sealstone");
        fs::copy(sealstone_e2e::binary::sealstone(), &binary).unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let arguments: Vec<String> =
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        command = plain(&binary, dir.path(), &arguments);
        command.uid(NOBODY).gid(NOBODY);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    run(&mut command).fails_with(
        "sealstone: cannot write results into closed/out: Permission denied (os error 13)\n  \
         name another directory with --out\n",
    );
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_full_disk_is_one_clear_error() {
    let dir = empty();
    // a limit on the size of files simulates a disk that fills up under the stores
    let limited = |arguments: &str| {
        let binary = sealstone_e2e::binary::sealstone().display();
        let script = format!("trap '' XFSZ; ulimit -f 2000; exec '{binary}' {arguments}");
        run(&mut plain(Path::new("bash"), dir.path(), &["-c", &script]))
    };
    let settings = "--ciphers none,aes-256 --workloads a --records 20k --operations 1000 --set \
                    pairs=6 --set slice-ms=1";
    let transcript = limited(&format!("compare --quiet {settings}"));
    assert_eq!(
        (transcript.code, transcript.stdout.as_str()),
        (Some(2), ""),
        "{}",
        transcript.stderr
    );
    assert!(
        transcript
            .stderr
            .starts_with("sealstone: loading data set ycsb failed on none: cannot bulk-load into "),
        "{}",
        transcript.stderr
    );
    assert!(transcript.stderr.contains("File too large"), "{}", transcript.stderr);
    assert!(!dir.path().join("sealstone-results/results.json").exists());

    let stdout = fs::File::options().write(true).open("/dev/full").unwrap();
    let child = sealstone(dir.path(), &["ciphers"])
        .stdout(stdout)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let transcript = sealstone_e2e::transcript::finish(child);
    assert_eq!(
        transcript.stderr,
        "sealstone: cannot write to stdout: No space left on device (os error 28)\n"
    );
    assert_eq!(transcript.code, Some(2));
}
