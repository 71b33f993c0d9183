//! The pages of this repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::page::Page;

/// Pages by their paths from the root of the repository, such as `docs/guide/keys.md`.
pub type Pages = BTreeMap<String, Page>;

/// Returns the root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages at the root, below `docs` and below `results`.
///
/// # Panics
/// If a page cannot be read.
#[must_use]
pub fn pages() -> Pages {
    let mut pages = Pages::new();
    collect(Path::new(""), false, &mut pages);
    for folder in ["docs", "results"] {
        collect(Path::new(folder), true, &mut pages);
    }
    pages
}

fn collect(folder: &Path, below: bool, pages: &mut Pages) {
    for entry in fs::read_dir(root().join(folder)).expect("the folder is there") {
        let entry = entry.expect("an entry");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() && below {
            collect(&path, below, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let text = fs::read_to_string(entry.path()).expect("a page is text");
            pages.insert(path.display().to_string(), Page::parse(&text));
        }
    }
}

/// Returns whether `path` is a page in Korean.
#[must_use]
pub fn is_korean(path: &str) -> bool {
    path.starts_with("docs/ko/") || path.ends_with(".ko.md")
}
