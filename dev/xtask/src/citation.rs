//! CITATION.cff: what the format requires, and the version of the workspace. Of YAML it reads no
//! more than the file has: one level of keys, and lists.

use crate::versions;

/// Path of the file.
pub(crate) const PATH: &str = "CITATION.cff";

/// Keys that Citation File Format 1.2.0 requires.
const REQUIRED: [&str; 4] = ["cff-version", "message", "title", "authors"];

/// Checks the file `citation` against `manifest`, the workspace's Cargo.toml.
pub(crate) fn findings(citation: &str, manifest: &str) -> Vec<String> {
    let value = |key: &str| {
        let of_key =
            |line: &str| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned());
        citation.lines().find_map(of_key)
    };
    let missing = REQUIRED.into_iter().filter(|key| value(key).is_none());
    let mut found: Vec<String> =
        missing.map(|key| format!("{PATH}: the format requires {key}")).collect();
    let wanted = [("cff-version", "1.2.0"), ("version", versions::of_workspace(manifest))];
    for (key, wanted) in wanted {
        let is = value(key).unwrap_or_default();
        if is != wanted {
            found.push(format!("{PATH}: {key} is {is}, and should be {wanted}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CITATION: &str = include_str!("../../../CITATION.cff");
    const MANIFEST: &str = include_str!("../../../Cargo.toml");

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(findings(CITATION, MANIFEST), [""; 0]);
        let version = versions::of_workspace(MANIFEST);
        let (own, other) = (format!("version = \"{version}\""), format!("{version}9"));
        let next = MANIFEST.replacen(&own, &format!("version = \"{other}\""), 1);
        let found = findings(CITATION, &next);
        assert_eq!(found, [format!("CITATION.cff: version is {version}, and should be {other}")]);
        let found = findings("title: x\n", MANIFEST);
        assert!(found.contains(&"CITATION.cff: the format requires authors".into()), "{found:?}");
    }
}
