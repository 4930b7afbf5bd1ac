//! Detects bodies that query the full path of their function.

use proc_macro2::{TokenStream, TokenTree};

/// Macros that return this path: those of snapbox, stdext, and copies of them.
const MACROS: [&str; 3] = ["fn_path", "function_name", "function_path"];

/// Checks whether the body calls such a macro directly. Calls inside of the project's own macros are not detected.
pub fn queries_path(body: &TokenStream) -> bool {
    let trees: Vec<TokenTree> = body.clone().into_iter().collect();
    let inside = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if queries_path(&group.stream()));
    trees.windows(3).any(is_query) || trees.iter().any(inside)
}

fn is_query(window: &[TokenTree]) -> bool {
    let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(arguments)] = window else { return false };
    bang.as_char() == '!'
        && (MACROS.iter().any(|known| name == known) || name == "file" && begins_with_underscore(arguments.stream()))
}

/// Checks for `file![_]` of snapbox; std's `file!()` has no arguments.
fn begins_with_underscore(arguments: TokenStream) -> bool {
    matches!(arguments.into_iter().next(), Some(TokenTree::Ident(first)) if first == "_")
}
