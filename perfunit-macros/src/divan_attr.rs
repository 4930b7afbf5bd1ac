//! `#[divan::bench]` for the stand-in of divan: the function as it is, and one that lists its benchmarks, which a constructor
//! makes known.
//!
//! Options that only decide how divan measures and reports are accepted and dropped.

use proc_macro2::TokenStream;
use quote::{quote, ToTokens};
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, Parser};
use syn::{Expr, ExprArray, FnArg, GenericParam, ItemFn, Path, Token, Type};

/// What of the attribute decides which benchmarks there are.
#[derive(Default)]
struct Options {
    divan: Option<Path>,
    name: Option<Expr>,
    args: Option<Expr>,
    types: Option<Vec<Type>>,
    consts: Option<ExprArray>,
    ignore: Option<Expr>,
    /// What is counted beside time, with the counter of which it is the amount.
    counters: Vec<(Option<&'static str>, Expr)>,
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
            "consts" => self.consts = Some(meta.value()?.parse()?),
            "types" => {
                let value = meta.value()?;
                let list;
                syn::bracketed!(list in value);
                self.types = Some(list.parse_terminated(Type::parse, Token![,])?.into_iter().collect());
            }
            "counter" => self.counters.push((None, meta.value()?.parse()?)),
            "counters" => match meta.value()?.parse()? {
                Expr::Array(array) => self.counters.extend(array.elems.into_iter().map(|counter| (None, counter))),
                counter => self.counters.push((None, counter)),
            },
            "bytes_count" => self.counters.push((Some("BytesCount"), meta.value()?.parse()?)),
            "chars_count" => self.counters.push((Some("CharsCount"), meta.value()?.parse()?)),
            "cycles_count" => self.counters.push((Some("CyclesCount"), meta.value()?.parse()?)),
            "items_count" => self.counters.push((Some("ItemsCount"), meta.value()?.parse()?)),
            option => {
                let value = if meta.input.peek(Token![=]) { Some(meta.value()?.parse::<Expr>()?) } else { None };
                if option == "ignore" {
                    self.ignore = Some(value.unwrap_or_else(|| syn::parse_quote!(true)));
                }
            }
        }
        Ok(())
    }
}

/// Expands `#[divan::bench]`.
pub fn bench(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(args, item).unwrap_or_else(syn::Error::into_compile_error)
}

fn expanded(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options = Options::parse(args)?;
    let mut function: ItemFn = syn::parse2(item)?;
    let marked = function.attrs.iter().position(|attribute| attribute.path().is_ident("ignore"));
    let marked = marked.map(|position| function.attrs.remove(position)).is_some();
    let divan = options.divan.clone().unwrap_or_else(|| syn::parse_quote!(::divan));
    let own_name = function.sig.ident.to_string();
    let own_name = own_name.trim_start_matches("r#");
    let name = options.name.as_ref().map_or_else(|| quote!(#own_name), ToTokens::to_token_stream);
    let ignored = options.ignore.as_ref().map_or_else(|| quote!(#marked), ToTokens::to_token_stream);
    let listed = variants(&options, &function).map(|variant| entry(&divan, &options, &function, &variant));
    let listed = listed.collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        #function
        const _: () = {
            fn list(benches: &mut #divan::__private::Benches) {
                benches.begin(::core::module_path!(), #name, #ignored);
                #(#listed)*
            }
            extern "C" fn push() {
                #divan::__private::add(list)
            }
            #[used]
            #[link_section = ".init_array"]
            static PUSH: extern "C" fn() = push;
        };
    })
}

/// A function with types and constants in the place of its generic parameters.
struct Variant<'a> {
    of_type: Option<&'a Type>,
    constant: Option<&'a Expr>,
}

fn variants<'a>(options: &'a Options, function: &ItemFn) -> impl Iterator<Item = Variant<'a>> {
    let has_types = function.sig.generics.type_params().next().is_some();
    let types: Vec<Option<&Type>> = match &options.types {
        Some(types) if has_types => types.iter().map(Some).collect(),
        _ => vec![None],
    };
    let constants: Vec<Option<&Expr>> = match &options.consts {
        Some(constants) => constants.elems.iter().map(Some).collect(),
        None => vec![None],
    };
    types.into_iter().flat_map(move |of_type| {
        let constants = constants.clone().into_iter();
        constants.map(move |constant| Variant { of_type, constant })
    })
}

/// Tells `benches` of one variant.
fn entry(divan: &Path, options: &Options, function: &ItemFn, variant: &Variant<'_>) -> syn::Result<TokenStream> {
    let Variant { of_type, constant } = variant;
    let generic = function.sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(_) => of_type.map(ToTokens::to_token_stream),
        GenericParam::Const(_) => constant.map(|constant| quote!({ #constant })),
        GenericParam::Lifetime(_) => None,
    });
    let generic: Vec<TokenStream> = generic.collect();
    let ident = &function.sig.ident;
    let called = if generic.is_empty() { quote!(#ident) } else { quote!(#ident::<#(#generic),*>) };
    let of_type = of_type.map(|of_type| quote!(#divan::__private::type_name::<#of_type>(),));
    let constant = constant.map(|constant| quote!(::std::string::ToString::to_string(&{ #constant }),));
    let parts = quote!(&[#of_type #constant]);
    let inputs: Vec<&FnArg> = function.sig.inputs.iter().collect();
    let count = counted(divan, options);
    let wrong = |what: &str| Err(syn::Error::new_spanned(&function.sig, what));
    let Some(args) = &options.args else {
        return match inputs.len() {
            0 => Ok(quote!(benches.plain(#parts, |divan| { #count divan.bench(#called) });)),
            1 => Ok(quote!(benches.plain(#parts, |divan| { #count #called(divan); });)),
            _ => wrong("an argument without the option `args`"),
        };
    };
    let Some(FnArg::Typed(last)) = inputs.last() else { return wrong("`args` without an argument") };
    let of_arg = without_lifetime(&last.ty);
    let returns = match args {
        Expr::Array(array) if array.elems.is_empty() => quote!(-> [#of_arg; 0]),
        _ => TokenStream::new(),
    };
    let arg = quote!(#divan::__private::Arg::<#of_arg>::get(arg));
    let has_bencher = inputs.len() > 1;
    let bench = if has_bencher { quote!(#called(divan, #arg)) } else { quote!(divan.bench(|| #called(#arg))) };
    Ok(quote! {
        benches.args(
            #parts,
            || #returns { #args },
            |arg| #divan::__private::ToStringHelper(arg).to_string(),
            |divan, arg| { #count #bench; },
        );
    })
}

/// Before the benchmark runs; divan reports all counters, we the first.
fn counted(divan: &Path, options: &Options) -> Option<TokenStream> {
    let (of, amount) = options.counters.first()?;
    let counter = of.map(|of| quote::format_ident!("{of}"));
    let Some(counter) = counter else { return Some(quote!(#divan::__private::count(#amount);)) };
    Some(quote!(#divan::__private::count(#divan::counter::#counter::from(#amount));))
}

fn without_lifetime(of_arg: &Type) -> Type {
    let mut of_arg = of_arg.clone();
    if let Type::Reference(reference) = &mut of_arg {
        reference.lifetime = None;
    }
    of_arg
}

/// Expands `#[divan::bench_group]`: the module as it is.
pub fn bench_group(args: &TokenStream, item: TokenStream) -> TokenStream {
    let is_ignored = args.clone().into_iter().any(|token| token.to_string() == "ignore");
    if is_ignored {
        let error = syn::Error::new_spanned(args, "a group that is ignored").into_compile_error();
        return quote!(#error #item);
    }
    item
}
