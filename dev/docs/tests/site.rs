//! The site that `make docs` makes, where its tools are installed: every page is in it, no link is
//! lost, and the search finds words of both languages.

use std::path::PathBuf;
use std::process::Command;

use sealstone_docs::tree::{pages, root};

const NAME: &str = "the_site_has_every_page_and_finds_words";

/// Returns the interpreter that has Sphinx, if `make setup-docs` has installed it.
fn python() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let python = cache.join("sealstone/python/bin/python");
    let found = Command::new(&python).args(["-c", "import furo, myst_parser, sphinx"]).output();
    found.is_ok_and(|output| output.status.success()).then_some(python)
}

#[test]
fn the_site_has_every_page_and_finds_words() {
    let Some(python) = python() else {
        println!("SKIP: {NAME}: no Sphinx; make setup-docs installs it");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let site = dir.path().join("site");
    let done = Command::new(python)
        .args(["-m", "sphinx", "--quiet", "--fail-on-warning", "-c", "dev/docs", "-d"])
        .arg(dir.path().join("cache"))
        .arg(".")
        .arg(&site)
        .current_dir(root())
        .output()
        .expect("Sphinx runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for path in pages().into_keys() {
        let page = site.join(path).with_extension("html");
        assert!(page.exists(), "{} is not there", page.display());
    }
    let index = std::fs::read_to_string(site.join("searchindex.js")).expect("an index");
    // the index is in ASCII; the second word is found by its beginning alone
    for word in ["rotat", "폐기", "암호문"] {
        let written: String = word
            .chars()
            .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
            .collect();
        assert!(index.contains(&format!("\"{written}\":")), "the search does not know {word}");
    }
}
