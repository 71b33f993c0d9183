//! `xtask tidy`: runs every check of the house rules on what git tracks and is about to track.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::source::Source;
use crate::{
    circles, citation, dependencies, embedder, files, messages, module_graph, openers, packages,
    paths, unused, versions, words,
};

/// Links that a package needs: what it compiles in is outside of its folder.
const LINKS: [&str; 1] = ["crates/cipher/vectors"];

/// Returns whether the link `path` leads from a package to a licence of the repository.
fn is_licence(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let target = std::fs::read_link(path).unwrap_or_default();
    packages::LICENCES.contains(&name) && target == Path::new("../..").join(name)
}

/// Prints every finding; returns whether there was none.
pub(crate) fn run() -> Result<bool> {
    let root = root();
    let paths = tracked(&root)?;
    let mut found = Vec::new();
    let (mut texts_of_rust, mut pages, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for path in &paths {
        let full = root.join(path);
        let kind = std::fs::symlink_metadata(&full)
            .with_context(|| format!("look at {path}"))?
            .file_type();
        if kind.is_symlink() && (LINKS.contains(&path.as_str()) || is_licence(&full)) {
            continue;
        }
        if !kind.is_file() {
            found.push(format!("{path}: not a plain file"));
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("read {path}"))?;
        found.extend(files::findings(path, &bytes));
        let texts = if path.ends_with(".rs") {
            &mut texts_of_rust
        } else if path.ends_with(".md") {
            &mut pages
        } else if words::reads(path) {
            &mut others
        } else {
            continue;
        };
        texts.extend(String::from_utf8(bytes).ok().map(|text| (path.clone(), text)));
    }
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"))
    };
    let manifest = read("Cargo.toml")?;
    found.extend(citation::findings(&read(citation::PATH)?, &manifest));
    let version = versions::of_workspace(&manifest);
    found.extend(versions::findings(pages.iter().chain(&others), version));
    let metadata = output(
        Command::new(cargo()).args(["metadata", "--no-deps", "--format-version", "1"]),
        &root,
    )?;
    let members = dependencies::members(&metadata, &root)?;
    found.extend(dependencies::violations(&members));
    found.extend(packages::findings(&metadata, &root)?);
    let mut sources = Vec::new();
    for (path, text) in &texts_of_rust {
        match Source::parse(path, text) {
            Ok(source) => {
                found.extend(files::width_findings(&source, text));
                sources.push(source);
            }
            Err(finding) => found.push(finding),
        }
    }
    found.extend(sources.iter().flat_map(files::code_findings));
    found.extend(sources.iter().flat_map(messages::findings));
    found.extend(circles::findings(&graphs(&sources)));
    found.extend(openers::findings(&texts_of_rust));
    found.extend(words::findings(&texts_of_rust, &pages, &others));
    found.extend(paths::findings(&pages, &paths));
    found.extend(unused::findings(&metadata, &format!("{}/", root.display()), &sources)?);
    for embedded in &embedder::EMBEDDED {
        let tree = output(Command::new(cargo()).args(embedder::tree(embedded)), &root)?;
        found.extend(embedder::findings(embedded, &tree));
    }
    for line in &found {
        println!("tidy: {line}");
    }
    println!("tidy: {} files, {} members, {} findings", paths.len(), members.len(), found.len());
    Ok(found.is_empty())
}

/// Returns the graph of files of every crate: each library and each program.
fn graphs(sources: &[Source]) -> Vec<module_graph::Graph> {
    let read = |path: &str| {
        let at = sources.binary_search_by(|source| source.path.as_str().cmp(path)).ok()?;
        Some(&sources[at].shipped)
    };
    let is_root = |path: &&str| {
        let name = path.rsplit_once("/src/").map_or("", |(_, name)| name);
        ["lib.rs", "main.rs"].contains(&name)
            || (name.starts_with("bin/") && name.matches('/').count() == 1)
    };
    let roots = sources.iter().map(|source| source.path.as_str()).filter(is_root);
    roots.map(|root| module_graph::graph(root, &read)).collect()
}

/// Returns the workspace's folder.
pub(crate) fn root() -> PathBuf {
    // as cargo reports now: a cached build may come from another place
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&own).ancestors().nth(2).expect("dev/xtask is two folders down").to_path_buf()
}

/// Returns the cargo that runs us.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Tracked files, and new ones that git does not ignore; deleted ones are left out. Stable order.
fn tracked(root: &Path) -> Result<Vec<String>> {
    let list = output(
        Command::new("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ]),
        root,
    )?;
    let mut paths: Vec<String> =
        list.split('\0').filter(|path| !path.is_empty()).map(String::from).collect();
    paths.retain(|path| std::fs::symlink_metadata(root.join(path)).is_ok());
    paths.sort();
    Ok(paths)
}

/// Runs `command` in `root`; returns what it printed.
pub(crate) fn output(command: &mut Command, root: &Path) -> Result<String> {
    let output = command.current_dir(root).output().with_context(|| format!("run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of {command:?} is not UTF-8"))
}
