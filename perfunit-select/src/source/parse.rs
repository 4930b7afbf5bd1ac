//! Parses files of any edition.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::File;

/// Keywords that are valid names in edition 2015.
const NAMES_IN_2015: [&str; 3] = ["async", "await", "try"];

/// Parses a Rust file; `None` if it is invalid. In a file of edition 2015, a name such as `async` becomes `r#async`, as
/// later editions write it.
pub(super) fn parse(text: &str) -> Option<File> {
    syn::parse_file(text).ok().or_else(|| {
        // Searching is cheaper than tokenizing a file that has no such word.
        if !NAMES_IN_2015.iter().any(|name| text.contains(name)) {
            return None;
        }
        syn::parse2(raw(text.trim_start_matches('\u{feff}').parse().ok()?)).ok()
    })
}

fn raw(tokens: TokenStream) -> TokenStream {
    let token = |token| match token {
        TokenTree::Ident(word) if NAMES_IN_2015.iter().any(|name| word == name) => {
            TokenTree::Ident(Ident::new_raw(&word.to_string(), word.span()))
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), raw(group.stream()));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        token => token,
    };
    tokens.into_iter().map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;
    use syn::spanned::Spanned;

    #[track_caller]
    fn check_same(old: &str, new: &str) {
        let tokens = |text| parse(text).map(|file| file.into_token_stream().to_string());
        assert!(tokens(old).is_some(), "{old}");
        assert_eq!(tokens(old), tokens(new));
    }

    #[test]
    fn names_of_edition_2015_are_those_that_later_editions_write() {
        check_same("pub fn async(await: u8) -> u8 { await }", "pub fn r#async(r#await: u8) -> u8 { r#await }");
        check_same(
            "fn async() {} fn f() -> Result<u8, E> { Ok(try!(g(async()))) }",
            "fn r#async() {} fn f() -> Result<u8, E> { Ok(r#try!(g(r#async()))) }",
        );
        check_same("mod async { #[test] fn t() {} }", "mod r#async { #[test] fn t() {} }");
    }

    #[test]
    fn places_in_the_text_are_kept_and_keywords_of_later_editions_too() {
        let text = "fn async() { g(1) }\n#[test]\nfn t() { async() }\n";
        let ranges: Vec<_> = parse(text).unwrap().items.iter().map(|item| &text[item.span().byte_range()]).collect();
        assert_eq!(ranges, ["fn async() { g(1) }", "#[test]\nfn t() { async() }"]);
        assert!(parse("async fn f() { g().await }").unwrap().into_token_stream().to_string().starts_with("async fn"));
        assert!(parse("fn f( {").is_none() && parse("fn async( {").is_none());
    }
}
