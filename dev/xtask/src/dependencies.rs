//! The dependency directions of ARCHITECTURE.md, checked against what `cargo metadata` says.
//!
//! Not here: dependencies on crates of others.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A member of the workspace: its folder from the root, and the folders of the members it depends on.
#[derive(Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) folder: String,
    pub(crate) uses: Vec<String>,
}

/// What a member of `crates/` may use; `None` where the folder has no place in the order yet.
fn library_may_use(folder: &str) -> Option<&'static [&'static str]> {
    Some(match folder {
        "crates/cipher" => &[],
        "crates/keys" => &["crates/cipher"],
        "crates/seal" => &["crates/cipher", "crates/keys"],
        "crates/bench" => &["crates/cipher"],
        _ => return None,
    })
}

const ADAPTERS_MAY_USE: &[&str] = &["crates/cipher", "crates/keys", "crates/seal", "crates/bench"];

/// Reads the members out of the JSON of `cargo metadata --no-deps`; `root` is the workspace's folder.
pub(crate) fn members(metadata: &str, root: &Path) -> Result<Vec<Member>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let folder = |path: &Path| path.strip_prefix(root).ok().map(|inner| inner.to_string_lossy().into_owned());
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().context("package without manifest_path")?);
            let own = manifest.parent().and_then(folder).context("package outside the workspace")?;
            let dependencies = package["dependencies"].as_array().context("package without dependencies")?;
            let paths = dependencies.iter().filter_map(|dependency| dependency["path"].as_str());
            let mut uses: Vec<String> = paths.filter_map(|path| folder(Path::new(path))).collect();
            // a package may name itself, to switch a feature on for its own tests
            uses.retain(|used| *used != own);
            uses.sort();
            uses.dedup();
            Ok(Member { folder: own, uses })
        })
        .collect()
}

/// One line for each dependency against the order.
pub(crate) fn violations(members: &[Member]) -> Vec<String> {
    members.iter().flat_map(|member| member.uses.iter().filter_map(|used| violation(&member.folder, used))).collect()
}

fn violation(folder: &str, used: &str) -> Option<String> {
    if used == "crates/cli" || used.starts_with("dev/") {
        return Some(format!("{folder} uses {used}: nobody uses the command line or dev/"));
    }
    if folder.starts_with("dev/") || folder == "crates/cli" {
        return None;
    }
    let allowed = if folder.starts_with("adapters/") { Some(ADAPTERS_MAY_USE) } else { library_may_use(folder) };
    match allowed {
        None => {
            Some(format!("{folder} has no place in the order of parts: give it one in dev/xtask/src/dependencies.rs"))
        }
        Some(allowed) if allowed.contains(&used) => None,
        Some(_) => Some(format!("{folder} uses {used}: against the order cipher <- keys <- seal <- adapters <- cli")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: &str, used: &str) -> bool {
        violations(&[Member { folder: folder.into(), uses: vec![used.into()] }]).is_empty()
    }

    #[test]
    fn the_order_holds() {
        for (folder, used) in [
            ("crates/keys", "crates/cipher"),
            ("crates/seal", "crates/keys"),
            ("adapters/rocksdb", "crates/bench"),
            ("crates/cli", "adapters/rocksdb"),
            ("dev/e2e", "adapters/rocksdb"),
        ] {
            assert!(check(folder, used), "{folder} may use {used}");
        }
    }

    #[test]
    fn against_the_order_fails() {
        for (folder, used) in [
            ("crates/cipher", "crates/keys"),
            ("crates/keys", "crates/seal"),
            ("crates/bench", "crates/seal"),
            ("crates/seal", "adapters/rocksdb"),
            ("adapters/rocksdb", "crates/cli"),
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
            {"path":"/w/crates/keys"},{"name":"serde"},{"path":"/w/crates/keys"}]}]}"#;
        let found = members(metadata, Path::new("/w")).unwrap();
        assert_eq!(found, [Member { folder: "crates/seal".into(), uses: vec!["crates/keys".into()] }]);
    }
}
