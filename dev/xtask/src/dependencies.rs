//! The dependency directions of ARCHITECTURE.md, checked against `cargo metadata`.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A member of the workspace: its folder from the root, and the folders of the members it depends
/// on.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Member {
    pub(crate) folder: String,
    pub(crate) uses: Vec<String>,
    /// For tests and examples alone.
    pub(crate) tests_use: Vec<String>,
}

/// Returns what a member may use, tests and examples apart; `None` if the folder has no place in
/// the order yet.
fn may_use(folder: &str) -> Option<&'static [&'static str]> {
    Some(match folder {
        MESSAGE | "crates/cipher" | "crates/csv" | "crates/file" => &[],
        "adapters/servers" => &["crates/file"],
        "crates/keys" => &["crates/cipher", "crates/file"],
        "crates/anchor" => &["crates/file", "crates/keys"],
        "crates/store" => &["crates/cipher", "crates/keys"],
        "adapters/gpu" => &["crates/cipher"],
        "crates/seal" => &["crates/cipher", "crates/keys"],
        "crates/fields" => &[
            "crates/cipher",
            "crates/csv",
            "crates/file",
            "crates/keys",
            "crates/seal",
            "crates/store",
        ],
        "crates/audit" => {
            &["crates/cipher", "crates/fields", "crates/file", "crates/keys", "crates/seal"]
        }
        "crates/bench" => &["crates/cipher", "crates/csv", "crates/file", "crates/store"],
        "adapters/arrow" => &["crates/cipher", "crates/keys", "crates/fields"],
        "adapters/files" => {
            &["crates/cipher", "crates/file", "crates/keys", "crates/fields", "adapters/parquet"]
        }
        "adapters/python" => &[
            "crates/cipher",
            "crates/file",
            "crates/keys",
            "crates/fields",
            "adapters/arrow",
            "adapters/files",
        ],
        "adapters/parquet" => &["crates/cipher", "crates/keys", "crates/fields"],
        // another artefact: loaded by programs in C and Java
        "adapters/fields-c" => &["crates/cipher", "crates/keys", "crates/seal", "crates/fields"],
        "adapters/modules" => &["crates/cipher"],
        "adapters/mariadb" | "adapters/wiredtiger" => {
            &["crates/cipher", "crates/file", "crates/keys", "crates/seal", "adapters/modules"]
        }
        "adapters/rocksdb" | "adapters/volume" => {
            &["crates/anchor", "crates/cipher", "crates/file", "crates/keys", "crates/seal"]
        }
        "adapters/wire" => {
            &["crates/cipher", "crates/file", "crates/keys", "crates/seal", "crates/store"]
        }
        // another artefact: loaded by programs in other languages
        "adapters/rocksdb-plugin" => &[
            "crates/anchor",
            "crates/cipher",
            "crates/file",
            "crates/keys",
            "crates/seal",
            "adapters/modules",
            "adapters/rocksdb",
        ],
        "adapters/stores" => &[
            "crates/cipher",
            "crates/fields",
            "crates/file",
            "crates/keys",
            "crates/seal",
            "crates/store",
            "adapters/mariadb",
            "adapters/modules",
            "adapters/rocksdb",
            "adapters/servers",
            "adapters/volume",
            "adapters/wire",
            "adapters/wiredtiger",
        ],
        _ => return None,
    })
}

/// The member that every other one may use: words of messages to users.
const MESSAGE: &str = "crates/message";

/// Members that tests and examples of an adapter may use besides.
const FOR_TESTS: &[&str] =
    &["crates/audit", "crates/bench", "crates/keys", "crates/seal", "adapters/servers"];

/// Reads the members out of the JSON of `cargo metadata --no-deps`; `root` is the workspace's
/// folder.
pub(crate) fn members(metadata: &str, root: &Path) -> Result<Vec<Member>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let folder = |path: &Path| {
        path.strip_prefix(root).ok().map(|inner| inner.to_string_lossy().into_owned())
    };
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(
                package["manifest_path"].as_str().context("package without manifest_path")?,
            );
            let own =
                manifest.parent().and_then(folder).context("package outside the workspace")?;
            let dependencies =
                package["dependencies"].as_array().context("package without dependencies")?;
            let used = |for_tests: bool| {
                let chosen = dependencies
                    .iter()
                    .filter(|dependency| (dependency["kind"] == "dev") == for_tests);
                let paths = chosen.filter_map(|dependency| dependency["path"].as_str());
                let mut uses: Vec<String> =
                    paths.filter_map(|path| folder(Path::new(path))).collect();
                // a package may name itself, to switch a feature on for its own tests
                uses.retain(|used| *used != own);
                uses.sort();
                uses.dedup();
                uses
            };
            let (uses, tests_use) = (used(false), used(true));
            Ok(Member { folder: own, uses, tests_use })
        })
        .collect()
}

/// Returns one line for each dependency against the order.
pub(crate) fn violations(members: &[Member]) -> Vec<String> {
    let of = |member: &Member| {
        let uses = member.uses.iter().map(|used| (used, false));
        let all = uses.chain(member.tests_use.iter().map(|used| (used, true)));
        all.filter_map(|(used, for_tests)| violation(&member.folder, used, for_tests))
            .collect::<Vec<_>>()
    };
    members.iter().flat_map(of).collect()
}

fn violation(folder: &str, used: &str, for_tests: bool) -> Option<String> {
    let is_inside = folder.starts_with("dev/");
    if used == "crates/cli" || (used.starts_with("dev/") && !is_inside) {
        return Some(format!("{folder} uses {used}: nobody uses the command line or dev/"));
    }
    if folder.starts_with("dev/") || folder == "crates/cli" {
        return None;
    }
    if for_tests && folder.starts_with("adapters/") && FOR_TESTS.contains(&used) {
        return None;
    }
    match may_use(folder) {
        None => Some(format!(
            "{folder} has no place in the order of parts: give it one in \
             dev/xtask/src/dependencies.rs"
        )),
        Some(allowed) if used == MESSAGE && folder != MESSAGE || allowed.contains(&used) => None,
        Some(_) => {
            Some(format!("{folder} uses {used}: against the order of parts in ARCHITECTURE.md"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: &str, used: &str) -> bool {
        violations(&[Member {
            folder: folder.into(),
            uses: vec![used.into()],
            ..Member::default()
        }])
        .is_empty()
    }

    #[test]
    fn the_order_holds() {
        for (folder, used) in [
            ("crates/keys", "crates/cipher"),
            ("crates/seal", "crates/keys"),
            ("crates/keys", "crates/file"),
            ("adapters/servers", "crates/file"),
            ("crates/fields", "crates/seal"),
            ("adapters/stores", "adapters/rocksdb"),
            ("crates/bench", "crates/store"),
            ("crates/cli", "adapters/rocksdb"),
            ("adapters/rocksdb-plugin", "adapters/rocksdb"),
            ("adapters/python", "adapters/arrow"),
            ("adapters/python", "adapters/files"),
            ("adapters/files", "adapters/parquet"),
            ("adapters/fields-c", "crates/fields"),
            ("dev/e2e", "adapters/rocksdb"),
            ("crates/cipher", "crates/message"),
        ] {
            assert!(check(folder, used), "{folder} may use {used}");
        }
    }

    #[test]
    fn against_the_order_fails() {
        for (folder, used) in [
            ("crates/cipher", "crates/keys"),
            ("crates/keys", "crates/seal"),
            ("crates/seal", "crates/file"),
            ("crates/file", "crates/cipher"),
            ("crates/message", "crates/cipher"),
            ("crates/bench", "crates/seal"),
            ("crates/fields", "crates/bench"),
            ("crates/bench", "crates/fields"),
            ("crates/seal", "adapters/rocksdb"),
            ("adapters/rocksdb", "crates/cli"),
            ("adapters/rocksdb", "crates/bench"),
            ("adapters/rocksdb", "crates/store"),
            ("adapters/wiredtiger", "adapters/rocksdb"),
            ("adapters/rocksdb", "adapters/rocksdb-plugin"),
            ("adapters/stores", "adapters/rocksdb-plugin"),
            ("adapters/rocksdb-plugin", "crates/bench"),
            ("adapters/rocksdb-plugin", "crates/store"),
            ("crates/fields", "adapters/arrow"),
            ("adapters/arrow", "adapters/python"),
            ("adapters/parquet", "adapters/files"),
            ("adapters/fields-c", "adapters/files"),
            ("adapters/python", "adapters/fields-c"),
            ("dev/e2e", "crates/cli"),
            ("crates/cli", "dev/e2e"),
            ("crates/new", "crates/cipher"),
        ] {
            assert!(!check(folder, used), "{folder} must not use {used}");
        }
    }

    #[test]
    fn reads_the_metadata() {
        let metadata = r#"{"packages":[{"manifest_path":"/w/crates/seal/Cargo.toml","dependencies":[
            {"path":"/w/crates/keys"},{"name":"serde"},{"path":"/w/crates/keys"},
            {"path":"/w/crates/bench","kind":"dev"}]}]}"#;
        let found = members(metadata, Path::new("/w")).unwrap();
        let [uses, tests_use] = [vec!["crates/keys".into()], vec!["crates/bench".into()]];
        assert_eq!(found, [Member { folder: "crates/seal".into(), uses, tests_use }]);
    }
}
