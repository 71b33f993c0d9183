//! The version of the workspace where files name it to users: in the names of a release's files on
//! pages, in Containerfile, and of the Java artefacts.
//!
//! Not here: pages that keep what was, the changelog and recorded results; `Cargo.toml` itself
//! (`packages`) and `CITATION.cff` (`citation`).

/// Beginnings of paths whose versions are those of their day.
const OF_THEIR_DAY: [&str; 2] = ["CHANGELOG.md", "results/"];

/// Returns the version that `manifest`, the workspace's Cargo.toml, gives to its packages; an empty
/// text if it gives none.
pub(crate) fn of_workspace(manifest: &str) -> &str {
    let package = manifest.split_once("[workspace.package]").map_or("", |(_, rest)| rest);
    let version = package.lines().find_map(|line| line.strip_prefix("version = "));
    version.unwrap_or_default().trim_matches('"')
}

/// Returns one line for each version in `files` that is another than `version`: of a file of a
/// release (`sealstone_1.2.3_amd64.deb`, `sealstone-fields-1.2.3.jar`), and of a Java artefact of
/// ours. A file is its path and its text.
pub(crate) fn findings<'a>(
    files: impl IntoIterator<Item = &'a (String, String)>,
    version: &str,
) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        if OF_THEIR_DAY.iter().any(|begin| path.starts_with(begin)) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |at| lines[at]);
            let others = named(line).chain(of_artefact(before, line));
            found.extend(others.filter(|named| *named != version).map(|other| {
                format!("{path}:{}: names version {other}, and this is {version}", at + 1)
            }));
        }
    }
    found
}

/// Returns the versions in the names of a release's files in `line`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || "-_*".contains(c);
    line.match_indices("sealstone").filter_map(move |(at, word)| {
        let rest = &line[at + word.len()..];
        let behind = rest.trim_start_matches(is_of_name);
        let is_apart = rest[..rest.len() - behind.len()].ends_with(['-', '_']);
        is_apart.then(|| number(behind)).flatten()
    })
}

/// Returns the version in `line` if it is the one of our artefact in the line `before`, as Maven
/// has them.
fn of_artefact<'a>(before: &str, line: &'a str) -> Option<&'a str> {
    let is_ours = before.trim().starts_with("<artifactId>sealstone-");
    number(line.trim().strip_prefix("<version>").filter(|_| is_ours)?)
}

/// Returns the version that `text` begins with: three numbers.
fn number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let version = text[..end].trim_end_matches('.');
    let has_three = version.split('.').filter(|part| !part.is_empty()).count() == 3;
    has_three.then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        findings(&[(path.to_owned(), text.to_owned())], "1.2.3")
    }

    #[test]
    fn a_name_of_another_version_is_found() {
        for name in [
            "sealstone-1.2.4-x86_64-linux.tar.gz",
            "`sealstone-1.2.4-x86_64-linux/bin/sealstone`",
            "PACKAGE=sealstone_1.2.4_amd64.deb",
            "sealstone-fields-1.2.4.jar",
            "`sealstone-*-1.2.4.crate`",
            "<artifactId>sealstone-spark</artifactId>\n  <version>1.2.4</version>",
        ] {
            let line = name.lines().count();
            let found = check("docs/a.md", name);
            assert_eq!(
                found,
                [format!("docs/a.md:{line}: names version 1.2.4, and this is 1.2.3")],
                "{name}"
            );
            assert_eq!(check("docs/a.md", &name.replace("1.2.4", "1.2.3")), [""; 0], "{name}");
            assert_eq!(check("results/release.md", name), [""; 0], "{name}");
        }
        assert_eq!(check("a.md", "sealstone_0.9.0_x.deb sealstone-0.8.0-x").len(), 2);
    }

    #[test]
    fn other_numbers_do_not_matter() {
        for text in [
            "\"program\":\"sealstone 1.2.4\"",
            "sealstone-*.whl, sealstone-volume@pg, sealstone-cli-tarball-*.cdx.json",
            "<artifactId>junit-jupiter</artifactId>\n<version>5.13.4</version>",
            "<artifactId>sealstone-fields</artifactId>\n<version>${project.version}</version>",
            "RocksDB 7.8.3 and sealstone",
        ] {
            assert_eq!(check("docs/a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_workspace_has_one_version() {
        let manifest =
            "[workspace]\n\n[workspace.package]\nversion = \"1.2.3\"\n\n[x]\nversion = \"2\"\n";
        assert_eq!(of_workspace(manifest), "1.2.3");
        assert_eq!(of_workspace(""), "");
    }
}
