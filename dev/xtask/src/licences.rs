//! `xtask licences`: one text with the licences of everything that others wrote and an artefact of
//! a release has linked in. It fails where something has none.
//!
//! Not here: which licences a dependency may have (`deny.toml`), and what an artefact is made of in
//! a form for programs (`dev/sbom.sh`, `sbom`).

mod linked;
mod list;
mod notices;
mod standard;
mod standard_library;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tidy;
use linked::Crate;
pub(crate) use list::Part;
pub(crate) use standard_library::components as standard_library;

/// An artefact of a release: the packages whose libraries and programs it carries, and features
/// that they are built with besides their own.
#[derive(Debug)]
struct Artefact {
    name: &'static str,
    packages: &'static [&'static str],
    features: &'static [&'static str],
}

/// Packages that `dev/install.sh` installs, as `INSTALLED` of the Makefile.
const INSTALLED: &[&str] = &[
    "sealstone-cli",
    "sealstone-wiredtiger",
    "sealstone-mariadb",
    "sealstone-rocksdb-plugin",
    "sealstone-fields-c",
];

/// Every artefact with code of others in it.
const ARTEFACTS: [Artefact; 3] = [
    Artefact { name: "tarball", packages: INSTALLED, features: &["sealstone-cli/bundled"] },
    Artefact { name: "deb", packages: INSTALLED, features: &[] },
    Artefact { name: "wheel", packages: &["sealstone-python"], features: &[] },
];

/// Writes the licences of what the artefact called `artefact` has linked in to `file`. Each of
/// `given`, `NAME=FILE`, is a licence of a crate that has none in its package, or of a part that is
/// no crate.
pub(crate) fn run(artefact: &str, file: &str, given: &[&str]) -> Result<bool> {
    let Some(artefact) = ARTEFACTS.iter().find(|known| known.name == artefact) else {
        let names = ARTEFACTS.map(|known| known.name).join(", ");
        bail!("no artefact is called {artefact}\nname one of these: {names}");
    };
    let root = tidy::root();
    let given = given.iter().map(|pair| read_given(pair)).collect::<Result<Vec<_>>>()?;
    let crates = linked::crates(artefact.packages, artefact.features, &root)?;
    let mut parts = of_crates(&crates, given)?;
    parts.extend(standard_library::parts(&root, &parts)?);
    let version = env!("CARGO_PKG_VERSION");
    let text = list::text(&format!("Sealstone {version} ({})", artefact.name), parts);
    std::fs::write(file, text).with_context(|| format!("write {file}"))?;
    Ok(true)
}

/// Reads the file of a pair `NAME=FILE`; returns the name and the text.
fn read_given(pair: &str) -> Result<(String, String)> {
    let (name, file) = pair
        .split_once('=')
        .with_context(|| format!("{pair} is no licence of a part\ngive it as NAME=FILE"))?;
    let text = notices::read(Path::new(file))
        .with_context(|| format!("no licence of {name}\ngive a file that is there"))?;
    Ok((name.to_owned(), text))
}

/// Returns a part for each of `crates`, and one for each name in `given` that is no crate.
fn of_crates(crates: &[Crate], mut given: Vec<(String, String)>) -> Result<Vec<Part>> {
    let mut found = Vec::new();
    for it in crates {
        let mut notices = notices::of(it)?;
        for (_, text) in given.extract_if(.., |(name, _)| *name == it.name) {
            notices.texts.push(text);
            notices.has_licence = true;
        }
        found.push(notices);
    }
    let mut parts = Vec::new();
    for (it, notices) in crates.iter().zip(&found) {
        let (mut texts, mut remark) = (notices.texts.clone(), String::new());
        if !notices.has_licence {
            // what the authors published together, they did not always put into every package
            let beside = crates.iter().zip(&found).find(|(other, notices)| {
                notices.has_licence
                    && it.repository.is_some()
                    && other.repository == it.repository
                    && other.licence == it.licence
            });
            let (instead, reason) = match beside {
                Some((other, notices)) => {
                    let from = format!("that of {}, from the same repository", other.name);
                    (notices.texts.clone(), from)
                }
                None => {
                    let (text, what) = standard::text(&it.name, &it.licence, &it.authors)?;
                    (vec![text], what)
                }
            };
            texts.extend(instead);
            remark = format!("no licence of its own in its package: {reason}");
        }
        let (name, version, licence) = (it.name.clone(), it.version.clone(), it.licence.clone());
        parts.push(Part { name, version, licence, remark, texts });
    }
    let others =
        given.into_iter().map(|(name, text)| Part { name, texts: vec![text], ..Part::default() });
    parts.extend(others);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = include_str!("../../../Makefile");
    const TARBALL: &str = include_str!("../../tarball.sh");
    const DEB: &str = include_str!("../../deb.sh");

    /// Returns a crate in a folder of its own, which has `files`.
    fn made(name: &str, licence: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Crate) {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let it = Crate {
            name: name.into(),
            version: "1.0.0".into(),
            licence: licence.into(),
            folder: dir.path().into(),
            ..Crate::default()
        };
        (dir, it)
    }

    fn failure(result: Result<Vec<Part>>) -> String {
        format!("{:#}", result.unwrap_err())
    }

    #[test]
    fn the_packages_are_those_that_are_installed() {
        let line = MAKEFILE.lines().find_map(|line| line.strip_prefix("INSTALLED := "));
        assert_eq!(line.unwrap().split(' ').collect::<Vec<_>>(), INSTALLED);
    }

    #[test]
    fn every_artefact_is_made_with_its_licences() {
        let made = [("tarball", TARBALL), ("deb", DEB), ("wheel", MAKEFILE)];
        assert_eq!(made.map(|(name, _)| name), ARTEFACTS.map(|it| it.name));
        for (name, text) in made {
            assert!(text.contains(&format!("xtask -- licences {name} ")), "{name}");
        }
    }

    #[test]
    fn a_crate_without_any_licence_text_fails() {
        let (_dir, bare) = made("bare", "ISC", &[("README.md", "Under the ISC licence.\n")]);
        let said = failure(of_crates(std::slice::from_ref(&bare), Vec::new()));
        assert!(said.contains("bare") && said.contains("ISC"), "{said}");
        assert!(said.contains("bare=FILE"), "{said}");
        let parts = of_crates(&[bare], vec![("bare".into(), "Permission".into())]).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].texts, ["Permission"]);
    }

    #[test]
    fn a_notice_alone_is_no_licence() {
        let (_dir, it) = made("noted", "ISC", &[("NOTICE", "Made by us.\n")]);
        assert!(failure(of_crates(&[it], Vec::new())).contains("noted"));
    }

    #[test]
    fn the_text_of_the_same_repository_counts() {
        let (_one, mut bare) = made("bare", "ISC", &[]);
        let (_other, mut full) = made("full", "ISC", &[("LICENSE", "Permission to use\n")]);
        assert!(of_crates(&[bare.clone(), full.clone()], Vec::new()).is_err());
        for it in [&mut bare, &mut full] {
            it.repository = Some("https://forge.example/both".into());
        }
        let parts = of_crates(&[bare.clone(), full.clone()], Vec::new()).unwrap();
        assert_eq!(parts[0].texts, ["Permission to use"]);
        assert!(parts[0].remark.contains("full"), "{}", parts[0].remark);
        full.licence = "MIT".into();
        assert!(of_crates(&[bare, full], Vec::new()).is_err());
    }

    #[test]
    fn what_is_no_crate_is_a_part_of_its_own() {
        let (_dir, it) = made("full", "ISC", &[("LICENSE", "Permission to use\n")]);
        let parts = of_crates(&[it], vec![("libstdc++".into(), "Exception".into())]).unwrap();
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["full", "libstdc++"]);
        for pair in ["libstdc++", "libstdc++=/nowhere"] {
            assert!(read_given(pair).is_err());
        }
    }
}
