//! Literals in the crate's tests, documentation and sources, by the functions that they are passed to.

use super::constructor_calls::ConstructorCalls;
use perfunit_select::source::bare;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprCall, ExprMethodCall, GenericArgument, ItemConst, ItemStatic, Lit, Local, Macro, Pat,
    Token, Type,
};

/// Longest text; a longer one would dominate a generated workload.
const LONGEST: usize = 400;

/// A literal as passed to a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Literal {
    Text(String),
    Bytes(Vec<u8>),
    /// An integer without its suffix.
    Integer(String),
    Float(String),
    Char(char),
}

/// The function and position to which a literal was passed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Passed {
    function: String,
    position: usize,
}

/// The literals of a crate.
#[derive(Default)]
pub struct Literals {
    /// Literals by function and position, with the type that the call names, if any.
    passed: BTreeMap<Passed, Vec<(Option<String>, Literal)>>,
    /// The strings, in order.
    texts: Vec<Literal>,
    pub constructed: ConstructorCalls,
    /// Literals of variables and constants in the current file.
    bound: BTreeMap<String, Literal>,
    /// Documentation in the current file.
    documentation: String,
}

impl Literals {
    /// Collects the literals of all files, which are given by path; test code and examples come first.
    pub fn new<'a>(files: impl Iterator<Item = (&'a str, &'a syn::File)>) -> Self {
        let mut files: Vec<_> = files.collect();
        files.sort_by_key(|(path, _)| !["tests/", "test", "examples/", "benches/"].iter().any(|of| path.contains(of)));
        let mut found = Self::default();
        for (_, file) in files {
            found.bound.clear();
            found.visit_file(file);
            for example in examples(&std::mem::take(&mut found.documentation)) {
                found.visit_block(&example);
            }
        }
        found
    }

    /// Returns the literals passed to a function; first those of calls that name the owner.
    pub fn passed_literals(&self, owner: &str, function: &str, position: usize) -> Vec<Literal> {
        let key = Passed { function: function.to_owned(), position };
        let known = self.passed.get(&key).map(Vec::as_slice).unwrap_or_default();
        let of_owner = known.iter().filter(|(named, _)| named.as_deref() == Some(owner));
        let of_others = known.iter().filter(|(named, _)| named.as_deref() != Some(owner));
        let mut found: Vec<Literal> = Vec::new();
        for (_, literal) in of_owner.chain(of_others) {
            if !found.contains(literal) {
                found.push(literal.clone());
            }
        }
        found
    }

    /// Returns the literals passed to any of these functions. Functions with the owner in their name come first, e.g.
    /// `parse_duration` for `Duration`.
    pub fn related_literals(&self, owner: &str, functions: &BTreeSet<&str>) -> Vec<&Literal> {
        let owner = snake_case(owner);
        let mut known: Vec<_> =
            self.passed.iter().filter(|(passed, _)| functions.contains(passed.function.as_str())).collect();
        known.sort_by_key(|(passed, _)| owner.is_empty() || !passed.function.contains(&owner));
        known.into_iter().flat_map(|(_, all)| all.iter().map(|(_, literal)| literal)).collect()
    }

    /// Returns all strings.
    pub fn texts(&self) -> impl Iterator<Item = &Literal> {
        self.texts.iter()
    }

    fn literal(&self, of: &Expr) -> Option<Literal> {
        let literal = match of {
            Expr::Lit(literal) => &literal.lit,
            Expr::Reference(inner) => return self.literal(&inner.expr),
            Expr::Paren(inner) => return self.literal(&inner.expr),
            Expr::Group(inner) => return self.literal(&inner.expr),
            Expr::Path(path) => return self.bound.get(&path.path.get_ident()?.to_string()).cloned(),
            // `"text".to_string()`, `String::from("text")`, `Some("text")`.
            Expr::MethodCall(call) if call.args.is_empty() => return self.literal(&call.receiver),
            Expr::Call(call) if call.args.len() == 1 => {
                let Expr::Path(path) = &*call.func else { return None };
                let last = path.path.segments.last()?.ident.to_string();
                return ["from", "Some", "new"].contains(&last.as_str()).then(|| self.literal(&call.args[0])).flatten();
            }
            _ => return None,
        };
        let found = match literal {
            Lit::Str(text) => Literal::Text(text.value()),
            Lit::ByteStr(bytes) => Literal::Bytes(bytes.value()),
            Lit::Int(number) => Literal::Integer(number.base10_digits().to_owned()),
            Lit::Float(number) => Literal::Float(number.base10_digits().to_owned()),
            Lit::Char(character) => Literal::Char(character.value()),
            Lit::Byte(byte) => Literal::Integer(byte.value().to_string()),
            _ => return None,
        };
        match &found {
            Literal::Text(text) if text.len() > LONGEST => None,
            Literal::Bytes(bytes) if bytes.len() > LONGEST => None,
            _ => Some(found),
        }
    }

    fn argument(&mut self, function: &str, owner: Option<String>, position: usize, argument: &Expr) {
        let Some(literal) = self.literal(argument) else { return };
        let key = Passed { function: function.to_owned(), position };
        self.passed.entry(key).or_default().push((owner, literal));
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_local(&mut self, local: &'ast Local) {
        if let (Pat::Ident(pattern), Some(init)) = (&local.pat, &local.init)
            && let Some(literal) = self.literal(&init.expr)
        {
            self.bound.insert(bare(&pattern.ident), literal);
        }
        visit::visit_local(self, local);
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if let Some(literal) = self.literal(&item.expr) {
            self.bound.insert(bare(&item.ident), literal);
        }
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        if let Some(literal) = self.literal(&item.expr) {
            self.bound.insert(bare(&item.ident), literal);
        }
        visit::visit_item_static(self, item);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        self.constructed.call(call);
        if let Expr::Path(path) = &*call.func {
            let mut names = path.path.segments.iter().rev().map(|segment| bare(&segment.ident));
            let function = names.next().unwrap_or_default();
            let owner = names.next();
            for (position, argument) in call.args.iter().enumerate() {
                self.argument(&function, owner.clone(), position, argument);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.constructed.method_call(call);
        let function = bare(&call.method);
        self.argument(&function, None, 0, &call.receiver);
        if function == "parse" {
            // `"text".parse::<Type>()`
            let of = call.turbofish.as_ref().and_then(|turbofish| match turbofish.args.first() {
                Some(GenericArgument::Type(Type::Path(path))) => path.path.segments.last(),
                _ => None,
            });
            self.argument("from_str", of.map(|of| bare(&of.ident)), 0, &call.receiver);
        }
        for (position, argument) in call.args.iter().enumerate() {
            self.argument(&function, None, position + 1, argument);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone());
        match arguments {
            Ok(arguments) => arguments.iter().for_each(|argument| self.visit_expr(argument)),
            Err(_) => self.tokens(call.tokens.clone()),
        }
    }

    fn visit_expr_lit(&mut self, expression: &'ast syn::ExprLit) {
        if let Lit::Str(text) = &expression.lit {
            self.text(text.value());
        }
    }

    /// Collects documentation, which contains examples.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            self.documentation.push_str(&text.value());
            self.documentation.push('\n');
        }
    }
}

impl Literals {
    /// Collects the strings in the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse2::<syn::LitStr>(TokenTree::Literal(literal).into()) {
                        self.text(text.value());
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, text: String) {
        // Messages of assertions are not data.
        let is_message = text.contains("{}") || text.contains("{:?}") || text.matches(' ').count() > 8;
        let literal = Literal::Text(text);
        if !is_message && !self.texts.contains(&literal) && self.texts.len() < 2000 {
            self.texts.push(literal);
        }
    }
}

/// Converts `MyType` to `my_type`, as in function names.
pub fn snake_case(name: &str) -> String {
    let mut found = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !found.is_empty() && !found.ends_with('_') {
            found.push('_');
        }
        found.extend(letter.to_lowercase());
    }
    found
}

/// Parses the examples in documentation.
fn examples(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.trim_start().starts_with("```") {
            if let Some(code) = open.take() {
                blocks.extend(syn::parse_str::<Block>(&format!("{{{code}\n}}")));
            } else {
                open = Some(String::new());
            }
        } else if let Some(code) = &mut open {
            // Hidden lines of examples begin with `#`.
            let line = line.trim_start();
            let line =
                line.strip_prefix("# ").or(line.strip_prefix('#').filter(|rest| rest.is_empty())).unwrap_or(line);
            code.push('\n');
            code.push_str(line);
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_tests_and_examples_are_found_by_function() {
        let file: syn::File = syn::parse_quote! {
            /// ```
            /// let a = Reader::parse("<a/>", 3);
            /// # a.feed(b"x");
            /// ```
            fn documented() {}
            #[test]
            fn test() {
                assert_eq!(parse("one", 'c'), Ok(1));
                assert!("text".to_string().check(-1, 2.5));
                let input = "1h";
                input.parse::<sample::Time>().unwrap();
                start_time("noon");
            }
        };
        let found = Literals::new([("src/lib.rs", &file)].into_iter());
        let text = |text: &str| Literal::Text(text.to_owned());
        assert_eq!(found.passed_literals("Reader", "parse", 0), [text("<a/>"), text("one"), text("1h")]);
        assert_eq!(found.passed_literals("", "parse", 1), [Literal::Char('c'), Literal::Integer("3".to_owned())]);
        assert_eq!(found.passed_literals("", "feed", 1), [Literal::Bytes(b"x".to_vec())]);
        assert_eq!(found.passed_literals("Time", "from_str", 0), [text("1h")]);
        let related = found.related_literals("Time", &BTreeSet::from(["start_time", "parse"]));
        assert_eq!(related[..2], [&text("noon"), &text("one")]);
        assert_eq!(found.passed_literals("", "check", 2), [Literal::Float("2.5".to_owned())]);
    }
}
