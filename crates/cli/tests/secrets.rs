//! Every flag of every command is given addresses with a password in them, right and wrong in every
//! way, and files that hold such an address or a person's data in place of a header line: no output
//! may show them. The flags come from the definition of the command line itself.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction};

/// Text that must not be seen anywhere.
const MARKER: &str = "GeHeIm47";
/// The same of a person.
const PERSON: [&str; 3] = ["홍길동", "870605-1234567", "010-9876-5432"];
/// Time that a command may take; a command that connects gives up before.
const PATIENCE: Duration = Duration::from_secs(60);

/// Addresses in every form, with the marker in each place where a secret can be.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    // nobody listens there
    let host = "127.0.0.1:9";
    for scheme in [
        "postgres",
        "mysql",
        "redis",
        "ssdb",
        "mongodb",
        "kmip",
        "iscsi",
        "redis+sentinel",
        "unknown",
    ] {
        forms.push(format!("{scheme}://me:{MARKER}@{host}/d"));
        forms.push(format!("{scheme}://{host}/d?password={MARKER}"));
    }
    forms.extend([
        format!("postgres://me:a/{MARKER}@{host}/d"),
        format!("mysql://me:a?{MARKER}@{host}/d"),
        format!("redis://me:a#{MARKER}@{host}/0"),
        format!("mongodb://me:a@{MARKER}:b@{host}/d"),
        format!("mysql://me:{MARKER}%40{host}/d"),
        format!("postgres://me:{MARKER}"),
        format!("postgres://{host}/d?sslmode=require&sslpassword={MARKER}"),
        format!("postgres://{host}/d?sslmode={MARKER}"),
        format!("mysql://{host}/d?{MARKER}"),
        format!("postgres://me:a {MARKER}@{host}/d"),
        format!("postgres:/me:{MARKER}@{host}/d"),
        format!("postgres//me:{MARKER}@{host}/d"),
        format!("me:{MARKER}@{host}/d"),
        format!("redis+unix:///nonexistent/redis.sock?password={MARKER}"),
        format!("mongodb+srv://me:{MARKER}@nonexistent.invalid/d"),
        format!("host=127.0.0.1 port=9 user=me password={MARKER} dbname=d"),
        format!("host=127.0.0.1 password='a {MARKER}'"),
        format!("@host=127.0.0.1 port=9 password = '{MARKER} x'"),
        format!("postgres://{host}/d?password={MARKER}=aead"),
        format!("jdbc:postgresql://{host}/d?user=me&password={MARKER}"),
        format!("jdbc:mysql://{host}/d?user=me&password={MARKER}"),
        format!("kmip://{host}/k?cert=c&ca=c&key=k&password={MARKER}"),
        format!("kmip://{host}/k?cert=c&ca=c&key=k&timeout_ms={MARKER}"),
        format!("kmip://me:{MARKER}@{host}/k?cert=c&ca=c&key=k"),
        format!("none=mongodb://me:{MARKER}@{host}/d"),
        format!("none=mongodb://me:a/{MARKER}@{host}/d"),
        format!("postgres://me:{MARKER}@{host}/d#people"),
        format!("@me:{MARKER}@{host}/d"),
    ]);
    forms
}

/// One command with one of its arguments.
struct Case {
    /// The words before the value.
    before: Vec<String>,
    /// The words of the other arguments that it must have.
    others: Vec<String>,
    /// Flag that forms one word with its value, if they are one word.
    flag: Option<String>,
}

impl Case {
    fn words(&self, value: &str) -> Vec<String> {
        let own = match &self.flag {
            // as one word, so that a value may begin with a dash
            Some(flag) => vec![format!("{flag}={value}")],
            None => vec![value.to_owned()],
        };
        [self.before.clone(), own, self.others.clone()].concat()
    }
}

/// Returns every argument that takes a value, of every command.
fn cases() -> Vec<Case> {
    let mut definition = sealstone_cli::definition();
    definition.build();
    let mut cases = Vec::new();
    walk(&definition, &[], &mut cases);
    cases
}

fn walk(command: &clap::Command, path: &[String], cases: &mut Vec<Case>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        walk(sub, &[path, &[sub.get_name().to_owned()]].concat(), cases);
    }
    let takes_value =
        |argument: &&Arg| matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    for argument in command.get_arguments().filter(takes_value) {
        let others = command
            .get_arguments()
            .filter(takes_value)
            .filter(|other| other.get_id() != argument.get_id() && other.is_required_set());
        let mut others: Vec<String> = others.flat_map(usual).collect();
        // the printed plan is checked, and nothing is measured
        others.extend((path == ["compare"]).then(|| "--print-config".to_owned()));
        let flag = argument.get_long().map(|long| format!("--{long}"));
        cases.push(Case { before: path.to_vec(), others, flag });
    }
}

/// Returns a value that some arguments need, and that leads nowhere.
fn usual(argument: &Arg) -> Vec<String> {
    let possible = argument.get_possible_values();
    let value =
        possible.first().map_or_else(|| "1".to_owned(), |value| value.get_name().to_owned());
    argument.get_long().map(|long| format!("--{long}")).into_iter().chain([value]).collect()
}

/// Runs the command line `words` in `dir`, and returns all that it printed.
fn run(dir: &Path, words: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealstone"));
    command.args(words).current_dir(dir).env("NO_COLOR", "1").env("HOME", dir).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            from.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let (out, err) = (
        read(Box::new(child.stdout.take().unwrap())),
        read(Box::new(child.stderr.take().unwrap())),
    );
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{words:?} did not end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    out.join().unwrap() + &err.join().unwrap()
}

/// Returns all files below `dir`, and their contents.
fn written(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(written(&entry.path())),
            kind if kind.is_file() => {
                files.push((entry.path(), fs::read(entry.path()).unwrap_or_default()))
            }
            _ => {}
        }
    }
    files
}

fn has(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// Runs each of `commands` on a few threads, each in its own directory, and asserts that none of
/// `secrets` is in its output. `prepared`: files that exist before, by name.
fn none_shows(commands: &[Vec<String>], secrets: &[&str], prepared: &[(&str, String)]) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(words) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let dir = tempfile::tempdir().unwrap();
                    for (name, content) in prepared {
                        fs::write(dir.path().join(name), content).unwrap();
                    }
                    let said = run(dir.path(), words);
                    for secret in secrets {
                        assert!(!said.contains(secret), "{words:?} says {secret}:\n{said}");
                        for (path, bytes) in written(dir.path()) {
                            let is_own =
                                prepared.iter().any(|(name, _)| path == dir.path().join(name));
                            assert!(
                                is_own || !has(&bytes, secret),
                                "{words:?}: {} has {secret}",
                                path.display()
                            );
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn no_flag_shows_what_is_secret_in_an_address() {
    let (cases, forms) = (cases(), forms());
    assert!(cases.len() > 150, "{} arguments", cases.len());
    // each argument gets a part of the forms, so that each form meets many and each kind of
    // argument meets all
    let commands: Vec<Vec<String>> = cases
        .iter()
        .enumerate()
        .flat_map(|(number, case)| {
            let is_likely = case.flag.as_ref().is_none_or(|flag| {
                ["url", "cluster", "key", "column", "table", "anchor", "peer", "config"]
                    .iter()
                    .any(|part| flag.contains(part))
            });
            let share = if is_likely { 1 } else { 9 };
            // a key file that is made has its own name in it
            let makes_file = case.before == ["keys", "new"];
            let forms =
                forms.iter().enumerate().filter(move |(form, _)| (form + number) % share == 0);
            forms
                .filter(move |(_, form)| !makes_file || form.contains('/'))
                .map(move |(_, form)| case.words(form))
        })
        .collect();
    none_shows(&commands, &[MARKER], &[]);
}

#[test]
fn no_store_shows_what_is_secret_in_its_address() {
    let mut commands = Vec::new();
    for (store, flag) in [
        ("postgres", "postgres-url"),
        ("mysql", "mysql-url"),
        ("redis", "redis-url"),
        ("ssdb", "ssdb-url"),
        ("mongodb", "cluster"),
    ] {
        for form in forms() {
            let value = if flag == "cluster" && !form.starts_with("none=") {
                format!("none={form}")
            } else {
                form
            };
            commands.push(vec![
                "compare".into(),
                format!("--store={store}"),
                format!("--{flag}={value}"),
            ]);
        }
        // from a file
        let value = if flag == "cluster" { "none=@address" } else { "@address" };
        commands.push(vec![
            "compare".into(),
            format!("--store={store}"),
            format!("--{flag}={value}"),
        ]);
    }
    for command in &mut commands {
        command.extend(
            ["--workloads=a", "--ciphers=none", "--records=100", "--quiet"].map(String::from),
        );
    }
    for form in forms() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        commands.push(words(&["field", "check", &form, "--table=t", "--column=a=aead"]));
        commands.push(words(&[
            "field",
            "migrate",
            &form,
            "--table=t",
            "--column=a=aead",
            "--key=k",
            "--yes",
        ]));
        commands.push(words(&["keys", "retire", "k", "--version=1", &format!("--table={form}#t")]));
        commands.push(words(&["keys", "check", &form]));
    }
    for form in forms().into_iter().step_by(3) {
        let address = [("address", form)];
        let from_file =
            commands.iter().filter(|words| words.iter().any(|word| word.contains("@address")));
        none_shows(&from_file.cloned().collect::<Vec<_>>(), &[MARKER], &address);
    }
    none_shows(&commands, &[MARKER], &[("address", forms()[0].clone())]);
}

#[test]
fn a_file_in_the_wrong_place_is_not_quoted() {
    let cases = cases();
    let person = format!("{}\n{}\n", PERSON.join(","), PERSON.join(","));
    let contents = [
        forms()[0].clone(),
        format!("host=h password={MARKER}\n"),
        format!("me:{MARKER}@h\n"),
        person,
    ];
    let mut secrets = vec![MARKER];
    secrets.extend(PERSON);
    for content in contents {
        let commands: Vec<Vec<String>> = cases.iter().map(|case| case.words("given")).collect();
        none_shows(&commands, &secrets, &[("given", content)]);
    }
}

#[test]
fn a_header_line_that_is_data_is_not_quoted() {
    let person = format!("{}\n{}\n", PERSON.join(","), PERSON.join(","));
    let alone = format!("{}\n{}\n", PERSON[1], PERSON[1]);
    let address = format!("postgres://me:{MARKER}@db.example/shop\n");
    let mut secrets = vec![MARKER];
    secrets.extend(PERSON);
    for content in [person, alone, address] {
        let mut commands = Vec::new();
        for column in ["rrn=ff1:rrn", "name=aead", "phone=ff1:phone", "이름=aead"] {
            for more in [
                &[][..],
                &["--tweak=COLUMN=row:id"],
                &["--index=COLUMN=16"],
                &["--keep-empty=other"],
            ] {
                let name = column.split('=').next().unwrap();
                let more = more.iter().map(|word| word.replace("COLUMN", name));
                let column = format!("--column={column}");
                commands.push(
                    ["field", "check", "given.csv", &column]
                        .map(String::from)
                        .into_iter()
                        .chain(more)
                        .collect(),
                );
            }
        }
        let seal = ["field", "seal", "given.csv", "--column=rrn=aead", "--key=k", "--out=out.csv"];
        commands.push(seal.map(String::from).to_vec());
        let compare = [
            "compare",
            "--records-from=given.csv",
            "--records=10",
            "--workloads=a",
            "--ciphers=none",
        ];
        let policy = ["--layer=field", "--fields=fields.toml", "--rounds=1", "--quiet"];
        commands.push(compare.iter().chain(&policy).map(|word| (*word).to_owned()).collect());
        let policy = "[tables.given.columns.rrn]\nmethod = \"aead\"\n".to_owned();
        none_shows(&commands, &secrets, &[("given.csv", content), ("fields.toml", policy)]);
    }
}

#[test]
fn results_keep_nothing_secret() {
    let run = [
        "compare",
        "--ciphers=none",
        "--workloads=c",
        "--records=200",
        "--operations=200",
        "--rounds=1",
    ];
    let small = ["--set=pairs=6", "--set=slice-ms=20", "--threads=1", "--quiet", "--out=out"];
    let commands: Vec<Vec<String>> = ["postgres", "mongodb", "host="]
        .iter()
        .map(|kind| {
            let form = forms().into_iter().find(|form| form.starts_with(kind)).unwrap();
            let flag = if *kind == "mongodb" {
                format!("--cluster=none={form}")
            } else {
                format!("--postgres-url={form}")
            };
            run.iter().chain(&small).map(|word| (*word).to_owned()).chain([flag]).collect()
        })
        .collect();
    none_shows(&commands, &[MARKER], &[]);
    let dir = tempfile::tempdir().unwrap();
    let said = self::run(dir.path(), &commands[0]);
    let results = fs::read_to_string(dir.path().join("out/results.json"))
        .unwrap_or_else(|_| panic!("{said}"));
    assert!(results.contains("postgres://***@127.0.0.1:9/d"), "what may be shown is there");
}

/// Characters that take over a terminal, or reverse the direction of a line.
const HOSTILE: &str = "\x1b[2J\x1b]0;x\x07\u{9b}31m\u{202e}\u{2066}\u{200b}\x7f";

fn is_safe(said: &str) {
    let hostile =
        said.chars().find(|c| (HOSTILE.contains(*c) && !c.is_ascii_graphic()) || *c == '\r');
    assert_eq!(hostile, None, "{}", said.escape_debug());
}

#[test]
fn foreign_text_does_not_reach_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        run(dir.path(), &words)
    };
    // a server
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream
                .read(&mut [0; 8])
                .and_then(|_| stream.write_all(b"N"))
                .and_then(|()| stream.read(&mut [0; 99]));
            let body = format!("SFATAL\0C57P01\0M{HOSTILE} gone\0\0");
            let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
            let _ = stream.write_all(&[&b"E"[..], &length, body.as_bytes()].concat());
        }
    });
    let address = format!("postgres://127.0.0.1:{port}/d?sslmode=prefer");
    let said = run(&["field", "check", &address, "--table=t", "--column=a=aead"]);
    assert!(said.contains("cannot connect to PostgreSQL"), "{said}");
    is_safe(&said);
    // names of columns and files, and mistyped names
    fs::write(dir.path().join("a.csv"), format!("phone{HOSTILE},memo\n1,2\n")).unwrap();
    for column in [
        format!("phone{HOSTILE}=aead"),
        "phoen=aead".into(),
        "memo=aead".into(),
        format!("x{HOSTILE}=aead"),
    ] {
        is_safe(&run(&["field", "check", "a.csv", &format!("--column={column}")]));
    }
    is_safe(&run(&["field", "check", &format!("{HOSTILE}.csv"), "--column=a=aead"]));
    is_safe(&run(&["compare", &format!("--{HOSTILE}")]));
    // results that somebody else wrote
    let label = format!("--label=here{HOSTILE}");
    let small = [
        "--ciphers=none",
        "--workloads=c",
        "--records=200",
        "--operations=200",
        "--rounds=1",
        "--set=pairs=6",
    ];
    let small = [
        &["compare", &label, "--set=slice-ms=20", "--threads=1", "--quiet", "--out=out"][..],
        &small,
    ]
    .concat();
    is_safe(&run(&small));
    for words in [
        &["report", "out/results.json", "--out=again.html"][..],
        &["report", "--markdown", "out/results.json"],
    ] {
        let said = run(words);
        assert!(words[1] != "--markdown" || said.contains("here"), "{said}");
        is_safe(&said);
    }
    is_safe(&run(&["report", "--json", "out/results.json"]));
    for page in ["out/report.html", "again.html"] {
        is_safe(&fs::read_to_string(dir.path().join(page)).unwrap());
    }
}
