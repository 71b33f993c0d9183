//! Names in the code of a file, module by module: declared names, names from `use`, and paths.
//!
//! The arguments and definitions of macros are not parsed: their paths and `use` are found among
//! the tokens, and count for the surrounding module. Not here: the module of a path
//! (`module_graph`).

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::tokens;

/// The names of a module from the crate's root on.
pub(crate) type Place = Vec<String>;

/// The modules of one file, and the paths in them.
#[derive(Debug, Default)]
pub(crate) struct FileCode {
    pub(crate) modules: BTreeMap<Place, Module>,
    /// Each path with the first line that has it.
    pub(crate) paths: BTreeMap<Path, usize>,
    /// Modules that are declared here and written in separate files.
    pub(crate) elsewhere: Vec<Place>,
}

#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: String,
    /// Types and traits that are defined here.
    pub(crate) types: BTreeSet<String>,
    /// Functions, constants, statics and macros that are defined here.
    pub(crate) values: BTreeSet<String>,
    /// The macros among them, which modules below name without a path.
    pub(crate) macros: BTreeSet<String>,
    /// Names that `use` brings in, with what they stand for: several paths where `cfg` chooses.
    pub(crate) imports: BTreeMap<String, Vec<Vec<String>>>,
    /// Paths from which `use …::*` brings in names, and whether it does so for others, too.
    pub(crate) globs: Vec<(Vec<String>, bool)>,
    /// Names of all kinds that have a visibility, so that a glob elsewhere may bring them in.
    pub(crate) public: BTreeSet<String>,
}

impl Module {
    /// Adds the name of `item`, if it has one and is no module.
    fn define(&mut self, item: &syn::Item) {
        let (names, name, visibility) = match item {
            syn::Item::Enum(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::Struct(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::Trait(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::TraitAlias(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::Type(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::Union(item) => (&mut self.types, &item.ident, &item.vis),
            syn::Item::Const(item) => (&mut self.values, &item.ident, &item.vis),
            syn::Item::Fn(item) => (&mut self.values, &item.sig.ident, &item.vis),
            syn::Item::Static(item) => (&mut self.values, &item.ident, &item.vis),
            syn::Item::Macro(item) => {
                let name = item.ident.as_ref().map(ToString::to_string);
                self.macros.extend(name.clone());
                self.values.extend(name);
                return;
            }
            _ => return,
        };
        names.insert(name.to_string());
        if is_visible(visibility) {
            self.public.insert(name.to_string());
        }
    }
}

/// A path as written, and the surrounding module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path {
    pub(crate) within: Place,
    /// The first is `::` if the path begins so; a name alone is a path, too.
    pub(crate) names: Vec<String>,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Code,
    /// The name of a macro where it is called.
    Call,
    Import,
    Reexport,
    Glob,
}

/// Returns the code of `file`, which is the module `place`.
pub(crate) fn read(file: &str, place: &Place, parsed: &syn::File) -> FileCode {
    let mut reader = Reader {
        file: file.to_owned(),
        place: place.clone(),
        bound: Vec::new(),
        found: FileCode::default(),
    };
    reader.module(&parsed.items);
    reader.found
}

/// Walks a file. `place`: the module around; `bound`: variables of the functions around, which are
/// no items.
struct Reader {
    file: String,
    place: Place,
    bound: Vec<BTreeSet<String>>,
    found: FileCode,
}

impl Reader {
    /// Reads the items of the module that we are in.
    fn module(&mut self, items: &[syn::Item]) {
        let mut module = Module { file: self.file.clone(), ..Module::default() };
        items.iter().for_each(|item| module.define(item));
        self.found.modules.insert(self.place.clone(), module);
        for item in items {
            self.visit_item(item);
        }
    }

    fn here(&mut self) -> &mut Module {
        self.found.modules.get_mut(&self.place).expect("the module around was entered")
    }

    fn push(&mut self, names: Vec<String>, line: usize, role: Role) {
        if let ([name], Role::Code) = (names.as_slice(), role)
            && self.bound.iter().any(|bound| bound.contains(name))
        {
            return;
        }
        let first = self
            .found
            .paths
            .entry(Path { within: self.place.clone(), names, role })
            .or_insert(line);
        *first = line.min(*first);
    }

    /// Reads what `use` brings in, from `names` on.
    fn tree(&mut self, mut names: Vec<String>, tree: &syn::UseTree, is_public: bool) {
        let role = if is_public { Role::Reexport } else { Role::Import };
        match tree {
            syn::UseTree::Path(path) => {
                names.push(path.ident.to_string());
                self.tree(names, &path.tree, is_public);
            }
            syn::UseTree::Name(name) => self.import(names, &name.ident, &name.ident, role),
            syn::UseTree::Rename(renamed) => {
                self.import(names, &renamed.ident, &renamed.rename, role)
            }
            syn::UseTree::Glob(glob) => {
                self.here().globs.push((names.clone(), is_public));
                self.push(names, glob.span().start().line, Role::Glob);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(names.clone(), tree, is_public);
                }
            }
        }
    }

    /// Brings in `last` of the module `names` as `own`; `self` is that module.
    fn import(&mut self, mut names: Vec<String>, last: &Ident, own: &Ident, role: Role) {
        let mut own = own.to_string();
        if last != "self" || names.is_empty() {
            names.push(last.to_string());
        } else if own == "self" {
            own = names.last().cloned().unwrap_or_default();
        }
        if role == Role::Reexport {
            self.here().public.insert(own.clone());
        }
        self.here().imports.entry(own).or_default().push(names.clone());
        self.push(names, last.span().start().line, role);
    }

    /// Reads a function, in which a name of one of its variables is no path.
    fn within(&mut self, bound: Variables, visit: impl FnOnce(&mut Self)) {
        self.bound.push(bound.names);
        visit(self);
        self.bound.pop();
    }

    /// Reads the trees of `use` among tokens that are not parsed.
    fn imports_among(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Group(group) => self.imports_among(group.stream()),
                TokenTree::Ident(word) if word == "use" => {
                    let is = |tree: &TokenTree, sign: char| {
                        matches!(tree,
                        TokenTree::Punct(own) if own.as_char() == sign)
                    };
                    let mut written: Vec<TokenTree> =
                        trees.by_ref().take_while(|tree| !is(tree, ';')).collect();
                    if let [sign, TokenTree::Ident(root), ..] = written.as_slice()
                        && is(sign, '$')
                        && root == "crate"
                    {
                        written.remove(0);
                    }
                    if let Ok(tree) = syn::parse2::<syn::UseTree>(TokenStream::from_iter(written)) {
                        self.tree(Vec::new(), &tree, false);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        let name = module.ident.to_string();
        if is_visible(&module.vis) {
            self.here().public.insert(name.clone());
        }
        self.place.push(name);
        match &module.content {
            Some((_, items)) => self.module(items),
            None => self.found.elsewhere.push(self.place.clone()),
        }
        self.place.pop();
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let names = item.leading_colon.map(|_| "::".to_owned()).into_iter().collect();
        self.tree(names, &item.tree, is_visible(&item.vis));
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.within(Variables::of(|names| names.visit_item_fn(item)), |reader| {
            visit::visit_item_fn(reader, item)
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        let bound = Variables::of(|names| names.visit_impl_item_fn(item));
        self.within(bound, |reader| visit::visit_impl_item_fn(reader, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        let bound = Variables::of(|names| names.visit_trait_item_fn(item));
        self.within(bound, |reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let global = path.leading_colon.map(|_| "::".to_owned());
        let names = path.segments.iter().map(|segment| segment.ident.to_string());
        self.push(global.into_iter().chain(names).collect(), path.span().start().line, Role::Code);
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        match &path.qself {
            // `<T>::f`: all that is named is the type
            Some(own) if own.position == 0 => {
                self.visit_qself(own);
                path.path.segments.iter().for_each(|segment| self.visit_path_segment(segment));
            }
            _ => visit::visit_expr_path(self, path),
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        if !binds(pattern) {
            self.push(vec![pattern.ident.to_string()], pattern.span().start().line, Role::Code);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) => self.visit_token_stream(&list.tokens),
            syn::Meta::NameValue(pair) => self.visit_expr(&pair.value),
            syn::Meta::Path(_) => {}
        }
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        match called.path.get_ident() {
            Some(name) => self.push(vec![name.to_string()], name.span().start().line, Role::Call),
            None => self.visit_path(&called.path),
        }
        self.visit_token_stream(&called.tokens);
    }

    fn visit_token_stream(&mut self, stream: &'a TokenStream) {
        let row = tokens::row(stream.clone());
        for path in tokens::paths(&row) {
            let calls =
                path.names.len() == 1 && row.get(path.at + 1).is_some_and(|next| next.text == "!");
            self.push(path.names, path.line, if calls { Role::Call } else { Role::Code });
        }
        self.imports_among(stream.clone());
    }
}

/// Returns whether other modules may name an item with `visibility`; the compiler checks which.
fn is_visible(visibility: &syn::Visibility) -> bool {
    !matches!(visibility, syn::Visibility::Inherited)
}

/// Variables that the patterns of a function bind.
#[derive(Default)]
struct Variables {
    names: BTreeSet<String>,
}

impl Variables {
    fn of(visit: impl FnOnce(&mut Self)) -> Self {
        let mut found = Self::default();
        visit(&mut found);
        found
    }
}

impl<'a> Visit<'a> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        if binds(pattern) {
            self.names.insert(pattern.ident.to_string());
        }
        visit::visit_pat_ident(self, pattern);
    }
}

/// Returns whether `pattern` is a variable and not, by its first letter, a constant or a variant.
fn binds(pattern: &syn::PatIdent) -> bool {
    let is_plain =
        pattern.by_ref.is_none() && pattern.mutability.is_none() && pattern.subpat.is_none();
    !(is_plain && pattern.ident.to_string().starts_with(char::is_uppercase))
}
