//! Finds all functions of a file, with names, keys and positions.

use super::function::{self, Context, Function, is_trivial, probe_obstacle};
use super::site::{Extent, LeftOut, Place, Site};
use crate::source::attributes::is_test;
use crate::source::macros::{InnerFn, makes_tests, names_in_definition, take_functions};
use crate::source::modules::without_first_line_script;
use crate::source::normalise::bare;
use crate::source::surroundings::{Owner, Surroundings, impl_header};
use perfunit_model::Unprobed;
use proc_macro2::{Span, TokenStream};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::hash::Hasher;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, ItemFn, ItemImpl, ItemMacro, ItemMod, ItemTrait, Macro, TraitItemFn, Visibility};

/// Functions of a file.
#[derive(Default)]
pub(super) struct FileFunctions {
    /// Functions that can have a probe, by ascending byte offset of the first token after the attributes.
    pub functions: Vec<(usize, Site)>,
    pub left_out: Vec<LeftOut>,
    /// The functions in the text, including tests, outer ones first.
    pub extents: Vec<Extent>,
}

/// Finds the functions of a file; `None` if it cannot be parsed.
pub(super) fn functions(text: &str, place: &Place<'_>) -> Option<FileFunctions> {
    let rust = without_first_line_script(text);
    let file = syn::parse_file(rust).ok()?;
    let mut walker = Walker {
        offset: text.len() - rust.len(),
        around: Surroundings::default().below(&file.attrs),
        context: Context::default().in_module(&file.attrs),
        enclosing: key(&[place.package.as_bytes(), place.path.as_bytes()]),
        equals: BTreeMap::new(),
        found: FileFunctions::default(),
    };
    walker.visit_file(&file);
    Some(walker.found)
}

struct Walker {
    /// Number of bytes before the parsed text.
    offset: usize,
    around: Surroundings,
    context: Context,
    /// Key of the enclosing function, or of the file.
    enclosing: u64,
    /// Number of functions with the same name and place so far.
    equals: BTreeMap<u64, u64>,
    found: FileFunctions,
}

impl Walker {
    fn function(&mut self, function: &Function<'_>) {
        let Function { attributes, sig, body, .. } = function;
        let ident = bare(&sig.ident);
        let (is_test, around) = (is_test(attributes), self.around.below(attributes));
        let test_only = around.test_only || is_test;
        let (name, key) = (self.around.name(&ident), self.key(&ident));
        self.found.extents.push(Extent {
            key,
            name: name.clone(),
            line: sig.ident.span().start().line,
            first: function.first_line(),
            last: body.brace_token.span.close().end().line,
            is_test,
        });
        match probe_obstacle(function, &self.around.owner.implements, self.context) {
            _ if is_test => {}
            Some(why) => self.leave_out(name, sig.ident.span(), why),
            None => {
                let Owner { ident: owner, implements, header } = self.around.owner.clone();
                let (line, trivial) = (sig.ident.span().start().line, is_trivial(sig, body));
                let (arguments, returns) = (function::arguments(sig), function::returns(sig, &owner));
                let site = Site { key, name, line, owner, implements, header, test_only, trivial, arguments, returns };
                self.found.functions.push((self.offset + function.start(), site));
            }
        }
        let inside = Surroundings { test_only, ..around.inside(&ident) };
        let outside = std::mem::replace(&mut self.enclosing, key);
        self.within(inside, self.context.in_module(&[]), |walker| walker.visit_block(body));
        self.enclosing = outside;
    }

    /// Returns the key of a function with this name at the current place.
    fn key(&mut self, ident: &str) -> u64 {
        let name = self.around.name(ident);
        let place = [&self.enclosing.to_le_bytes(), self.around.owner.header.as_bytes(), name.as_bytes()];
        let count = self.equals.entry(key(&place)).or_default();
        *count += 1;
        key(&[place[0], place[1], place[2], &count.to_le_bytes()])
    }

    fn leave_out(&mut self, name: String, span: Span, why: Unprobed) {
        self.found.left_out.push(LeftOut { name, line: span.start().line, why });
    }

    /// Records functions in unparsed tokens.
    fn tokens(&mut self, tokens: &TokenStream, why: Unprobed) {
        for InnerFn { scope, ident, attributes, .. } in take_functions(tokens.clone()).0 {
            if !is_test(&attributes) {
                let name = scope.iter().cloned().chain([bare(&ident)]).collect::<Vec<_>>().join("::");
                self.leave_out(self.around.name(&name), ident.span(), why);
            }
        }
    }

    fn within(&mut self, around: Surroundings, context: Context, inside: impl FnOnce(&mut Self)) {
        let outside = (std::mem::replace(&mut self.around, around), std::mem::replace(&mut self.context, context));
        inside(self);
        (self.around, self.context) = outside;
    }

    fn is_at_top(&self) -> bool {
        self.around.scope.is_empty()
    }
}

impl<'ast> Visit<'ast> for Walker {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let ItemFn { attrs: attributes, vis: visibility, modifiers, sig, block: body } = item;
        let is_at_top = self.is_at_top();
        self.function(&Function { attributes, visibility, modifiers, sig, body, is_at_top });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        let ImplItemFn { attrs: attributes, vis: visibility, modifiers, sig, block: body } = item;
        self.function(&Function { attributes, visibility, modifiers, sig, body, is_at_top: false });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        let TraitItemFn { attrs: attributes, modifiers, sig, default, .. } = item;
        let visibility = &Visibility::Inherited;
        if let Some(body) = default {
            self.function(&Function { attributes, visibility, modifiers, sig, body, is_at_top: false });
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let owner = Owner::of_impl(item, &impl_header(item));
        let (around, context) = (self.around.below(&item.attrs).owned_by(owner), self.context.in_block(&item.attrs));
        self.within(around, context, |walker| visit::visit_item_impl(walker, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        let around = self.around.below(&item.attrs).owned_by(Owner::of_trait(item));
        self.within(around, self.context.in_block(&item.attrs), |walker| visit::visit_item_trait(walker, item));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let around = self.around.below(&item.attrs).inside(&bare(&item.ident));
        self.within(around, self.context.in_module(&item.attrs), |walker| visit::visit_item_mod(walker, item));
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        let Some(ident) = &item.ident else { return self.visit_macro(&item.mac) };
        for (name, span) in names_in_definition(&item.mac.tokens) {
            let name = self.around.name(&format!("{}!::{name}", bare(ident)));
            self.leave_out(name, span, Unprobed::InMacro);
        }
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        if !makes_tests(&item.path) {
            self.tokens(&item.tokens, Unprobed::InMacro);
        }
    }

    /// Arguments of attributes contain no functions.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// Other token streams are syntax that syn does not support.
    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.tokens(tokens, Unprobed::Unparsed);
    }
}

/// Hashes these parts by `SipHash` 1-3 with a fixed key, which gives the same result on every machine.
fn key(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        // Include the length, so that parts cannot run into each other.
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    }
    hasher.finish()
}
