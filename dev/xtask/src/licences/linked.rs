//! Crates of others that packages of the workspace link into what they are built to, on the
//! platform of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::tidy;

/// A crate that others wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Licence as its manifest states it; empty where that names a file instead.
    pub(crate) licence: String,
    pub(crate) authors: Vec<String>,
    pub(crate) repository: Option<String>,
    /// Folder of its sources.
    pub(crate) folder: PathBuf,
    /// File of its licence, from that folder, where its manifest names one.
    pub(crate) licence_file: Option<String>,
    /// Features that it is built with.
    pub(crate) features: Vec<String>,
}

/// Returns those that `packages` link if they are built together with `features`, in order of
/// name. What only builds, macros among it, is none of them.
pub(crate) fn crates(packages: &[&str], features: &[&str], root: &Path) -> Result<Vec<Crate>> {
    let chosen: Vec<&str> = features.iter().flat_map(|name| ["--features", name]).collect();
    let mut tree = Command::new(tidy::cargo());
    tree.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    tree.args(["--no-dedupe", "--format", "{p}\t{f}"]).args(&chosen);
    tree.args(packages.iter().flat_map(|package| ["--package", package]));
    let tree = tidy::output(&mut tree, root)?;
    let host = tidy::output(Command::new("rustc").args(["--print", "host-tuple"]), root)?;
    // not the graph that it has, too: there the rest of the workspace requests features
    let mut metadata = Command::new(tidy::cargo());
    metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform"]);
    let metadata = tidy::output(metadata.arg(host.trim()).args(&chosen), root)?;
    named(&features_of(&tree)?, &metadata)
}

/// Returns the crates that `tree` lists, by name and version, with their features.
fn features_of(tree: &str) -> Result<BTreeMap<(String, String), Vec<String>>> {
    let mut found = BTreeMap::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, features) =
            line.split_once('\t').with_context(|| format!("{line} is no crate and features"))?;
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            anyhow::bail!("{package} is no name and version");
        };
        let version = version.strip_prefix('v').unwrap_or(version);
        let of_it: &mut Vec<String> =
            found.entry((name.to_owned(), version.to_owned())).or_default();
        of_it.extend(features.split(',').filter(|it| !it.is_empty()).map(str::to_owned));
    }
    Ok(found)
}

/// Returns those of `linked` that come from elsewhere, as `metadata` describes them.
fn named(linked: &BTreeMap<(String, String), Vec<String>>, metadata: &str) -> Result<Vec<Crate>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let mut crates = Vec::new();
    for ((name, version), features) in linked {
        let package = packages
            .iter()
            .find(|it| it["name"] == name.as_str() && it["version"] == version.as_str())
            .with_context(|| format!("cargo metadata does not know {name} {version}"))?;
        // ours have none
        if package["source"].is_null() {
            continue;
        }
        let word = |key: &str| package[key].as_str().map(str::to_owned);
        let manifest = word("manifest_path").context("a package without a manifest")?;
        let folder = Path::new(&manifest).parent().context("a manifest without a folder")?;
        let authors = package["authors"].as_array().into_iter().flatten();
        crates.push(Crate {
            name: name.clone(),
            version: version.clone(),
            licence: word("license").unwrap_or_default(),
            authors: authors.filter_map(Value::as_str).map(str::to_owned).collect(),
            repository: word("repository"),
            folder: folder.to_owned(),
            licence_file: word("license_file"),
            features: features.clone(),
        });
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_none_of_them() {
        let tree = "sealstone-a v0.1.0 (/w/a)\tdefault\nb v2.0.0+7\tone,two\n\nb v2.0.0+7\ttwo\n";
        let metadata = r#"{"packages":[
            {"name":"sealstone-a","version":"0.1.0","source":null,"manifest_path":"/w/a/Cargo.toml"},
            {"name":"b","version":"1.0.0","source":"registry","manifest_path":"/r/b-1/Cargo.toml"},
            {"name":"b","version":"2.0.0+7","source":"registry","license":"ISC",
             "authors":["B <b@b.example>"],"manifest_path":"/r/b-2/Cargo.toml"}]}"#;
        let found = named(&features_of(tree).unwrap(), metadata).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].version.as_str()), ("b", "2.0.0+7"));
        assert_eq!(found[0].folder, Path::new("/r/b-2"));
        assert_eq!(found[0].features, ["one", "two", "two"]);
        assert!(named(&features_of("c v1.0.0\t\n").unwrap(), metadata).is_err());
    }
}
