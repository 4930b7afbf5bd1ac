//! A function as it is written: free, in an impl block or in a trait.

use syn::{Attribute, FnModifiers, Safety, Signature, Visibility};

pub(super) struct Function<'a> {
    pub attributes: &'a [Attribute],
    pub visibility: &'a Visibility,
    pub modifiers: &'a FnModifiers,
    pub sig: &'a Signature,
    pub body: &'a syn::Block,
    /// True outside of modules, impl blocks, traits and other functions.
    pub is_at_top: bool,
}

impl Function<'_> {
    /// The first line, attributes included: what these write stands there for the compiler.
    pub fn first_line(&self) -> usize {
        let attributes = self.attributes.iter().map(|attribute| attribute.pound_token.span.start().line);
        attributes.chain([self.sig.fn_token.span.start().line]).min().unwrap_or_default()
    }

    /// Offset of the first token behind the attributes.
    pub fn start(&self) -> usize {
        let Signature { constness, asyncness, safety, abi, fn_token, .. } = self.sig;
        let visibility = match self.visibility {
            Visibility::Public(public) => Some(public.span),
            Visibility::Restricted(restricted) => Some(restricted.pub_token.span),
            Visibility::Inherited => None,
        };
        let safety = match safety {
            Safety::Safe(safe) => Some(safe.span),
            Safety::Unsafe(unsafe_token) => Some(unsafe_token.span),
            Safety::Default => None,
        };
        let spans = [
            visibility,
            self.modifiers.defaultness.map(|token| token.span),
            constness.map(|token| token.span),
            asyncness.map(|token| token.span),
            safety,
            abi.as_ref().map(|abi| abi.extern_token.span),
            Some(fn_token.span),
        ];
        spans.iter().flatten().map(|span| span.byte_range().start).min().unwrap_or_default()
    }
}
