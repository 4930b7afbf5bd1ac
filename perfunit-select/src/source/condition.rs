//! Conditions of `#[cfg]`: whether what stands below them is compiled, as far as that is known.

use std::collections::BTreeSet;
use std::env::consts;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

/// What decides whether an item is there at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// All of these hold; of none it is always true.
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Feature(String),
    /// Known of every program that runs here.
    Here(bool),
    /// Variables of the compiler, of build scripts and of the target: not looked up.
    Unknown,
}

impl Default for Condition {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Condition {
    /// What the `#[cfg]`s among these attributes ask for.
    pub(super) fn of(attributes: &[Attribute]) -> Self {
        let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        Self::All(
            conditions.map(|attribute| attribute.parse_args().map_or(Self::Unknown, |meta| read(&meta))).collect(),
        )
    }

    pub(super) fn and(&self, other: Self) -> Self {
        let is_always = |condition: &Self| *condition == Self::default();
        match (is_always(self), is_always(&other)) {
            (true, _) => other,
            (false, true) => self.clone(),
            (false, false) => Self::All(vec![self.clone(), other]),
        }
    }

    /// Whether it holds with these features, of a package of which they are known.
    pub fn holds(&self, features: Option<&BTreeSet<String>>) -> Option<bool> {
        match self {
            Self::All(all) => every(all.iter().map(|condition| condition.holds(features))),
            Self::Any(any) => every(any.iter().map(|condition| condition.holds(features).map(|is| !is))).map(|is| !is),
            Self::Not(condition) => condition.holds(features).map(|is| !is),
            Self::Feature(name) => features.map(|features| features.contains(name)),
            Self::Here(is) => Some(*is),
            Self::Unknown => None,
        }
    }
}

fn every(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<Option<bool>> = all.collect();
    if all.contains(&Some(false)) { Some(false) } else { all.into_iter().collect::<Option<Vec<bool>>>().map(|_| true) }
}

fn read(meta: &Meta) -> Condition {
    let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
    match meta {
        Meta::List(list) => {
            let Ok(inner) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
                return Condition::Unknown;
            };
            let mut inner: Vec<Condition> = inner.iter().map(read).collect();
            match name.as_str() {
                "all" => Condition::All(inner),
                "any" => Condition::Any(inner),
                "not" if inner.len() == 1 => Condition::Not(Box::new(inner.remove(0))),
                _ => Condition::Unknown,
            }
        }
        Meta::Path(_) if name == consts::FAMILY => Condition::Here(true),
        Meta::Path(_) if ["unix", "windows"].contains(&name.as_str()) => Condition::Here(false),
        Meta::Path(_) => Condition::Unknown,
        Meta::NameValue(pair) => {
            let Expr::Lit(ExprLit { lit: Lit::Str(value), .. }) = &pair.value else { return Condition::Unknown };
            let value = value.value();
            match name.as_str() {
                "feature" => Condition::Feature(value),
                "target_os" => Condition::Here(value == consts::OS),
                "target_family" => Condition::Here(value == consts::FAMILY),
                "target_arch" if !may_run_here(&value) => Condition::Here(false),
                _ => Condition::Unknown,
            }
        }
    }
}

/// Whether programs for this architecture may run here: builds can be for a narrower one than ours.
fn may_run_here(architecture: &str) -> bool {
    let ours: &[&str] = match consts::ARCH {
        "x86_64" => &["x86_64", "x86"],
        "aarch64" => &["aarch64", "arm"],
        _ => return true,
    };
    ours.contains(&architecture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[track_caller]
    fn check(attribute: Attribute, expected: Option<bool>) {
        let features = ["alloc".to_owned()].into();
        assert_eq!(Condition::of(&[attribute]).holds(Some(&features)), expected);
    }

    #[test]
    fn features_are_known() {
        check(parse_quote!(#[cfg(feature = "alloc")]), Some(true));
        check(parse_quote!(#[cfg(feature = "std")]), Some(false));
        check(parse_quote!(#[cfg(not(feature = "std"))]), Some(true));
        check(parse_quote!(#[cfg(any(feature = "std", feature = "alloc"))]), Some(true));
        check(parse_quote!(#[cfg(all(feature = "std", feature = "alloc"))]), Some(false));
        check(parse_quote!(#[inline]), Some(true));
        assert_eq!(Condition::of(&[parse_quote!(#[cfg(feature = "alloc")])]).holds(None), None);
    }

    #[test]
    fn what_is_not_known_decides_nothing_unless_the_rest_does() {
        check(parse_quote!(#[cfg(memchr_runtime_simd)]), None);
        check(parse_quote!(#[cfg(not(test))]), None);
        check(parse_quote!(#[cfg(any(debug_assertions, feature = "std"))]), None);
        check(parse_quote!(#[cfg(any(debug_assertions, feature = "alloc"))]), Some(true));
        check(parse_quote!(#[cfg(all(debug_assertions, feature = "std"))]), Some(false));
        check(parse_quote!(#[cfg(all(debug_assertions, feature = "alloc"))]), None);
    }

    #[test]
    fn programs_run_on_the_system_that_measures_them() {
        check(parse_quote!(#[cfg(any(unix, windows))]), Some(true));
        check(parse_quote!(#[cfg(all(unix, windows))]), Some(false));
        check(parse_quote!(#[cfg(target_os = "none")]), Some(false));
        check(parse_quote!(#[cfg(any())]), Some(false));
        check(parse_quote!(#[cfg(target_arch = "s390x")]), Some(false));
        let ours = consts::ARCH;
        check(parse_quote!(#[cfg(target_arch = #ours)]), None);
    }

    #[test]
    fn conditions_of_surroundings_and_item_are_joined() {
        let of = |attribute: Attribute| Condition::of(&[attribute]);
        let joined = of(parse_quote!(#[cfg(feature = "alloc")])).and(of(parse_quote!(#[cfg(feature = "std")])));
        let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(joined.holds(Some(&features(&["alloc"]))), Some(false));
        assert_eq!(joined.holds(Some(&features(&["alloc", "std"]))), Some(true));
        assert_eq!(Condition::default().and(Condition::default()), Condition::default());
    }
}
