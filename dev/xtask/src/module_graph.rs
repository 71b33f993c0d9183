//! Uses of one file of a crate by another, found by the paths in its code.
//!
//! A path counts for the file that defines the named item, wherever it was re-exported. Not seen:
//! methods and fields, whose types come from elsewhere, and names that a macro makes.

use std::collections::BTreeMap;

use crate::module_code::{self, Module, Path, Place, Role};

/// For each pair of a file and one that it uses: the first line that does, and the path there.
pub(crate) type Graph = BTreeMap<(String, String), (usize, String)>;

/// The modules of one crate, and the paths in them.
#[derive(Debug, Default)]
struct Crate {
    modules: BTreeMap<Place, Module>,
    paths: BTreeMap<Path, usize>,
}

/// One end of a path; of an item, the module that defines it.
#[derive(Clone, Debug)]
enum Target {
    Module(Place),
    Type(Place),
    Value(Place),
}

/// Names that are being looked up, each with its module, so that none waits for itself.
type Trail = Vec<(Place, String)>;

/// Returns the graph of the crate whose first file is `root`, such as `crates/seal/src/lib.rs`;
/// `read` returns a file, parsed, if there is one.
pub(crate) fn graph<'a>(root: &str, read: &dyn Fn(&str) -> Option<&'a syn::File>) -> Graph {
    let mut found = Crate::default();
    let dir = root.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned();
    found.add_file(root, &dir, &Vec::new(), read);
    found.edges()
}

impl Crate {
    /// Reads `file`, the module `place`, and those that it declares, which are in the folder `dir`.
    fn add_file<'a>(
        &mut self,
        file: &str,
        dir: &str,
        place: &Place,
        read: &dyn Fn(&str) -> Option<&'a syn::File>,
    ) {
        let Some(parsed) = read(file) else { return };
        let code = module_code::read(file, place, parsed);
        self.modules.extend(code.modules);
        self.paths.extend(code.paths);
        for child in code.elsewhere {
            let folder = format!("{dir}/{}", child[place.len()..].join("/"));
            let own = format!("{folder}.rs");
            let file = if read(&own).is_some() { own } else { format!("{folder}/mod.rs") };
            self.add_file(&file, &folder, &child, read);
        }
    }

    fn edges(&self) -> Graph {
        let mut graph = Graph::new();
        for (path, line) in &self.paths {
            if path.role == Role::Reexport && self.is_of_child(path) {
                continue; // to re-export a child's names is not to use them, unless the code does
            }
            let user = &self.modules[&path.within].file;
            for used in self.files(path).into_iter().filter(|used| *used != user) {
                let here = (*line, path.names.join("::"));
                let edge =
                    graph.entry((user.clone(), used.clone())).or_insert_with(|| here.clone());
                if here.0 < edge.0 {
                    *edge = here;
                }
            }
        }
        graph
    }

    /// Returns the files that `path` uses.
    fn files(&self, path: &Path) -> Vec<&String> {
        let mut targets = self.targets(&path.within, &path.names, &mut Trail::new());
        if path.role == Role::Call && targets.is_empty() {
            targets.extend(self.macro_above(path));
        }
        let file = |target| match (path.role, target) {
            // to name a module is not to use it
            (Role::Code | Role::Call | Role::Import | Role::Reexport, Target::Module(_)) => None,
            (_, Target::Module(place) | Target::Type(place) | Target::Value(place)) => {
                Some(&self.modules[&place].file)
            }
        };
        targets.into_iter().filter_map(file).collect()
    }

    /// Returns the macro that a name means which nothing in its module does: the one of the nearest
    /// module above.
    fn macro_above(&self, path: &Path) -> Option<Target> {
        let mut above = (0..path.within.len()).rev().map(|length| path.within[..length].to_vec());
        let has = |place: &Place| {
            self.modules.get(place).is_some_and(|module| module.macros.contains(&path.names[0]))
        };
        above.find(has).map(Target::Value)
    }

    /// Returns whether `path` begins in the module around it or below.
    fn is_of_child(&self, path: &Path) -> bool {
        let Some((place, rest)) = beginning(&path.within, &path.names) else { return false };
        let is_child = |name: &String| self.modules.contains_key(&below(&place, name));
        [place.as_slice(), rest].concat().starts_with(&path.within)
            && (rest.len() < path.names.len() || rest.first().is_some_and(is_child))
    }

    /// Returns the ends of a path in the module `within`: several where `cfg` chooses, or where a
    /// module and a function have one name; none if it leads out of the crate.
    fn targets(&self, within: &Place, names: &[String], trail: &mut Trail) -> Vec<Target> {
        let Some((place, rest)) = beginning(within, names) else { return Vec::new() };
        // a name alone may be one of another crate, or of the language
        let may_be_foreign = rest.len() == names.len();
        let mut ends = vec![Target::Module(place)];
        for (at, name) in rest.iter().enumerate() {
            let mut next = Vec::new();
            for end in ends {
                match end {
                    Target::Module(place) => match self.lookup(&place, name, within, trail) {
                        Some(found) => next.extend(found),
                        None if at == 0 && may_be_foreign => {}
                        None => next.push(Target::Type(place)), // made by a macro
                    },
                    // a variant, or an associated item
                    Target::Type(_) => next.push(end),
                    // not the meant module: it has nothing below it
                    Target::Value(_) => {}
                }
            }
            ends = next;
        }
        ends
    }

    /// Returns all that `name` is in the module `place`, seen from the module `from`; nothing if it
    /// is unknown there.
    fn lookup(
        &self,
        place: &Place,
        name: &String,
        from: &Place,
        trail: &mut Trail,
    ) -> Option<Vec<Target>> {
        let module = self.modules.get(place)?;
        let (mut found, mut known) = (Vec::new(), false);
        let step = (place.clone(), name.clone());
        if from.starts_with(place) || module.public.contains(name) {
            let child = below(place, name);
            if self.modules.contains_key(&child) {
                found.push(Target::Module(child));
            }
            if module.types.contains(name) {
                found.push(Target::Type(place.clone()));
            }
            if module.values.contains(name) {
                found.push(Target::Value(place.clone()));
            }
            known = !found.is_empty();
            if !trail.contains(&step)
                && let Some(imports) = module.imports.get(name)
            {
                known = true;
                trail.push(step.clone());
                found.extend(
                    imports
                        .iter()
                        .flat_map(|import| self.targets(place, import, trail))
                        .collect::<Vec<_>>(),
                );
                trail.pop();
            }
        }
        if known {
            return Some(found);
        }
        if trail.contains(&step) {
            return None;
        }
        trail.push(step);
        let found = self.lookup_in_globs(place, name, from, trail);
        trail.pop();
        found
    }

    fn lookup_in_globs(
        &self,
        place: &Place,
        name: &String,
        from: &Place,
        trail: &mut Trail,
    ) -> Option<Vec<Target>> {
        for (glob, is_public) in &self.modules[place].globs {
            if !(*is_public || from.starts_with(place)) {
                continue;
            }
            for target in self.targets(place, glob, trail) {
                let Target::Module(source) = target else { continue };
                if let Some(found) = self.lookup(&source, name, place, trail) {
                    return Some(found);
                }
            }
        }
        None
    }
}

/// Returns the module in which the rest of a path is to be looked up; nothing for a path that leads
/// out of the crate.
fn beginning<'a>(within: &Place, names: &'a [String]) -> Option<(Place, &'a [String])> {
    let (mut place, mut rest) = (within.clone(), names);
    match names.first()?.as_str() {
        "::" => return None,
        "crate" => (place, rest) = (Place::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        _ => {}
    }
    while rest.first().is_some_and(|name| name == "super") {
        place.pop();
        rest = &rest[1..];
    }
    Some((place, rest))
}

fn below(place: &Place, name: &str) -> Place {
    [place.as_slice(), &[name.to_owned()]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    /// Returns the edges of a crate whose files are given, as `from -> to` without folder and
    /// ending.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let parse = |(name, text): &(&str, &str)| {
            let path = format!("src/{name}.rs");
            let parsed = Source::parse(&path, text).unwrap().shipped;
            (path, parsed)
        };
        let parsed: BTreeMap<String, syn::File> = files.iter().map(parse).collect();
        let read = |path: &str| parsed.get(path);
        let short = |path: &str| path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        graph("src/lib.rs", &read)
            .keys()
            .map(|(from, to)| format!("{} -> {}", short(from), short(to)))
            .collect()
    }

    /// Returns the files that `a`, with this text, uses. Besides, there are `b` with a type, a
    /// function, a constant, a trait and a macro, and `c/mod` with `c/d` below.
    fn used_by_a(text: &str) -> Vec<String> {
        let files = [
            ("lib", "mod a; pub mod b; pub mod c; pub use b::B; pub use b::B as Renamed;"),
            ("a", text),
            (
                "b",
                "pub struct B; pub fn g() {} pub const N: u8 = 1; pub trait T {} macro_rules! m {} \
                 pub(crate) use m;",
            ),
            ("c/mod", "pub mod d; pub struct C; pub use d::D;"),
            ("c/d", "pub struct D; pub fn g() {} pub enum E { One }"),
        ];
        let edges = edges(&files).into_iter();
        edges.filter_map(|edge| edge.strip_prefix("a -> ").map(ToOwned::to_owned)).collect()
    }

    #[test]
    fn each_way_to_name_another_file_counts() {
        for text in [
            "use crate::b::B;",
            "use super::b::{A, B};",
            "use super::b; fn f() -> b::B {}",
            "use crate::b::*;",
            "pub use crate::b::B;",
            "mod inner { use super::super::b::B; }",
            "use crate::B;",
            "fn f() { use crate::b::B; }",
        ] {
            assert_eq!(used_by_a(text), ["b"], "{text}");
        }
        assert_eq!(used_by_a("use super::*; fn f() { b::g() }"), ["b", "lib"]);
        assert_eq!(used_by_a("use super::*; fn f(_: B) {}"), ["b", "lib"]);
        assert_eq!(used_by_a("use crate::c::d::E::*; fn f() { One }"), ["c/d"]);
    }

    #[test]
    fn grouped_imports_count_one_by_one() {
        assert_eq!(used_by_a("use crate::{b::B, c::{C, d::g}};"), ["b", "c/d", "c/mod"]);
        assert_eq!(
            used_by_a("use crate::{b, c::{d::{self}}}; fn f() { b::g(); d::g() }"),
            ["b", "c/d"]
        );
        assert_eq!(used_by_a("use crate::{b, c::{self, d}};"), [""; 0]);
        assert_eq!(used_by_a("use super::{c::{D as _, d::*}};"), ["c/d"]);
    }

    #[test]
    fn renamed_imports_count_for_what_they_rename() {
        assert_eq!(used_by_a("use crate::b as x; fn f() -> x::B {}"), ["b"]);
        assert_eq!(used_by_a("use crate::{b::{self as x}}; fn f() -> x::B {}"), ["b"]);
        assert_eq!(used_by_a("use crate as x; use x::c::d as y; fn f() { y::g() }"), ["c/d"]);
        assert_eq!(used_by_a("use crate::Renamed as X;"), ["b"]);
        assert_eq!(used_by_a("use std::b as x; fn f() -> x::B {}"), [""; 0]);
    }

    #[test]
    fn paths_count_wherever_code_has_them() {
        for text in [
            "fn f() { let x = crate::b::g() + 1; }",
            "fn f() -> crate::b::B { todo }",
            "fn f<X: crate::b::T>(x: X) {}",
            "fn f(x: u8) { match x { crate::b::N => 1, _ => 2 } }",
            "fn f() { (0..super::b::N).map(|x| x) }",
            "fn f() { x.y::<crate::b::B>() }",
            "fn f() { <crate::b::B as T>::new() }",
            "fn f() { <[u8]>::x(crate::b::N) }",
            "impl crate::b::T for X {}",
            "struct S(Vec<crate::b::B>);",
            "const X: [u8; crate::b::N] = [];",
            "#[arg(value_parser = crate::b::g)] struct S;",
            "mod inner { fn f() { super::super::b::g() } }",
        ] {
            assert_eq!(used_by_a(text), ["b"], "{text}");
        }
    }

    #[test]
    fn paths_within_macros_count() {
        for text in [
            "macro_rules! x { ($y:ident) => { use $crate::b::B; use $y::c::C; } }",
            "fn f() { x!(\"{}\", super::b::B::new()) }",
            "fn f() { x![1, y!{ crate::b::g() }] }",
            "use crate::b; fn f() { x!(b::N) }",
            "fn f() { crate::b::m!() }",
            "use crate::b; x! { struct S { y: b::B } }",
            "macro_rules! x { ($y:expr) => { $crate::b::g($y) } }",
            "macro_rules! x { () => { use $crate::{b::{B as C}}; } }",
        ] {
            assert_eq!(used_by_a(text), ["b"], "{text}");
        }
        assert_eq!(
            used_by_a("macro_rules! x { ($b:ident) => { $b::g(y.b::<u8>()) } } use crate::b;"),
            [""; 0]
        );
    }

    #[test]
    fn what_is_no_use_does_not_count() {
        for text in [
            "use crate::b;",
            "use std::b::B;",
            "use ::b::B;",
            "fn f() { ::b::g() }",
            "// crate::b::B\n/* crate::b::B */\n/// [`crate::b::B`]\nconst T: &str = \
             \"crate::b::B\";",
            "const T: &[u8] = br#\"\" crate::b::B\"#;",
            "fn f() { x!(\"crate::b::B\", /* crate::b::B */ r\"crate::b::B\") }",
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(test)] use crate::b::B;",
            "#[cfg(all(test, unix))] fn f() { crate::b::g() }",
            "#![cfg(test)] use crate::b::B;",
            "pub(in crate::b) fn f() {}",
            "fn f() { x.b::<B>() }",
        ] {
            assert_eq!(used_by_a(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn names_of_tests_in_files_of_their_own_do_not_count() {
        let files = [
            ("lib", "mod a; pub mod b;"),
            ("a", "#[cfg(test)] mod tests;"),
            ("a/tests", "use crate::b::B;"),
        ];
        assert_eq!(edges(&files), [""; 0]);
    }

    #[test]
    fn a_module_and_a_function_may_have_one_name() {
        let edges = |user: &str| {
            edges(&[
                ("lib", "mod a; mod outer;"),
                ("a", user),
                ("outer", "mod b; pub use b::b; pub use self::e::other as e; mod e;"),
                ("outer/b", "pub fn b() {}"),
                ("outer/e", "pub fn other() {}"),
            ])
        };
        assert_eq!(edges("use crate::outer::b;"), ["a -> outer/b"]);
        assert_eq!(edges("fn f() { crate::outer::e() }"), ["a -> outer/e"]);
        assert_eq!(edges("use crate::outer::b; use b::of_another_crate;"), ["a -> outer/b"]);
    }

    #[test]
    fn variables_are_not_what_a_module_reexports() {
        let edges = |parent: &str| {
            edges(&[
                ("lib", "mod a;"),
                ("a", parent),
                ("a/b", "pub fn open() {} pub const N: u8 = 1;"),
            ])
        };
        let reexports = "mod b; pub use b::{N, open};";
        assert_eq!(edges(&format!("{reexports} fn f(open: u8) {{ open + 1; x!(open) }}")), [""; 0]);
        assert_eq!(
            edges(&format!("{reexports} fn f() {{ if let Some(open) = x {{ S {{ open }} }} }}")),
            [""; 0]
        );
        assert_eq!(edges(&format!("{reexports} fn f() {{ open() }}")), ["a -> a/b"]);
        assert_eq!(edges(&format!("{reexports} fn f() {{ x.map(open) }}")), ["a -> a/b"]);
        assert_eq!(edges(&format!("{reexports} fn f() {{ match x {{ N => 1 }} }}")), ["a -> a/b"]);
    }

    #[test]
    fn globs_bring_in_what_may_be_named_there() {
        let edges = |user: &str, face: &str| {
            edges(&[
                ("lib", "mod a; mod b; mod c;"),
                ("a", user),
                ("b", face),
                ("c", "pub struct C;"),
            ])
        };
        assert_eq!(
            edges("use crate::b::*; fn f(_: C) {}", "pub use crate::c::C;"),
            ["a -> b", "a -> c", "b -> c"]
        );
        assert_eq!(
            edges("use crate::b::*; fn f(_: C) {}", "pub use crate::c::*;"),
            ["a -> b", "a -> c", "b -> c"]
        );
        assert_eq!(
            edges("use crate::b::*; fn f(_: C) {}", "use crate::c::C;"),
            ["a -> b", "b -> c"]
        );
        assert_eq!(
            edges("use crate::b::*; fn f(_: C) {}", "pub use crate::a::*;"),
            ["a -> b", "b -> a"]
        );
    }

    #[test]
    fn macros_are_known_below_the_module_that_defines_them() {
        let files = [
            ("lib", "macro_rules! m { () => {} } mod a;"),
            ("a", "mod b; fn m() {}"),
            ("a/b", "n!(m!()); p!();"),
        ];
        assert_eq!(edges(&files), ["a/b -> lib"]);
    }

    #[test]
    fn an_edge_has_its_first_line_and_the_path_there() {
        let parse = |text: &str| Source::parse("src/a.rs", text).unwrap().shipped;
        let (lib, a) = (
            parse("mod a;\npub struct A;"),
            parse("\nfn f() -> crate::A { crate::g() }\nuse super::A;"),
        );
        let read = |path: &str| match path {
            "src/lib.rs" => Some(&lib),
            "src/a.rs" => Some(&a),
            _ => None,
        };
        let graph = graph("src/lib.rs", &read);
        assert_eq!(
            graph[&("src/a.rs".to_owned(), "src/lib.rs".to_owned())],
            (2, "crate::A".to_owned())
        );
    }

    #[test]
    fn a_parent_uses_a_child_only_where_its_code_does() {
        let child = ("a", "use super::Error;");
        let edges = |parent: &str| edges(&[("lib", parent), child]);
        assert_eq!(edges("mod a; pub use a::A; pub enum Error {}"), ["a -> lib"]);
        assert_eq!(
            edges("mod a; pub use a::A; pub enum Error { Of(A) }"),
            ["a -> lib", "lib -> a"]
        );
        assert_eq!(edges("mod a; pub enum Error {} fn f() { a::g() }"), ["a -> lib", "lib -> a"]);
    }

    #[test]
    fn folders_and_inline_modules_are_followed() {
        let files = [
            ("lib", "mod a; mod inline { pub mod d; }"),
            ("a/mod", "mod c; use c::C;"),
            ("a/c", "use crate::inline::d::D;"),
            ("inline/d", "use crate::a::A;"),
        ];
        assert_eq!(edges(&files), ["a/c -> inline/d", "a/mod -> a/c", "inline/d -> a/mod"]);
        let below = [
            ("lib", "mod a;"),
            ("a", "mod b;"),
            ("a/b", "mod c; use super::A;"),
            ("a/b/c", "use super::super::B;"),
        ];
        assert_eq!(edges(&below), ["a/b -> a", "a/b/c -> a"]);
    }
}
