//! What people write at their tests for us: `#[perfunit::skip("reason")]`, `#[perfunit::threshold("5%")]`.

use super::attributes::is_ours;
use super::parse::parse;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Item, Lit, Meta, Token};

/// A wish, written at a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Inline modules and name of the function.
    pub name: String,
    /// Line of the attribute, from 1.
    pub line: usize,
    pub what: Asked,
}

/// What is wanted of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Do not measure it.
    Skip {
        /// Why, if that is said.
        reason: Option<String>,
    },
    /// Judge changes from here on; as written.
    Threshold(String),
}

/// All wishes in a file; none if it does not parse. Attributes are known by their whole path, or, where the file imports
/// from `perfunit`, by their name.
pub fn asks(content: &[u8]) -> Vec<Ask> {
    let Ok(text) = std::str::from_utf8(content) else { return Vec::new() };
    // Parsing is the expensive part, and hardly any file has them.
    if !text.contains("perfunit") {
        return Vec::new();
    }
    let Some(file) = parse(text) else { return Vec::new() };
    let imported = ["use perfunit::", "use perfunit_runtime::"].iter().any(|import| text.contains(import));
    let mut asks = Vec::new();
    walk(&file.items, "", imported, &mut asks);
    asks
}

fn walk(items: &[Item], scope: &str, imported: bool, asks: &mut Vec<Ask>) {
    let below = |name: String| if scope.is_empty() { name } else { format!("{scope}::{name}") };
    for item in items {
        match item {
            Item::Mod(module) => {
                let items = module.content.iter().flat_map(|(_, items)| items).cloned().collect::<Vec<_>>();
                walk(&items, &below(module.ident.to_string()), imported, asks);
            }
            Item::Fn(function) => {
                let name = below(function.sig.ident.to_string());
                let found = function.attrs.iter().flat_map(|attribute| of_attribute(attribute, imported));
                asks.extend(found.map(|(line, what)| Ask { name: name.clone(), line, what }));
            }
            _ => {}
        }
    }
}

fn of_attribute(attribute: &Attribute, imported: bool) -> Vec<(usize, Asked)> {
    let line = attribute.span().start().line;
    of_meta(&attribute.meta, imported).into_iter().map(|what| (line, what)).collect()
}

/// Also of `cfg_attr(condition, perfunit::skip)`: which condition holds is not known here, and they hold in tests mostly.
fn of_meta(meta: &Meta, imported: bool) -> Vec<Asked> {
    let path = meta.path();
    if path.is_ident("cfg_attr") {
        let Meta::List(list) = meta else { return Vec::new() };
        let metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
        return metas.iter().skip(1).flat_map(|meta| of_meta(meta, imported)).collect();
    }
    let is_imported = imported && path.segments.len() == 1;
    if !is_ours(path) && !is_imported {
        return Vec::new();
    }
    let text = match meta {
        Meta::List(list) => list.parse_args::<Expr>().ok().and_then(|expression| text(&expression)),
        Meta::Path(_) | Meta::NameValue(_) => None,
    };
    let Some(last) = path.segments.last() else { return Vec::new() };
    if last.ident == "skip" {
        vec![Asked::Skip { reason: text }]
    } else if last.ident == "threshold" {
        text.map(Asked::Threshold).into_iter().collect()
    } else {
        Vec::new()
    }
}

/// The text in `"text"` and in `reason = "text"`.
fn text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        Expr::Assign(assign) => text(&assign.right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[(&str, usize, Asked)]) {
        let found: Vec<_> = asks(code.as_bytes()).into_iter().map(|ask| (ask.name, ask.line, ask.what)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, line, what)| ((*name).to_owned(), *line, what.clone())).collect();
        assert_eq!(found, expected);
    }

    fn skip(reason: Option<&str>) -> Asked {
        Asked::Skip { reason: reason.map(str::to_owned) }
    }

    #[test]
    fn attributes_are_found_at_functions_in_modules() {
        check("#[perfunit::skip]\n#[test] fn a() {}", &[("a", 1, skip(None))]);
        check(
            "mod tests {\n#[test]\n#[perfunit::skip(\"slow\")]\n#[perfunit::threshold(\"5%\")] fn a() {} }",
            &[("tests::a", 3, skip(Some("slow"))), ("tests::a", 4, Asked::Threshold("5%".to_owned()))],
        );
        check("#[perfunit_runtime::skip(reason = \"x\")] fn a() {}", &[("a", 1, skip(Some("x")))]);
        check("#[cfg_attr(test, perfunit::skip)] fn a() {}", &[("a", 1, skip(None))]);
    }

    #[test]
    fn a_bare_name_counts_only_where_it_is_imported() {
        check("use perfunit::skip;\n#[skip] fn a() {}", &[("a", 2, skip(None))]);
        check("// perfunit\n#[skip] #[other::skip] fn a() {}", &[]);
    }

    #[test]
    fn what_does_not_parse_asks_for_nothing() {
        check("perfunit fn (", &[]);
        check("#[perfunit::other] fn a() {}", &[]);
    }
}
