//! Rules for single files: first lines, where `unsafe` is allowed, markers of unfinished work,
//! names, foreign matter.
//!
//! Not here: references between files (`dependencies`), and the checks of rustfmt and clippy.

use std::collections::BTreeSet;

use crate::source::Source;
use crate::tokens::{Kind, Token};

/// Folders and files in which `unsafe` is allowed; everywhere else it is forbidden.
fn may_be_unsafe(path: &str) -> bool {
    let is_edge = path.ends_with("/ffi.rs") || path.contains("/src/ffi/");
    let has_edge = ["adapters/", "dev/rivals/", "dev/simulator/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    path.starts_with("crates/cipher/src/arch/") || (has_edge && is_edge)
}

/// Returns whether a file of `crate_folder` is listed as allowed to use `unsafe`.
fn crate_may_be_unsafe(crate_folder: &str) -> bool {
    ["crates/cipher", "dev/rivals", "dev/simulator"].contains(&crate_folder)
        || crate_folder.starts_with("adapters/")
}

/// Names that reveal nothing about the content.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "misc", "helpers", "helper"];

/// Endings of files that a tool generates and nobody writes by hand.
const GENERATED: &[&str] =
    &["o", "a", "so", "rlib", "rmeta", "d", "pyc", "class", "orig", "rej", "bak", "swp", "log"];

/// The longest line of Rust, in characters, as in rustfmt.toml: rustfmt breaks code, not comments
/// and texts. Verbatim literals, such as a server's log or a program in Python, may be wider.
const LINE_CHARS_MAX: usize = 100;

/// Returns whether a file is the compressed results.json of a recorded run, which
/// `sealstone report` draws again.
fn is_recorded_run(path: &str, bytes: &[u8]) -> bool {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    path.starts_with("results/") && path.ends_with(".json.gz") && bytes.starts_with(&GZIP)
}

/// Checks one file. Each finding is `path:line: fault` or `path: fault`.
pub(crate) fn findings(path: &str, bytes: &[u8]) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut found = Vec::new();
    if GENERATED.contains(&ending) || path == ".cargo/config.toml" {
        found.push(format!(
            "{path}: a generated file or a setting of one machine, not to be tracked"
        ));
    }
    if is_recorded_run(path, bytes) {
        return found;
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
    words
        .iter()
        .flat_map(|word| at(path, lines_with_word(text, word), &format!("{word} left behind")))
        .collect()
}

/// Numbers (from 1) of the lines of `text` that contain `word` as a whole word.
fn lines_with_word(text: &str, word: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
        })
    };
    text.lines().enumerate().filter(|(_, line)| has(line)).map(|(index, _)| index + 1).collect()
}

/// Checks the code of one file, comments and literals apart: macros for unfinished work, ignored
/// tests, `unsafe`.
pub(crate) fn code_findings(source: &Source) -> Vec<String> {
    let (path, row) = (&source.path, source.tokens.as_slice());
    let mut found = Vec::new();
    for name in ["todo", "unimplemented", "dbg"] {
        let lines =
            ["(", "[", "{"].into_iter().flat_map(|open| lines_with_tokens(row, &[name, "!", open]));
        found.extend(at(path, lines.collect(), &format!("{name}! left behind")));
    }
    let ignored = lines_with_tokens(row, &["#", "[", "ignore"]);
    found.extend(at(path, ignored, "an ignored test; print SKIP and the reason instead"));
    if !may_be_unsafe(path) {
        found.extend(at(
            path,
            lines_with_tokens(row, &["unsafe"]),
            "unsafe code outside its places",
        ));
    }
    found
}

/// Checks the widths of the lines of `text`, which `source` was parsed from.
pub(crate) fn width_findings(source: &Source, text: &str) -> Vec<String> {
    let as_it_is = |token: &&Token| {
        let broken = token.text.replace("\\\n", "").contains('\n');
        token.kind == Kind::Literal && (token.text.starts_with("r#\"") || broken)
    };
    let lines_of = |token: &Token| token.line..=token.line + token.text.matches('\n').count();
    let free: BTreeSet<usize> = source.tokens.iter().filter(as_it_is).flat_map(lines_of).collect();
    let long = text.lines().enumerate().filter(|(_, line)| line.chars().count() > LINE_CHARS_MAX);
    let lines = long.map(|(index, _)| index + 1).filter(|line| !free.contains(line));
    at(&source.path, lines.collect(), &format!("longer than {LINE_CHARS_MAX} characters"))
}

/// Numbers of the lines of `row` on which these tokens, none of which is a literal, begin.
fn lines_with_tokens(row: &[Token], texts: &[&str]) -> Vec<usize> {
    let is = |(token, text): (&Token, &&str)| token.kind != Kind::Literal && token.text == **text;
    let begins = |window: &&[Token]| window.iter().zip(texts).all(is);
    row.windows(texts.len()).filter(begins).map(|window| window[0].line).collect()
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
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| homes.iter().any(|home| starts_path(line, home)));
    at(path, lines.map(|(index, _)| index + 1).collect(), "a path of one machine")
}

/// Checks that everything in the lock file comes from crates.io or from here.
fn lock_findings(path: &str, text: &str) -> Vec<String> {
    let foreign = |line: &str| {
        line.starts_with("source = ") && !line.contains("github.com/rust-lang/crates.io-index")
    };
    let lines =
        text.lines().enumerate().filter(|(_, line)| foreign(line)).map(|(index, _)| index + 1);
    at(path, lines.collect(), "a source other than crates.io")
}

fn rust_findings(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut top = text.lines().filter(|line| !line.starts_with("#![") && !line.trim().is_empty());
    if !top.next().is_some_and(|line| line.starts_with("//!")) {
        found.push(format!(
            "{path}: does not begin with a `//!` line that says what it is and what it is not"
        ));
    }
    let crate_folder = path.split_once("/src/").map(|(folder, _)| folder);
    if let (Some(folder), true) =
        (crate_folder, path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs"))
    {
        let forbidden = text.contains("#![forbid(unsafe_code)]");
        let denied = crate_may_be_unsafe(folder) && text.contains("#![deny(unsafe_code)]");
        if !forbidden && !denied {
            found.push(format!(
                "{path}: needs #![forbid(unsafe_code)] (deny where a file of the crate is an \
                 exception)"
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
        assert_eq!(first("README.md", "Sealed files lie in /var/lib or ./target.\n"), "");
    }

    #[test]
    fn each_rule_can_fail() {
        let marker = ["TO", "DO"].concat();
        let home = ["/ho", "me/"].concat();
        for (path, text, want) in [
            ("crates/seal/src/page.rs", "fn f() {}\n".to_string(), "does not begin"),
            ("crates/seal/src/lib.rs", "//! Seal.\n".into(), "needs #![forbid"),
            (
                "crates/seal/src/lib.rs",
                "#![deny(unsafe_code)]\n//! Seal.\n".into(),
                "needs #![forbid",
            ),
            ("crates/seal/src/page.rs", format!("//! Pages.\n// {marker}: more\n"), ":2: "),
            ("docs/guide.md", format!("see {home}me/x\n"), ":1: a path of one machine"),
            ("crates/seal/src/utils.rs", "//! Things.\n".into(), "a name that says nothing"),
            ("crates/seal/src/common/mod.rs", "//! Things.\n".into(), "a name that says nothing"),
            ("shim.o", String::new(), "a generated file"),
            ("a.txt", "a\0b".into(), "NUL"),
            (
                "Cargo.lock",
                "source = \"registry+https://mirror.example/\"\n".into(),
                "other than crates.io",
            ),
        ] {
            let found = findings(path, text.as_bytes());
            assert!(
                found.iter().any(|line| line.contains(want)),
                "{path}: wanted {want:?}, found {found:?}"
            );
        }
        assert!(findings("a.bin", &[0xff, 0xfe])[0].contains("not UTF-8"));
    }

    fn in_code(path: &str, text: &str) -> Vec<String> {
        code_findings(&Source::parse(path, text).unwrap())
    }

    #[test]
    fn unsafe_code_has_its_places() {
        for path in [
            "crates/cipher/src/arch/avx2.rs",
            "adapters/rocksdb/src/ffi.rs",
            "adapters/rocksdb/src/ffi/env.rs",
            "adapters/wiredtiger/src/writeback/ffi.rs",
            "dev/simulator/src/ffi/base.rs",
        ] {
            assert_eq!(in_code(path, "unsafe fn f() {}"), [""; 0], "{path}");
        }
        for text in
            ["\nfn f() { unsafe { g() } }", "\nunsafe impl A for B {}", "\na!(unsafe { g() });"]
        {
            let found = in_code("crates/seal/src/page.rs", text);
            assert_eq!(
                found,
                ["crates/seal/src/page.rs:2: unsafe code outside its places"],
                "{text}"
            );
        }
    }

    #[test]
    fn long_lines_are_found_but_in_literals_that_must_be_as_they_are() {
        let found = |text: &str| width_findings(&Source::parse("a.rs", text).unwrap(), text);
        let (fits, long) = ("x".repeat(97), "x".repeat(98));
        for text in [
            format!("fn f() {{}}\n// {fits}\n"),
            format!("const A: &str = r#\"{long}\"#;\n"),
            format!("const A: &str = \"first\n{long}xxx\nlast\";\n"),
        ] {
            assert_eq!(found(&text), [""; 0], "{text}");
        }
        for text in [
            format!("fn f() {{}}\n// {long}\n"),
            format!("fn f() {{}}\nconst A: &str = \"{long}\";\n"),
            format!("const A: &str = \"first \\\n   {long}\";\n"),
        ] {
            assert_eq!(found(&text), ["a.rs:2: longer than 100 characters"], "{text}");
        }
    }

    #[test]
    fn unfinished_code_and_ignored_tests_are_found() {
        for (text, want) in [
            ("fn f() {\n    todo!()\n}", "a.rs:2: todo! left behind"),
            ("fn f() { g(\n    dbg!(1)) }", "a.rs:2: dbg! left behind"),
            ("fn f() { unimplemented!(\"g\") }", "a.rs:1: unimplemented! left behind"),
            (
                "#[test]\n#[ignore]\nfn f() {}",
                "a.rs:2: an ignored test; print SKIP and the reason instead",
            ),
            (
                "a! { #[ignore = \"b\"] fn f() {} }",
                "a.rs:1: an ignored test; print SKIP and the reason instead",
            ),
        ] {
            assert_eq!(in_code("a.rs", text), [want], "{text}");
        }
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in [
            "// unsafe todo!()\n/* dbg!() */\n/// #[ignore] unsafe\nfn f() {}",
            "const A: &str = \"unsafe todo!() #[ignore]\";",
            "const A: &str = r#\"\" unsafe\"#;",
            "fn unsafe_a<'b>(todo: bool) -> bool { todo != 'c'.is_ascii() }",
        ] {
            assert_eq!(in_code("a.rs", text), [""; 0], "{text}");
        }
    }
}
