//! Which conditions hold when tests of a crate are built.

use std::collections::BTreeSet;
use std::env::consts;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, Token};

type Metas = Punctuated<Meta, Token![,]>;

/// What is known about the build.
pub struct Conditions<'a> {
    /// Enabled features of the package.
    pub features: &'a BTreeSet<String>,
}

impl Conditions<'_> {
    /// Whether what carries these attributes is compiled.
    pub fn hold(&self, attributes: &[Attribute]) -> bool {
        attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
            let metas = attribute.parse_args_with(Metas::parse_terminated).unwrap_or_default();
            metas.iter().all(|meta| self.holds(meta))
        })
    }

    fn holds(&self, condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) if path.is_ident("unix") => cfg!(unix),
            Meta::Path(path) if path.is_ident("windows") => cfg!(windows),
            Meta::Path(path) => path.is_ident("test") || path.is_ident("debug_assertions"),
            Meta::NameValue(pair) => {
                let Expr::Lit(value) = &pair.value else { return false };
                let Lit::Str(value) = &value.lit else { return false };
                let key = pair.path.get_ident().map(ToString::to_string).unwrap_or_default();
                self.is(&key, &value.value())
            }
            Meta::List(list) => {
                let inner = list.parse_args_with(Metas::parse_terminated).unwrap_or_default();
                match list.path.get_ident().map(ToString::to_string).as_deref() {
                    Some("all") => inner.iter().all(|meta| self.holds(meta)),
                    Some("any") => inner.iter().any(|meta| self.holds(meta)),
                    Some("not") => !inner.iter().any(|meta| self.holds(meta)),
                    Some("target_has_atomic") => true,
                    _ => false,
                }
            }
        }
    }

    fn is(&self, key: &str, value: &str) -> bool {
        match key {
            "feature" => self.features.contains(value),
            "target_os" => value == consts::OS,
            "target_family" => value == consts::FAMILY,
            "target_arch" => value == consts::ARCH,
            "target_pointer_width" => value == usize::BITS.to_string(),
            "target_endian" => value == if cfg!(target_endian = "big") { "big" } else { "little" },
            "target_has_atomic" => true,
            "panic" => value == "unwind",
            _ => false,
        }
    }

    /// The last names of the derived traits.
    pub fn derives(&self, attributes: &[Attribute]) -> Vec<String> {
        let mut found = Vec::new();
        for attribute in attributes {
            self.derived(&attribute.meta, &mut found);
        }
        found
    }

    fn derived(&self, meta: &Meta, found: &mut Vec<String>) {
        let Meta::List(list) = meta else { return };
        let inner = || list.parse_args_with(Metas::parse_terminated).unwrap_or_default();
        if list.path.is_ident("derive") {
            found.extend(inner().iter().filter_map(|meta| Some(meta.path().segments.last()?.ident.to_string())));
        } else if list.path.is_ident("cfg_attr") {
            let metas = inner();
            if metas.first().is_some_and(|condition| self.holds(condition)) {
                metas.iter().skip(1).for_each(|meta| self.derived(meta, found));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn features_and_platforms_decide() {
        let features = BTreeSet::from(["std".to_owned()]);
        let conditions = Conditions { features: &features };
        let holds = |attribute: Attribute| conditions.hold(&[attribute]);
        assert!(holds(parse_quote!(#[cfg(all(test, feature = "std"))])));
        assert!(holds(parse_quote!(#[cfg(not(any(feature = "alloc", docsrs)))])));
        assert!(!holds(parse_quote!(#[cfg(feature = "alloc")])));
        assert!(!holds(parse_quote!(#[cfg(target_os = "none")])));
    }

    #[test]
    fn derives_may_have_a_condition() {
        let features = BTreeSet::new();
        let conditions = Conditions { features: &features };
        let attributes = [
            parse_quote!(#[derive(Debug, std::clone::Clone)]),
            parse_quote!(#[cfg_attr(feature = "a", derive(Copy))]),
            parse_quote!(#[cfg_attr(test, derive(Default))]),
        ];
        assert_eq!(conditions.derives(&attributes), ["Debug", "Clone", "Default"]);
    }
}
