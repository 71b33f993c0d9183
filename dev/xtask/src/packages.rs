//! Packages for others, checked against `cargo metadata`: each states what it is, has a page with
//! an example, and requires the others in the one version of the workspace.
//!
//! Not here: whether they can be packed (`make packages`).

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Texts of the licences, links to those of the repository in the folder of each package.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Returns what is wrong with the members that may be published, according to `metadata`; pages are
/// read below `root`.
pub(crate) fn findings(metadata: &str, root: &Path) -> Result<Vec<String>> {
    let metadata: Value = serde_json::from_str(metadata).context("read the output of cargo")?;
    let members = metadata["packages"].as_array().context("cargo lists no packages")?;
    let mut found = Vec::new();
    for member in members {
        let name = member["name"].as_str().unwrap_or_default();
        found.extend(foreign_versions(member, name));
        if member["publish"].is_null() {
            found.extend(unfinished(member, name, members));
            let checks = [example(member, root), licences(member, root)];
            found.extend(
                checks
                    .into_iter()
                    .filter_map(Result::err)
                    .map(|reason| format!("{name}: {reason}")),
            );
        }
    }
    Ok(found)
}

/// Returns the dependencies on other members in another version than that member's own.
fn foreign_versions(member: &Value, name: &str) -> Vec<String> {
    let own = format!("={}", member["version"].as_str().unwrap_or_default());
    let others = member["dependencies"].as_array().into_iter().flatten().filter(|dependency| {
        let asked = dependency["req"].as_str().unwrap_or_default();
        let is_ours = dependency["name"].as_str().is_some_and(|it| it.starts_with("sealstone-"));
        is_ours && dependency["path"].is_string() && asked != "*" && asked != own
    });
    others
        .map(|other| {
            format!("{name}: asks for {} {}, not {own}", text(&other["name"]), text(&other["req"]))
        })
        .collect()
}

/// Returns what a page of a registry needs and `member` lacks, and dependencies that nobody could
/// fetch.
fn unfinished(member: &Value, name: &str, members: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for field in ["description", "documentation", "license", "readme"] {
        if member[field].as_str().is_none_or(str::is_empty) {
            found.push(format!("{name}: no {field}"));
        }
    }
    for field in ["keywords", "categories"] {
        let words = member[field].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&words) {
            found.push(format!("{name}: {words} {field}, not 1 to 5"));
        }
    }
    let kept_back = |wanted: &Value| {
        members.iter().any(|member| member["name"] == *wanted && !member["publish"].is_null())
    };
    for dependency in member["dependencies"].as_array().into_iter().flatten() {
        // cargo leaves out what tests use without a version
        let left_out = dependency["kind"] == "dev" && dependency["req"] == "*";
        if !left_out && kept_back(&dependency["name"]) {
            found.push(format!(
                "{name}: uses {}, which is not for others",
                text(&dependency["name"])
            ));
        }
    }
    found
}

/// Returns the folder of `member`.
fn folder<'a>(member: &'a Value, root: &'a Path) -> &'a Path {
    Path::new(text(&member["manifest_path"])).parent().unwrap_or(root)
}

/// Checks that the texts of the licences go with `member`.
fn licences(member: &Value, root: &Path) -> Result<(), String> {
    let is_there = |name: &&str| folder(member, root).join(name).is_file();
    let missing: Vec<&str> = LICENCES.into_iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no {}", missing.join(", no "))) }
}

/// Checks that the page of `member` has an example.
fn example(member: &Value, root: &Path) -> Result<(), String> {
    let page = folder(member, root).join(text(&member["readme"]));
    match std::fs::read_to_string(&page) {
        Ok(page) if page.contains("```rust") => Ok(()),
        Ok(_) => Err("its page has no example".into()),
        Err(error) => Err(format!("its page cannot be read: {error}")),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, dependency: Value) -> Value {
        json!({
            "name": name, "version": "0.1.0", "publish": null, "description": "D",
            "documentation": "https://docs.rs/x", "license": "MIT", "readme": "README.md",
            "keywords": ["k"], "categories": ["c"], "manifest_path": "/x/Cargo.toml",
            "dependencies": [dependency],
        })
    }

    fn of(packages: Value, page: Option<&str>) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        if let Some(page) = page {
            for (name, text) in
                LICENCES.map(|name| (name, "")).into_iter().chain([("README.md", page)])
            {
                std::fs::write(dir.path().join(name), text).unwrap();
            }
        }
        let mut metadata = json!({ "packages": packages });
        for package in metadata["packages"].as_array_mut().unwrap() {
            package["manifest_path"] = dir.path().join("Cargo.toml").to_str().unwrap().into();
        }
        findings(&metadata.to_string(), dir.path()).unwrap()
    }

    const PAGE: Option<&str> = Some("# x\n\n```rust\nlet x = 1;\n```\n");

    #[test]
    fn a_finished_package_has_no_finding() {
        let fine = json!({ "name": "sealstone-b", "path": "/b", "req": "=0.1.0", "kind": null });
        assert!(of(json!([package("sealstone-a", fine)]), PAGE).is_empty());
    }

    #[test]
    fn another_version_of_a_member_is_found() {
        let other = json!({ "name": "sealstone-b", "path": "/b", "req": "=0.0.9", "kind": null });
        let found = of(json!([package("sealstone-a", other)]), PAGE);
        assert_eq!(found, ["sealstone-a: asks for sealstone-b =0.0.9, not =0.1.0"]);
    }

    #[test]
    fn a_package_without_page_words_or_fetchable_dependency_is_found() {
        let kept = json!({ "name": "kept", "path": "/k", "req": "*", "kind": null });
        let mut bare = package("sealstone-a", kept);
        bare["description"] = Value::Null;
        bare["keywords"] = json!([]);
        let mut back = package("kept", Value::Null);
        back["publish"] = json!([]);
        back["dependencies"] = json!([]);
        let found = of(json!([bare, back]), None);
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(
            found[0].contains("no description") && found[1].contains("0 keywords"),
            "{found:?}"
        );
        assert!(found[2].contains("uses kept") && found[3].contains("cannot be read"), "{found:?}");
        assert_eq!(found[4], "sealstone-a: no LICENSE-MIT, no LICENSE-APACHE");
        let empty = of(json!([package("sealstone-a", Value::Null)]), Some("# x\n"));
        assert_eq!(empty, ["sealstone-a: its page has no example"]);
    }
}
