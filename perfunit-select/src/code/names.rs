//! Symbol names: for people, across versions, and for known callers.

use perfunit_model::guesses::REPLACED_C_FUNCTIONS;
use std::borrow::Cow;

/// Formats a symbol for people: demangled, without hashes, the same for all toolchains.
pub(super) fn readable(symbol: &str) -> String {
    with_old_drop(&format!("{:#}", rustc_demangle::demangle(without_suffix(symbol))))
}

/// Replaces the name of drop code by the one used before toolchain 1.97. Since then `drop_glue::<T>` drops the value
/// and `drop_in_place::<T>` only calls it.
pub fn with_old_drop(name: &str) -> String {
    name.replace("core::ptr::drop_glue", "core::ptr::drop_in_place")
}

/// Checks whether a symbol is that of a closure, or of an item in one.
pub fn is_closure(symbol: &str) -> bool {
    stable(symbol).contains("{closure")
}

/// Returns a name that is the same for an item in two versions: without hashes and without LLVM's suffixes.
pub fn stable(symbol: &str) -> Cow<'_, str> {
    match rustc_demangle::try_demangle(without_suffix(symbol)) {
        Ok(name) => Cow::Owned(format!("{name:#}")),
        Err(_) => Cow::Borrowed(without_suffix(symbol)),
    }
}

/// Removes `.llvm.` and the module's hash, which LLVM appends to local symbols that another object needs.
fn without_suffix(symbol: &str) -> &str {
    symbol.split_once(".llvm.").map_or(symbol, |(name, _)| name)
}

/// Returns the function that is entered before the code of this symbol runs. gcc moves rarely executed parts into
/// symbols of their own (`foo.cold`, in older versions `foo.cold.3`), and the function jumps into their middle.
pub(super) fn entered_function(symbol: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match symbol.rsplit_once(".cold") {
        Some((function, "")) => function,
        Some((function, rest)) if rest.strip_prefix('.').is_some_and(is_number) => function,
        _ => symbol,
    }
}

/// Checks for names that the compiler invents and that differ between builds. `$x` and `$d` mark code and data on
/// aarch64, in every section.
pub(super) fn is_anonymous(symbol: &str) -> bool {
    symbol.starts_with(".L")
        || symbol.starts_with('$')
        || symbol.starts_with("anon.")
        || symbol.starts_with("GCC_except_table")
}

/// Checks for names by which std or the C library, whose code is not read, call linked code: the allocator, and
/// functions of the C library that programs are known to define themselves.
pub(super) fn is_called_from_outside(symbol: &str) -> bool {
    // Since 1.88 the shims belong to a crate `__rustc` (`_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc`). Before, they had
    // these prefixes and no mangling.
    let shim = symbol.strip_prefix("_RNvC").is_some_and(|rest| rest.contains("7___rustc"));
    shim || symbol.starts_with("__rust_")
        || symbol.starts_with("__rg_")
        || REPLACED_C_FUNCTIONS.binary_search(&symbol).is_ok()
}

/// Checks whether a linker defines `__start_NAME` and `__stop_NAME` for a section.
pub fn is_c_identifier(section: &str) -> bool {
    let first = section.bytes().next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic());
    first && section.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whatever_hashes_they_carry() {
        assert_eq!(stable("_ZN3foo3bar17h0123456789abcdefE"), "foo::bar");
        assert_eq!(stable("_ZN3foo3bar17h0123456789abcdefE.llvm.123"), "foo::bar");
        assert_eq!(stable("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(stable("counter.0"), "counter.0");
        assert_eq!(readable("main"), "main");
    }

    #[test]
    fn drop_glue_has_one_name_for_people_and_stays_apart_from_its_caller() {
        let caller = "_RINvNtCs8NwYtU1Mohg_4core3ptr13drop_in_placeNtCsfEtyHd6hcBm_2dg1AEBI_";
        let glue = caller.replace("13drop_in_place", "9drop_glue");
        assert_eq!(readable(&glue), "core::ptr::drop_in_place::<dg::A>");
        assert_eq!(readable(&glue), readable(caller));
        assert_ne!(stable(&glue), stable(caller));
        assert_eq!(readable("_RNvCs1234_7mycrate9drop_glue"), "mycrate::drop_glue");
        assert_eq!(
            readable("_ZN4core3ptr22drop_glue$LT$dg..A$GT$17h0123456789abcdefE"),
            "core::ptr::drop_in_place<dg::A>"
        );
    }

    #[test]
    fn a_cold_part_is_entered_by_its_function() {
        assert_eq!(entered_function("foo.cold"), "foo");
        assert_eq!(entered_function("foo.constprop.0.cold.3"), "foo.constprop.0");
        for other in ["foo", "foo.coldest", "a.cold.b", "_RNvCs1234_7mycrate4cold"] {
            assert_eq!(entered_function(other), other);
        }
    }

    #[test]
    fn allocator_shims_are_called_from_outside() {
        for name in ["_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rust_alloc", "__rg_dealloc", "malloc", "valloc"] {
            assert!(is_called_from_outside(name), "{name}");
        }
        for name in ["main", "_RNvCs1234_7mycrate3foo", "rust_alloc"] {
            assert!(!is_called_from_outside(name), "{name}");
        }
    }

    #[test]
    fn sections_with_a_leading_dot_are_not_enclosed() {
        assert!(is_c_identifier("linkme_SHENANIGANS"));
        assert!(!is_c_identifier(".text"));
        assert!(!is_c_identifier(""));
    }
}
