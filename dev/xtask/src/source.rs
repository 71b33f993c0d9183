//! A Rust file, read once for every check: its tokens, and its items, expressions and other parsed
//! parts, without code compiled only for tests.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Meta};

use crate::tokens::{self, Token};

/// One file.
pub(crate) struct Source {
    pub(crate) path: String,
    /// All of it, tests too.
    pub(crate) tokens: Vec<Token>,
    /// The file without code compiled only for tests.
    pub(crate) shipped: syn::File,
}

impl Source {
    /// Parses `text`, the file `path`; the error is the finding that it cannot be parsed.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let read = || {
            let stream: TokenStream = text.parse()?;
            Ok((tokens::row(stream.clone()), syn::parse2::<syn::File>(stream)?))
        };
        let failed = |error: syn::Error| {
            format!("{path}:{}: not parsed as Rust: {error}", error.span().start().line)
        };
        let (tokens, mut shipped) = read().map_err(failed)?;
        TestsAside.visit_file_mut(&mut shipped);
        Ok(Self { path: path.to_owned(), tokens, shipped })
    }
}

/// Removes code compiled only for tests.
struct TestsAside;

impl VisitMut for TestsAside {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        if any_is_of_tests(&file.attrs) {
            file.items.clear();
        }
        file.items.retain(ships);
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(ships);
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(ships);
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        item.items.retain(ships);
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_item_enum_mut(&mut self, item: &mut syn::ItemEnum) {
        retain(&mut item.variants);
        visit_mut::visit_item_enum_mut(self, item);
    }

    fn visit_fields_named_mut(&mut self, fields: &mut syn::FieldsNamed) {
        retain(&mut fields.named);
        visit_mut::visit_fields_named_mut(self, fields);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(ships);
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_match_mut(&mut self, expression: &mut syn::ExprMatch) {
        expression.arms.retain(ships);
        visit_mut::visit_expr_match_mut(self, expression);
    }

    fn visit_expr_struct_mut(&mut self, expression: &mut syn::ExprStruct) {
        retain(&mut expression.fields);
        visit_mut::visit_expr_struct_mut(self, expression);
    }
}

fn retain<T: ToTokens, P: Default>(list: &mut Punctuated<T, P>) {
    *list = std::mem::take(list).into_pairs().filter(|pair| ships(pair.value())).collect();
}

/// Returns whether `node` is compiled without tests, by its attributes, which its tokens begin
/// with.
fn ships(node: &impl ToTokens) -> bool {
    let attributes = |input: ParseStream| {
        let found = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>()?;
        Ok(found)
    };
    !attributes.parse2(node.to_token_stream()).is_ok_and(|found| any_is_of_tests(&found))
}

fn any_is_of_tests(attributes: &[Attribute]) -> bool {
    let is_of_tests = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
    };
    attributes.iter().any(is_of_tests)
}

/// Returns whether `condition`, of a `cfg`, cannot hold without `test`.
fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else { return condition.path().is_ident("test") };
    let Ok(parts) = list.parse_args_with(Punctuated::<Meta, syn::Token![,]>::parse_terminated)
    else {
        return false;
    };
    (list.path.is_ident("all") && parts.iter().any(needs_test))
        || (list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_tests_is_set_aside() {
        for (source, want) in [
            ("fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {}", "fn a() {} fn c() {}"),
            ("#[cfg(test)] mod tests; mod a;", "mod a;"),
            ("#[cfg(test)]\n#[allow(x)]\npub(crate) fn b() -> [u8; 2] { [1, 2] } mod a;", "mod a;"),
            ("#[cfg(test)] use a::{b, c}; mod a;", "mod a;"),
            ("#[cfg(test)] const A: B = B { c }; #[cfg(test)] b!(); mod a;", "mod a;"),
            ("mod a { #[cfg(test)] fn b() {} }", "mod a {}"),
            ("impl S { #[cfg(test)] fn a() {} fn b() {} }", "impl S { fn b() {} }"),
            ("struct S { #[cfg(test)] a: u8, b: u8 }", "struct S { b: u8 }"),
            ("enum S { B, #[cfg(test)] A }", "enum S { B, }"),
            ("fn a() { #[cfg(test)] let b = c; #[cfg(test)] { d() } e() }", "fn a() { e() }"),
            ("fn a() { match b { #[cfg(test)] C => d, _ => e } }", "fn a() { match b { _ => e } }"),
            ("const A: B = B { #[cfg(test)] c: d, e };", "const A: B = B { e };"),
            ("#[cfg(all(test, unix))] mod tests {} mod a;", "mod a;"),
            ("#[cfg(any(test, all(unix, test)))] mod tests {} mod a;", "mod a;"),
            ("#[cfg(any(test, unix))] mod a;", "#[cfg(any(test, unix))] mod a;"),
            ("#[cfg(not(test))] mod a;", "#[cfg(not(test))] mod a;"),
            ("#[cfg(feature = \"test\")] mod a;", "#[cfg(feature = \"test\")] mod a;"),
            ("#![cfg(test)] mod a;", "#![cfg(test)]"),
        ] {
            let shipped = Source::parse("a.rs", source).unwrap().shipped;
            let row = |stream: TokenStream| {
                tokens::row(stream).into_iter().map(|token| token.text).collect::<Vec<_>>()
            };
            assert_eq!(row(shipped.to_token_stream()), row(want.parse().unwrap()), "{source}");
        }
    }

    #[test]
    fn lines_stay_those_of_the_file() {
        let source = Source::parse("a.rs", "#[cfg(test)]\nmod tests {}\nfn a() {}\n").unwrap();
        let row = tokens::row(source.shipped.to_token_stream());
        assert_eq!((row[1].text.as_str(), row[1].line), ("a", 3));
        assert_eq!(source.tokens[0].line, 1);
    }

    #[test]
    fn a_file_that_is_not_rust_is_a_finding() {
        let failed = |text: &str| Source::parse("a.rs", text).err().unwrap();
        assert!(failed("fn a() {}\nfn fn\n").starts_with("a.rs:2: not parsed as Rust: expected"));
        assert!(failed("fn a() {\n").starts_with("a.rs:"));
    }
}
