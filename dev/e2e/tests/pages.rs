//! Every command of README.md and of every English page below docs/, verbatim: in order, page by
//! page, each page in its own directory and home, with the files of `make install`. The content of
//! `/etc/sealstone`, `/data` and `/var/lib` is kept there, too, and a comparison does less work
//! where the page leaves that open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_e2e::approved_lists::is_misleading;
use sealstone_e2e::binary;
use sealstone_e2e::pages::{Block, Says, blocks, rooted, sets_variables};
use sealstone_e2e::terminal::{maker, on_terminal};
use sealstone_e2e::transcript::{Transcript, run};
use sealstone_servers::{
    MARIADB_PROGRAM, MONGOD_PROGRAM, POSTGRES_PROGRAM, PYKMIP_PROGRAM, TGT_PROGRAM,
};
use serde_json::Value;
use tempfile::TempDir;

const NAME: &str = "every_command_of_every_page_works";

/// The command under test, which does less work where that is left open.
const SHORTER: &str = r#"#!/bin/sh
program='PROGRAM'
if [ "$1" = compare ]; then
    given=" $* "
    for flag in --records=1k --bytes=2MB --operations=200 --rounds=1; do
        case "$given" in
            *" ${flag%%=*} "*) ;;
            *) set -- "$@" "$flag" ;;
        esac
    done
    shift
    # first, since the last one counts
    set -- compare --set pairs=6 --set slice-ms=1 "$@"
fi
exec "$program" "$@"
"#;

/// Outcome of one page.
#[derive(Default)]
struct Outcome {
    run: usize,
    /// Page, line, command and reason.
    exceptions: Vec<String>,
    failures: Vec<String>,
    /// Time that each command took, with its page and line.
    took: Vec<(Duration, String)>,
}

/// The slowest commands that are named at the end.
const SLOWEST: usize = 8;

/// The directory in which a page is tried. Servers that were started in it end with the value.
struct Scratch {
    dir: TempDir,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let bin = dir.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let program = binary::sealstone().display().to_string();
        fs::write(bin.join("sealstone"), SHORTER.replace("PROGRAM", &program)).unwrap();
        fs::set_permissions(bin.join("sealstone"), fs::Permissions::from_mode(0o755)).unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        // pages name sources as a reader of the repository sees them
        std::os::unix::fs::symlink(root().join("adapters"), work.join("adapters")).unwrap();
        let install = root().join("dev/install.sh");
        let built =
            binary::rocksdb_plugin().parent().expect("a directory of what was built").to_owned();
        let installed =
            run(Command::new("sh").arg(install).arg(built).arg(dir.path().join("home/.cargo")));
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        Self { dir }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Returns `text` with the system's directories in here.
    fn rooted(&self, text: &str) -> String {
        rooted(text, &self.dir.path().join("system").display().to_string())
    }

    fn prepare(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.dir.path().join("bin").display()));
        command
            .env("SHELL", "/bin/bash")
            .env("NO_COLOR", "1")
            .env_remove("SEALSTONE_PASSPHRASE_FILE");
        command.env("SEALSTONE_WT_EXTENSION", binary::wiredtiger_extension());
        // files downloaded and built before stay in place
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for (name, folder) in [("XDG_CACHE_HOME", ".cache"), ("GOPATH", "go")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()));
        }
        command.env("HOME", self.dir.path().join("home"));
    }

    fn shell(&self, text: &str) -> Transcript {
        let mut command = Command::new("bash");
        command.args(["-e", "-c", text]).current_dir(self.work()).stdin(Stdio::null());
        self.prepare(&mut command);
        run(&mut command)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let listed = self.shell("sealstone lab list --json").stdout;
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        for lab in listed["labs"].as_array().into_iter().flatten() {
            if let Some(dir) = lab["dir"].as_str() {
                self.shell(&format!("sealstone lab down '{dir}'"));
            }
        }
    }
}

/// Returns the repository.
fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .expect("the repository is there")
}

/// Returns README.md, and the pages below docs/ in English: those in Korean have the same commands
/// (`dev/docs/tests/pages.rs`).
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("docs/ko") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns the reason why a block cannot be run here, if there is one.
fn missing(block: &Block) -> Option<String> {
    let found = |need: &String| match need.as_str() {
        "mongod" => MONGOD_PROGRAM.find(None).err().map(|error| error.to_string()),
        "mariadbd" => MARIADB_PROGRAM.find(None).err().map(|error| error.to_string()),
        "postgres" => POSTGRES_PROGRAM.find(None).err().map(|error| error.to_string()),
        "tgt" => TGT_PROGRAM.find(None).err().map(|error| error.to_string()),
        "pykmip" => PYKMIP_PROGRAM.find(None).err().map(|error| error.to_string()),
        program => {
            let found = Command::new("which")
                .arg(program)
                .output()
                .is_ok_and(|output| output.status.success());
            (!found).then(|| format!("no program {program}"))
        }
    };
    block
        .needs
        .iter()
        .find_map(found)
        .map(|reason| reason.lines().next().unwrap_or_default().to_owned())
}

fn attempt(page: &Path) -> Outcome {
    let name = page.file_name().unwrap().to_string_lossy().into_owned();
    let mut outcome = Outcome::default();
    let blocks = match blocks(&fs::read_to_string(page).unwrap()) {
        Ok(blocks) => blocks,
        Err(error) => {
            outcome.failures.push(format!("{name}: {error}"));
            return outcome;
        }
    };
    let scratch = Scratch::new();
    // variables set by the page's commands so far, for later commands
    let mut variables = String::new();
    for block in blocks {
        let place = format!("{name}:{}", block.line);
        if let Some(reason) = missing(&block) {
            println!("SKIP: {NAME}: {place}: {reason}");
            continue;
        }
        if !block.types.is_empty() && maker().is_none() {
            println!("SKIP: {NAME}: {place}: no program `script` here");
            continue;
        }
        if !attempt_block(&scratch, &block, &place, &mut variables, &mut outcome) {
            // later commands depend on the failed command
            break;
        }
    }
    outcome
}

/// Returns whether all of the block's commands end as the page specifies.
fn attempt_block(
    scratch: &Scratch,
    block: &Block,
    place: &str,
    variables: &mut String,
    outcome: &mut Outcome,
) -> bool {
    for before in &block.before {
        let done = scratch.shell(&scratch.rooted(before));
        if done.code != Some(0) {
            outcome
                .failures
                .push(format!("{place}: before it: {before}\n{}{}", done.stdout, done.stderr));
            return false;
        }
    }
    let mut typed = 0;
    for command in &block.commands {
        let (code, exception) = block.of(command);
        let command = match exception {
            None => command.clone(),
            Some(Says::OnlyParsed(reason)) => {
                outcome.exceptions.push(format!("{place}: only parsed: {command}: {reason}"));
                format!("{} --print-config", command.split(" #").next().unwrap_or_default())
            }
            Some(Says::NotRun(reason)) => {
                outcome.exceptions.push(format!("{place}: not run: {command}: {reason}"));
                continue;
            }
            Some(Says::Exit(_)) => unreachable!("no exception"),
        };
        if sets_variables(&command) {
            variables.push_str(&format!("{command}\n"));
            continue;
        }
        let text = format!("{variables}{}", scratch.rooted(&command));
        let begin = Instant::now();
        let done = match maker() {
            Some(maker) if !block.types.is_empty() => {
                let lines: Vec<&str> = block.types[typed..].iter().map(String::as_str).collect();
                let done = on_terminal(maker, &scratch.work(), &text, &lines, |command| {
                    scratch.prepare(command)
                });
                typed += done.lines;
                done.transcript
            }
            _ => scratch.shell(&text),
        };
        outcome.took.push((begin.elapsed(), format!("{place}: {command}")));
        if done.code != Some(code) {
            let got = done.code.map_or("a signal".into(), |code| code.to_string());
            let said = format!("{}{}", done.stdout, done.stderr);
            outcome
                .failures
                .push(format!("{place}: {command}\nends with {got} instead of {code}:\n{said}"));
            return false;
        }
        if is_misleading(&format!("{}{}", done.stdout, done.stderr)) {
            let what = "names a list of approved algorithms, and not that this is no module";
            outcome.failures.push(format!("{place}: {command}\n{what}:\n{}", done.stdout));
        }
        outcome.run += 1;
    }
    if typed < block.types.len() {
        outcome
            .failures
            .push(format!("{place}: only {typed} of {} lines were asked for", block.types.len()));
        return false;
    }
    true
}

#[test]
fn every_command_of_every_page_works() {
    // the command must be there before the pages are tried side by side
    binary::sealstone();
    binary::rocksdb_plugin();
    binary::wiredtiger_extension();
    let wanted = std::env::var("SEALSTONE_PAGES").unwrap_or_default();
    let pages: Vec<PathBuf> =
        pages().into_iter().filter(|page| page.to_string_lossy().ends_with(&wanted)).collect();
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let attempts: Vec<_> = pages.iter().map(|page| scope.spawn(|| attempt(page))).collect();
        attempts.into_iter().map(|attempt| attempt.join().expect("no panic")).collect()
    });
    let run: usize = outcomes.iter().map(|outcome| outcome.run).sum();
    let exceptions: Vec<&String> =
        outcomes.iter().flat_map(|outcome| &outcome.exceptions).collect();
    let failures: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.failures).collect();
    println!("{run} commands of {} pages were run; {} were not:", pages.len(), exceptions.len());
    exceptions.iter().for_each(|exception| println!("{exception}"));
    let mut took: Vec<&(Duration, String)> =
        outcomes.iter().flat_map(|outcome| &outcome.took).collect();
    took.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    for (took, command) in took.into_iter().take(SLOWEST) {
        println!("{:.1} s: {command}", took.as_secs_f64());
    }
    for failure in &failures {
        println!("\n{failure}");
    }
    assert!(failures.is_empty(), "{} pages do not do what they say", failures.len());
    assert!(run > 0 && 2 * exceptions.len() <= run, "more is left out than a reader would forgive");
}
