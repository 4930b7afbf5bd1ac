//! Which functions can have no probe, and why.

use super::function::Function;
use crate::source::attributes::{applied, is_attribute_macro};
use perfunit_model::Unprobed;
use syn::{Attribute, Visibility};

/// Functions that the compiler looks for or runs itself, most of them at compile time.
const COMPILER_HOOKS: [&str; 6] =
    ["proc_macro", "proc_macro_attribute", "proc_macro_derive", "panic_handler", "alloc_error_handler", "lang"];

/// What attributes around functions mean for those.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Context {
    has_no_prelude: bool,
    is_const: bool,
    is_rewritten: bool,
}

impl Context {
    /// In a module with these attributes; without any, in the body of a function.
    pub fn in_module(self, attributes: &[Attribute]) -> Self {
        let has_no_prelude = self.has_no_prelude || has(attributes, &["no_implicit_prelude"]);
        Self { has_no_prelude, ..Self::default() }
    }

    /// In an impl block or trait with these attributes.
    pub fn in_block(self, attributes: &[Attribute]) -> Self {
        let is_const = has(attributes, &["const_trait"]);
        Self { is_const, is_rewritten: is_rewritten(attributes), ..self }
    }
}

fn has(attributes: &[Attribute], names: &[&str]) -> bool {
    applied(attributes).iter().any(|path| names.iter().any(|name| path.is_ident(name)))
}

/// The rule by which a function has no probe, if there is one.
pub(super) fn unprobed(function: &Function<'_>, implements: &str, context: Context) -> Option<Unprobed> {
    let Function { attributes, visibility, sig, .. } = function;
    // A library's function of that name takes arguments, is public, or is called from elsewhere in the file at best.
    let is_main = || {
        function.is_at_top
            && sig.ident == "main"
            && sig.inputs.is_empty()
            && matches!(visibility, Visibility::Inherited)
    };
    let rules = [
        (sig.constness.is_some() || context.is_const, Unprobed::Const),
        (has(attributes, &["naked"]), Unprobed::Naked),
        (sig.variadic.is_some(), Unprobed::Variadic),
        (has(attributes, &COMPILER_HOOKS), Unprobed::CompilerHook),
        // The probe's own memory could come from it.
        (implements == "GlobalAlloc", Unprobed::Allocator),
        (is_main(), Unprobed::Main),
        // The macros of `#[macro_use] extern crate` belong to the prelude.
        (context.has_no_prelude, Unprobed::NoPrelude),
        // The probe comes last and would then time how long it takes to make the future, not what that does.
        (sig.asyncness.is_some() && (context.is_rewritten || is_rewritten(attributes)), Unprobed::RewrittenAsync),
    ];
    rules.into_iter().find_map(|(holds, rule)| holds.then_some(rule))
}

/// True if a macro gets the item before the probe does. `#[instrument]` leaves an `async fn` what it is.
fn is_rewritten(attributes: &[Attribute]) -> bool {
    let keeps = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "instrument");
    applied(attributes).iter().any(|path| is_attribute_macro(path) && !keeps(path))
}
