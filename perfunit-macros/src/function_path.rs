//! Bodies that ask for the whole path of the function they stand in.

use proc_macro2::{TokenStream, TokenTree};

/// Macros whose result holds that path: those of snapbox, stdext and others that copied them.
const MACROS: [&str; 3] = ["fn_path", "function_name", "function_path"];

/// Whether the body calls such a macro; those that other macros of the project's own call are not seen.
pub fn is_asked_for(body: &TokenStream) -> bool {
    let trees: Vec<TokenTree> = body.clone().into_iter().collect();
    let inside = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if is_asked_for(&group.stream()));
    trees.windows(3).any(asks) || trees.iter().any(inside)
}

fn asks(window: &[TokenTree]) -> bool {
    let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(arguments)] = window else { return false };
    bang.as_char() == '!'
        && (MACROS.iter().any(|asking| name == asking) || name == "file" && begins_with_underscore(arguments.stream()))
}

/// `file![_]` of snapbox: std's `file!()` has no arguments.
fn begins_with_underscore(arguments: TokenStream) -> bool {
    matches!(arguments.into_iter().next(), Some(TokenTree::Ident(first)) if first == "_")
}
