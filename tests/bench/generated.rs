//! Output of build scripts: names that an edit of a build script may change.

use super::Result;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the names of constants, statics and functions in Rust files that build scripts wrote below a target folder.
pub fn names(target_dir: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let scripts = target_dir.join("release/build");
    if !scripts.exists() {
        return Ok(found);
    }
    for script in fs::read_dir(scripts)? {
        let Ok(written) = fs::read_dir(script?.path().join("out")) else { continue };
        for file in written {
            let path = file?.path();
            if path.extension().is_some_and(|end| end == "rs")
                && let Ok(tokens) = fs::read_to_string(&path)?.parse()
            {
                defined(tokens, &mut found);
            }
        }
    }
    Ok(found)
}

fn defined(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut is_name = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => defined(group.stream(), found),
            TokenTree::Ident(word) if ["const", "static", "fn", "mut"].iter().any(|keyword| word == keyword) => {
                is_name = true;
            }
            TokenTree::Ident(name) if is_name => {
                found.insert(name.to_string());
                is_name = false;
            }
            _ => is_name = false,
        }
    }
}
