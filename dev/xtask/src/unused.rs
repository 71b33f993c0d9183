//! No dependency that nothing uses: each one is named in the sources that it is there for.
//!
//! Not here: which dependencies a member may have (`dependencies`).

use anyhow::{Context, Result};
use serde_json::Value;

use crate::code_text::code_only;

/// Dependencies that no path begins with: the member's folder, the dependency, and what it is there for.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// One line for each dependency of a member that its sources do not name, and for each permission that nothing needs.
///
/// - `metadata`: the JSON of `cargo metadata --no-deps`
/// - `root`: the workspace's folder, with a `/` at its end
/// - `sources`: every Rust file, by its path from there
pub(crate) fn findings(metadata: &str, root: &str, sources: &[(String, String)]) -> Result<Vec<String>> {
    against(metadata, root, sources, ALLOWED)
}

fn against(
    metadata: &str,
    root: &str,
    sources: &[(String, String)],
    allowed: &[(&str, &str, &str)],
) -> Result<Vec<String>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for package in packages {
        let manifest = package["manifest_path"].as_str().context("package without manifest_path")?;
        let folder = manifest.strip_prefix(root).and_then(|path| path.strip_suffix("/Cargo.toml"));
        let folder = folder.context("package outside the workspace")?;
        for dependency in package["dependencies"].as_array().context("package without dependencies")? {
            let name =
                dependency["rename"].as_str().or(dependency["name"].as_str()).context("dependency without name")?;
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            if sources.iter().any(|(path, text)| is_for(folder, kind, path) && names(text, name)) {
                continue;
            }
            match allowed.iter().find(|(user, used, _)| (*user, *used) == (folder, name)) {
                Some(permission) => needed.push(permission),
                None => found.push(format!("{folder}/Cargo.toml: nothing names the {kind} dependency {name}")),
            }
        }
    }
    for permission in allowed.iter().filter(|permission| !needed.contains(permission)) {
        let (folder, name, _) = permission;
        found.push(format!("{folder} names {name} now: take it out of ALLOWED in dev/xtask/src/unused.rs"));
    }
    Ok(found)
}

/// Returns whether the file `path` can use a dependency that the member in `folder` has for `kind`.
fn is_for(folder: &str, kind: &str, path: &str) -> bool {
    let Some(inner) = path.strip_prefix(folder).and_then(|path| path.strip_prefix('/')) else { return false };
    match kind {
        "build" => inner == "build.rs",
        "dev" => ["src/", "tests/", "examples/", "benches/"].iter().any(|part| inner.starts_with(part)),
        _ => ["src/", "fuzz_targets/"].iter().any(|part| inner.starts_with(part)),
    }
}

/// Returns whether a path in the code of `text` begins with the crate `name`.
fn names(text: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    let code = code_only(text);
    code.match_indices(&name).any(|(at, _)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (before, after) = (&code[..at], code[at + name.len()..].trim_start());
        let in_use = before.trim_end().ends_with("use") && (after.starts_with(';') || after.starts_with("as "));
        // `a::name::b` is something of `a`, `::name::b` is not
        let within = before.strip_suffix("::").is_some_and(|before| before.ends_with(is_word));
        !before.ends_with(is_word) && !within && (after.starts_with("::") || in_use)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages":[{"manifest_path":"/w/crates/a/Cargo.toml","dependencies":[
        {"name":"one-two","kind":null},{"name":"x","rename":"three","kind":null},{"name":"four","kind":"dev"},
        {"name":"five","kind":"build"}]}]}"#;

    fn check(files: &[(&str, &str)], allowed: &[(&str, &str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        against(METADATA, "/w/", &files, allowed).unwrap()
    }

    #[test]
    fn what_is_named_where_it_is_needed_passes() {
        let files = [
            ("crates/a/src/lib.rs", "use one_two::A; fn f() { ::three::g() }"),
            ("crates/a/tests/t.rs", "use four as f;"),
            ("crates/a/build.rs", "fn main() { five::g() }"),
        ];
        assert_eq!(check(&files, &[]), [""; 0]);
    }

    #[test]
    fn what_nothing_names_fails() {
        let files = [
            ("crates/a/src/lib.rs", "// one_two::A\nlet three = crate::three::A; let a = \"four::\"; five::g();"),
            ("crates/b/src/lib.rs", "use one_two::A;"),
            ("crates/a/tests/t.rs", "use one_two::A;"),
        ];
        let found = check(&files, &[]);
        let line = |kind: &str, name: &str| format!("crates/a/Cargo.toml: nothing names the {kind} dependency {name}");
        let want = [("normal", "one-two"), ("normal", "three"), ("dev", "four"), ("build", "five")];
        assert_eq!(found, want.map(|(kind, name)| line(kind, name)));
    }

    #[test]
    fn what_is_allowed_must_be_needed() {
        let files = [("crates/a/src/lib.rs", "one_two::f() + three::g()"), ("crates/a/tests/t.rs", "four::f()")];
        assert_eq!(check(&files, &[("crates/a", "five", "why")]), [""; 0]);
        let found = check(&files, &[("crates/a", "five", "why"), ("crates/a", "four", "why")]);
        assert_eq!(found, ["crates/a names four now: take it out of ALLOWED in dev/xtask/src/unused.rs"]);
    }
}
