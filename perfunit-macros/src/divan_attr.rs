//! `#[divan::bench]` for the stand-in of divan. Expands to the unchanged function, a function that lists its
//! benchmarks, and a constructor that registers that function.
//!
//! Options that only decide how divan measures and reports are accepted and ignored.

use crate::body::item_trees;
use crate::splice::{visible, visible_item};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, ToTokens};
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, FnArg, GenericParam, ItemFn, Path, Token, Type};

/// Options of the attribute that decide which benchmarks exist.
#[derive(Default)]
struct Options {
    divan: Option<Path>,
    name: Option<Written<Expr>>,
    args: Option<Written<Expr>>,
    types: Option<Vec<Written<Type>>>,
    consts: Option<Vec<Written<Expr>>>,
    ignore: Option<Written<Expr>>,
    /// Amounts to count in addition to time, each with the type of its counter.
    counters: Vec<(Option<&'static str>, Written<Expr>)>,
}

/// User code, parsed and as received.
struct Written<T> {
    read: T,
    tokens: TokenStream,
}

impl<T: Parse + ToTokens> Parse for Written<T> {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut rest = input.cursor();
        let read: T = input.parse()?;
        let mut received = Vec::new();
        while rest != input.cursor() {
            let Some((tree, next)) = rest.token_tree() else { break };
            received.push(tree);
            rest = next;
        }
        let tokens = visible(received.into_iter().collect(), &read)
            .ok_or_else(|| syn::Error::new_spanned(&read, "a macro fragment that cannot be moved"))?;
        Ok(Self { read, tokens })
    }
}

impl<T> ToTokens for Written<T> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.tokens.clone());
    }
}

/// Parses a list in brackets.
fn list<T: Parse>(input: ParseStream) -> syn::Result<Vec<T>> {
    let list;
    syn::bracketed!(list in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&list)?.into_iter().collect())
}

impl Options {
    fn parse(args: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.take(&meta)).parse2(args)?;
        Ok(options)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.require_ident()?.to_string();
        match name.trim_start_matches("r#") {
            "crate" => self.divan = Some(meta.value()?.parse()?),
            "name" => self.name = Some(meta.value()?.parse()?),
            "args" => self.args = Some(meta.value()?.parse()?),
            "consts" => self.consts = Some(list(meta.value()?)?),
            "types" => self.types = Some(list(meta.value()?)?),
            "counters" if meta.input.peek2(syn::token::Bracket) => {
                self.counters.extend(list(meta.value()?)?.into_iter().map(|counter| (None, counter)));
            }
            "counter" | "counters" => self.counters.push((None, meta.value()?.parse()?)),
            "bytes_count" => self.counters.push((Some("BytesCount"), meta.value()?.parse()?)),
            "chars_count" => self.counters.push((Some("CharsCount"), meta.value()?.parse()?)),
            "cycles_count" => self.counters.push((Some("CyclesCount"), meta.value()?.parse()?)),
            "items_count" => self.counters.push((Some("ItemsCount"), meta.value()?.parse()?)),
            option => {
                let value = if meta.input.peek(Token![=]) { Some(meta.value()?.parse()?) } else { None };
                if option == "ignore" {
                    let always = || Written { read: syn::parse_quote!(true), tokens: quote!(true) };
                    self.ignore = Some(value.unwrap_or_else(always));
                }
            }
        }
        Ok(())
    }
}

/// Expands `#[divan::bench]`.
pub fn bench(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item).unwrap_or_else(syn::Error::into_compile_error)
}

fn expand(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options = Options::parse(args)?;
    let (item, marked) = without_ignore(item)?;
    let function: ItemFn = syn::parse2(item.clone())?;
    let divan = options.divan.clone().unwrap_or_else(|| syn::parse_quote!(::divan));
    let own_name = function.sig.ident.to_string();
    let own_name = own_name.trim_start_matches("r#");
    let name = options.name.as_ref().map_or_else(|| quote!(#own_name), ToTokens::to_token_stream);
    let ignored = options.ignore.as_ref().map_or_else(|| quote!(#marked), ToTokens::to_token_stream);
    let names = Names::new();
    let listed = variants(&options, &function).map(|variant| entry(&divan, &names, &options, &function, &variant));
    let listed = listed.collect::<syn::Result<Vec<_>>>()?;
    let Names { list, push, benches, .. } = &names;
    Ok(quote! {
        #item
        const _: () = {
            fn #list(#benches: &mut #divan::__private::Benches) {
                #benches.begin(#divan::__private::core::module_path!(), #name, #ignored);
                #(#listed)*
            }
            extern "C" fn #push() {
                #divan::__private::add(#list)
            }
            #[used]
            #[link_section = ".init_array"]
            static __PERFUNIT_PUSH: extern "C" fn() = #push;
        };
    })
}

/// Names in the added code, which user code in it must not see.
struct Names {
    list: Ident,
    push: Ident,
    benches: Ident,
    bencher: Ident,
    arg: Ident,
}

impl Names {
    fn new() -> Self {
        // Hygiene hides variables only, so functions need names that no user code has.
        let variable = |name: &str| format_ident!("__perfunit_{name}", span = Span::mixed_site());
        Self {
            list: format_ident!("__perfunit_list"),
            push: format_ident!("__perfunit_push"),
            benches: variable("benches"),
            bencher: variable("bencher"),
            arg: variable("arg"),
        }
    }
}

/// Removes `#[ignore]`, which the compiler accepts on tests only, and returns whether it was present.
fn without_ignore(item: TokenStream) -> syn::Result<(TokenStream, bool)> {
    let mut trees = item_trees(&item);
    let is_ignore = |two: &[TokenTree]| match two {
        [TokenTree::Punct(hash), TokenTree::Group(group)] if group.delimiter() == Delimiter::Bracket => {
            let first = group.stream().into_iter().next();
            hash.as_char() == '#' && matches!(first, Some(TokenTree::Ident(name)) if name == "ignore")
        }
        _ => false,
    };
    let Some(place) = trees.windows(2).position(is_ignore) else { return Ok((item, false)) };
    trees.drain(place..place + 2);
    let refused = || syn::Error::new_spanned(&item, "a macro fragment that cannot be moved");
    Ok((visible_item(trees).ok_or_else(refused)?.into_iter().collect(), true))
}

/// A function with types and constants for its generic parameters.
struct Variant<'a> {
    of_type: Option<&'a Written<Type>>,
    constant: Option<&'a Written<Expr>>,
}

fn variants<'a>(options: &'a Options, function: &ItemFn) -> impl Iterator<Item = Variant<'a>> {
    let has_types = function.sig.generics.type_params().next().is_some();
    let types: Vec<Option<&Written<Type>>> = match &options.types {
        Some(types) if has_types => types.iter().map(Some).collect(),
        _ => vec![None],
    };
    let constants: Vec<Option<&Written<Expr>>> = match &options.consts {
        Some(constants) => constants.iter().map(Some).collect(),
        None => vec![None],
    };
    types.into_iter().flat_map(move |of_type| {
        let constants = constants.clone().into_iter();
        constants.map(move |constant| Variant { of_type, constant })
    })
}

/// Returns the code that lists one variant.
fn entry(
    divan: &Path,
    names: &Names,
    options: &Options,
    function: &ItemFn,
    variant: &Variant<'_>,
) -> syn::Result<TokenStream> {
    let Variant { of_type, constant } = variant;
    let Names { benches, bencher, arg, .. } = names;
    let generic = function.sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(_) => of_type.map(ToTokens::to_token_stream),
        GenericParam::Const(_) => constant.map(|constant| quote!({ #constant })),
        GenericParam::Lifetime(_) => None,
    });
    let generic: Vec<TokenStream> = generic.collect();
    let ident = &function.sig.ident;
    let called = if generic.is_empty() { quote!(#ident) } else { quote!(#ident::<#(#generic),*>) };
    let of_type = of_type.map(|of_type| quote!(#divan::__private::type_name::<#of_type>(),));
    let constant = constant.map(|constant| quote!(#divan::__private::text_of(&{ #constant }),));
    let parts = quote!(&[#of_type #constant]);
    let inputs: Vec<&FnArg> = function.sig.inputs.iter().collect();
    let count = build_counters(divan, options);
    let wrong = |what: &str| Err(syn::Error::new_spanned(&function.sig, what));
    let Some(args) = &options.args else {
        return match inputs.len() {
            0 => Ok(quote!(#benches.plain(#parts, |#bencher| { #count #bencher.bench(#called) });)),
            1 => Ok(quote!(#benches.plain(#parts, |#bencher| { #count #called(#bencher); });)),
            _ => wrong("an argument requires the option `args`"),
        };
    };
    let Some(FnArg::Typed(last)) = inputs.last() else { return wrong("`args` requires an argument") };
    let of_arg = without_lifetime(&last.ty);
    let returns = match &args.read {
        Expr::Array(array) if array.elems.is_empty() => quote!(-> [#of_arg; 0]),
        _ => TokenStream::new(),
    };
    let given = quote!(#divan::__private::Arg::<#of_arg>::get(#arg));
    let has_bencher = inputs.len() > 1;
    let bench =
        if has_bencher { quote!(#called(#bencher, #given)) } else { quote!(#bencher.bench(|| #called(#given))) };
    Ok(quote! {
        #benches.args(
            #parts,
            || #returns { #args },
            |#arg| #divan::__private::ToStringHelper(#arg).to_string(),
            |#bencher, #arg| { #count #bench; },
        );
    })
}

/// Builds the code that counts before the benchmark runs. Divan reports all counters, we only the first.
fn build_counters(divan: &Path, options: &Options) -> Option<TokenStream> {
    let (of, amount) = options.counters.first()?;
    let counter = of.map(|of| quote::format_ident!("{of}"));
    let Some(counter) = counter else { return Some(quote!(#divan::__private::count(#amount);)) };
    Some(quote!(#divan::__private::count(#divan::counter::#counter::from(#amount));))
}

fn without_lifetime(of_arg: &Type) -> Type {
    let mut of_arg = of_arg.clone();
    Parenthesize.visit_type_mut(&mut of_arg);
    while let Type::Paren(inner) = of_arg {
        of_arg = *inner.elem;
    }
    if let Type::Reference(reference) = &mut of_arg {
        reference.lifetime = None;
    }
    of_arg
}

/// Replaces the invisible groups of macros, which do not survive printing, by parentheses.
struct Parenthesize;

impl VisitMut for Parenthesize {
    fn visit_type_mut(&mut self, of: &mut Type) {
        visit_mut::visit_type_mut(self, of);
        if let Type::Group(group) = of {
            let elem = &group.elem;
            *of = syn::parse_quote!((#elem));
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if let Expr::Group(group) = expr {
            let inner = &group.expr;
            *expr = syn::parse_quote!((#inner));
        }
    }
}

/// Expands `#[divan::bench_group]` to the unchanged module.
pub fn bench_group(args: &TokenStream, item: TokenStream) -> TokenStream {
    let is_ignored = args.clone().into_iter().any(|token| token.to_string() == "ignore");
    if is_ignored {
        let error = syn::Error::new_spanned(args, "ignored groups are not supported").into_compile_error();
        return quote!(#error #item);
    }
    item
}
