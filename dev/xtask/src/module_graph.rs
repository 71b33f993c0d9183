//! Uses of one file of a crate by another, found by the paths in its code.
//!
//! A path counts for the file that defines what it names, wherever it was re-exported on the way. Not seen: methods and
//! fields, whose types come from elsewhere, and names that a macro makes. Not here: what is wrong with a graph
//! (`circles`).

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{Token, is_name, tokens};

/// The names of a module from the crate's root on.
type Place = Vec<String>;

/// For each pair of a file and one that it uses: the first line that does, and the path there.
pub(crate) type Graph = BTreeMap<(String, String), (usize, String)>;

/// The files of one crate and what they declare.
#[derive(Debug, Default)]
struct Crate {
    modules: BTreeMap<Place, Module>,
    paths: Vec<Path>,
}

#[derive(Debug, Default)]
struct Module {
    file: String,
    /// Names that `use` brings in: the name here, and the whole path, or nothing if it leads out of
    /// the crate.
    names: BTreeMap<String, Option<Place>>,
    /// Places from which `use …::*` brings in all names.
    globs: Vec<Place>,
    /// Names of the items that are defined here.
    items: BTreeSet<String>,
    /// Words in code that may be one of `names`, with their first line.
    words: BTreeMap<String, usize>,
}

/// A path in the code of a module, or in a `use`.
#[derive(Debug)]
struct Path {
    within: Place,
    names: Vec<String>,
    line: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Inline,
    /// The name that it brings in.
    Use(String),
    Reexport(String),
    Glob,
}

/// The graph of the crate whose first file is `root`, such as `crates/seal/src/lib.rs`; `read` returns the text of a
/// file, if there is one.
pub(crate) fn graph(root: &str, read: &dyn Fn(&str) -> Option<String>) -> Graph {
    let mut found = Crate::default();
    let dir = root.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned();
    found.add_file(root, &dir, Vec::new(), read);
    found.learn_names();
    found.edges()
}

impl Crate {
    /// Reads `file`, the module `place`, and those that it declares, which are in the folder `dir`.
    fn add_file(&mut self, file: &str, dir: &str, place: Place, read: &dyn Fn(&str) -> Option<String>) {
        let Some(source) = read(file) else { return };
        let mut reader = Reader {
            tokens: tokens(&source),
            at: 0,
            depth: 0,
            place: place.clone(),
            open: Vec::new(),
            file: file.to_owned(),
            modules: BTreeMap::new(),
            paths: Vec::new(),
            declared: Vec::new(),
        };
        reader.read();
        self.modules.extend(reader.modules);
        self.paths.extend(reader.paths);
        for child in reader.declared {
            let folder = format!("{dir}/{}", child[place.len()..].join("/"));
            let own = format!("{folder}.rs");
            let file = if read(&own).is_some() { own } else { format!("{folder}/mod.rs") };
            self.add_file(&file, &folder, child, read);
        }
    }

    /// Resolves where the names of `use` lead, as far as this crate goes.
    fn learn_names(&mut self) {
        let mut known = Vec::new();
        for path in &self.paths {
            let (Kind::Use(name) | Kind::Reexport(name)) = &path.kind else { continue };
            let whole = self.whole(&path.within, &path.names, Some(name));
            known.push((path.within.clone(), name.clone(), whole));
        }
        for (within, name, whole) in known {
            self.modules.entry(within).or_default().names.insert(name, whole);
        }
        for path in self.paths.iter().filter(|path| path.kind == Kind::Glob) {
            if let Some(whole) = self.whole(&path.within, &path.names, None) {
                self.modules.entry(path.within.clone()).or_default().globs.push(whole);
            }
        }
    }

    /// The path from the root on, or nothing if it leads out of the crate. `own`: the name that the path itself brings
    /// in, which is no beginning for it.
    fn whole(&self, within: &Place, names: &[String], own: Option<&str>) -> Option<Place> {
        let mut place = within.clone();
        let mut rest = names;
        match rest.first()?.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => {
                place.pop();
            }
            first => {
                let child = [within.as_slice(), &[first.to_owned()]].concat();
                if self.modules.contains_key(&child) {
                    return Some([child.as_slice(), &rest[1..]].concat());
                }
                let known = self.modules.get(within)?.names.get(first).filter(|_| own != Some(first))?.as_ref()?;
                return Some([known.as_slice(), &rest[1..]].concat());
            }
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|name| name == "super") {
            place.pop();
            rest = &rest[1..];
        }
        Some([place.as_slice(), rest].concat())
    }

    /// The module in which `whole` is defined; nothing for a path that is a module itself or leads out of the crate.
    fn defined_in(&self, whole: &[String], steps: usize) -> Option<&Module> {
        let mut place = Vec::new();
        for (at, name) in whole.iter().enumerate() {
            let deeper = [place.as_slice(), std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&deeper) {
                place = deeper;
                continue;
            }
            let module = self.modules.get(&place)?;
            if module.items.contains(name) || steps == 0 {
                return Some(module);
            }
            if let Some(known) = module.names.get(name) {
                let known = known.as_ref()?;
                return self.defined_in(&[known.as_slice(), &whole[at + 1..]].concat(), steps - 1);
            }
            let has = |glob: &&Place| {
                self.modules.get(*glob).is_some_and(|glob| glob.items.contains(name) || glob.names.contains_key(name))
            };
            return match module.globs.iter().find(has) {
                Some(glob) => self.defined_in(&[glob.as_slice(), &whole[at..]].concat(), steps - 1),
                None => Some(module),
            };
        }
        None
    }

    fn edges(&self) -> Graph {
        const STEPS_MAX: usize = 16;
        let mut graph = Graph::new();
        for path in &self.paths {
            let Some(whole) = self.whole(&path.within, &path.names, path.kind.brings_in()) else { continue };
            let module = &self.modules[&path.within];
            let mut line = path.line;
            let target = match &path.kind {
                Kind::Glob => self.modules.get(&whole),
                _ => self.defined_in(&whole, STEPS_MAX),
            };
            if let Kind::Reexport(name) = &path.kind
                && whole.starts_with(&path.within)
            {
                // to re-export a child's names is not to use them, unless the code does
                match module.words.get(name) {
                    Some(used) => line = *used,
                    None => continue,
                }
            }
            let Some(target) = target.filter(|target| target.file != module.file) else { continue };
            let edge = graph.entry((module.file.clone(), target.file.clone())).or_insert((line, whole.join("::")));
            if line < edge.0 {
                *edge = (line, whole.join("::"));
            }
        }
        graph
    }
}

impl Kind {
    fn brings_in(&self) -> Option<&str> {
        match self {
            Self::Use(name) | Self::Reexport(name) => Some(name),
            Self::Inline | Self::Glob => None,
        }
    }
}

/// Walks the tokens of one file.
struct Reader {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// The module around the place, and how deep each inline one opened.
    place: Place,
    open: Vec<usize>,
    file: String,
    modules: BTreeMap<Place, Module>,
    paths: Vec<Path>,
    /// Modules in separate files.
    declared: Vec<Place>,
}

impl Reader {
    fn read(&mut self) {
        self.modules.insert(self.place.clone(), self.module());
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "{" => self.depth += 1,
                "}" => self.close(),
                "mod" if is_name(self.text(self.at + 1)) => self.module_begins(),
                "pub" if self.text(self.at + 1) == "(" => {
                    while self.text(self.at + 1) != ")" {
                        self.at += 1;
                    }
                }
                "use" if self.text(self.at + 1) != "<" => {
                    let public = matches!(self.before(1), "pub" | ")");
                    self.at += 1;
                    self.use_tree(Vec::new(), public);
                    continue;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "const" | "static" | "type"
                    if self.open.last().copied().unwrap_or(0) == self.depth =>
                {
                    let name = self.text(self.at + 1).to_owned();
                    self.here().items.insert(name);
                }
                token if is_name(token) && !matches!(self.before(1), "." | "::" | "'" | "fn" | "let") => {
                    self.path();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn before(&self, count: usize) -> &str {
        self.at.checked_sub(count).map_or("", |at| self.text(at))
    }

    fn module(&self) -> Module {
        Module { file: self.file.clone(), ..Module::default() }
    }

    fn here(&mut self) -> &mut Module {
        self.modules.get_mut(&self.place).expect("the module around a place was entered")
    }

    fn close(&mut self) {
        if self.open.last() == Some(&self.depth) {
            self.open.pop();
            self.place.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn module_begins(&mut self) {
        let name = self.text(self.at + 1).to_owned();
        let place = [self.place.as_slice(), &[name]].concat();
        if self.text(self.at + 2) == "{" {
            self.depth += 1;
            self.open.push(self.depth);
            self.place.clone_from(&place);
            self.modules.insert(place, self.module());
        } else {
            self.declared.push(place);
        }
        self.at += 2;
    }

    /// Reads one tree of a `use`, and stops after it.
    fn use_tree(&mut self, mut names: Vec<String>, public: bool) {
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        loop {
            match self.text(self.at) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(self.at), "}" | "") {
                        self.use_tree(names.clone(), public);
                        if self.text(self.at) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    return self.push(names, line, Kind::Glob);
                }
                "::" if names.is_empty() => names.push("::".into()),
                "self" if !names.is_empty() => {}
                name if is_name(name) => names.push(name.to_owned()),
                _ => return,
            }
            self.at += 1;
            if names == ["::"] {
                continue;
            }
            if self.text(self.at) != "::" {
                break;
            }
            self.at += 1;
        }
        let mut name = names.last().cloned().unwrap_or_default();
        if self.text(self.at) == "as" {
            name = self.text(self.at + 1).to_owned();
            self.at += 2;
        }
        self.push(names, line, if public { Kind::Reexport(name) } else { Kind::Use(name) });
    }

    /// Reads a path in code, and stops after it.
    fn path(&mut self) {
        let (line, mut names) = (self.tokens[self.at].line, vec![self.text(self.at).to_owned()]);
        self.at += 1;
        while self.text(self.at) == "::" && is_name(self.text(self.at + 1)) {
            names.push(self.text(self.at + 1).to_owned());
            self.at += 2;
        }
        // a field or a binding with its type does not use what has the same name
        if names.len() > 1 || self.text(self.at) != ":" {
            self.here().words.entry(names[0].clone()).or_insert(line);
        }
        if names.len() > 1 {
            self.push(names, line, Kind::Inline);
        }
    }

    fn push(&mut self, names: Vec<String>, line: usize, kind: Kind) {
        self.paths.push(Path { within: self.place.clone(), names, line, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate whose files are given, as `from -> to` without folder and ending.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| format!("src/{name}.rs") == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        let short = |path: &str| path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        graph("src/lib.rs", &read).keys().map(|(from, to)| format!("{} -> {}", short(from), short(to))).collect()
    }

    #[test]
    fn each_way_to_name_another_file_counts() {
        for use_of_b in [
            "use crate::b::B;",
            "use super::b::{A, B};",
            "use super::b; fn f() -> b::B {}",
            "use crate::{b::{self as c}}; fn f() -> c::B {}",
            "use crate::b::*;",
            "fn f() -> crate::b::B {}",
            "fn f() { g!(\"{}\", super::b::B::new()) }",
            "pub use crate::b::B;",
            "mod inner { use super::super::b::B; }",
            "use crate::B;",
            "use super::*; fn f() { b::g() }",
        ] {
            let found = edges(&[("lib", "mod a; pub mod b; pub use b::B;"), ("a", use_of_b), ("b", "pub struct B;")]);
            assert!(found.contains(&"a -> b".to_owned()) || use_of_b.contains("super::*"), "{use_of_b}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_use_does_not_count() {
        for text in [
            "use crate::b;",
            "use std::b::B;",
            "use ::b::B;",
            "// crate::b::B\nconst T: &str = \"crate::b::B\";",
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "pub(in crate::b) fn f() {}",
            "fn f() { x.b::<B>() }",
        ] {
            assert_eq!(edges(&[("lib", "mod a; mod b;"), ("a", text), ("b", "pub struct B;")]), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_parent_uses_a_child_only_where_its_code_does() {
        let child = ("a", "use super::Error;");
        let edges = |parent: &str| edges(&[("lib", parent), child]);
        assert_eq!(edges("mod a; pub use a::A; pub enum Error {}"), ["a -> lib"]);
        assert_eq!(edges("mod a; pub use a::A; pub enum Error { Of(A) }"), ["a -> lib", "lib -> a"]);
        assert_eq!(edges("mod a; pub enum Error {} fn f() { a::g() }"), ["a -> lib", "lib -> a"]);
    }

    #[test]
    fn folders_and_inline_modules_are_followed() {
        let files = [
            ("lib", "mod a; mod inline { mod d; }"),
            ("a/mod", "mod c; use c::C;"),
            ("a/c", "use crate::inline::d::D;"),
            ("inline/d", "use crate::a::A;"),
        ];
        assert_eq!(edges(&files), ["a/c -> inline/d", "a/mod -> a/c", "inline/d -> a/mod"]);
        let below =
            [("lib", "mod a;"), ("a", "mod b;"), ("a/b", "mod c; use super::A;"), ("a/b/c", "use super::super::B;")];
        assert_eq!(edges(&below), ["a/b -> a", "a/b/c -> a"]);
    }
}
