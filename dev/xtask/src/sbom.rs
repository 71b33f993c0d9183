//! `xtask sbom`: adds to a list of parts in CycloneDX's form what `cargo cyclonedx` does not see,
//! which every program has linked in: Rust's standard library with its crates, and libraries that
//! are no crate.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::licences::Part;
use crate::{licences, tidy};

/// Adds Rust's standard library, and each of `others`, `NAME=VERSION`, to the list in `file`.
pub(crate) fn run(file: &str, others: &[&str]) -> Result<bool> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {file}"))?;
    let mut list: Value =
        serde_json::from_str(&text).with_context(|| format!("{file} is no list of parts"))?;
    let mut parts = licences::standard_library(&tidy::root())?;
    for pair in others {
        let (name, version) = pair
            .split_once('=')
            .with_context(|| format!("{pair} is no part\ngive it as NAME=VERSION"))?;
        parts.push(Part { name: name.into(), version: version.into(), ..Part::default() });
    }
    add(&mut list, &parts).with_context(|| format!("{file} is no list of CycloneDX"))?;
    let text = serde_json::to_string_pretty(&list).context("write a list of parts")?;
    std::fs::write(file, text + "\n").with_context(|| format!("write {file}"))?;
    Ok(true)
}

/// Adds `parts` to the components of `list`, as what its program depends on. Returns `None`, and
/// may have changed `list`, where it has no program, no components or no dependencies.
fn add(list: &mut Value, parts: &[Part]) -> Option<()> {
    let program = list["metadata"]["component"]["bom-ref"].as_str()?.to_owned();
    let references: Vec<String> = parts.iter().map(reference).collect();
    let components = list["components"].as_array_mut()?;
    components.extend(parts.iter().map(component));
    let dependencies = list["dependencies"].as_array_mut()?;
    let own = dependencies.iter_mut().find(|entry| entry["ref"] == program)?;
    let on = own.as_object_mut()?.entry("dependsOn").or_insert(json!([])).as_array_mut()?;
    on.extend(references.iter().map(|reference| json!(reference)));
    dependencies.extend(references.iter().map(|reference| json!({ "ref": reference })));
    Some(())
}

/// Returns the entry of `part`.
fn component(part: &Part) -> Value {
    let mut entry = json!({ "type": "library", "bom-ref": reference(part), "name": part.name });
    for (key, text) in [("version", &part.version), ("description", &part.remark)] {
        if !text.is_empty() {
            entry[key] = json!(text);
        }
    }
    if !part.licence.is_empty() {
        entry["licenses"] = json!([{ "expression": part.licence }]);
    }
    entry
}

/// Returns the name of `part` in a list, which no crate from a registry has.
fn reference(part: &Part) -> String {
    format!("linked-in:{}@{}", part.name, part.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, version: &str, licence: &str) -> Part {
        let (name, version, licence) = (name.into(), version.into(), licence.into());
        Part { name, version, licence, ..Part::default() }
    }

    #[test]
    fn a_program_depends_on_what_is_added() {
        let mut list = json!({
            "metadata": { "component": { "bom-ref": "a" } },
            "components": [{ "name": "b", "bom-ref": "b" }],
            "dependencies": [{ "ref": "b" }, { "ref": "a", "dependsOn": ["b"] }],
        });
        let parts = [part("rust-std", "1.90.0", "MIT"), part("libstdc++", "", "")];
        add(&mut list, &parts).unwrap();
        let (std, cpp) = ("linked-in:rust-std@1.90.0", "linked-in:libstdc++@");
        assert_eq!(
            list["components"],
            json!([
                { "name": "b", "bom-ref": "b" },
                { "type": "library", "bom-ref": std, "name": "rust-std", "version": "1.90.0",
                  "licenses": [{ "expression": "MIT" }] },
                { "type": "library", "bom-ref": cpp, "name": "libstdc++" },
            ])
        );
        assert_eq!(
            list["dependencies"],
            json!([{ "ref": "b" }, { "ref": "a", "dependsOn": ["b", std, cpp] },
                { "ref": std }, { "ref": cpp }])
        );
    }

    #[test]
    fn another_file_is_refused() {
        for mut list in [json!({}), json!({ "metadata": { "component": { "bom-ref": "a" } } })] {
            assert!(add(&mut list, &[part("a", "1", "")]).is_none());
        }
    }
}
