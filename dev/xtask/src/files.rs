//! Rules for single files: first lines, where `unsafe` is allowed, markers of unfinished work, names, foreign matter.
//!
//! Not here: how files refer to each other (`dependencies`), and what rustfmt and clippy already check.

use crate::code_text::{code_only, lines_with_word};

/// Folders and files in which `unsafe` is allowed; everywhere else it is forbidden.
fn may_be_unsafe(path: &str) -> bool {
    path.starts_with("crates/cipher/src/arch/")
        || path == "dev/rivals/src/ffi.rs"
        || (path.starts_with("adapters/") && (path.ends_with("/src/ffi.rs") || path.contains("/src/ffi/")))
}

/// Returns whether a file of `crate_folder` is listed as allowed to use `unsafe`.
fn crate_may_be_unsafe(crate_folder: &str) -> bool {
    ["crates/cipher", "dev/rivals"].contains(&crate_folder) || crate_folder.starts_with("adapters/")
}

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "misc", "helpers", "helper"];

/// Endings of files that a tool generates and nobody writes by hand.
const GENERATED: &[&str] = &["o", "a", "so", "rlib", "rmeta", "d", "pyc", "class", "orig", "rej", "bak", "swp", "log"];

/// The longest line of Rust, in characters, as in rustfmt.toml: rustfmt breaks code, not comments and texts.
const LINE_CHARS_MAX: usize = 120;

/// Checks one file. Each finding is `path:line: what is wrong` or `path: what is wrong`.
pub(crate) fn findings(path: &str, bytes: &[u8]) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut found = Vec::new();
    if GENERATED.contains(&ending) || path == ".cargo/config.toml" {
        found.push(format!("{path}: a generated file or a setting of one machine, not to be tracked"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        found.push(format!("{path}: not UTF-8 text; keep binary samples as hexadecimal text"));
        return found;
    };
    if text.contains('\0') {
        found.push(format!("{path}: holds a NUL byte; keep binary samples as hexadecimal text"));
        return found;
    }
    if path.split('/').any(|part| EMPTY_NAMES.contains(&part)) || EMPTY_NAMES.contains(&stem) {
        found.push(format!("{path}: a name that says nothing; name it by the noun of its domain"));
    }
    found.extend(marker_findings(path, text));
    found.extend(machine_findings(path, text));
    if ending == "rs" {
        found.extend(rust_findings(path, text));
    }
    if name == "Cargo.lock" {
        found.extend(lock_findings(path, text));
    }
    found
}

fn at(path: &str, lines: Vec<usize>, what: &str) -> Vec<String> {
    lines.into_iter().map(|line| format!("{path}:{line}: {what}")).collect()
}

/// Words that mark unfinished work. Spelled in halves, so that this file passes its own check.
fn marker_findings(path: &str, text: &str) -> Vec<String> {
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|halves| halves.concat());
    let mut found: Vec<String> =
        words.iter().flat_map(|word| at(path, lines_with_word(text, word), &format!("{word} left behind"))).collect();
    if path.ends_with(".rs") {
        let code = code_only(text);
        for word in [["to", "do"], ["unimple", "mented"], ["d", "bg"]].map(|halves| halves.concat()) {
            let call = format!("{word}!");
            let lines = code.lines().enumerate().filter(|(_, line)| line.contains(&call)).map(|(index, _)| index + 1);
            found.extend(at(path, lines.collect(), &format!("{call} left behind")));
        }
        let attribute = ["#[", "ignore"].concat();
        let lines = code.lines().enumerate().filter(|(_, line)| line.contains(&attribute)).map(|(index, _)| index + 1);
        found.extend(at(path, lines.collect(), "an ignored test; print SKIP and the reason instead"));
    }
    found
}

/// Paths that exist on one machine only.
fn machine_findings(path: &str, text: &str) -> Vec<String> {
    let homes = ["home", "root", "Users", "work"].map(|name| format!("/{name}/"));
    let starts_path = |line: &str, home: &String| {
        line.match_indices(home.as_str()).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-~/*>)}".contains(c))
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| homes.iter().any(|home| starts_path(line, home)));
    at(path, lines.map(|(index, _)| index + 1).collect(), "a path of one machine")
}

/// Everything in the lock file comes from crates.io or from here.
fn lock_findings(path: &str, text: &str) -> Vec<String> {
    let foreign = |line: &str| line.starts_with("source = ") && !line.contains("github.com/rust-lang/crates.io-index");
    let lines = text.lines().enumerate().filter(|(_, line)| foreign(line)).map(|(index, _)| index + 1);
    at(path, lines.collect(), "a source other than crates.io")
}

fn rust_findings(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut top = text.lines().filter(|line| !line.starts_with("#![") && !line.trim().is_empty());
    if !top.next().is_some_and(|line| line.starts_with("//!")) {
        found.push(format!("{path}: does not begin with a `//!` line that says what it is and what it is not"));
    }
    let long = text.lines().enumerate().filter(|(_, line)| line.chars().count() > LINE_CHARS_MAX);
    let what = format!("longer than {LINE_CHARS_MAX} characters");
    found.extend(at(path, long.map(|(index, _)| index + 1).collect(), &what));
    if !may_be_unsafe(path) {
        found.extend(at(path, lines_with_word(&code_only(text), "unsafe"), "unsafe code outside its places"));
    }
    let crate_folder = path.split_once("/src/").map(|(folder, _)| folder);
    if let (Some(folder), true) = (crate_folder, path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")) {
        let forbidden = text.contains("#![forbid(unsafe_code)]");
        let denied = crate_may_be_unsafe(folder) && text.contains("#![deny(unsafe_code)]");
        if !forbidden && !denied {
            found.push(format!(
                "{path}: needs #![forbid(unsafe_code)] (deny where a file of the crate is an exception)"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "#![forbid(unsafe_code)]\n//! What it is.\nfn f() {}\n";

    fn first(path: &str, text: &str) -> String {
        findings(path, text.as_bytes()).first().cloned().unwrap_or_default()
    }

    #[test]
    fn a_good_file_has_no_findings() {
        assert_eq!(first("crates/seal/src/lib.rs", GOOD), "");
        assert_eq!(first("crates/cipher/src/arch/avx2.rs", "//! Kernels.\nunsafe fn f() {}\n"), "");
        assert_eq!(first("adapters/rocksdb/src/ffi.rs", "//! Edge.\nunsafe fn f() {}\n"), "");
        assert_eq!(first("adapters/rocksdb/src/ffi/base.rs", "//! Edge.\nunsafe fn f() {}\n"), "");
        assert_eq!(first("README.md", "Sealed files lie in /var/lib or ./target.\n"), "");
    }

    #[test]
    fn each_rule_can_fail() {
        let marker = ["TO", "DO"].concat();
        let home = ["/ho", "me/"].concat();
        let ignored = ["#[ign", "ore]"].concat();
        for (path, text, want) in [
            ("crates/seal/src/page.rs", "fn f() {}\n".to_string(), "does not begin"),
            ("crates/seal/src/page.rs", format!("//! Pages.\n// {}\n", "x".repeat(118)), ":2: longer than 120"),
            ("crates/seal/src/page.rs", "//! Pages.\nfn f() { unsafe { g() } }\n".into(), ":2: unsafe code outside"),
            ("crates/seal/src/lib.rs", "//! Seal.\n".into(), "needs #![forbid"),
            ("crates/seal/src/lib.rs", "#![deny(unsafe_code)]\n//! Seal.\n".into(), "needs #![forbid"),
            ("crates/seal/src/page.rs", format!("//! Pages.\n// {marker}: more\n"), ":2: "),
            ("crates/seal/src/page.rs", format!("//! Pages.\n{ignored}\n"), ":2: an ignored test"),
            ("docs/guide.md", format!("see {home}me/x\n"), ":1: a path of one machine"),
            ("crates/seal/src/utils.rs", "//! Things.\n".into(), "a name that says nothing"),
            ("crates/seal/src/common/mod.rs", "//! Things.\n".into(), "a name that says nothing"),
            ("shim.o", String::new(), "a generated file"),
            ("a.txt", "a\0b".into(), "NUL"),
            ("Cargo.lock", "source = \"registry+https://mirror.example/\"\n".into(), "other than crates.io"),
        ] {
            let found = findings(path, text.as_bytes());
            assert!(found.iter().any(|line| line.contains(want)), "{path}: wanted {want:?}, found {found:?}");
        }
        assert!(findings("a.bin", &[0xff, 0xfe])[0].contains("not UTF-8"));
    }
}
