//! The test programs of the workspace: which there are, in which order, and how many run at once. A
//! test mostly waits, for a server or a disk: with one program for each CPU a quarter of their time
//! was idle, so there is one more for every two.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Programs that judge what they measure: beside others they would measure those.
const ALONE: [&str; 1] = ["sealstone-bench comparison"];
/// Programs that take longest, longest first: the order of a first run, before any times are known.
/// A name that is no longer there does no harm.
const LONGEST: [&str; 16] = [
    "sealstone-e2e pages",
    "sealstone-simulator seeds",
    "sealstone-gpu machine_code",
    "sealstone-e2e mutation",
    "sealstone-e2e open_loop",
    "sealstone-e2e mongo_lab",
    "sealstone-e2e plaintext",
    "sealstone-e2e clients",
    "sealstone-e2e reseal_crash",
    "sealstone-gpu device",
    "sealstone-e2e wire",
    "sealstone-e2e crash",
    "sealstone-e2e mongo_compare",
    "sealstone-cipher conformance",
    "sealstone-stores redis",
    "sealstone-servers lab",
];
/// The tests of the documentation, which cargo builds and runs by itself.
const DOCUMENTATION: &str = "documentation";
/// Longest time that a program may take, in seconds: some five times the longest on two slow CPUs.
const LIMIT_S: &str = "900";
/// Exit code of `timeout` when the time was up.
const TIME_WAS_UP: i32 = 124;
/// File in which the time of each program is kept for the next run, in cargo's target folder.
const TIMES: &str = "xtask-test-seconds";

/// One test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Package and target, such as `sealstone-e2e pages`.
    pub(crate) name: String,
    path: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

/// Result of one program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) name: String,
    pub(crate) output: Output,
    pub(crate) took: Duration,
}

impl Finished {
    /// Returns the way the program ended, in words.
    pub(crate) fn ending(&self) -> String {
        match self.output.status.code() {
            Some(TIME_WAS_UP) => format!("it took longer than {LIMIT_S} seconds and was ended"),
            _ => self.output.status.to_string(),
        }
    }
}

/// Builds every test program, or those with `names` if there are any; returns them, and with every
/// program the tests of the documentation as one more. Cargo's messages go to standard error.
pub(crate) fn build(cargo: Command, names: &[&str]) -> Result<Vec<Program>> {
    let mut cargo = cargo;
    cargo.args([
        "test",
        "--workspace",
        "--no-run",
        "--locked",
        "--message-format",
        "json-render-diagnostics",
    ]);
    cargo.args(names.iter().flat_map(|name| ["--test", *name]));
    let output = cargo.stderr(Stdio::inherit()).output().context("run cargo test --no-run")?;
    if !output.status.success() {
        bail!("the tests do not build");
    }
    let mut programs = parse(&String::from_utf8_lossy(&output.stdout))?;
    if names.is_empty() {
        let (name, path, folder) = (DOCUMENTATION.into(), PathBuf::new(), PathBuf::new());
        programs.push(Program { name, path, folder });
    }
    Ok(programs)
}

/// Returns the test programs in cargo's list of built files.
fn parse(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("read what cargo built")?;
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let is_test = message.pointer("/profile/test") == Some(&Value::Bool(true));
        let (true, Some(path)) = (is_test, text("/executable")) else { continue };
        let manifest = Path::new(text("/manifest_path").context("an artifact without a manifest")?);
        let folder = manifest.parent().context("a manifest is in a folder")?.to_path_buf();
        // path+file:///…/crates/bench#sealstone-bench@0.1.0, or …/xtask#0.1.0 where the folder has
        // the same name
        let package =
            text("/package_id").and_then(|id| id.rsplit_once('#')).map_or("", |(_, name)| name);
        let package = package.rsplit_once('@').map(|(name, _)| name.to_owned());
        let package = package
            .or_else(|| Some(folder.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_default();
        let name = format!("{package} {}", text("/target/name").unwrap_or("?"));
        programs.push(Program { name, path: path.into(), folder });
    }
    Ok(programs)
}

/// Runs `programs`, three at once for every two CPUs; those of [`ALONE`] by themselves. Calls
/// `finished` with each as it ends.
///
/// - `cargo`: makes a command of cargo with the environment that all of them get
/// - `target`: cargo's target folder
pub(crate) fn run(
    programs: Vec<Program>,
    cargo: &(dyn Fn() -> Command + Sync),
    target: &Path,
    mut finished: impl FnMut(&Finished),
) -> Result<()> {
    let times = target.join(TIMES);
    let mut known = read_times(&std::fs::read_to_string(&times).unwrap_or_default());
    let (alone, together): (Vec<Program>, Vec<Program>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    for (programs, at_once) in [(together, cpus + cpus.div_ceil(2)), (alone, 1)] {
        let queue = Mutex::new(VecDeque::from(longest_first(programs, &known)));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..at_once {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || {
                    loop {
                        let Some(program) =
                            queue.lock().expect("no thread panics with it").pop_front()
                        else {
                            break;
                        };
                        let _ = sender.send(run_one(&program, cargo()));
                    }
                });
            }
            drop(sender);
            receiver.iter().try_for_each(|done| {
                let done = done?;
                known.insert(done.name.clone(), done.took.as_secs_f64());
                finished(&done);
                anyhow::Ok(())
            })
        })?;
    }
    let lines: String =
        known.iter().map(|(name, seconds)| format!("{seconds:.2} {name}\n")).collect();
    std::fs::write(&times, lines).with_context(|| format!("write {}", times.display()))
}

fn run_one(program: &Program, mut cargo: Command) -> Result<Finished> {
    let mut command = if program.name == DOCUMENTATION {
        cargo.args(["test", "--workspace", "--doc", "--no-fail-fast", "--locked"]);
        cargo
    } else {
        // ended after that time: a test that hangs is a failure, and the others have their turn
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--kill-after=10", LIMIT_S]).arg(&program.path);
        // as cargo has it
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.env("CARGO", cargo.get_program());
        command.envs(cargo.get_envs().filter_map(|(name, value)| Some((name, value?))));
        for (name, _) in cargo.get_envs().filter(|(_, value)| value.is_none()) {
            command.env_remove(name);
        }
        command
    };
    if program.name == DOCUMENTATION {
        command.args(["--", "--show-output"]);
    } else {
        command.arg("--show-output");
    }
    let begin = Instant::now();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("run {command:?}"))?;
    Ok(Finished { name: program.name.clone(), output, took: begin.elapsed() })
}

/// Returns `programs`, what takes longest first, so that none is left alone at the end; before
/// these, untimed programs, the [`LONGEST`] first.
fn longest_first(mut programs: Vec<Program>, known: &BTreeMap<String, f64>) -> Vec<Program> {
    let seconds = |program: &Program| known.get(&program.name).copied().unwrap_or(f64::INFINITY);
    let place = |program: &Program| {
        LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
    };
    programs.sort_by(|one, other| {
        seconds(other).total_cmp(&seconds(one)).then(place(one).cmp(&place(other)))
    });
    programs
}

fn read_times(text: &str) -> BTreeMap<String, f64> {
    let entry = |line: &str| {
        let (seconds, name) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_taken() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/bench#sealstone-bench@0.1.0","#,
            r#""manifest_path":"/w/crates/bench/Cargo.toml","target":{"name":"report"},"profile":{"test":true},"#,
            r#""executable":"/t/report-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/dev/xtask#0.1.0","#,
            r#""manifest_path":"/w/dev/xtask/Cargo.toml","target":{"name":"xtask"},"profile":{"test":true},"#,
            r#""executable":"/t/xtask-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"a"},"#,
            r#""profile":{"test":false},"executable":"/t/a"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let programs = parse(messages).unwrap();
        let names: Vec<_> = programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["sealstone-bench report", "xtask xtask"]);
        assert_eq!(programs[0].folder, Path::new("/w/crates/bench"));
    }

    #[test]
    fn what_takes_longest_begins() {
        let program = |name: &str| Program {
            name: name.into(),
            path: PathBuf::new(),
            folder: PathBuf::new(),
        };
        let known = read_times("1.50 a\n114.00 b c\nnonsense\n");
        let order = longest_first(vec![program("a"), program("b c"), program("new")], &known);
        assert_eq!(
            order.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["new", "b c", "a"]
        );
        let first = longest_first(
            vec![program("a"), program(LONGEST[1]), program(LONGEST[0])],
            &BTreeMap::new(),
        );
        assert_eq!(
            first.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            [LONGEST[0], LONGEST[1], "a"]
        );
    }
}
