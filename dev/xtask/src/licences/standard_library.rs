//! Rust's standard library, which every program and library has linked in, and the crates in it:
//! their licences as the toolchain that builds has them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::list::Part;
use super::{notices, standard};
use crate::tidy;

/// Remark on its crates.
const REMARK: &str = "in Rust's standard library";

/// Libraries of a toolchain that are the standard library itself.
const ITSELF: &[&str] = &[
    "alloc",
    "compiler_builtins",
    "core",
    "panic_abort",
    "panic_unwind",
    "std",
    "std_detect",
    "sysroot",
    "unwind",
];

/// Libraries of a toolchain for tests, macros and profiles, and names for what others have.
const NOT_LINKED: &[&str] = &[
    "getopts",
    "proc_macro",
    "profiler_builtins",
    "rustc_literal_escaper",
    "rustc_std_workspace_alloc",
    "rustc_std_workspace_core",
    "rustc_std_workspace_std",
    "test",
    "unicode_width",
];

/// Crates that the toolchain's page leaves out, with the licences that their manifests name.
const NOT_ON_PAGE: &[(&str, &str)] =
    &[("addr2line", "Apache-2.0 OR MIT"), ("object", "Apache-2.0 OR MIT")];

/// Notices of a toolchain's page: on the library itself, and on each crate.
struct Page {
    itself: String,
    /// Licences that the library itself is under, by their names of SPDX.
    licences: Vec<String>,
    crates: Vec<Part>,
}

/// A toolchain: its version, the folder with its licences, and the one with its libraries.
struct Toolchain {
    version: String,
    licences: PathBuf,
    libraries: PathBuf,
}

impl Toolchain {
    /// Returns the one that builds `root`.
    fn of(root: &Path) -> Result<Toolchain> {
        let say = |words: &[&str]| tidy::output(Command::new("rustc").args(words), root);
        let (host, sysroot) = (say(&["--print", "host-tuple"])?, say(&["--print", "sysroot"])?);
        let sysroot = Path::new(sysroot.trim());
        Ok(Toolchain {
            version: say(&["--version"])?.split(' ').nth(1).unwrap_or_default().to_owned(),
            licences: sysroot.join("share/doc/rust"),
            libraries: sysroot.join("lib/rustlib").join(host.trim()).join("lib"),
        })
    }

    /// Returns what its page says.
    fn page(&self) -> Result<Page> {
        let page = self.licences.join("COPYRIGHT-library.html");
        let page = notices::read(&page).context(
            "no licences of Rust's standard library\nuse a toolchain that rustup installed",
        )?;
        Ok(parsed(&page))
    }

    /// Returns the standard library itself, with `texts`.
    fn itself(&self, texts: Vec<String>) -> Part {
        Part {
            name: "rust-std".into(),
            version: self.version.clone(),
            licence: "MIT OR Apache-2.0".into(),
            remark: "Rust's standard library".into(),
            texts,
        }
    }
}

/// Returns the parts of the standard library of the toolchain that builds `root`. `known` are
/// crates whose texts are at hand, where the toolchain has none.
pub(crate) fn parts(root: &Path, known: &[Part]) -> Result<Vec<Part>> {
    let toolchain = Toolchain::of(root)?;
    let page = toolchain.page()?;
    let mut texts = vec![page.itself];
    for licence in &page.licences {
        texts.push(notices::read(&toolchain.licences.join(format!("licenses/{licence}.txt")))?);
    }
    let mut parts = vec![toolchain.itself(texts)];
    for library in linked(&toolchain.libraries)? {
        parts.push(part(&library, &page.crates, known)?);
    }
    Ok(parts)
}

/// Returns the same parts without their texts; a crate that the toolchain's page leaves out has no
/// version.
pub(crate) fn components(root: &Path) -> Result<Vec<Part>> {
    let toolchain = Toolchain::of(root)?;
    let page = toolchain.page()?;
    let mut parts = vec![toolchain.itself(Vec::new())];
    for library in linked(&toolchain.libraries)? {
        parts.push(component(&library, &page.crates));
    }
    Ok(parts)
}

/// Returns the crate among `parts` whose library is called `library`.
fn called<'a>(library: &str, parts: &'a [Part]) -> Option<&'a Part> {
    parts.iter().find(|part| part.name.replace('-', "_") == library)
}

/// Returns the crate whose library is called `library`, without texts.
fn component(library: &str, on_page: &[Part]) -> Part {
    let found = called(library, on_page).cloned();
    let left_out = || Part { name: library.into(), remark: REMARK.into(), ..Part::default() };
    let part = found.unwrap_or_else(left_out);
    Part { texts: Vec::new(), ..part }
}

/// Returns the names of the crates of others in the folder `libraries`, in order.
fn linked(libraries: &Path) -> Result<Vec<String>> {
    let what = || format!("list {}", libraries.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(libraries).with_context(what)? {
        let file = entry.with_context(what)?.file_name().to_string_lossy().into_owned();
        let stem = file.strip_suffix(".rlib").and_then(|file| file.strip_prefix("lib"));
        // behind the name comes a hash
        let Some((name, _)) = stem.and_then(|stem| stem.rsplit_once('-')) else { continue };
        if !ITSELF.contains(&name) && !NOT_LINKED.contains(&name) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the part of the crate whose library is called `library`.
fn part(library: &str, on_page: &[Part], known: &[Part]) -> Result<Part> {
    if let Some(part) = called(library, on_page).filter(|part| !part.texts.is_empty()) {
        return Ok(part.clone());
    }
    if let Some(part) = called(library, known) {
        let remark = format!("{REMARK}: the texts of {} {}", part.name, part.version);
        return Ok(Part { version: String::new(), remark, ..part.clone() });
    }
    let licence =
        NOT_ON_PAGE.iter().find(|(name, _)| *name == library).map_or("", |(_, licence)| licence);
    let (text, what) = standard::text(library, licence, &[]).with_context(|| {
        format!(
            "the toolchain has no licence of {library}, a crate of Rust's standard library\nadd \
             what its manifest names to `NOT_ON_PAGE` of dev/xtask/src/licences"
        )
    })?;
    Ok(Part {
        name: library.into(),
        licence: licence.into(),
        remark: format!("{REMARK}, whose page leaves it out: {what}"),
        texts: vec![text],
        ..Part::default()
    })
}

/// Reads the page of a toolchain.
fn parsed(page: &str) -> Page {
    let mut chapters = page.split("<h3>");
    let itself = chapters.next().unwrap_or_default();
    let itself = itself.split_once("<h2 id=\"in-tree-files\">").map_or("", |(_, rest)| rest);
    let itself = itself.split("<h2").next().unwrap_or_default();
    let mut licences: Vec<String> = between(itself, "<b>License:</b>", "</p>")
        .flat_map(|expression| expression.split([' ', '(', ')']))
        .filter(|word| !["", "AND", "OR", "WITH"].contains(word))
        .map(str::to_owned)
        .collect();
    licences.sort();
    licences.dedup();
    Page { itself: plain(itself), licences, crates: chapters.filter_map(chapter).collect() }
}

/// Reads what the page has on one crate, beginning with its title: a sign, name and version.
fn chapter(chapter: &str) -> Option<Part> {
    let (title, rest) = chapter.split_once("</h3>")?;
    let title = title.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_version = |at: &usize| title[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let at = title.match_indices('-').map(|(at, _)| at).find(is_version)?;
    let licence = between(rest, "<b>License:</b>", "</p>").next().unwrap_or_default();
    Some(Part {
        name: title[..at].into(),
        version: title[at + 1..].into(),
        licence: licence.trim().into(),
        remark: REMARK.into(),
        texts: between(rest, "<pre>", "</pre>").map(plain).collect(),
    })
}

/// Returns what is between each `begin` and the next `end` in `text`.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).map(move |rest| rest.split(end).next().unwrap_or_default())
}

/// Returns `html` without marks, and with at most one empty line in a row.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for (index, piece) in html.split('<').enumerate() {
        // the first piece is behind no mark
        text += if index == 0 { piece } else { piece.split_once('>').map_or("", |(_, it)| it) };
    }
    for (mark, sign) in [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">")] {
        text = text.replace(mark, sign);
    }
    for (mark, sign) in [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&#38;", "&")] {
        text = text.replace(mark, sign);
    }
    let text = text.replace("&amp;", "&");
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<h1>Notices</h1>\n<h2 id=\"in-tree-files\">Files</h2>\n<p><code>.</code>\n\
        <p><b>License:</b> (MIT OR Apache-2.0) AND Unicode-3.0</p>\n<h2>Others</h2>\n\
        <h3>📦 r-efi-5.3.0+one-2</h3>\n<p><b>License:</b> MIT OR Zlib</p>\n\
        <pre>\nOne &#34;&#60;a@a.example&#62;&#34;\n\n\n  two &amp; three\n</pre>\n<pre>Two</pre>\n\
        <h3>📦 bare-1.0.0</h3>\n<p><b>License:</b> MIT</p>\n";

    #[test]
    fn reads_the_page_of_a_toolchain() {
        let page = parsed(PAGE);
        assert_eq!(page.licences, ["Apache-2.0", "MIT", "Unicode-3.0"]);
        assert!(page.itself.starts_with("Files\n.\nLicense: (MIT"), "{}", page.itself);
        let crates = &page.crates;
        assert_eq!(crates.len(), 2);
        assert_eq!((crates[0].name.as_str(), crates[0].version.as_str()), ("r-efi", "5.3.0+one-2"));
        assert_eq!(crates[0].licence, "MIT OR Zlib");
        assert_eq!(crates[0].texts, ["One \"<a@a.example>\"\n\n  two & three", "Two"]);
        assert!(crates[1].texts.is_empty());
    }

    #[test]
    fn a_list_of_parts_has_each_crate_without_texts() {
        let page = parsed(PAGE).crates;
        let known = component("r_efi", &page);
        assert_eq!((known.name.as_str(), known.version.as_str()), ("r-efi", "5.3.0+one-2"));
        assert!(known.texts.is_empty());
        let left_out = component("addr2line", &page);
        assert_eq!((left_out.name.as_str(), left_out.version.as_str()), ("addr2line", ""));
    }

    #[test]
    fn a_crate_has_the_texts_of_the_page_or_of_one_that_we_link_or_fails() {
        let page = parsed(PAGE).crates;
        assert_eq!(part("r_efi", &page, &[]).unwrap().texts.len(), 2);
        let known = Part { name: "bare".into(), texts: vec!["Theirs".into()], ..Part::default() };
        assert_eq!(part("bare", &page, &[known]).unwrap().texts, ["Theirs"]);
        let left_out = part("addr2line", &page, &[]).unwrap();
        assert!(left_out.texts[0].contains("Apache License"), "{left_out:?}");
        let said = format!("{:#}", part("bare", &page, &[]).unwrap_err());
        assert!(said.contains("bare") && said.contains("NOT_ON_PAGE"), "{said}");
    }
}
