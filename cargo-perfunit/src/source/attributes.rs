//! What attributes say about tests.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

type Metas = Punctuated<Meta, Token![,]>;

/// True if the attributes keep the item out of every build but tests.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args_with(Metas::parse_terminated).is_ok_and(|metas| metas.iter().any(implies_test))
    })
}

/// True if the condition holds in test builds only.
fn implies_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else { return condition.path().is_ident("test") };
    let Ok(conditions) = list.parse_args_with(Metas::parse_terminated) else { return false };
    if list.path.is_ident("all") {
        conditions.iter().any(implies_test)
    } else {
        list.path.is_ident("any") && !conditions.is_empty() && conditions.iter().all(implies_test)
    }
}

/// True if the attributes make a function a test: `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[cfg_attr(.., test)]`, ...
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| makes_test(&attribute.meta))
}

fn makes_test(meta: &Meta) -> bool {
    let Some(segment) = meta.path().segments.last() else { return false };
    if meta.path().is_ident("cfg_attr") {
        let Meta::List(list) = meta else { return false };
        return list.parse_args_with(Metas::parse_terminated).is_ok_and(|metas| metas.iter().skip(1).any(makes_test));
    }
    let name = segment.ident.to_string();
    matches!(name.as_str(), "test" | "rstest" | "test_case" | "test_matrix" | "quickcheck" | "gtest" | "bench")
        || name.ends_with("_test")
}

/// True for attributes that leave the work of a test alone: lint levels, `#[ignore]`, `#[cfg]`.
pub(crate) fn is_beside_the_work(attribute: &Attribute) -> bool {
    let path = attribute.path();
    ["allow", "warn", "deny", "forbid", "expect", "ignore", "cfg", "must_use"].iter().any(|name| path.is_ident(name))
        || is_conditional_beside_the_work(attribute)
}

fn is_conditional_beside_the_work(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg_attr")
        && attribute.parse_args_with(Metas::parse_terminated).is_ok_and(|metas| {
            metas.iter().skip(1).all(|meta| ["allow", "expect", "ignore"].iter().any(|name| meta.path().is_ident(name)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn only_conditions_that_imply_test_are_test_only() {
        assert!(is_test_only(&[parse_quote!(#[cfg(test)])]));
        assert!(is_test_only(&[parse_quote!(#[cfg(all(feature = "a", test))])]));
        assert!(is_test_only(&[parse_quote!(#[cfg(any(all(test, unix), all(test, windows)))])]));
        assert!(!is_test_only(&[parse_quote!(#[cfg(any(test, feature = "a"))])]));
        assert!(!is_test_only(&[parse_quote!(#[cfg(not(test))])]));
        assert!(!is_test_only(&[parse_quote!(#[cfg(feature = "test")])]));
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
