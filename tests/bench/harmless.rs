//! Edits of a function that leave its machine code unchanged.

use super::edits::Kind;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::{Block, Local, Pat, Signature, Stmt};

/// Kind, line, and replacements of byte ranges.
type Found = (Kind, usize, Vec<(Range<usize>, String)>);

/// Returns the edits of one function, which begins at `start`.
pub fn edits(text: &str, start: usize, signature: &Signature, block: &Block) -> Vec<Found> {
    let line = signature.span().start().line;
    let at = |position: usize, new: &str| vec![(position..position, new.to_owned())];
    let inside = block.brace_token.span.open().byte_range().end;
    let mut found = vec![
        (Kind::Comment, line, at(inside, "\n    // A remark.\n")),
        (Kind::BlankLines, line, at(start, "\n\n\n")),
        (Kind::Doc, line, at(start, "/// A remark.\n")),
    ];
    found.extend(wrap(text, block));
    found.extend(block.stmts.iter().filter_map(|statement| rename(statement, signature, block)));
    found
}

/// Replaces a space in the middle of the function by a line break.
fn wrap(text: &str, block: &Block) -> Option<Found> {
    let tokens: Vec<TokenTree> = block.stmts.iter().flat_map(quote::ToTokens::to_token_stream).collect();
    let gaps = tokens.windows(2).filter_map(|pair| {
        let between = pair[0].span().byte_range().end..pair[1].span().byte_range().start;
        (text.get(between.clone()) == Some(" ")).then_some((between, pair[1].span().start().line))
    });
    let gaps: Vec<_> = gaps.collect();
    let (between, line) = gaps.get(gaps.len() / 2)?.clone();
    Some((Kind::Wrap, line, vec![(between, "\n            ".to_owned())]))
}

/// Renames the variable of a `let`, if every use of the name is certainly this variable.
fn rename(statement: &Stmt, signature: &Signature, block: &Block) -> Option<Found> {
    let Stmt::Local(Local { pat, .. }) = statement else { return None };
    let pat = if let Pat::Type(typed) = pat { &*typed.pat } else { pat };
    let Pat::Ident(variable) = pat else { return None };
    let name = variable.ident.to_string();
    if name.starts_with('_') || names(quote::ToTokens::to_token_stream(signature), &name) {
        return None;
    }
    let mut uses = Vec::new();
    let body = block.stmts.iter().flat_map(quote::ToTokens::to_token_stream).collect();
    collect(body, Delimiter::None, &name, &mut uses)?;
    let line = variable.ident.span().start().line;
    Some((Kind::Rename, line, uses.into_iter().map(|range| (range, format!("{name}_renamed"))).collect()))
}

/// Collects the uses of a variable; `None` if one of them may be something else: a field, a shorthand, part of a macro.
fn collect(tokens: TokenStream, around: Delimiter, name: &str, uses: &mut Vec<Range<usize>>) -> Option<()> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let punct = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(TokenTree::Punct(punct)) => Some(punct.as_char()),
        _ => None,
    };
    for (at, token) in tokens.iter().enumerate() {
        let before = |distance: usize| punct(at.checked_sub(distance));
        match token {
            TokenTree::Group(group) => {
                let is_macro = before(1) == Some('!') || before(2) == Some('!');
                if is_macro && names(group.stream(), name) {
                    return None;
                }
                if !is_macro {
                    collect(group.stream(), group.delimiter(), name, uses)?;
                }
            }
            TokenTree::Ident(ident) if ident == name => {
                let is_field = before(1) == Some('.') && before(2) != Some('.');
                let after = punct(Some(at + 1));
                let ends = |next: Option<char>, none: bool| next == Some(',') || none;
                let is_shorthand =
                    around == Delimiter::Brace && ends(before(1), at == 0) && ends(after, at + 1 == tokens.len());
                let is_let =
                    at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(word) if word == "let" || word == "mut");
                if is_shorthand || before(1) == Some('\'') || (after == Some(':') && !is_let) {
                    return None;
                }
                if !is_field {
                    uses.push(ident.span().byte_range());
                }
            }
            _ => {}
        }
    }
    Some(())
}

/// Returns whether a name occurs in tokens, or in a string as the placeholder of a format.
fn names(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => names(group.stream(), name),
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Punct(_) => false,
    })
}
