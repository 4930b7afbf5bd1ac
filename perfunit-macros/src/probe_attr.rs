//! `#[perfunit_probe(KEY)]`: makes a function report its entry and exit to the runtime.
//!
//! ```text
//! fn f(a: A) -> R { BODY }
//! ```
//! becomes
//! ```text
//! fn f(a: A) -> R {
//!     let guard = Site::enter({ static SITE: Site = Site::new(KEY); &SITE });
//!     BODY
//! }
//! ```
//! (with `--cfg perfunit_growth`: a guard of another site that receives the lengths of the arguments)
//!
//! BODY is not nested: its statements follow ours, so that the temporaries of its last expression are dropped at the
//! same time as before. Values dropped after the function's locals (arguments, and before edition 2024 also temporaries
//! of the last expression) are therefore dropped after the guard, in the caller's time.
//!
//! An `async fn` keeps its signature, and the future of its body is polled under the probe:
//! ```text
//! async fn f(a: A, (b, _): (B, C)) -> R { BODY }
//! ```
//! becomes
//! ```text
//! async fn f(a: A, arg1: (B, C)) -> R {
//!     probed({ static SITE: Site = Site::new(KEY); &SITE }, async move {
//!         if let Some(result) = None::<R> { return result; }
//!         let a = a;
//!         let mut arg1 = arg1; let (b, _) = arg1;
//!         let result: R = { BODY };
//!         result
//!     }).await
//! }
//! ```
//! The compiler transforms an `async fn` in the same way: all arguments move into the future, used or not, and are
//! dropped there in reverse order, after the temporaries of BODY's last expression, which may borrow them. (The time to
//! drop arguments therefore belongs to the function.) Inside an `async` block the type R is not known as it is inside a
//! function. If it matters (coercions, `?`, `collect()`), the first line declares it for every `return` and `?`, and
//! the `let` for BODY's value. An `impl Trait` in R becomes `_` there: inside the function the compiler does not know
//! its type either, and infers it from BODY. It does know the trait, which matters only to closures (`impl Fn(&str)`),
//! so an `async fn` that returns one gets no probe.
//!
//! A function that only creates a future (`Box::pin(async move { .. })`, to which `#[async_trait]` expands methods)
//! returns that future under the probe, instead of having a probe around the creation.

use crate::body::{braces, item_trees};
use crate::paths;
use crate::splice::{is_free_of_fragments, regroup, visible_item};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, ToTokens};
use syn::parse::{Parse, ParseStream};
use syn::visit_mut::{self, VisitMut};
use syn::{parse_quote, Attribute, FnArg, LitInt, Pat, PatType, ReturnType, Signature, Type, Visibility};

/// Traits that tell the compiler the argument types of a closure.
const CLOSURES: [&str; 6] = ["Fn", "FnMut", "FnOnce", "AsyncFn", "AsyncFnMut", "AsyncFnOnce"];

/// Expands `#[perfunit_probe(args)] item`. An item that cannot have a probe stays unchanged.
pub fn expand(args: &TokenStream, item: &TokenStream) -> TokenStream {
    with_probe(args, item).unwrap_or_else(|| item.clone())
}

fn with_probe(args: &TokenStream, item: &TokenStream) -> Option<TokenStream> {
    let key: LitInt = syn::parse2(args.clone()).ok()?;
    key.base10_parse::<u64>().ok()?;
    let mut trees = item_trees(item);
    let body = braces(trees.pop()?)?;
    let head: TokenStream = visible_item(trees)?.into_iter().collect();
    let function: Head = syn::parse2(head.clone()).ok()?;
    if !function.can_have_probe() {
        return None;
    }
    let (attributes, statements) = parts(&body)?;
    let (head, statements) = if function.sig.asyncness.is_some() {
        // Its arguments and return type move.
        if !is_free_of_fragments(head) {
            return None;
        }
        function.into_future(&key, &regroup(&body, statements))?
    } else if let Some(future) = made_future(&statements, &key) {
        (head, future)
    } else {
        let (ty, site, guard) = (paths::site(), site(&key), local("guard"));
        let counted = build_counter(&key, &function.sig);
        let entered = quote! {
            #[cfg(not(perfunit_growth))]
            let #guard = #ty::enter(#site);
            #[cfg(perfunit_growth)]
            let #guard = #counted;
        };
        (head, quote!(#entered #statements))
    };
    let body = regroup(&body, quote!(#attributes #statements));
    Some(quote!(#head #body))
}

/// A function without its body.
struct Head {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
}

impl Parse for Head {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        Ok(Head { attrs: input.call(Attribute::parse_outer)?, vis: input.parse()?, sig: input.parse()? })
    }
}

impl Head {
    /// Checks whether the function can have a probe. A `const fn` may run in the compiler, a naked function has no
    /// statements, and the arguments of a variadic one depend on its frame. (syn does not support `gen fn`.) Tests are
    /// the roots of all probed calls.
    fn can_have_probe(&self) -> bool {
        let is_test = |attr: &Attribute| {
            attr.path().segments.last().is_some_and(|name| name.ident == "test" || name.ident == "bench")
        };
        self.sig.constness.is_none()
            && self.sig.variadic.is_none()
            && !self.attrs.iter().any(|attr| is_test(attr) || mentions(&attr.to_token_stream(), &["naked"]))
    }

    /// Builds head and statements of the `async fn` (see the module documentation).
    fn into_future(mut self, key: &LitInt, body: &Group) -> Option<(TokenStream, TokenStream)> {
        let output = known_output(&self.sig.output)?;
        let (probed, site, result) = (paths::probed_path(), site(key), local("result"));
        let arguments: Vec<TokenStream> = self.sig.inputs.iter_mut().enumerate().map(argument).collect();
        let inside = match output {
            // This type has no values, and it cannot be named elsewhere.
            Type::Never(_) => body.to_token_stream(),
            Type::Infer(_) => quote!(let #result = #body; #result),
            _ => quote!(let #result: #output = #body; #result),
        };
        let core = paths::core();
        let told = match output {
            Type::Never(_) | Type::Infer(_) => TokenStream::new(),
            _ => quote! {
                if let #core::option::Option::Some(#result) = #core::option::Option::None::<#output> { return #result; }
            },
        };
        let Head { attrs, vis, sig } = self;
        Some((quote!(#(#attrs)* #vis #sig), quote!(#probed(#site, async move { #told #(#arguments)* #inside }).await)))
    }
}

/// Splits a body into the `#![..]` at its start, which must stay there, and its statements. Returns `None` if that
/// would rebuild macro fragments.
fn parts(body: &Group) -> Option<(TokenStream, TokenStream)> {
    let mut trees: Vec<TokenTree> = body.stream().into_iter().collect();
    let is = |tree: &TokenTree, symbol| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == symbol);
    let is_attribute = |three: &&[TokenTree]| is(&three[0], '#') && is(&three[1], '!');
    let count = trees.chunks_exact(3).take_while(is_attribute).count();
    if count == 0 {
        return Some((TokenStream::new(), body.stream()));
    }
    let statements = trees.split_off(3 * count);
    let has_fragment =
        |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::None);
    (!statements.iter().any(has_fragment)).then(|| (trees.into_iter().collect(), statements.into_iter().collect()))
}

/// Moves an argument into the future of an `async fn`. A pattern gets a name in the signature.
fn argument((number, argument): (usize, &mut FnArg)) -> TokenStream {
    let PatType { attrs, pat, .. } = match argument {
        // Borrowing it moves it as a whole, not only the used fields.
        FnArg::Receiver(receiver) => {
            let this = receiver.self_token;
            return quote!(let _ = &#this;);
        }
        FnArg::Typed(typed) => typed,
    };
    // Other attributes of arguments have no meaning on a `let`.
    let cfgs: Vec<&Attribute> = attrs.iter().filter(|attr| attr.path().is_ident("cfg")).collect();
    if let Pat::Ident(name) = &**pat {
        if name.by_ref.is_none() && name.subpat.is_none() {
            let ident = &name.ident;
            return quote!(#(#cfgs)* let #name = #ident;);
        }
    }
    let name = local(&format!("arg{number}"));
    let moved = quote!(#(#cfgs)* let mut #name = #name; #(#cfgs)* let #pat = #name;);
    **pat = parse_quote!(#name);
    moved
}

/// Returns the output type of a function, with `_` for each `impl Trait`; `None` if that might omit too much.
fn known_output(output: &ReturnType) -> Option<Type> {
    let mut visitor = OutputVisitor { enough: true };
    let ReturnType::Type(_, ty) = output else { return Some(parse_quote!(())) };
    let mut ty = (**ty).clone();
    while let Type::Group(group) = ty {
        ty = *group.elem;
    }
    visitor.visit_type_mut(&mut ty);
    visitor.enough.then_some(ty)
}

struct OutputVisitor {
    enough: bool,
}

impl VisitMut for OutputVisitor {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(some) => {
                self.enough &= !mentions(&some.to_token_stream(), &CLOSURES);
                *ty = parse_quote!(_);
            }
            // It may expand to an `impl Trait`.
            Type::Macro(_) | Type::Verbatim(_) => self.enough = false,
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }
}

/// Returns the statements of a function that only creates a future, `async move { .. }` or `Box::pin(async move { ..
/// })`, with that future under the probe.
fn made_future(statements: &TokenStream, key: &LitInt) -> Option<TokenStream> {
    let mut trees: Vec<TokenTree> = statements.clone().into_iter().collect();
    let (probed, site) = (paths::probed_path(), site(key));
    if is_async_block(&trees) {
        return Some(quote!(#probed(#site, #statements)));
    }
    let Some(TokenTree::Group(argument)) = trees.pop() else { return None };
    let pin: String = trees.iter().map(ToString::to_string).collect();
    let future = argument.stream();
    let is_pinned = argument.delimiter() == Delimiter::Parenthesis
        && (pin == "Box::pin" || pin.ends_with("::Box::pin"))
        && is_async_block(&future.clone().into_iter().collect::<Vec<_>>());
    is_pinned.then(|| quote!(#(#trees)*(#probed(#site, #future))))
}

fn is_async_block(trees: &[TokenTree]) -> bool {
    let is_keyword = |tree: &TokenTree, word| matches!(tree, TokenTree::Ident(name) if name == word);
    let is_block = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    match trees {
        [first, block] => is_keyword(first, "async") && is_block(block),
        [first, second, block] => is_keyword(first, "async") && is_keyword(second, "move") && is_block(block),
        _ => false,
    }
}

/// Builds the code at the start of a function that passes on the lengths of its arguments when growth is measured.
fn build_counter(key: &LitInt, sig: &Signature) -> TokenStream {
    let growth = paths::growth();
    let lengths = sig.inputs.iter().map(|argument| match argument {
        FnArg::Receiver(receiver) => {
            let this = receiver.self_token;
            quote!((&&&&#growth::Of(&#this)).perfunit_length())
        }
        FnArg::Typed(PatType { attrs, pat, .. }) => match &**pat {
            // An argument with a `cfg` may not exist, and a pattern has no name.
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() && attrs.is_empty() => {
                let name = &name.ident;
                quote!((&&&&#growth::Of(&#name)).perfunit_length())
            }
            _ => {
                let core = paths::core();
                quote!(#core::option::Option::None)
            }
        },
    });
    quote!({
        use #growth::{Len as _, LenOfBytes as _, LenOfText as _, NoLen as _};
        static __PERFUNIT_COUNTED: #growth::Site = #growth::Site::new(#key);
        #growth::Site::enter(&__PERFUNIT_COUNTED, &[#(#lengths),*])
    })
}

/// Returns a reference to the site of this function, which all instances of a generic function share.
fn site(key: &LitInt) -> TokenStream {
    let ty = paths::site();
    quote!({ static __PERFUNIT_SITE: #ty = #ty::new(#key); &__PERFUNIT_SITE })
}

/// Creates a variable that user code cannot see.
fn local(name: &str) -> Ident {
    format_ident!("__perfunit_{name}", span = Span::mixed_site())
}

/// Checks whether one of these words occurs in the tokens.
fn mentions(tokens: &TokenStream, words: &[&str]) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(name) => words.iter().any(|word| name == word),
        TokenTree::Group(group) => mentions(&group.stream(), words),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
