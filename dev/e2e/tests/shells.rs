//! Completions as the shells themselves make them, with a key press on a terminal, and manual pages
//! as their readers see them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use sealstone_e2e::binary;
use sealstone_e2e::transcript::{Transcript, finish, plain, run, sealstone};
use tempfile::TempDir;

/// A completion after a comma: the text typed before the tab, and the resulting list.
const TYPED: &str = "sealstone compare --print-config --ciphers none,seed";
const MEANT: &str = "ciphers = [\"none\", \"seed-128\"]";

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn has(program: &str) -> bool {
    let found =
        Command::new("which").arg(program).output().is_ok_and(|output| output.status.success());
    if !found {
        println!("SKIP: {program}: {program} is not installed");
    }
    found
}

/// Types `keys` into an interactive `shell` on a separate terminal; returns the content of that
/// terminal.
fn on_a_terminal(dir: &Path, shell: &str, keys: &str) -> Transcript {
    let path = format!(
        "{}:{}",
        binary::sealstone().parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut command =
        plain(Path::new("script"), dir, &["--quiet", "--return", "--command", shell, "typescript"]);
    command
        .env("PATH", path)
        .env("HOME", dir)
        .env("TERM", "dumb")
        .env("PS1", "$ ")
        .env_remove("ENV");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut terminal = child.stdin.take().unwrap();
    terminal.write_all(keys.as_bytes()).unwrap();
    let transcript = finish(child);
    drop(terminal);
    transcript
}

/// Writes the script of `shell` into a file of that name and returns it.
fn script(dir: &Path, shell: &str) -> String {
    let text = run(&mut sealstone(dir, &["completions", shell])).done();
    fs::write(dir.join(shell), &text).unwrap();
    text
}

fn completes(shell: &str, interactive: &str, load: &str) {
    if !has(shell) {
        return;
    }
    let dir = empty();
    script(dir.path(), shell);
    let transcript = on_a_terminal(dir.path(), interactive, &format!("{load}\n{TYPED}\t\nexit\n"));
    assert!(
        transcript.stdout.contains(MEANT),
        "{shell}:\n{}\n{}",
        transcript.stdout,
        transcript.stderr
    );
}

#[test]
fn bash_completes_after_a_comma() {
    completes("bash", "bash --norc --noprofile -i", "source ./bash");
}

#[test]
fn zsh_completes_after_a_comma() {
    completes("zsh", "zsh -f -i", "autoload -U compinit; compinit -u; source ./zsh");
}

#[test]
fn fish_completes_after_a_comma() {
    completes("fish", "fish --private", "source ./fish");
}

#[test]
fn every_shell_has_a_script() {
    let dir = empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(script(dir.path(), shell).contains("SEALSTONE_COMPLETE"), "{shell}");
    }
    // an unknown shell sends nothing that could be mistaken for a command
    let asked =
        run(sealstone(dir.path(), &["--", "sealstone", ""]).env("SEALSTONE_COMPLETE", "csh"));
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(2), ""));
}

#[test]
fn manual_pages_are_made_for_every_command() {
    let dir = empty();
    let page = run(&mut sealstone(dir.path(), &["man"])).done();
    assert!(page.contains(".TH SEALSTONE 1"), "{page}");
    run(&mut sealstone(dir.path(), &["man", "--out", "man"])).done();
    let compare = fs::read_to_string(dir.path().join("man/sealstone-compare.1")).unwrap();
    assert!(compare.contains("slice\\-ms"), "{compare}");
    assert!(dir.path().join("man/sealstone-rest-verify.1").is_file());
    let dated = run(sealstone(dir.path(), &["man"]).env("SOURCE_DATE_EPOCH", "86400")).done();
    assert!(dated.contains(" 1970-01-02 "), "{dated}");
}

#[test]
fn manual_pages_have_no_flaw() {
    if !has("mandoc") {
        return;
    }
    let dir = empty();
    run(&mut sealstone(dir.path(), &["man", "--out", "man"])).done();
    let pages: Vec<_> =
        fs::read_dir(dir.path().join("man")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 20, "{pages:?}");
    let lint = run(Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(&pages));
    assert_eq!((lint.code, lint.stdout.as_str(), lint.stderr.as_str()), (Some(0), "", ""));
    let compare = dir.path().join("man/sealstone-compare.1");
    let shown = run(Command::new("mandoc").args(["-T", "ascii"]).arg(compare)).done();
    assert!(shown.contains("sealstone compare --accel auto,portable"), "{shown}");
}
