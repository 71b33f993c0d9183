//! No dependency that nothing uses: each one is named in the sources that it is there for.
//!
//! Not here: which dependencies a member may have (`dependencies`).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::source::Source;
use crate::tokens::{Token, paths};

/// Dependencies that no path begins with: the member's folder, the dependency, and what it is there
/// for.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// One line for each dependency of a member that its sources do not name, and for each permission
/// that nothing needs.
///
/// - `metadata`: the JSON of `cargo metadata --no-deps`
/// - `root`: the workspace's folder, with a `/` at its end
/// - `sources`: every Rust file, by its path from there
pub(crate) fn findings(metadata: &str, root: &str, sources: &[Source]) -> Result<Vec<String>> {
    against(metadata, root, sources, ALLOWED)
}

fn against(
    metadata: &str,
    root: &str,
    sources: &[Source],
    allowed: &[(&str, &str, &str)],
) -> Result<Vec<String>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let named: BTreeMap<&String, BTreeSet<String>> =
        sources.iter().map(|source| (&source.path, beginnings(&source.tokens))).collect();
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for package in packages {
        let manifest =
            package["manifest_path"].as_str().context("package without manifest_path")?;
        let folder = manifest.strip_prefix(root).and_then(|path| path.strip_suffix("/Cargo.toml"));
        let folder = folder.context("package outside the workspace")?;
        for dependency in
            package["dependencies"].as_array().context("package without dependencies")?
        {
            let name = dependency["rename"]
                .as_str()
                .or(dependency["name"].as_str())
                .context("dependency without name")?;
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            let library = name.replace('-', "_");
            let names = |source: &Source| {
                is_for(folder, kind, &source.path) && named[&source.path].contains(&library)
            };
            if sources.iter().any(names) {
                continue;
            }
            match allowed.iter().find(|(user, used, _)| (*user, *used) == (folder, name)) {
                Some(permission) => needed.push(permission),
                None => found.push(format!(
                    "{folder}/Cargo.toml: nothing names the {kind} dependency {name}"
                )),
            }
        }
    }
    for permission in allowed.iter().filter(|permission| !needed.contains(permission)) {
        let (folder, name, _) = permission;
        found.push(format!(
            "{folder} names {name} now: take it out of ALLOWED in dev/xtask/src/unused.rs"
        ));
    }
    Ok(found)
}

/// Returns whether the file `path` can use a dependency that the member in `folder` has for `kind`.
fn is_for(folder: &str, kind: &str, path: &str) -> bool {
    let Some(inner) = path.strip_prefix(folder).and_then(|path| path.strip_prefix('/')) else {
        return false;
    };
    match kind {
        "build" => inner == "build.rs",
        "dev" => {
            ["src/", "tests/", "examples/", "benches/"].iter().any(|part| inner.starts_with(part))
        }
        _ => ["src/", "fuzz_targets/"].iter().any(|part| inner.starts_with(part)),
    }
}

/// Returns the names with which the paths in `row` begin. A name alone counts in `use` only.
fn beginnings(row: &[Token]) -> BTreeSet<String> {
    let imported = |at: usize| at > 0 && row[at - 1].text == "use";
    let paths = paths(row).into_iter().filter(|path| path.names.len() > 1 || imported(path.at));
    paths.filter_map(|path| path.names.into_iter().find(|name| name != "::")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages":[{"manifest_path":"/w/crates/a/Cargo.toml","dependencies":[
        {"name":"one-two","kind":null},{"name":"x","rename":"three","kind":null},{"name":"four","kind":"dev"},
        {"name":"five","kind":"build"}]}]}"#;

    fn check(files: &[(&str, &str)], allowed: &[(&str, &str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| Source::parse(path, text).unwrap()).collect();
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
            (
                "crates/a/src/lib.rs",
                "// one_two::A\nfn f() \
                 { let three = crate::three::A; let a = \"four::\"; five::g(); }",
            ),
            ("crates/b/src/lib.rs", "use one_two::A;"),
            ("crates/a/tests/t.rs", "use one_two::A;"),
        ];
        let found = check(&files, &[]);
        let line = |kind: &str, name: &str| {
            format!("crates/a/Cargo.toml: nothing names the {kind} dependency {name}")
        };
        let want = [("normal", "one-two"), ("normal", "three"), ("dev", "four"), ("build", "five")];
        assert_eq!(found, want.map(|(kind, name)| line(kind, name)));
    }

    #[test]
    fn what_is_allowed_must_be_needed() {
        let files = [
            ("crates/a/src/lib.rs", "type A = one_two::A<three::B>;"),
            ("crates/a/tests/t.rs", "type A = four::A;"),
        ];
        assert_eq!(check(&files, &[("crates/a", "five", "why")]), [""; 0]);
        let found = check(&files, &[("crates/a", "five", "why"), ("crates/a", "four", "why")]);
        assert_eq!(
            found,
            ["crates/a names four now: take it out of ALLOWED in dev/xtask/src/unused.rs"]
        );
    }
}
