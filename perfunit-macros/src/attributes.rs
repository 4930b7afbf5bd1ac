//! Attributes that users write at their tests and that the tool reads in the source. The item stays unchanged; an
//! argument that the tool could not read is a compile error.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::{LitStr, Token};

/// Checks the arguments of `skip`: nothing, `("reason")` or `(reason = "..")`.
pub fn skip(args: &TokenStream, item: TokenStream) -> TokenStream {
    let reason = |input: syn::parse::ParseStream| {
        if input.peek(syn::Ident) {
            let key: syn::Ident = input.parse()?;
            if key != "reason" {
                return Err(syn::Error::new(key.span(), "expected `reason`"));
            }
            input.parse::<Token![=]>()?;
        }
        input.parse::<LitStr>()
    };
    if args.is_empty() {
        return item;
    }
    report_error(reason.parse2(args.clone()).map(drop), "use #[perfunit::skip] or #[perfunit::skip(\"reason\")]", item)
}

/// Checks the argument of `threshold`: `("5%")` or `("0.05")`.
pub fn threshold(args: &TokenStream, item: TokenStream) -> TokenStream {
    let change = syn::parse2::<LitStr>(args.clone()).and_then(|text| {
        if is_change(&text.value()) {
            Ok(())
        } else {
            Err(syn::Error::new(text.span(), "the threshold must be more than 0 and less than 100 %"))
        }
    });
    report_error(change, "use #[perfunit::threshold(\"5%\")]", item)
}

fn is_change(text: &str) -> bool {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    number.trim().parse::<f64>().is_ok_and(|number| number / scale > 0.0 && number / scale < 1.0)
}

fn report_error(result: syn::Result<()>, hint: &str, item: TokenStream) -> TokenStream {
    let Err(error) = result else { return item };
    let error = syn::Error::new(error.span(), format!("{error}: {hint}")).to_compile_error();
    quote!(#error #item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(code: &str) -> TokenStream {
        code.parse().unwrap()
    }

    #[track_caller]
    fn check(expand: fn(&TokenStream, TokenStream) -> TokenStream, args: &str, problem: Option<&str>) {
        let item = "fn test () { }";
        let expanded = expand(&tokens(args), tokens(item)).to_string();
        match problem {
            None => assert_eq!(expanded, tokens(item).to_string()),
            Some(problem) => {
                assert!(expanded.contains(problem) && expanded.ends_with(&tokens(item).to_string()), "{expanded}");
            }
        }
    }

    #[test]
    fn what_the_tool_can_read_leaves_the_test_as_it_is() {
        check(skip, "", None);
        check(skip, "\"it waits\"", None);
        check(skip, "reason = \"it waits\"", None);
        check(threshold, "\"5%\"", None);
        check(threshold, "\"0.05\"", None);
    }

    #[test]
    fn anything_else_is_an_error() {
        check(skip, "why = \"x\"", Some("expected `reason`: use #[perfunit::skip]"));
        check(skip, "5", Some("expected string literal"));
        check(threshold, "", Some("use #[perfunit::threshold"));
        check(threshold, "\"500%\"", Some("less than 100 %"));
        check(threshold, "0.05", Some("expected string literal"));
    }
}
