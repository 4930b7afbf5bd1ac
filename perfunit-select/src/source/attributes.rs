//! Attributes: those of a part of the source, and what they say about tests.

use super::condition::Condition;
use super::parse::parse;
use perfunit_model::guesses::TEST_ATTRIBUTES;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Item, Lit, Meta, Path, Token};

type Metas = Punctuated<Meta, Token![,]>;

/// The attributes before an item, a statement or another part: syn's types do not tell them of every kind.
pub(super) fn outer_attributes(part: &impl ToTokens) -> Vec<Attribute> {
    let parser = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<proc_macro2::TokenStream>().map(|_| attributes)
    };
    parser.parse2(part.to_token_stream()).unwrap_or_default()
}

/// Returns whether the attributes keep the item out of all builds except those of tests.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    Condition::of(attributes).implies_test()
}

/// True if the attributes make a function a test: `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[cfg_attr(.., test)]`, ...
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| makes_test(&attribute.meta))
}

fn makes_test(meta: &Meta) -> bool {
    let Some(segment) = meta.path().segments.last() else { return false };
    if meta.path().is_ident("cfg_attr") {
        let Meta::List(list) = meta else { return false };
        return list.parse_args_with(Metas::parse_terminated).is_ok_and(|metas| metas.iter().skip(1).any(makes_test));
    }
    let name = segment.ident.to_string();
    TEST_ATTRIBUTES.contains(&name.as_str()) || name.ends_with("_test")
}

/// True for attributes that leave the work of a test alone: lint levels, `#[ignore]`, `#[cfg]`.
pub fn is_beside_the_work(attribute: &Attribute) -> bool {
    let path = attribute.path();
    ["allow", "warn", "deny", "forbid", "expect", "ignore", "cfg", "must_use"].iter().any(|name| path.is_ident(name))
        || is_ours(path)
        || is_conditional_beside_the_work(attribute)
}

/// True for the attributes that tell us about a test: `#[perfunit::skip]`.
pub fn is_ours(path: &Path) -> bool {
    let mut names = path.segments.iter().map(|segment| &segment.ident);
    path.segments.len() == 2 && names.next().is_some_and(|first| first == "perfunit" || first == "perfunit_runtime")
}

fn is_conditional_beside_the_work(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg_attr")
        && attribute.parse_args_with(Metas::parse_terminated).is_ok_and(|metas| {
            metas.iter().skip(1).all(|meta| {
                is_ours(meta.path()) || ["allow", "expect", "ignore"].iter().any(|name| meta.path().is_ident(name))
            })
        })
}

/// What is applied to an item: the names of its attributes, also of those in `cfg_attr(..)` and `unsafe(..)`.
pub fn applied(attributes: &[Attribute]) -> Vec<Path> {
    let mut paths = Vec::new();
    for attribute in attributes {
        add_applied(&attribute.meta, &mut paths);
    }
    paths
}

fn add_applied(meta: &Meta, paths: &mut Vec<Path>) {
    let conditions = match meta.path() {
        path if path.is_ident("cfg_attr") => 1,
        path if path.is_ident("unsafe") => 0,
        path => return paths.push(path.clone()),
    };
    let Meta::List(list) = meta else { return };
    if let Ok(metas) = list.parse_args_with(Metas::parse_terminated) {
        metas.iter().skip(conditions).for_each(|meta| add_applied(meta, paths));
    }
}

/// True if a macro that these attributes name may read the documentation of the item and of what is in it. Only what the
/// standard library's own derives make is known not to depend on it.
pub fn may_read_documentation(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| may_read(&attribute.meta))
}

/// What the standard library's own derives make depends on the fields alone.
pub(super) const DERIVES_OF_STD: [&str; 9] =
    ["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

fn may_read(meta: &Meta) -> bool {
    let inner = |list: &syn::MetaList| list.parse_args_with(Metas::parse_terminated).ok();
    match meta {
        Meta::List(list) if list.path.is_ident("derive") => inner(list).is_none_or(|derives| {
            let name = |derive: &Meta| derive.path().segments.last().map(|last| last.ident.to_string());
            derives.iter().any(|derive| name(derive).is_none_or(|name| !DERIVES_OF_STD.contains(&name.as_str())))
        }),
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            inner(list).is_none_or(|metas| metas.iter().skip(1).any(may_read))
        }
        Meta::List(list) if list.path.is_ident("unsafe") => inner(list).is_none_or(|metas| metas.iter().any(may_read)),
        other => is_attribute_macro(other.path()),
    }
}

/// True for an attribute that is not built into the compiler, and can make anything of the item.
pub fn is_attribute_macro(path: &Path) -> bool {
    const BUILT_IN: [&str; 45] = [
        "allow",
        "automatically_derived",
        "cfg",
        "cold",
        "const_trait",
        "coverage",
        "crate_type",
        "deny",
        "deprecated",
        "derive",
        "doc",
        "expect",
        "export_name",
        "feature",
        "forbid",
        "global_allocator",
        "ignore",
        "inline",
        "instruction_set",
        "link",
        "link_name",
        "link_section",
        "macro_export",
        "macro_use",
        "must_use",
        "no_link",
        "no_main",
        "no_mangle",
        "no_std",
        "non_exhaustive",
        "optimize",
        "path",
        "proc_macro",
        "proc_macro_attribute",
        "proc_macro_derive",
        "recursion_limit",
        "repr",
        "should_panic",
        "stable",
        "target_feature",
        "track_caller",
        "type_length_limit",
        "unstable",
        "used",
        "warn",
    ];
    const TOOLS: [&str; 5] = ["clippy", "diagnostic", "miri", "rust_analyzer", "rustfmt"];
    let Some(first) = path.segments.first().map(|first| first.ident.to_string()) else { return false };
    if path.segments.len() > 1 {
        return !is_ours(path) && !TOOLS.contains(&first.as_str());
    }
    !BUILT_IN.contains(&first.as_str()) && !first.starts_with("rustc_")
}

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
    use syn::parse_quote;

    #[test]
    fn macros_but_the_standard_derives_may_read_documentation() {
        let reads = |attribute: Attribute| may_read_documentation(&[attribute]);
        assert!(!reads(parse_quote!(#[derive(Debug, std::clone::Clone)])));
        assert!(!reads(parse_quote!(#[repr(C)])));
        assert!(!reads(parse_quote!(#[cfg_attr(docsrs, doc(cfg(unix)))])));
        assert!(!reads(parse_quote!(#[unsafe(no_mangle)])));
        assert!(reads(parse_quote!(#[derive(Debug, clap::Parser)])));
        assert!(reads(parse_quote!(#[cfg_attr(feature = "cli", derive(Parser))])));
        assert!(reads(parse_quote!(#[pymethods])));
    }

    #[test]
    fn what_is_applied_may_stand_inside_of_a_condition() {
        let applied = |attribute: Attribute| applied(&[attribute]).iter().map(|path| path.segments.len()).collect();
        let counts: Vec<Vec<usize>> = vec![
            applied(parse_quote!(#[unsafe(naked)])),
            applied(parse_quote!(#[cfg_attr(a, inline, unsafe(no_mangle), a::b)])),
            applied(parse_quote!(#[doc = "cold"])),
        ];
        assert_eq!(counts, [vec![1], vec![1, 1, 2], vec![1]]);
    }

    #[test]
    fn attributes_of_compiler_and_tools_are_no_macros() {
        assert!(is_attribute_macro(&parse_quote!(async_trait)) && is_attribute_macro(&parse_quote!(tokio::main)));
        assert!(!is_attribute_macro(&parse_quote!(inline)) && !is_attribute_macro(&parse_quote!(clippy::cost)));
    }

    #[test]
    fn tests_of_other_crates_are_tests() {
        assert!(is_test(&[parse_quote!(#[test])]));
        assert!(is_test(&[parse_quote!(#[tokio::test(flavor = "multi_thread")])]));
        assert!(is_test(&[parse_quote!(#[cfg_attr(not(miri), test)])]));
        assert!(is_test(&[parse_quote!(#[wasm_bindgen_test])]));
        assert!(!is_test(&[parse_quote!(#[cfg(test)])]));
        assert!(!is_test(&[parse_quote!(#[inline])]));
    }

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
