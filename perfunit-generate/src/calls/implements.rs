//! Trait implementations of types, as far as names tell.

use super::functions::add_parameters;
use super::index::{ImplDef, TraitId};
use super::kinds::{Bound, Chosen, Kind, is_integer, is_number};
use super::names::{Definition, Names};
use super::types::Place;

/// Traits that most types implement.
const COMMON: &str =
    "Clone Debug Default Eq Hash Ord PartialEq PartialOrd Send Sized Sync Unpin UnwindSafe RefUnwindSafe";

const NUMBER: &str = "Copy Display ToString FromStr Add Sub Mul Div Rem AddAssign SubAssign MulAssign DivAssign RemAssign Sum \
                      Product LowerHex UpperHex Binary Octal BitAnd BitOr BitXor Not Shl Shr From TryFrom Into TryInto Borrow \
                      BorrowMut ToOwned Any";

const LETTER: &str = "Copy Display ToString FromStr Pattern Any";

const STRING: &str = "Display ToString FromStr AsRef Borrow Into TryInto From fmt::Write Deref DerefMut Extend FromIterator Add \
                      Any ToOwned";

const VECTOR: &str = "AsRef AsMut Borrow BorrowMut Into TryInto From Deref DerefMut Extend FromIterator IntoIterator io::Write \
                      Index IndexMut Any ToOwned";

const ITERATOR: &str = "Iterator ExactSizeIterator DoubleEndedIterator FusedIterator IntoIterator Clone Debug Send Sync Sized \
                        Unpin Into";

const FUNCTION: &str = "Fn FnMut FnOnce Copy Clone Send Sync Sized Unpin UnwindSafe RefUnwindSafe";

/// Limit on the impl blocks to follow from bound to bound.
const LONGEST_WAY: usize = 4;

/// Returns whether a type may implement a trait: false only if it certainly does not.
pub fn implements(names: &Names<'_>, kind: &Kind, bound: &Bound) -> bool {
    implements_within(names, kind, bound, LONGEST_WAY)
}

fn implements_within(names: &Names<'_>, kind: &Kind, bound: &Bound, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return true };
    match &bound.of {
        Definition::Trait(id) if *kind == Kind::Implementor(*id) => return true,
        Definition::Trait(id) => {
            return is_implementor(names, kind, &bound.of, steps) || !has_implementors(names, *id);
        }
        // Mostly unknown; the compiler decides.
        Definition::Foreign(path) => return !is_other_number(kind, path.rsplit("::").next().unwrap_or(path)),
        _ => {}
    }
    let name = bound.name();
    let is_of = |list: &str| list.split(' ').any(|known| known == name);
    let is_common_or = |list: &str| is_of(COMMON) || is_of(list);
    match kind {
        Kind::Primitive(number) if is_integer(number) => {
            let is_from = |from: &Kind| *from == Kind::primitive("u8") || from == kind;
            (is_common_or(NUMBER) || name == "Neg" && number.starts_with('i'))
                && (name != "From" || bound.arguments.iter().all(is_from))
        }
        Kind::Primitive(number) if is_number(number) => {
            (is_common_or(NUMBER) || name == "Neg") && !is_of("Eq") && !is_of("Ord") && !is_of("Hash")
        }
        Kind::Primitive(_) => is_common_or(LETTER),
        Kind::Std { path, .. } => match path.as_str() {
            "string::String" => is_common_or(STRING),
            "vec::Vec" => is_common_or(VECTOR),
            "vec::IntoIter" => is_of(ITERATOR),
            "io::Cursor" => {
                ["Read", "BufRead", "Seek", "Clone", "Debug", "Default", "Send", "Sync", "Sized"].contains(&name)
            }
            _ => true,
        },
        Kind::Reference { is_mutable: false, .. } => !name.ends_with("Iterator") || name == "IntoIterator",
        Kind::Function { .. } => is_of(FUNCTION),
        Kind::Implementor(_) => is_common_or("Copy Any"),
        Kind::Local { id, .. } => {
            ["Send", "Sync", "Sized", "Unpin", "Into", "Any"].contains(&name)
                || names.index.types[*id].derives.iter().any(|derived| derived == name)
                || is_implementor(names, kind, &bound.of, steps)
        }
        _ => true,
    }
}

/// Returns whether a primitive is the wrong kind of number for a trait of num-traits.
fn is_other_number(kind: &Kind, name: &str) -> bool {
    let Kind::Primitive(number) = kind else { return false };
    let is_wrong = match name {
        "Float" | "FloatCore" | "FloatConst" | "Real" => is_integer(number),
        "Signed" => number.starts_with('u'),
        "Unsigned" => !number.starts_with('u'),
        "PrimInt" | "Integer" => !is_integer(number),
        _ => false,
    };
    is_wrong && is_number(number)
}

/// Returns whether the crate has an impl block of the trait; false if macros expand to the blocks.
fn has_implementors(names: &Names<'_>, id: TraitId) -> bool {
    has_block(names, &Definition::Trait(id), |_, _| true)
}

/// Returns whether the crate has an impl block for the type, and the bounds of its parameters hold.
fn is_implementor(names: &Names<'_>, kind: &Kind, of: &Definition, steps: usize) -> bool {
    has_block(names, of, |place, block| {
        let mut chosen = Chosen::new();
        let mut parameters = Vec::new();
        add_parameters(place, &block.generics, &mut parameters);
        place.kind(&block.self_type).unify(kind, &mut chosen)
            && parameters.iter().all(|parameter| {
                let Some(kind) = chosen.get(&parameter.name) else { return true };
                parameter.bounds.iter().all(|bound| implements_within(names, kind, bound, steps))
            })
    })
}

/// Returns whether both are the same trait. Traits of other crates are compared by name.
pub fn is_same_trait(one: &Definition, other: &Definition) -> bool {
    match (one, other) {
        (Definition::Foreign(one), Definition::Foreign(other)) => one.rsplit("::").next() == other.rsplit("::").next(),
        (one, other) => one == other,
    }
}

/// Returns whether the trait has an impl block that meets the condition.
fn has_block(names: &Names<'_>, of: &Definition, is_it: impl Fn(&Place<'_>, &ImplDef) -> bool) -> bool {
    names.index.impls.iter().any(|block| {
        let place = Place::new(names, block.module, &block.generics);
        block.implements.as_ref().is_some_and(|path| is_same_trait(&place.bound(path).of, of)) && is_it(&place, block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::index::Index;

    #[test]
    fn types_of_the_standard_library_implement_what_they_do() {
        let index = Index::default();
        let names = Names::new(&index, "sample");
        let implements = |kind: &Kind, path: &str| {
            let bound = Bound { of: Definition::Std(path.to_owned()), arguments: Vec::new(), associated: Vec::new() };
            implements(&names, kind, &bound)
        };
        let vector = Kind::std("vec::Vec", vec![Kind::primitive("u8")]);
        assert!(implements(&vector, "io::Write") && !implements(&vector, "fmt::Write"));
        assert!(
            implements(&Kind::primitive("u64"), "hash::Hash") && !implements(&Kind::primitive("f64"), "hash::Hash")
        );
        assert!(!implements(&Kind::std("string::String", Vec::new()), "marker::Copy"));
        let is_other = |number: &str, name: &str| is_other_number(&Kind::primitive(number), name);
        assert!(is_other("u64", "Signed") && !is_other("f64", "Signed") && !is_other("u64", "Num"));
        assert!(is_other("u64", "Float") && is_other("f32", "PrimInt") && !is_other("i8", "PrimInt"));
    }
}
