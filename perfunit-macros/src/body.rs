//! Finds the body of a function among its tokens.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Returns the braces of a body, which `macro_rules` may have wrapped (`$body:block`) in groups without delimiters.
pub fn braces(tree: TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = tree else { return None };
    match group.delimiter() {
        Delimiter::Brace => Some(group),
        Delimiter::None => {
            let mut inside = group.stream().into_iter();
            let only = inside.next()?;
            inside.next().is_none().then(|| braces(only))?
        }
        _ => None,
    }
}

/// Returns the token trees of an item, which `macro_rules` may have wrapped (`$item:item`) in groups without
/// delimiters.
pub fn item_trees(item: &TokenStream) -> Vec<TokenTree> {
    let trees: Vec<TokenTree> = item.clone().into_iter().collect();
    match &trees[..] {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => item_trees(&group.stream()),
        _ => trees,
    }
}
