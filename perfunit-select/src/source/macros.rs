//! Functions written inside a macro call: `proptest! { #[test] fn .. }`.
//!
//! Each becomes an item, so that a change to one of them does not change all.

use super::attributes::is_test;
use super::normalise::bare;
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::{Attribute, Path};

/// A function inside the tokens of a macro call.
pub struct InnerFn {
    /// Enclosing `mod` blocks inside the call.
    pub scope: Vec<String>,
    /// Tokens before each enclosing brace: the condition of a `cfg_if!`, the header of an impl block.
    pub enclosing: Vec<TokenStream>,
    pub ident: Ident,
    pub attributes: Vec<Attribute>,
    pub tokens: TokenStream,
}

/// Splits the tokens of a macro call into the functions and the rest.
pub fn take_functions(tokens: TokenStream) -> (Vec<InnerFn>, TokenStream) {
    let mut functions = Vec::new();
    let rest = take(tokens, &Around::default(), &mut functions);
    (functions, rest)
}

/// Checks for a macro that makes each function in its call a test.
pub fn makes_tests(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "quickcheck")
}

/// Returns the functions in a macro definition, without tests: name (`$name` if it is a parameter) and position.
pub fn names_in_definition(tokens: &TokenStream) -> Vec<(String, Span)> {
    let mut names = Vec::new();
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            names.append(&mut names_in_definition(&group.stream()));
        }
        let is_function = matches!(tree, TokenTree::Ident(keyword) if keyword == "fn");
        if !is_function || is_test(&attributes(&trees[start_of_function(&trees[..at])..at])) {
            continue;
        }
        let end = trees[at..].iter().position(ends_function).map(|end| &trees[at + end]);
        if let (Some(name), Some(TokenTree::Group(_))) = (given_name(&trees[at + 1..]), end) {
            names.push(name);
        }
    }
    names
}

/// Checks for the body of a function, or the semicolon in its place.
fn ends_function(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// Parses the `name` or `$name` at the start of these tokens.
fn given_name(trees: &[TokenTree]) -> Option<(String, Span)> {
    match trees {
        [TokenTree::Ident(name), ..] => Some((bare(name), name.span())),
        [TokenTree::Punct(dollar), TokenTree::Ident(name), ..] if dollar.as_char() == '$' => {
            Some((format!("${name}"), name.span()))
        }
        _ => None,
    }
}

/// Position in a macro call.
#[derive(Clone, Default)]
struct Around {
    scope: Vec<String>,
    enclosing: Vec<TokenStream>,
}

fn take(tokens: TokenStream, around: &Around, functions: &mut Vec<InnerFn>) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest: Vec<TokenTree> = Vec::new();
    let mut at = 0;
    while at < trees.len() {
        if let Some((ident, end)) = function_at(&trees, at) {
            let head = rest.split_off(start_of_function(&rest));
            let attributes = attributes(&head);
            let tokens = head.into_iter().chain(trees[at..end].iter().cloned()).collect();
            let Around { scope, enclosing } = around.clone();
            functions.push(InnerFn { scope, enclosing, ident, attributes, tokens });
            at = end;
            continue;
        }
        match &trees[at] {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let mut around = around.clone();
                around.scope.extend(module_before(&trees[..at]));
                let ended = rest.iter().rposition(ends_function).map_or(0, |end| end + 1);
                around.enclosing.push(rest[ended..].iter().cloned().collect());
                rest.push(Group::new(Delimiter::Brace, take(group.stream(), &around, functions)).into());
            }
            tree => rest.push(tree.clone()),
        }
        at += 1;
    }
    rest.into_iter().collect()
}

/// Parses `fn name .. {}` at an index, and returns the name and the index after the body.
fn function_at(trees: &[TokenTree], at: usize) -> Option<(Ident, usize)> {
    let (TokenTree::Ident(keyword), TokenTree::Ident(name)) = (trees.get(at)?, trees.get(at + 1)?) else { return None };
    if keyword != "fn" {
        return None;
    }
    for (offset, tree) in trees[at..].iter().enumerate() {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some((name.clone(), at + offset + 1));
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

/// Returns the index at which the attributes and qualifiers before a `fn` start.
fn start_of_function(before: &[TokenTree]) -> usize {
    let mut start = before.len();
    while start > 0 {
        let qualifies = match &before[start - 1] {
            TokenTree::Ident(word) => ["pub", "async", "const", "unsafe", "extern"].iter().any(|known| word == known),
            TokenTree::Literal(_) => {
                start > 1 && matches!(&before[start - 2], TokenTree::Ident(word) if word == "extern")
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                start > 1 && matches!(&before[start - 2], TokenTree::Ident(word) if word == "pub")
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                start > 1 && matches!(&before[start - 2], TokenTree::Punct(punct) if punct.as_char() == '#')
            }
            TokenTree::Punct(punct) => punct.as_char() == '#' && start < before.len(),
            TokenTree::Group(_) => false,
        };
        if !qualifies {
            break;
        }
        start -= 1;
    }
    start
}

/// Parses the attributes at the start of these tokens.
fn attributes(head: &[TokenTree]) -> Vec<Attribute> {
    let is_attribute = |tree: &&TokenTree| match tree {
        TokenTree::Punct(punct) => punct.as_char() == '#',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Bracket,
        _ => false,
    };
    let tokens: TokenStream = head.iter().take_while(is_attribute).cloned().collect();
    Attribute::parse_outer.parse2(tokens).unwrap_or_default()
}

/// Parses the name in a `mod name` at the end of these tokens.
fn module_before(before: &[TokenTree]) -> Option<String> {
    match before {
        [.., TokenTree::Ident(keyword), TokenTree::Ident(name)] if keyword == "mod" => Some(bare(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, functions: &[&str], rest: &str) {
        let (found, left) = take_functions(source.parse().unwrap());
        let found: Vec<String> = found
            .iter()
            .map(|function| {
                let mut name = function.scope.join("::");
                name.push_str(if name.is_empty() { "" } else { "::" });
                name.push_str(&function.ident.to_string());
                name.push_str(if is_test(&function.attributes) { " (test)" } else { "" });
                name
            })
            .collect();
        assert_eq!(found, functions);
        assert_eq!(left.to_string(), rest);
    }

    #[test]
    fn functions_of_proptest_are_found() {
        check("#![config(8)] #[test] fn a(x in 0..9) { f(x) } pub fn b() {}", &["a (test)", "b"], "#! [config (8)]");
    }

    #[test]
    fn modules_inside_a_call_count() {
        check("mod m { #[test] fn a() {} }", &["m::a (test)"], "mod m { }");
    }

    #[test]
    fn functions_of_a_definition_may_have_their_name_from_the_caller() {
        let names = |source: &str| names_in_definition(&source.parse().unwrap());
        let found = names("($name:ident) => { pub fn $name() {} impl S { fn b() { fn c() {} } fn d(); } };");
        let found: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
        assert_eq!(found, ["$name", "b", "c"]);
        assert!(names("($f:expr) => ($f as fn(u8) -> u8); (fn $name:ident) => {}").is_empty());
    }

    #[test]
    fn a_function_type_is_no_function() {
        check("a: fn(u8) -> u8, fn b();", &[], "a : fn (u8) -> u8 , fn b () ;");
    }
}
