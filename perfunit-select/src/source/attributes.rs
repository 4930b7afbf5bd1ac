//! Reads attributes of parts of the source, and what they mean for tests.

use super::condition::Condition;
use perfunit_model::guesses::TEST_ATTRIBUTES;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Path, Token};

type Metas = Punctuated<Meta, Token![,]>;

/// Parses the attributes before an item, a statement or another part. syn's types do not provide them for every kind.
pub(super) fn outer_attributes(part: &impl ToTokens) -> Vec<Attribute> {
    let parser = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<proc_macro2::TokenStream>().map(|_| attributes)
    };
    parser.parse2(part.to_token_stream()).unwrap_or_default()
}

/// Checks whether the attributes restrict the item to test builds.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    Condition::of(attributes).implies_test()
}

/// Checks whether the attributes make a function a test: `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[cfg_attr(..,
/// test)]`, ...
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

/// Checks for attributes that do not affect the work of a test: lint levels, `#[ignore]`, `#[cfg]`.
pub fn is_beside_the_work(attribute: &Attribute) -> bool {
    let path = attribute.path();
    ["allow", "warn", "deny", "forbid", "expect", "ignore", "cfg", "must_use"].iter().any(|name| path.is_ident(name))
        || is_ours(path)
        || is_conditional_beside_the_work(attribute)
}

/// Checks for our own attributes of tests, such as `#[perfunit::skip]`.
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

/// Returns the names of an item's attributes, including those in `cfg_attr(..)` and `unsafe(..)`.
pub fn attribute_names(attributes: &[Attribute]) -> Vec<Path> {
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

/// Checks whether a macro in these attributes may read the documentation of the item and its parts. Only the standard
/// library's derives are known not to.
pub fn may_read_documentation(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| may_read(&attribute.meta))
}

/// Derives of the standard library, which depend on the fields only.
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

/// Checks for an attribute that is not built in, and may therefore transform the item.
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
        let applied =
            |attribute: Attribute| attribute_names(&[attribute]).iter().map(|path| path.segments.len()).collect();
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
}
