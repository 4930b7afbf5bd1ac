//! Conditions of `#[cfg]`, and their only evaluator.

use cfg_expr::{Expression, Predicate, TargetPredicate};
use perfunit_build::Compilation;
use perfunit_model::LeftOutBy;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::env::consts;
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Conditions under which an item is compiled: its own and those of everything around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// Arguments of the `#[cfg]`s, all of which must hold. Text that cannot be parsed is neither true nor false.
    all: Vec<String>,
}

/// Facts about a compilation that decide conditions. An unknown fact is `None` and decides nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Configuration<'a> {
    pub features: Option<&'a BTreeSet<String>>,
    pub test: Option<bool>,
    /// Depends on the profile, on options of single packages, and on `RUSTFLAGS`, so it is known only for a finished
    /// build.
    pub debug_assertions: Option<bool>,
    /// Values of other conditions: options of the compiler and of build scripts, and the target.
    pub others: Others,
}

/// Evaluation of conditions that do not concern features, tests or debug assertions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Others {
    /// Unknown: they may hold or not.
    #[default]
    Open,
    /// Decided by this machine, which runs the program. Its family and system are known; its architecture may be a
    /// narrower one.
    OnThisMachine,
    /// Decided as in most builds: for exactly this machine, and without options that a crate defines (`docsrs`,
    /// `loom`).
    Typical,
}

impl Condition {
    /// Returns the condition of the `#[cfg]`s among these attributes.
    pub fn of(attributes: &[Attribute]) -> Self {
        let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let arguments = |attribute: &Attribute| match &attribute.meta {
            Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        Self { all: conditions.map(arguments).collect() }
    }

    /// Returns the condition that is the first argument of `cfg_attr(..)`.
    pub(super) fn of_argument(condition: &Meta) -> Self {
        Self { all: vec![condition.to_token_stream().to_string()] }
    }

    /// Returns an unknown condition.
    pub fn unknown() -> Self {
        Self { all: vec![String::new()] }
    }

    #[must_use]
    pub fn and(&self, other: Self) -> Self {
        Self { all: self.all.iter().cloned().chain(other.all).collect() }
    }

    /// Evaluates the condition, if the facts decide it.
    pub fn holds(&self, configuration: &Configuration<'_>) -> Option<bool> {
        let each = self.all.iter().map(|text| {
            // cfg-expr strips one `cfg(..)`, and nothing else of the text.
            let expression = Expression::parse(&format!("cfg({text})")).ok()?;
            expression.eval(|predicate| configuration.decides(predicate))
        });
        let each: Vec<Option<bool>> = each.collect();
        if each.contains(&Some(false)) { Some(false) } else { each.iter().all(Option::is_some).then_some(true) }
    }

    /// Checks whether only test builds can satisfy the condition.
    pub fn implies_test(&self) -> bool {
        let with = |test: bool| self.holds(&Configuration { test: Some(test), ..Configuration::default() });
        with(false) == Some(false) && with(true) != Some(false)
    }
}

impl<'a> Configuration<'a> {
    /// Returns the facts about a finished compilation for this machine.
    pub fn of_build(compilation: &'a Compilation) -> Self {
        Self {
            features: Some(&compilation.features),
            debug_assertions: compilation.debug_assertions,
            ..Self::of_any_build()
        }
    }

    /// Returns the facts about any build for this machine. Its libraries are compiled with and without tests.
    pub fn of_any_build() -> Self {
        Self { others: Others::OnThisMachine, ..Self::default() }
    }

    /// Returns the likely facts about unit tests that will be built with these features, if known.
    pub fn of_unit_tests(features: Option<&'a BTreeSet<String>>) -> Self {
        Self { features, test: Some(true), debug_assertions: None, others: Others::Typical }
    }

    /// Returns the facts without one of them.
    #[must_use]
    pub fn without(self, fact: LeftOutBy) -> Self {
        match fact {
            LeftOutBy::Features => Self { features: None, ..self },
            LeftOutBy::Platform => Self { others: Others::Open, ..self },
            LeftOutBy::Profile => Self { debug_assertions: None, ..self },
        }
    }

    /// Checks whether the condition may hold, given the known facts.
    pub fn may_satisfy(&self, condition: &Condition) -> bool {
        condition.holds(self) != Some(false)
    }

    /// Returns the attributes that apply. Those in `cfg_attr(..)` apply only if its condition may hold.
    pub fn applicable_attributes(&self, attributes: &[Attribute]) -> Vec<Meta> {
        let mut found = Vec::new();
        for attribute in attributes {
            self.add_applied(&attribute.meta, &mut found);
        }
        found
    }

    fn add_applied(&self, meta: &Meta, found: &mut Vec<Meta>) {
        let Meta::List(list) = meta else { return found.push(meta.clone()) };
        if !list.path.is_ident("cfg_attr") {
            return found.push(meta.clone());
        }
        let Ok(metas) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else { return };
        let mut metas = metas.iter();
        if metas.next().is_some_and(|condition| self.may_satisfy(&Condition::of_argument(condition))) {
            metas.for_each(|meta| self.add_applied(meta, found));
        }
    }

    fn decides(&self, predicate: &Predicate<'_>) -> Option<bool> {
        match predicate {
            // Since Rust 1.88; cfg-expr reads them as options of these names.
            Predicate::Flag("true") => Some(true),
            Predicate::Flag("false") => Some(false),
            Predicate::Test => self.test,
            Predicate::DebugAssertions => self.debug_assertions,
            Predicate::Feature(name) => self.features.map(|features| features.contains(*name)),
            Predicate::Target(target) => self.others.decides(target),
            _ => (self.others == Others::Typical).then_some(false),
        }
    }
}

impl Others {
    fn decides(self, target: &TargetPredicate) -> Option<bool> {
        let of_machine = match target {
            TargetPredicate::Family(family) => Some(family.as_str() == consts::FAMILY),
            TargetPredicate::Os(os) => Some(os.as_str() == consts::OS),
            TargetPredicate::Arch(arch) if !may_run_here(arch.as_str()) => Some(false),
            _ => None,
        };
        match self {
            Self::Open => None,
            Self::OnThisMachine => of_machine,
            Self::Typical => Some(of_machine.unwrap_or_else(|| is_here(target))),
        }
    }
}

/// Checks whether programs for this architecture may run here. Builds can be for a narrower one than ours.
fn may_run_here(architecture: &str) -> bool {
    let ours: &[&str] = match consts::ARCH {
        "x86_64" => &["x86_64", "x86"],
        "aarch64" => &["aarch64", "arm"],
        _ => return true,
    };
    ours.contains(&architecture)
}

/// Checks whether a target like this machine has the property. Test executables unwind.
fn is_here(target: &TargetPredicate) -> bool {
    match target {
        TargetPredicate::Arch(arch) => arch.as_str() == consts::ARCH,
        TargetPredicate::PointerWidth(bits) => u32::from(*bits) == usize::BITS,
        TargetPredicate::Endian(endian) => (*endian == cfg_expr::targets::Endian::big) == cfg!(target_endian = "big"),
        TargetPredicate::HasAtomic(_) => true,
        TargetPredicate::Panic(panic) => panic.as_str() == "unwind",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[track_caller]
    fn check(attribute: Attribute, expected: Option<bool>) {
        let features = ["alloc".to_owned()].into();
        let configuration = Configuration { features: Some(&features), ..Configuration::of_any_build() };
        assert_eq!(Condition::of(&[attribute]).holds(&configuration), expected);
    }

    #[test]
    fn features_are_known() {
        check(parse_quote!(#[cfg(feature = "alloc")]), Some(true));
        check(parse_quote!(#[cfg(feature = "std")]), Some(false));
        check(parse_quote!(#[cfg(not(feature = "std"))]), Some(true));
        check(parse_quote!(#[cfg(any(feature = "std", feature = "alloc"))]), Some(true));
        check(parse_quote!(#[cfg(all(feature = "std", feature = "alloc"))]), Some(false));
        check(parse_quote!(#[inline]), Some(true));
        let condition = Condition::of(&[parse_quote!(#[cfg(feature = "alloc")])]);
        assert_eq!(condition.holds(&Configuration::of_any_build()), None);
    }

    #[test]
    fn the_fact_that_decides_is_the_one_without_which_the_condition_is_open() {
        let features = ["alloc".to_owned()].into();
        let known = Configuration { debug_assertions: Some(false), ..Configuration::of_any_build() };
        let known = Configuration { features: Some(&features), ..known };
        let deciding = |attribute: Attribute| {
            let condition = Condition::of(&[attribute]);
            assert_eq!(condition.holds(&known), Some(false));
            let is_open = |fact: &LeftOutBy| condition.holds(&known.without(*fact)).is_none();
            LeftOutBy::ALL.into_iter().filter(is_open).collect::<Vec<_>>()
        };
        assert_eq!(deciding(parse_quote!(#[cfg(feature = "std")])), [LeftOutBy::Features]);
        assert_eq!(deciding(parse_quote!(#[cfg(all(feature = "std", feature = "alloc"))])), [LeftOutBy::Features]);
        assert_eq!(deciding(parse_quote!(#[cfg(debug_assertions)])), [LeftOutBy::Profile]);
        assert_eq!(deciding(parse_quote!(#[cfg(target_family = "wasm")])), [LeftOutBy::Platform]);
        assert_eq!(deciding(parse_quote!(#[cfg(all(debug_assertions, feature = "std"))])), []);
    }

    #[test]
    fn what_is_not_known_decides_nothing_unless_the_rest_does() {
        check(parse_quote!(#[cfg(memchr_runtime_simd)]), None);
        check(parse_quote!(#[cfg(not(test))]), None);
        check(parse_quote!(#[cfg(any(debug_assertions, feature = "std"))]), None);
        check(parse_quote!(#[cfg(any(debug_assertions, feature = "alloc"))]), Some(true));
        check(parse_quote!(#[cfg(all(debug_assertions, feature = "std"))]), Some(false));
        check(parse_quote!(#[cfg(all(debug_assertions, feature = "alloc"))]), None);
        assert_eq!(Condition::unknown().holds(&Configuration::of_any_build()), None);
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
    fn all_forms_of_conditions_are_read() {
        check(parse_quote!(#[cfg(true)]), Some(true));
        check(parse_quote!(#[cfg(not(false))]), Some(true));
        check(parse_quote!(#[cfg(all(unix, feature = "std",),)]), Some(false));
        check(parse_quote!(#[cfg(all())]), Some(true));
        // Unstable or invalid, so it may hold or not.
        check(parse_quote!(#[cfg(version("1.80"))]), None);
        check(parse_quote!(#[cfg(accessible(::std::mem::size_of))]), None);
        check(parse_quote!(#[cfg(target_thread_local)]), None);
        check(parse_quote!(#[cfg(not(unix, windows))]), None);
        check(parse_quote!(#[cfg()]), None);
        check(parse_quote!(#[cfg(feature = r"std")]), None);
    }

    #[test]
    fn debug_assertions_are_those_of_the_build() {
        let condition = Condition::of(&[parse_quote!(#[cfg(not(debug_assertions))])]);
        let of_build = |debug_assertions| {
            let compilation = Compilation { features: BTreeSet::new(), debug_assertions };
            condition.holds(&Configuration::of_build(&compilation))
        };
        assert_eq!([Some(true), Some(false), None].map(of_build), [Some(false), Some(true), None]);
        // Before the build, the profile decides nothing.
        assert_eq!(condition.holds(&Configuration::of_unit_tests(Some(&BTreeSet::new()))), None);
    }

    #[test]
    fn typical_unit_tests_are_for_this_machine_and_without_options() {
        let features = BTreeSet::from(["std".to_owned()]);
        let holds =
            |attribute: Attribute| Condition::of(&[attribute]).holds(&Configuration::of_unit_tests(Some(&features)));
        let (arch, width) = (consts::ARCH, usize::BITS.to_string());
        assert_eq!(holds(parse_quote!(#[cfg(all(test, feature = "std"))])), Some(true));
        assert_eq!(holds(parse_quote!(#[cfg(not(any(feature = "alloc", docsrs)))])), Some(true));
        assert_eq!(holds(parse_quote!(#[cfg(feature = "alloc")])), Some(false));
        assert_eq!(holds(parse_quote!(#[cfg(target_os = "none")])), Some(false));
        assert_eq!(holds(parse_quote!(#[cfg(all(target_arch = #arch, target_pointer_width = #width))])), Some(true));
        assert_eq!(holds(parse_quote!(#[cfg(all(target_has_atomic = "ptr", panic = "unwind"))])), Some(true));
        assert_eq!(holds(parse_quote!(#[cfg(target_feature = "avx512f")])), Some(false));
    }

    #[test]
    fn only_conditions_that_need_a_test_build_imply_it() {
        let implies = |attribute: Attribute| Condition::of(&[attribute]).implies_test();
        assert!(implies(parse_quote!(#[cfg(test)])));
        assert!(implies(parse_quote!(#[cfg(all(feature = "a", test))])));
        assert!(implies(parse_quote!(#[cfg(any(all(test, unix), all(test, windows)))])));
        assert!(!implies(parse_quote!(#[cfg(any(test, feature = "a"))])));
        assert!(!implies(parse_quote!(#[cfg(not(test))])));
        assert!(!implies(parse_quote!(#[cfg(feature = "test")])));
        assert!(!implies(parse_quote!(#[cfg(any())])));
        assert!(!implies(parse_quote!(#[cfg(windows)])));
    }

    #[test]
    fn attributes_below_conditions_apply_where_these_may_hold() {
        let attributes: [Attribute; 4] = [
            parse_quote!(#[derive(Debug)]),
            parse_quote!(#[cfg_attr(feature = "a", derive(Copy))]),
            parse_quote!(#[cfg_attr(test, inline, cfg_attr(debug_assertions, cold))]),
            parse_quote!(#[cfg_attr(windows, path = "windows.rs")]),
        ];
        let applied = Configuration::of_unit_tests(Some(&BTreeSet::new())).applicable_attributes(&attributes);
        let names: Vec<String> = applied.iter().map(|meta| meta.path().to_token_stream().to_string()).collect();
        assert_eq!(names, ["derive", "inline", "cold"]);
    }

    #[test]
    fn conditions_of_surroundings_and_item_are_joined() {
        let of = |attribute: Attribute| Condition::of(&[attribute]);
        let joined = of(parse_quote!(#[cfg(feature = "alloc")])).and(of(parse_quote!(#[cfg(feature = "std")])));
        let holds = |names: &[&str]| {
            let features = names.iter().map(|name| (*name).to_owned()).collect();
            joined.holds(&Configuration { features: Some(&features), ..Configuration::default() })
        };
        assert_eq!(holds(&["alloc"]), Some(false));
        assert_eq!(holds(&["alloc", "std"]), Some(true));
        assert_eq!(Condition::default().and(Condition::default()), Condition::default());
    }
}
