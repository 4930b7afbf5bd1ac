//! Reads our attributes on tests: `#[perfunit::skip("reason")]`, `#[perfunit::threshold("5%")]`.

use super::attributes::is_ours;
use super::parse::parse;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Item, Lit, Meta, Token};

/// An attribute of a test function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestDirective {
    /// Inline modules and name of the function.
    pub name: String,
    /// Line of the attribute, counted from 1.
    pub line: usize,
    pub what: Directive,
}

/// Meaning of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// Do not measure the test.
    Skip {
        /// Reason, if given.
        reason: Option<String>,
    },
    /// Smallest change to report, as written.
    Threshold(String),
}

/// Returns all attributes in a file; none if it cannot be parsed. Attributes are recognized by their full path or, if
/// the file imports from `perfunit`, by their name.
pub fn test_directives(content: &[u8]) -> Vec<TestDirective> {
    let Ok(text) = std::str::from_utf8(content) else { return Vec::new() };
    // Parsing is expensive, and few files have such attributes.
    if !text.contains("perfunit") {
        return Vec::new();
    }
    let Some(file) = parse(text) else { return Vec::new() };
    let imported = ["use perfunit::", "use perfunit_runtime::"].iter().any(|import| text.contains(import));
    let mut directives = Vec::new();
    walk(&file.items, "", imported, &mut directives);
    directives
}

fn walk(items: &[Item], scope: &str, imported: bool, directives: &mut Vec<TestDirective>) {
    let below = |name: String| if scope.is_empty() { name } else { format!("{scope}::{name}") };
    for item in items {
        match item {
            Item::Mod(module) => {
                let items = module.content.iter().flat_map(|(_, items)| items).cloned().collect::<Vec<_>>();
                walk(&items, &below(module.ident.to_string()), imported, directives);
            }
            Item::Fn(function) => {
                let name = below(function.sig.ident.to_string());
                let found = function.attrs.iter().flat_map(|attribute| of_attribute(attribute, imported));
                directives.extend(found.map(|(line, what)| TestDirective { name: name.clone(), line, what }));
            }
            _ => {}
        }
    }
}

fn of_attribute(attribute: &Attribute, imported: bool) -> Vec<(usize, Directive)> {
    let line = attribute.span().start().line;
    of_meta(&attribute.meta, imported).into_iter().map(|what| (line, what)).collect()
}

/// Parses an attribute, including those in `cfg_attr(condition, perfunit::skip)`. The condition is unknown here, and
/// usually holds in tests.
fn of_meta(meta: &Meta, imported: bool) -> Vec<Directive> {
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
        vec![Directive::Skip { reason: text }]
    } else if last.ident == "threshold" {
        text.map(Directive::Threshold).into_iter().collect()
    } else {
        Vec::new()
    }
}

/// Returns the text in `"text"` or `reason = "text"`.
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
    fn check(code: &str, expected: &[(&str, usize, Directive)]) {
        let found: Vec<_> =
            test_directives(code.as_bytes()).into_iter().map(|found| (found.name, found.line, found.what)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, line, what)| ((*name).to_owned(), *line, what.clone())).collect();
        assert_eq!(found, expected);
    }

    fn skip(reason: Option<&str>) -> Directive {
        Directive::Skip { reason: reason.map(str::to_owned) }
    }

    #[test]
    fn attributes_are_found_at_functions_in_modules() {
        check("#[perfunit::skip]\n#[test] fn a() {}", &[("a", 1, skip(None))]);
        check(
            "mod tests {\n#[test]\n#[perfunit::skip(\"slow\")]\n#[perfunit::threshold(\"5%\")] fn a() {} }",
            &[("tests::a", 3, skip(Some("slow"))), ("tests::a", 4, Directive::Threshold("5%".to_owned()))],
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
    fn what_does_not_parse_directives_for_nothing() {
        check("perfunit fn (", &[]);
        check("#[perfunit::other] fn a() {}", &[]);
    }
}
