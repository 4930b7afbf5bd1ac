//! What the signature of a function says to those who count its work.

use super::site::Returns;
use crate::source::normalise::bare;
use syn::{FnArg, GenericArgument, Pat, PathArguments, ReturnType, Signature, Type, TypeParamBound};

/// What its arguments are called; `_` for one that is taken apart.
pub(super) fn arguments(sig: &Signature) -> Vec<String> {
    let name = |argument: &FnArg| match argument {
        FnArg::Receiver(_) => "self".to_owned(),
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => bare(&name.ident),
            _ => "_".to_owned(),
        },
    };
    sig.inputs.iter().map(name).collect()
}

/// What it returns; `owner` is the type that it is a method of.
pub(super) fn returns(sig: &Signature, owner: &str) -> Returns {
    if sig.asyncness.is_some() {
        return Returns::Future;
    }
    match &sig.output {
        ReturnType::Default => Returns::Value(String::new()),
        ReturnType::Type(_, ty) => of_type(ty, owner),
    }
}

fn of_type(ty: &Type, owner: &str) -> Returns {
    match ty {
        Type::Group(group) => of_type(&group.elem, owner),
        Type::Paren(paren) => of_type(&paren.elem, owner),
        Type::ImplTrait(some) => of_bounds(some.bounds.iter()),
        Type::TraitObject(object) => of_bounds(object.bounds.iter()),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Returns::Value(String::new()) };
            let name = bare(&last.ident);
            // What is boxed or pinned is what counts.
            if let (true, PathArguments::AngleBracketed(inside)) = (name == "Box" || name == "Pin", &last.arguments)
                && let Some(GenericArgument::Type(ty)) = inside.args.first()
            {
                return of_type(ty, owner);
            }
            Returns::Value(if name == "Self" { owner.to_owned() } else { name })
        }
        _ => Returns::Value(String::new()),
    }
}

fn of_bounds<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> Returns {
    let names = bounds.filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().map(|last| bare(&last.ident)),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    if names.iter().any(|name| name.ends_with("Iterator")) {
        Returns::Iterator
    } else if names.iter().any(|name| name == "Future") {
        Returns::Future
    } else {
        Returns::Value(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, expected: &[&str], returned: &Returns) {
        let sig: Signature = syn::parse_str(function).unwrap();
        assert_eq!(arguments(&sig), expected);
        assert_eq!(&returns(&sig, "Words"), returned);
    }

    #[test]
    fn arguments_have_the_names_that_the_body_uses() {
        check(
            "fn f(&self, mut text: &str, (a, b): (u8, u8), r#type: u8)",
            &["self", "text", "_", "type"],
            &Returns::Value(String::new()),
        );
    }

    #[test]
    fn what_does_its_work_later_is_seen() {
        check("fn f() -> impl Iterator<Item = u8> + 'static", &[], &Returns::Iterator);
        check("fn f() -> Box<dyn DoubleEndedIterator<Item = u8>>", &[], &Returns::Iterator);
        check("async fn f() -> u8", &[], &Returns::Future);
        check("fn f() -> Pin<Box<dyn Future<Output = ()> + Send>>", &[], &Returns::Future);
        check("fn f() -> words::Split<'static>", &[], &Returns::Value("Split".to_owned()));
        check("fn f() -> Self", &[], &Returns::Value("Words".to_owned()));
        check("fn f() -> Vec<u8>", &[], &Returns::Value("Vec".to_owned()));
    }
}
